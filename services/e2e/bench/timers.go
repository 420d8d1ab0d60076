package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

const (
	// dueAtOnce is how many runs have a clock that is due within the same second.
	dueAtOnce = 10_000
	// restTime is how long an idle process is watched.
	restTime = 30 * time.Second
	// timerBatch is how many timers one commit arms.
	timerBatch = 1000
	// longestDelay bounds how long the starts of the due runs may take.
	longestDelay = 60 * time.Second
)

// moreTimers measures `interlock up` at rest with armed timers, and how late the clocks of runs are that fall due at once.
func (b *bencher) moreTimers(ctx context.Context, backend string, armed int) error {
	s := &sheet{
		title: "Armed timers, `interlock up` on " + map[string]string{"redis": "Redis", "sqlite": "SQLite"}[backend],
		notes: fmt.Sprintf("An idle process is watched for %s. Then %d runs fall due within one second. A clock costs the processor "+
			"time from then on until all have moved their runs: of the process, with the relay of events to NATS, and of Redis.", restTime, dueAtOnce),
		header: []string{
			"timers", "processor time at rest, % of a core", "that of Redis", "memory of the process, MB", "memory of Redis, used / resident, MB",
			"bytes of the store per timer", "start of the process, s", "lateness p50 / p99 / max, ms", "a clock costs, us", "that of Redis",
		},
	}
	for _, n := range []int{0, armed} {
		err := b.onStage(backend, func(st *stage) error {
			g := &grown{stage: st, program: b.interlock}
			row, err := g.timersRow(ctx, n)
			if err != nil {
				return errors.Join(err, g.end())
			}
			s.rows = append(s.rows, row)
			return nil
		})
		if err != nil {
			return err
		}
	}
	b.print(s)
	return nil
}

