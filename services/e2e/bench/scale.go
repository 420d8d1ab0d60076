package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/redis/go-redis/v9"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
)

// scaleCallers are busy in all of it.
const scaleCallers = 64

// scaleSections returns the units that a large installation is computed from.
func (b *bencher) scaleSections() []section {
	return []section{
		{"units", b.units},
		{"shards", b.moreShards},
		{"trees", b.oneTree},
		{"nats", b.replicas},
	}
}

// unit is the cost of one kind of call.
type unit struct {
	*load
	file, trips float64 // bytes of Redis's file and round trips, for each call
}

// units measures the costs of calls for the services, Redis, its file and its disk.
func (b *bencher) units(ctx context.Context) error {
	s := &sheet{
		title: "What a call costs",
		notes: "64 callers on one Redis. Bytes are those appended to Redis's file, before it is rewritten. Redis syncs its file " +
			"at most once for each round trip of the services: the fewer a call has, the more calls share one.",
		header: []string{"call", "calls/s", "CPU us, services", "CPU us, Redis", "bytes of the file", "round trips"},
	}
	err := b.onStage("redis", func(st *stage) error {
		servers, err := st.serveTo(scaleCallers, roleInterlock)
		if err != nil {
			return err
		}
		loads, err := st.unitLoads(ctx, servers[0])
		if err != nil {
			return err
		}
		for _, l := range loads {
			l.callers, l.calls, l.server, l.stores = scaleCallers, max(1, l.calls), servers[0].pid, st.storePIDs()
			u, err := b.unit(ctx, st, servers[0].child, l)
			if err != nil {
				return err
			}
			s.add(l.name, figure(l.of(rate)), figure(l.serverTime()), figure(l.storeTime()), figure(u.file), figure(u.trips))
		}
		return nil
	})
	if err != nil {
		return err
	}
	b.print(s)
	return nil
}

// unitLoads returns the calls that installations make most.
func (s *stage) unitLoads(ctx context.Context, to connected) ([]*load, error) {
	runs, err := to.runs(ctx, scaleCallers)
	if err != nil {
		return nil, err
	}
	operator, err := s.operator(to.child, "")
	if err != nil {
		return nil, err
	}
	states, err := createStates(ctx, operator, stateOf(smallDocument), scaleCallers)
	if err != nil {
		return nil, err
	}
	return []*load{
		{name: "check", open: checks(ctx, to.pool, own(runs))},
		{name: "check of a Bash line", open: checksOf(ctx, to.pool, own(runs), bashRequest)},
		{name: "check, 16 a message", calls: batchSize, open: streams(ctx, to.pool, runs, batchSize)},
		{name: "check, and the report of its result", open: reports(ctx, to.pool, runs)},
		{name: "transition", open: transitions(ctx, to.pool, runs)},
		{name: "patch of a state of 1 KB", open: patches(ctx, to.pool, own(states))},
		{name: "start of a run", open: starts(ctx, to.pool, "bench", 0, func(string) {})},
		{name: "new session", open: sessions(ctx, pool{operator}, func(int) string { return "" })},
	}, nil
}

// reports returns CheckToolCall and ReportToolCall, as one.
func reports(ctx context.Context, p pool, runs []string) func(int) (op, error) {
	return func(caller int) (op, error) {
		client := policyv1.NewPolicyEnforcerServiceClient(p.of(caller))
		return func() error {
			return checkAndReport(ctx, client, runs[caller])
		}, nil
	}
}

func checkAndReport(ctx context.Context, client policyv1.PolicyEnforcerServiceClient, run string) error {
	checked, err := client.CheckToolCall(ctx, checkRequest(run))
	if err != nil {
		return err
	}
	if err := allowed(checked); err != nil {
		return err
	}
	_, err = client.ReportToolCall(ctx, &policyv1.ReportToolCallRequest{
		RunId: run, Tool: "Edit", CallId: checked.GetCallId(), Ok: true,
	})
	return err
}

// unit measures a load, and the growth of Redis's file and the round trips.
func (b *bencher) unit(ctx context.Context, s *stage, c *child, l *load) (unit, error) {
	u := unit{load: l}
	fileBefore, tripsBefore, err := s.spent(ctx, c)
	if err != nil {
		return u, err
	}
	if err := measure(ctx, []*load{l}, b.rounds, b.round); err != nil {
		return u, err
	}
	file, trips, err := s.spent(ctx, c)
	u.file, u.trips = (file-fileBefore)/float64(l.made), (trips-tripsBefore)/float64(l.made)
	return u, err
}

