package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/disktest"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// The environment of `make fault`: how many faults each topology gets. Package randtest says
// which.
const (
	faultsVariable = "INTERLOCK_FAULTS"
	fewFaults      = 5
)

// TestFaultCampaign: random faults, from a seed, meet a system under load, one after the
// other. Acknowledged changes are there once, no limit is exceeded, no call that the workflow
// forbids is allowed, the clients' observations are linearizable, and the system works on after each
// fault.
func TestFaultCampaign(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		embeddedCampaign(t)
	})
	t.Run("replicated", func(t *testing.T) {
		t.Parallel()
		replicatedCampaign(t)
	})
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		sentinelCampaign(t)
	})
}

// embeddedCampaign strikes at `interlock up`.
func embeddedCampaign(t *testing.T) {
	addresses, disk := freeAddresses(t, 3), newStage(t)
	u := &together{
		shape: shape{name: "up"}, data: datadir.Dir(filepath.Join(disk.folder, "data")),
		args: []string{"--http", addresses[0], "--grpc", addresses[1], "--nats", addresses[2]},
	}
	u.restart(t)
	c := newCampaign(t, &u.shape, "embedded")
	again := func() { u.process.kill(); u.restart(t) }
	// A process that needs a restart says so, and gets one, as from a supervisor.
	heal := func() {
		c.do(disk.Heal())
		if !u.process.running() || !alive(u.http) {
			again()
		}
	}
	files := []string{u.data.Database(), u.data.Database() + "-wal", u.data.Database() + "-shm"}
	c.run([]kind{
		{name: "killed", strike: again},
		{name: "restarted", strike: func() { u.process.drain(t); u.restart(t) }},
		{name: "stopped for a while", strike: func() { c.pause(u.process) }},
		{name: "power is lost", cannot: disk.cannot, strike: func() { u.process.kill(); c.do(disk.LosePower()); u.restart(t) }},
		{name: "the disk is full", cannot: disk.cannot, strike: func() { c.do(disk.Fill()); c.wait(); heal() }},
		{name: "the disk fails (EIO)", cannot: disk.cannot, strike: func() { c.do(disk.Break()); c.wait(); heal() }},
		c.clockJump("the clock jumps ahead", time.Hour, func() int { return u.process.pid() }),
		c.clockJump("the clock jumps back", -time.Hour, func() int { return u.process.pid() }),
		{name: "an older copy of the file", strike: func() {
			c.goBack(older{
				keep: func() (restore func()) {
					u.process.drain(t)
					back := copyOf(t, files...)
					u.restart(t)
					return func() { u.process.kill(); back(); u.start(t) }
				},
				serves: func() []string { return []string{u.http} },
				accept: func() {
					u.process.drain(t)
					c.accept("--data-dir", string(u.data))
					u.restart(t)
				},
			})
		}},
	})
	again() // the last word is that of the disk
	c.verify()
	for _, namespace := range c.namespaces {
		verify := exec.CommandContext(within(t), binary(t, "interlock"), "audit", "verify", "--data-dir", string(u.data), "--namespace", namespace)
		verify.Env = u.operatorEnv()
		if out, err := verify.CombinedOutput(); err != nil {
			t.Errorf("audit verify: %v: %s", err, out)
		}
	}
}

// replicatedCampaign strikes at two replicas of each service, on one Redis.
func replicatedCampaign(t *testing.T) {
	disk := newStage(t)
	redis := redistest.StartIn(t, disk.folder)
	between := newLink(t, redis.Addr())
	s := startSeparateOn(t, []string{"--store", "redis://" + between.address() + "/0"})
	c := newCampaign(t, &s.shape, "replicated")
	again := func() { redis.Kill(); c.do(redis.Restart()) }
	files := filepath.Join(disk.folder, "appendonlydir")
	c.run(append(c.strikesAtReplicas(s), []kind{
		{name: "Redis is killed", strike: again},
		{name: "Redis is stopped for a while", strike: func() { c.do(redis.Pause()); c.wait(); c.do(redis.Resume()) }},
		{name: "connections to Redis are cut", strike: func() { between.cut() }},
		{name: "connections to Redis are silent", strike: func() { between.hold(true); c.wait(); between.cut(); between.hold(false) }},
		{name: "NATS is stopped", strike: func() { s.natsServer.Stop(); c.wait(); s.natsServer.Start() }},
		{name: "Redis loses power", cannot: disk.cannot, strike: func() { redis.Kill(); c.do(disk.LosePower()); c.do(redis.Restart()) }},
		// It ends by itself when it cannot write.
		{name: "Redis's disk is full", cannot: disk.cannot, strike: func() { c.do(disk.Fill()); c.wait(); c.do(disk.Heal()); again() }},
		{name: "Redis's disk fails (EIO)", cannot: disk.cannot, strike: func() { c.do(disk.Break()); c.wait(); c.do(disk.Heal()); again() }},
		c.clockJump("Redis's clock jumps ahead", time.Hour, redis.PID),
		c.clockJump("Redis's clock jumps back", -time.Hour, redis.PID),
		{name: "an older copy of Redis's file", strike: func() {
			c.goBack(older{
				keep: func() (restore func()) {
					redis.Kill()
					back := copyOf(t, files)
					c.do(redis.Restart())
					return func() { redis.Kill(); back(); c.do(redis.Restart()) }
				},
				serves: func() (admins []string) {
					for _, p := range slices.Concat(s.engine, s.policy, s.state, s.approval) {
						admins = append(admins, "http://"+p.serving(t, "admin"))
					}
					return admins
				},
				accept: func() { c.accept("--store", redis.URL()) },
			})
		}},
	}...))
	c.verify()
}