// timersRow measures with a number of armed timers.
func (g *grown) timersRow(ctx context.Context, armed int) ([]string, error) {
	if err := errors.Join(g.begin(), g.end()); err != nil { // makes the store
		return nil, err
	}
	before, err := g.weigh(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.arm(ctx, armed); err != nil {
		return nil, err
	}
	after, err := g.weigh(ctx)
	if err != nil {
		return nil, err
	}
	if err := g.begin(); err != nil {
		return nil, err
	}
	stores := 0
	if g.redis != nil {
		stores = g.redis.PID()
	}
	time.Sleep(restTime / 3) // what it does at its start is over
	used, usedByStore := processorTime(g.up.pid), processorTime(stores)
	time.Sleep(restTime)
	share := func(used time.Duration) string { return figure(100 * used.Seconds() / restTime.Seconds()) }
	row := []string{
		fmt.Sprint(armed), share(processorTime(g.up.pid) - used), share(processorTime(stores) - usedByStore), figure(resident(g.up.pid) / (1 << 20)),
	}
	memory, err := g.memoryOfRedis(ctx)
	if err != nil {
		return nil, err
	}
	row = append(row, memory, figure((after-before)/float64(max(armed, 1))), figure(g.up.took.Seconds()))
	fired, err := g.fallDue(ctx)
	if err != nil {
		return nil, err
	}
	late, each := fired.late, func(used time.Duration) string { return figure(float64(used.Microseconds()) / dueAtOnce) }
	row = append(row, fmt.Sprintf("%d / %d / %d", late[len(late)/2], late[len(late)*99/100], late[len(late)-1]), each(fired.used), each(fired.usedByStore))
	return row, g.end()
}

// memoryOfRedis returns what the data of Redis takes, and its process; nothing on SQLite.
func (g *grown) memoryOfRedis(ctx context.Context) (text string, err error) {
	if g.redis == nil {
		return "", nil
	}
	client := redis.NewClient(&redis.Options{Addr: g.redis.Addr(), Protocol: 2, DisableIdentity: true})
	defer func() { err = errors.Join(err, client.Close()) }()
	info, err := client.InfoMap(ctx, "memory").Result()
	if err != nil {
		return "", err
	}
	used, err := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
	return fmt.Sprintf("%s / %s", figure(used/(1<<20)), figure(resident(g.redis.PID())/(1<<20))), err
}

// arm sets timers that are due in a month.
func (g *grown) arm(ctx context.Context, n int) (err error) {
	if n == 0 {
		return nil
	}
	var st store.Store
	if g.redis != nil {
		st, err = redisstore.Open(ctx, redisstore.Config{URL: g.store()})
	} else {
		st, err = sqlitestore.Open(ctx, sqlitestore.Config{Path: g.data().Database()})
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	due := time.Now().AddDate(0, 1, 0)
	batches := make([]store.Batch, st.Shards())
	for i := range n {
		key := store.Key{Namespace: "default", Kind: ledger.KindRun, ID: fmt.Sprintf("run_%026d", i)}
		batch := &batches[key.Shard(len(batches))]
		batch.SetTimers = append(batch.SetTimers, ledger.DueTimer(key, due.Add(time.Duration(i)*time.Second)))
		if len(batch.SetTimers) == timerBatch {
			if _, err := st.Commit(ctx, *batch); err != nil {
				return err
			}
			*batch = store.Batch{}
		}
	}
	for _, batch := range batches {
		if _, err := st.Commit(ctx, batch); err != nil {
			return err
		}
	}
	return nil
}

// firing is what clocks that were all due within one second did: by how many milliseconds each was late, in order, and the processor
// time of all, of the process and of Redis.
type firing struct {
	late              []int64
	used, usedByStore time.Duration
}

// fallDue starts runs whose clocks are all due within one second.
func (g *grown) fallDue(ctx context.Context) (fired firing, err error) {
	operator, err := g.operator(&g.up.child, "")
	if err != nil {
		return fired, err
	}
	workflows := enginev1.NewWorkflowServiceClient(operator)
	for delay := range int(longestDelay.Seconds()) {
		definition := fmt.Sprintf(`{"id": "due-%d", "initial": "a", "states": {"a": {"after": {"%ds": "z"}}, "z": {"type": "final"}}}`, delay+1, delay+1)
		if _, err := workflows.RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: []byte(definition)}); err != nil {
			return fired, err
		}
	}
	p, err := g.dial(&g.up.child, growthCallers)
	if err != nil {
		return fired, err
	}
	at := time.Now().Add(longestDelay).Unix()
	ids := make([]string, dueAtOnce)
	if err := each(p, func(client enginev1.RunServiceClient, i int) error {
		for { // a machine with other work may keep a store from answering in time
			delay := at - time.Now().Unix()
			if delay < 2 {
				return fmt.Errorf("%d runs did not start within %s", dueAtOnce, longestDelay)
			}
			started, err := client.StartRun(ctx, &enginev1.StartRunRequest{Workflow: fmt.Sprint("due-", delay)})
			ids[i] = started.GetRun().GetRunId()
			if status.Code(err) != codes.Unavailable {
				return err
			}
		}
	}); err != nil {
		return fired, err
	}
	stores := 0
	if g.redis != nil {
		stores = g.redis.PID()
	}
	time.Sleep(time.Until(time.Unix(at, 0)))
	fired.used, fired.usedByStore = -processorTime(g.up.pid), -processorTime(stores)
	if err := noneRuns(ctx, enginev1.NewRunServiceClient(operator)); err != nil {
		return fired, err
	}
	fired.used, fired.usedByStore = fired.used+processorTime(g.up.pid), fired.usedByStore+processorTime(stores)
	late := make([]int64, dueAtOnce)
	err = each(p, func(client enginev1.RunServiceClient, i int) error {
		for {
			page, err := client.GetRunHistory(ctx, &enginev1.GetRunHistoryRequest{RunId: ids[i]})
			switch entries := page.GetEntries(); {
			case err != nil:
				return err
			case len(entries) == 2:
				late[i] = entries[1].GetTime().AsTime().Sub(entries[1].GetCause().GetDue().AsTime()).Milliseconds()
				return nil
			case len(entries) > 2:
				return fmt.Errorf("time moved run %s twice", ids[i])
			}
			time.Sleep(time.Second)
		}
	})
	slices.Sort(late)
	fired.late = late
	return fired, err
}

// noneRuns waits until all runs have ended.
func noneRuns(ctx context.Context, runs enginev1.RunServiceClient) error {
	for {
		page, err := runs.ListRuns(ctx, &enginev1.ListRunsRequest{PageSize: 1, Filter: "status=RUNNING"})
		if err != nil || len(page.GetRuns()) == 0 {
			return err
		}
		time.Sleep(time.Second / 10)
	}
}

// each calls do for each of the due runs, from many callers.
func each(p pool, do func(client enginev1.RunServiceClient, i int) error) error {
	errs := make([]error, growthCallers)
	var next atomic.Int64
	var callers sync.WaitGroup
	for caller := range growthCallers {
		callers.Go(func() {
			client := enginev1.NewRunServiceClient(p.of(caller))
			for i := next.Add(1) - 1; i < dueAtOnce && errs[caller] == nil; i = next.Add(1) - 1 {
				errs[caller] = do(client, int(i))
			}
		})
	}
	callers.Wait()
	return errors.Join(errs...)
}