// spent returns the bytes of Redis's file, and the round trips of a server's commits so far.
func (s *stage) spent(ctx context.Context, c *child) (file, trips float64, err error) {
	client := redis.NewClient(&redis.Options{Addr: s.redis.Addr(), Protocol: 2, DisableIdentity: true})
	defer func() { err = errors.Join(err, client.Close()) }()
	info, err := client.InfoMap(ctx, "persistence").Result()
	if err != nil {
		return 0, 0, err
	}
	if file, err = strconv.ParseFloat(info["Persistence"]["aof_current_size"], 64); err != nil {
		return 0, 0, err
	}
	trips, err = metricAt(ctx, "http://"+c.Admin+"/metrics", "", "interlock_store_batch_commits_count")
	return file, trips, err
}

// metricAt returns a metric without labels, of a page of them.
func metricAt(ctx context.Context, url, token, name string) (float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = answer.Body.Close() }()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if value, is := strings.CutPrefix(lines.Text(), name+" "); is {
			return strconv.ParseFloat(value, 64)
		}
	}
	return 0, errors.Join(fmt.Errorf("there is no metric %s", name), lines.Err())
}

// sessions returns CreateSession below a parent, or of a root.
func sessions(ctx context.Context, p pool, parent func(caller int) string) func(int) (op, error) {
	return func(caller int) (op, error) {
		client := statev1.NewSessionServiceClient(p.of(caller))
		return func() error {
			_, err := client.CreateSession(ctx, &statev1.CreateSessionRequest{Parent: parent(caller)})
			return err
		}, nil
	}
}

// shardCounts are those that stores are compared with.
var shardCounts = []int{1, 8, 64, 512, 4096}

// usualShards is the default number of shards of a store.
const usualShards = 64

// moreShards compares stores of other numbers of shards, each on a Redis of its own.
func (b *bencher) moreShards(ctx context.Context) (err error) {
	s := &sheet{
		title: "Shards of a store, on one Redis",
		notes: "Idle is the processor time that services and Redis take when nobody calls. " + cpuNote,
		header: []string{
			"shards", "call", "calls/s", "CPU us", "rate ratio to 64 shards min / median / max", "idle, ms a second",
		},
	}
	var loads []*load
	idle := map[int]float64{}
	for _, shards := range shardCounts {
		st, err := b.newStage("redis")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, st.close()) }()
		if err := st.record(ctx, shards); err != nil {
			return err
		}
		more, c, err := st.gateLoads(ctx, strconv.Itoa(shards), strconv.Itoa(usualShards))
		if err != nil {
			return err
		}
		loads = append(loads, more...)
		if idle[shards], err = idling(ctx, append(st.storePIDs(), c.pid)); err != nil {
			return err
		}
	}
	if err := measure(ctx, neighbours(loads), b.rounds, b.round); err != nil {
		return err
	}
	for i, l := range loads {
		shards := shardCounts[i*len(shardCounts)/len(loads)]
		ratio := ""
		if len(l.against) > 0 {
			ratio = l.ratio(find(loads, l.against[0].base), rate).String()
		}
		call, _, _ := strings.Cut(l.name, ",")
		s.add(strconv.Itoa(shards), call, figure(l.of(rate)), spent(l), ratio, figure(idle[shards]))
	}
	b.print(s)
	return nil
}

// record makes a store of a number of shards, which it keeps.
func (s *stage) record(ctx context.Context, shards int) error {
	st, err := redisstore.Open(ctx, redisstore.Config{URL: s.store(), Shards: shards})
	if err != nil {
		return err
	}
	return st.Close()
}