// sentinelCampaign strikes at two replicas of each service, on a Redis with a replica, and
// a sentinel that promotes it.
func sentinelCampaign(t *testing.T) {
	redis := redistest.StartGuarded(t)
	s := startSeparateOn(t, []string{"--store", redis.URL(), "--redis-wait", "1"})
	s.failsOver = true
	c := newCampaign(t, &s.shape, "sentinel")
	c.run(append(c.strikesAtReplicas(s), []kind{
		{name: "a failover", strike: func() {
			c.do(redis.Settle())
			redis.Master.Kill()
			c.do(redis.Swap())
		}},
		{name: "a failover while the replica lags", strike: func() {
			c.do(redis.Settle())
			c.do(redis.Replica.Pause())
			c.wait()
			redis.Master.Kill()
			c.do(redis.Replica.Resume())
			c.do(redis.Swap())
		}},
		{name: "a failover from a silent master", strike: func() {
			c.do(redis.Settle())
			c.do(redis.Master.Pause())
			c.do(redis.Promoted())
			c.do(redis.Master.Resume())
			c.do(redis.Swap())
		}},
		{name: "the replica is killed", strike: func() {
			c.do(redis.Settle())
			redis.Replica.Kill()
			c.wait()
			c.do(redis.RestartReplica())
		}},
	}...))
	c.verify()
}

// strikesAtReplicas are those that any shape of separate services withstands.
func (c *campaign) strikesAtReplicas(s *separate) []kind {
	one := func() *process { return s.replicas(c.any(4))[c.any(replicaCount)] }
	pid := func() int { return one().pid() }
	return []kind{
		{name: "a replica is killed", strike: func() { s.again(c, c.any(4), c.any(replicaCount), (*process).kill) }},
		{name: "a replica is restarted", strike: func() { s.again(c, c.any(4), c.any(replicaCount), func(p *process) { p.drain(c) }) }},
		{name: "a replica is stopped for a while", strike: func() { c.pause(one()) }},
		c.clockJump("a replica's clock jumps ahead", time.Hour, pid),
		c.clockJump("a replica's clock jumps back", -time.Hour, pid),
	}
}

// kind is one of the faults.
type kind struct {
	name   string
	strike func()
	// cannot says why this machine cannot have it, or is empty.
	cannot string
}

// stage is the folder of a store: a disk that fails on demand, where the machine has one.
type stage struct {
	*disktest.Disk
	folder, cannot string
}

func newStage(t *testing.T) stage {
	t.Helper()
	disk, err := disktest.New(t)
	if err != nil {
		return stage{folder: t.TempDir(), cannot: err.Error()}
	}
	return stage{Disk: disk, folder: disk.Dir}
}

// campaign is a system under load, with the observed faults.
type campaign struct {
	*testing.T
	shape  *shape
	name   string
	faults int
	random *rand.Rand

	*chapter
	// opened counts chapters, and namespaces are those that no rollback has taken away.
	opened     int
	namespaces []string
	// recovered is how long the system took to work on after each fault, by its kind.
	recovered map[string][]time.Duration
	kinds     []kind
	total     struct{ moves, spends, allowed, patches, reads, timed int64 }
}

// chapter is the load between two rollbacks, in a namespace of its own.
type chapter struct {
	world   *world
	caller  *caller
	moves   *ledger
	spends  *spender
	appends *appender
	times   *timekeeper
	rest    func() // ends the load
}

func newCampaign(t *testing.T, s *shape, name string) *campaign {
	t.Helper()
	c := &campaign{
		T: t, shape: s, name: name, faults: number(t, faultsVariable, fewFaults), random: randtest.New(t, 0),
		recovered: map[string][]time.Duration{},
	}
	c.open()
	return c
}

// settle waits until every replica works.
func (c *campaign) settle() {
	c.Helper()
	run, state := c.moves.runs[0], c.appends.id
	eventually(c, "the connections of the load work", func() error {
		_, err := c.caller.runs.GetRun(within(c), &enginev1.GetRunRequest{RunId: run})
		if err == nil {
			_, err = c.appends.states.GetState(within(c), &statev1.GetStateRequest{StateId: state})
		}
		return err
	})
	for i := range replicaCount {
		caller := c.world.at(c, i, auth.Agent)
		policies := policyv1.NewPolicyServiceClient(c.world.dial(c, c.shape.policies[i], c.world.tokens[auth.Operator]))
		states := statev1.NewStateServiceClient(c.world.dial(c, c.shape.states[i], c.world.tokens[auth.Operator]))
		eventually(c, fmt.Sprintf("replicas %d work", i), func() error {
			_, err := caller.runs.GetRun(within(c), &enginev1.GetRunRequest{RunId: run})
			if err == nil {
				_, err = policies.GetPolicy(within(c), &policyv1.GetPolicyRequest{Name: "spends"})
			}
			if err == nil {
				_, err = states.GetState(within(c), &statev1.GetStateRequest{StateId: state})
			}
			return err
		})
	}
}

// open begins a chapter.
func (c *campaign) open() {
	c.Helper()
	c.opened++
	w := &world{shape: c.shape, namespace: fmt.Sprintf("%s-%d", c.name, c.opened)}
	c.chapter = &chapter{world: w, caller: w.replicas(c, auth.Agent)}
	c.moves = newLedger(c, c.caller, 4)
	c.moves.retry = true
	c.spends = newSpender(c, w, c.caller, 15*int64(min(c.faults, 20)))
	c.appends = newAppender(c, w, 4)
	c.times = newTimekeeper(c, c.caller)
}

// load works until rest.
func (c *campaign) load() {
	ctx, cancel := context.WithCancel(c.Context())
	end := c.moves.load(ctx, c.caller)
	var others sync.WaitGroup
	c.spends.load(ctx, &others)
	c.appends.load(ctx, &others)
	c.times.load(ctx, &others)
	c.rest = func() { end(); cancel(); others.Wait() }
}

func number(t *testing.T, variable string, otherwise int) int {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%q is not a number from 1", variable, text)
	}
	return n
}

// any draws a number below n.
func (c *campaign) any(n int) int { return c.random.IntN(n) }