// gateLoads returns checks, transitions and a page of runs on a server of its own, compared with
// those of the usual kind.
func (s *stage) gateLoads(ctx context.Context, kind, usual string) ([]*load, *child, error) {
	servers, err := s.serveTo(scaleCallers, roleInterlock)
	if err != nil {
		return nil, nil, err
	}
	to := servers[0]
	runs, err := to.runs(ctx, 2*scaleCallers)
	if err != nil {
		return nil, nil, err
	}
	operator, err := s.operator(to.child, "")
	if err != nil {
		return nil, nil, err
	}
	loads := []*load{
		{name: "check", open: checks(ctx, to.pool, own(runs[:scaleCallers]))},
		{name: "transition", open: transitions(ctx, to.pool, runs[scaleCallers:])},
		{name: "page of 50 runs", callers: 4, open: pages(ctx, pool{operator})},
	}
	for _, l := range loads {
		if kind != usual {
			l.against = []pair{with(l.name + ", " + usual)}
		}
		l.name += ", " + kind
		l.callers, l.calls, l.server, l.stores = cmp.Or(l.callers, scaleCallers), 1, to.pid, s.storePIDs()
	}
	return loads, to.child, nil
}

// pages returns ListRuns.
func pages(ctx context.Context, p pool) func(int) (op, error) {
	return func(caller int) (op, error) {
		client := enginev1.NewRunServiceClient(p.of(caller))
		return func() error {
			_, err := client.ListRuns(ctx, &enginev1.ListRunsRequest{PageSize: 50})
			return err
		}, nil
	}
}