// do fails when a fault could not be made.
func (c *campaign) do(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// wait lets a fault last: up to a second, for that is part of it.
func (c *campaign) wait() { time.Sleep(time.Duration(200+c.any(800)) * time.Millisecond) }

// pause stops a process for a while.
func (c *campaign) pause(p *process) {
	p.signal(c, syscall.SIGSTOP)
	c.wait()
	p.signal(c, syscall.SIGCONT)
}

// clockJump sets the clock of a process, until it is set again or the process ends.
func (c *campaign) clockJump(name string, by time.Duration, pid func() int) kind {
	k := kind{name: name}
	if err := clocksJump(); err != nil {
		k.cannot = err.Error()
	}
	k.strike = func() {
		clock, err := clockOf(pid())
		c.do(err)
		c.do(clock.set(by))
	}
	return k
}

// run strikes with one fault after the other, each kind at least once if there are enough, and
// demands each time that the system works on.
func (c *campaign) run(kinds []kind) {
	c.Helper()
	c.kinds = kinds
	possible := slices.DeleteFunc(slices.Clone(kinds), func(k kind) bool { return k.cannot != "" })
	c.random.Shuffle(len(possible), func(i, j int) { possible[i], possible[j] = possible[j], possible[i] })
	c.load()
	c.works("the beginning")
	for i := range c.faults {
		k := possible[c.any(len(possible))]
		if i < len(possible) {
			k = possible[i]
		}
		k.strike()
		began := time.Now()
		c.works(k.name)
		c.recovered[k.name] = append(c.recovered[k.name], time.Since(began))
	}
	c.rest()
}

// works waits until every kind of work continues.
func (c *campaign) works(after string) {
	c.Helper()
	moved, spent, appended := c.moves.count.Load(), c.spends.answered.Load(), c.appends.count.Load()
	eventually(c, "everything works after "+after, func() error {
		m, s, a := c.moves.count.Load()-moved, c.spends.answered.Load()-spent, c.appends.count.Load()-appended
		if m < 10 || s < 2 || a < 4 {
			return fmt.Errorf("%d transitions and checks, %d limited checks, %d patches", m, s, a)
		}
		return nil
	})
}

// close compares the acknowledged changes of a chapter with the present data.
func (c *campaign) close() {
	c.Helper()
	c.settle()
	c.moves.resume(c, c.caller)
	c.moves.verify(c, c.world, c.caller)
	c.spends.verify(c.T)
	c.appends.verify(c.T)
	c.times.verify(c.T)
	c.total.timed += int64(c.times.ended)
	c.namespaces = append(c.namespaces, c.world.namespace)
	c.total.moves += c.moves.count.Load()
	c.total.spends += c.spends.answered.Load()
	c.total.allowed += c.spends.allowed
	c.total.patches += c.appends.count.Load()
	c.total.reads += c.appends.reads.Load()
}

// verify closes the last chapter and prints the table.
func (c *campaign) verify() {
	c.Helper()
	c.close()
	for _, k := range c.kinds {
		took := c.recovered[k.name]
		slices.Sort(took)
		switch {
		case k.cannot != "":
			c.Logf("| %s | %s | not run: %s | | |", c.name, k.name, k.cannot)
		case len(took) == 0:
			c.Logf("| %s | %s | not run: more kinds than FAULTS | | |", c.name, k.name)
		default:
			c.Logf("| %s | %s | %d | %s | %s |", c.name, k.name, len(took),
				took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
		}
	}
	if !c.Failed() {
		c.Logf("%s: %d transitions and tool calls, %d limited tool calls (%d allowed), %d patches, %d reads, %d runs that time has ended: "+
			"0 lost, 0 doubled, 0 over-admitted, 0 fail-open, 0 stuck; linearizable",
			c.name, c.total.moves, c.total.spends, c.total.allowed, c.total.patches, c.total.reads, c.total.timed)
	}
}

const spending = `{"id": "spending", "initial": "a", "states": {
	"a": {"allowed_tools": ["Spend"], "on": {"GO": "b"}}, "b": {"type": "final"}}}`

// again ends a replica of a service and starts it where it was.
func (s *separate) again(t testing.TB, service, i int, end func(*process)) {
	t.Helper()
	p := s.replicas(service)[i]
	address := p.serving(t, "grpc")
	end(p)
	args := slices.Clone(p.cmd.Args[1:])
	args[slices.Index(args, "--grpc")+1] = address
	next := start(t, p.name, args...)
	next.serving(t, "grpc")
	s.replicas(service)[i] = next
}

// replicas are those of one of the four services.
func (s *separate) replicas(service int) []*process {
	return [][]*process{s.engine, s.policy, s.state, s.approval}[service]
}

// spender asks for calls that a policy limits, by an id of its own each, until it gets an answer.
type spender struct {
	c     *caller
	run   string
	limit int64

	answered atomic.Int64
	mu       sync.Mutex
	allowed  int64
	full     bool
}

func newSpender(t testing.TB, w *world, c *caller, limit int64) *spender {
	t.Helper()
	policies := policyv1.NewPolicyServiceClient(w.dial(t, w.policies[0], w.tokens[auth.Operator]))
	text := fmt.Sprintf(`{"role": "agent", "meta": {"tools": ["Spend"]}, "allow": [{"capability": "tool:Spend", "rate_limit": {"max_calls": %d, "window_seconds": 86400}}]}`, limit)
	must[*policyv1.RegisterPolicyResponse](t)(policies.RegisterPolicy(within(t), &policyv1.RegisterPolicyRequest{Name: "spends", Definition: []byte(text)}))
	c.register(t, spending)
	must[*policyv1.AttachPolicyResponse](t)(policies.AttachPolicy(within(t), &policyv1.AttachPolicyRequest{
		Name: "spends", To: []*policyv1.Attachment{{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_WORKFLOW, Id: "spending"}},
	}))
	return &spender{c: c, limit: limit, run: c.start(t, "spending").GetRunId()}
}

func (s *spender) load(ctx context.Context, group *sync.WaitGroup) {
	for worker := range 2 {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				s.ask(ctx, fmt.Sprintf("spend-%d-%d", worker, n))
				pace(ctx)
			}
		})
	}
}

// pace keeps the load below the verifiers' rate of reading.
func pace(ctx context.Context) {
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Millisecond):
	}
}

// ask asks about one call until it is decided.
func (s *spender) ask(ctx context.Context, call string) {
	for ctx.Err() == nil {
		d, err := s.c.policy.CheckToolCall(ctx, &policyv1.CheckToolCallRequest{RunId: s.run, Tool: "Spend", CallId: call})
		if err != nil || codeOf(d) == "POLICY_UNAVAILABLE" {
			pace(ctx)
			continue
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.answered.Add(1)
		switch {
		case d.GetDecision() == allow:
			s.allowed++
		case codeOf(d) == "RATE_LIMITED":
			s.full = true
		}
		return
	}
}

func (s *spender) verify(t *testing.T) {
	t.Helper()
	for n := 0; !s.full && int64(n) <= s.limit; n++ {
		s.ask(within(t), fmt.Sprintf("spend-last-%d", n))
	}
	if !s.full || s.allowed > s.limit {
		t.Errorf("%d calls were allowed of %d; the limit was reached: %t", s.allowed, s.limit, s.full)
	}
	if s.allowed == 0 {
		t.Error("no call was allowed: this test tests nothing")
	}
}