// idling returns the milliseconds of processor time that processes take in a second without calls.
func idling(ctx context.Context, pids []int) (float64, error) {
	const long = 3 * time.Second
	before := processorTime(pids...)
	select {
	case <-time.After(long):
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	return float64((processorTime(pids...) - before).Milliseconds()) / long.Seconds(), nil
}

// oneTree compares a tree of sessions, which is stored in one shard, with many.
func (b *bencher) oneTree(ctx context.Context) error {
	s := &sheet{
		title:  "One tree of sessions, and many",
		notes:  "On one Redis with 64 shards. " + cpuNote,
		header: loadHeader[:len(loadHeader)-1],
	}
	err := b.onStage("redis", func(st *stage) error {
		servers, err := st.serveTo(scaleCallers, roleInterlock)
		if err != nil {
			return err
		}
		loads, err := st.treeLoads(ctx, servers[0])
		if err != nil {
			return err
		}
		for _, l := range loads {
			l.callers, l.calls, l.server, l.stores = scaleCallers, 1, servers[0].pid, st.storePIDs()
		}
		if err := measure(ctx, neighbours(loads), b.rounds, b.round); err != nil {
			return err
		}
		b.addLoads(s, loads)
		return nil
	})
	if err != nil {
		return err
	}
	b.print(s)
	return nil
}

func (s *stage) treeLoads(ctx context.Context, to connected) ([]*load, error) {
	operator, err := s.operator(to.child, "")
	if err != nil {
		return nil, err
	}
	states, err := createStates(ctx, operator, stateOf(smallDocument), scaleCallers)
	if err != nil {
		return nil, err
	}
	team, err := createStates(ctx, operator, stateOf(smallDocument), 1)
	if err != nil {
		return nil, err
	}
	children := make([]string, scaleCallers)
	for i := range children {
		created, err := statev1.NewSessionServiceClient(operator).CreateSession(ctx, &statev1.CreateSessionRequest{Parent: team[0]})
		if err != nil {
			return nil, err
		}
		children[i] = created.GetSession().GetSessionId()
	}
	const patch, many = "patch of 1 KB, 64 sessions of one tree", "patch of 1 KB, 64 trees"
	const child, apart = "new session, one tree", "new session, 64 trees"
	return []*load{
		{name: many, open: patches(ctx, to.pool, own(states))},
		{name: patch, open: patches(ctx, to.pool, own(children)), against: []pair{with(many)}},
		{name: apart, open: sessions(ctx, pool{operator}, func(caller int) string { return states[caller] })},
		{name: child, open: sessions(ctx, pool{operator}, func(int) string { return team[0] }), against: []pair{with(apart)}},
	}, nil
}

// drain is the time of a relay and NATS to carry a backlog.
type drain struct {
	nodes, replicas         int
	rate, relay, nats, disk []float64
}

// replicas compares streams of one and of three replicas.
func (b *bencher) replicas(ctx context.Context) error {
	s := &sheet{
		title: "Replicas of the stream",
		notes: "A backlog of events of checks, carried by one relay. The nodes share the machine and sync each second. CPU us " +
			"and bytes are of all nodes together, for each event.",
		header: []string{
			"nodes of NATS", "replicas", "events/s min / median / max", "CPU us, relay", "CPU us, NATS", "bytes of files",
		},
	}
	drains := []*drain{{nodes: 1, replicas: 1}, {nodes: 3, replicas: 1}, {nodes: 3, replicas: 3}}
	for range min(b.rounds, eventRounds) {
		for _, d := range drains {
			if err := b.onStage("redis", func(st *stage) error { return b.drain(ctx, st, d) }); err != nil {
				return fmt.Errorf("%d nodes, %d replicas: %w", d.nodes, d.replicas, err)
			}
		}
	}
	for _, d := range drains {
		s.add(strconv.Itoa(d.nodes), strconv.Itoa(d.replicas), spreadOf(d.rate).String(),
			figure(spreadOf(d.relay).median), figure(spreadOf(d.nats).median), figure(spreadOf(d.disk).median))
	}
	b.print(s)
	return nil
}

// drain makes a backlog, and lets a relay carry it to NATS.
func (b *bencher) drain(ctx context.Context, s *stage, d *drain) error {
	n, err := b.leaveBacklog(ctx, s)
	if err != nil {
		return err
	}
	nodes, err := s.natsNodes(d.nodes)
	if err != nil {
		return err
	}
	if err := awaitStreams(ctx, nodes[0].NATS, d.replicas); err != nil {
		return err
	}
	relay, err := s.serve(childConfig{Role: roleRelay, NATS: nodes[0].NATS, Replicas: d.replicas})
	if err != nil {
		return err
	}
	sub, err := subscribe(nodes[0].NATS)
	if err != nil {
		return err
	}
	defer sub.conn.Close()
	var pids []int
	for _, node := range nodes {
		pids = append(pids, node.pid)
	}
	before, own, begin := processorTime(pids...), processorTime(relay.pid), time.Now()
	if _, err := relay.stdin.Write([]byte("\n")); err != nil {
		return err
	}
	sub.settle(ctx, n)
	events := float64(sub.count.Load())
	if events < float64(n) {
		return fmt.Errorf("%v of %d events came", events, n)
	}
	each := func(spent time.Duration) float64 { return float64(spent.Microseconds()) / events }
	d.rate = append(d.rate, events/time.Unix(0, sub.last.Load()).Sub(begin).Seconds())
	d.nats = append(d.nats, each(processorTime(pids...)-before))
	d.relay = append(d.relay, each(processorTime(relay.pid)-own))
	size := int64(0)
	for _, node := range nodes {
		of, err := sizeOf(node.dir, "")
		if err != nil {
			return err
		}
		size += of
	}
	d.disk = append(d.disk, float64(size)/events)
	return nil
}

// leaveBacklog makes decisions without a relay, and returns how many events wait.
func (b *bencher) leaveBacklog(ctx context.Context, s *stage) (int64, error) {
	servers, err := s.serveTo(scaleCallers, roleInterlock)
	if err != nil {
		return 0, err
	}
	runs, err := servers[0].runs(ctx, scaleCallers)
	if err != nil {
		return 0, err
	}
	n, err := b.decide(ctx, servers[0].pool, runs)
	return int64(n) + scaleCallers + 1, errors.Join(err, s.hangUp()) // and the workflow and the runs
}

// natsNodes starts the nodes of a cluster of NATS.
func (s *stage) natsNodes(n int) ([]*child, error) {
	ports, err := freePorts(n)
	if err != nil {
		return nil, err
	}
	nodes := make([]*child, n)
	for i := range nodes {
		c, err := s.serve(childConfig{Role: roleNATS, Node: i, Routes: ports})
		if err != nil {
			return nil, err
		}
		nodes[i] = c
	}
	return nodes, nil
}

func freePorts(n int) (ports []int, err error) {
	for range n {
		lis, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer func() { _ = lis.Close() }() // all at the end, so that they differ
		if address, ok := lis.Addr().(*net.TCPAddr); ok {
			ports = append(ports, address.Port)
		}
	}
	return ports, nil
}

// awaitStreams waits until a cluster makes streams of a number of replicas.
func awaitStreams(ctx context.Context, url string, replicas int) error {
	conn, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer conn.Close()
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	for {
		// A cluster without a leader does not answer at all.
		attempt, cancel := context.WithTimeout(ctx, time.Second)
		_, err := js.CreateStream(attempt, jetstream.StreamConfig{Name: "probe", Subjects: []string{"probe"}, Replicas: replicas})
		cancel()
		if err == nil {
			return js.DeleteStream(ctx, "probe")
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
