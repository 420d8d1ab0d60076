package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
)

const (
	// growthCallers are busy in all curves.
	growthCallers = 64
	// fillers start the runs that are to be there.
	fillers = 256
	// favourites is how many runs are checked again and again.
	favourites = 1000
)

// growthSections are the curves: the effects of growing numbers.
func (b *bencher) growthSections() []section {
	return []section{
		{"runs-sqlite", func(ctx context.Context) error { return b.moreRuns(ctx, "sqlite", b.sizes) }},
		{"runs-redis", func(ctx context.Context) error { return b.moreRuns(ctx, "redis", b.redisSizes) }},
		{"versions", func(ctx context.Context) error {
			return b.curve(ctx, "Versions of a workflow, on SQLite",
				"Each check is of one of 1,000 runs, spread over the versions.", moreVersions)
		}},
		{"documents", func(ctx context.Context) error {
			return b.curve(ctx, "Sizes of a shared state, on SQLite",
				"A patch of one field, of eight states of each size, each by eight callers.", largerDocuments)
		}},
		{"rules", func(ctx context.Context) error {
			return b.curve(ctx, "Rules of policies, on SQLite",
				"The rule that allows is the last of its policy. A policy has at most 1,000 rules: 10,000 are those of ten.",
				moreRules)
		}},
	}
}

// moreRuns measures `interlock up` with more and more runs in its store.
func (b *bencher) moreRuns(ctx context.Context, backend string, sizes []int) error {
	s := &sheet{
		title: "Stored runs, `interlock up` on " + map[string]string{"redis": "Redis", "sqlite": "SQLite"}[backend],
		notes: "Calls a second of 64 callers and, in parentheses, their ratio to a bare server with an empty store, " +
			"min / median / max: of checks and starts to its check that logs, of transitions to its transition. " +
			"Before each row the process was stopped and started again, so a run is cold when it is checked for the first time.",
		header: []string{
			"runs", "starts/s", "checks/s of cold runs", "checks/s of the same 1,000 runs", "transitions/s",
			"memory of the process, MB", "bytes of the store per run", "start of the process, s",
		},
	}
	if len(sizes) == 0 {
		return nil
	}
	err := b.onStage(backend, func(st *stage) error {
		g := &grown{stage: st, program: b.interlock}
		for _, size := range sizes {
			row, err := g.row(ctx, size)
			if err != nil {
				return errors.Join(fmt.Errorf("%d runs: %w", size, err), g.end())
			}
			s.rows = append(s.rows, row)
			fmt.Fprintf(b.out, "%s with %s runs was measured\n", backend, row[0])
		}
		return g.end()
	})
	if err != nil {
		return err
	}
	b.print(s)
	return nil
}

// grown is a store with runs, and `interlock up` over it.
type grown struct {
	*stage
	program string
	up      *up
	mu      sync.Mutex // of ids
	ids     []string
}

// begin starts the process.
func (g *grown) begin() (err error) {
	g.up, err = g.stage.up(g.program)
	return err
}

// end stops the process, if it runs, and the connections to it.
func (g *grown) end() error {
	err := g.hangUp()
	if g.up != nil {
		err = errors.Join(err, g.up.down())
		g.up = nil
	}
	return err
}

// row grows to a number of runs and measures there.
func (g *grown) row(ctx context.Context, size int) ([]string, error) {
	perRun, err := g.grow(ctx, size)
	if err != nil {
		return nil, err
	}
	if err := g.begin(); err != nil {
		return nil, err
	}
	runs := len(g.ids)
	loads, err := g.loads(ctx)
	if err != nil {
		return nil, err
	}
	if err := measure(ctx, loads, g.b.rounds, g.b.round); err != nil {
		return nil, err
	}
	row := []string{strconv.Itoa(runs)}
	for _, l := range loads {
		if len(l.against) > 0 {
			row = append(row, fmt.Sprintf("%s (%s)", figure(l.of(rate)), l.ratio(find(loads, l.against[0].base), rate)))
		}
	}
	row = append(row, figure(resident(g.up.pid)/(1<<20)), figure(perRun), figure(g.up.took.Seconds()))
	return row, g.end()
}

// grow starts runs until there are as many, and returns the bytes that each has in the
// store, which is measured while it is idle.
func (g *grown) grow(ctx context.Context, size int) (perRun float64, err error) {
	before, err := g.weigh(ctx)
	if err != nil {
		return 0, err
	}
	if err := g.begin(); err != nil {
		return 0, err
	}
	p, err := g.dial(&g.up.child, fillers)
	if err != nil {
		return 0, err
	}
	had := len(g.ids)
	if err := g.fill(ctx, p, size-had); err != nil {
		return 0, err
	}
	if err := g.end(); err != nil {
		return 0, err
	}
	after, err := g.weigh(ctx)
	return (after - before) / float64(max(len(g.ids)-had, 1)), err
}

// weigh returns the bytes of the store: the file of SQLite, or Redis's data in memory.
func (g *grown) weigh(ctx context.Context) (size float64, err error) {
	if g.redis == nil {
		info, err := os.Stat(g.data().Database())
		if errors.Is(err, os.ErrNotExist) {
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		return float64(info.Size()), nil
	}
	client := redis.NewClient(&redis.Options{Addr: g.redis.Addr(), Protocol: 2, DisableIdentity: true})
	defer func() { err = errors.Join(err, client.Close()) }()
	size, _, err = weigh(ctx, client)
	return size, err
}

// fill starts n runs.
func (g *grown) fill(ctx context.Context, p pool, n int) error {
	if n <= 0 {
		return nil
	}
	if _, err := begin(ctx, p[0], 0); err != nil { // the workflow
		return err
	}
	open := starts(ctx, p, "bench", 0, g.add)
	errs := make([]error, fillers)
	var left atomic.Int64
	left.Store(int64(n))
	var callers sync.WaitGroup
	for i := range fillers {
		callers.Go(func() {
			start, err := open(i)
			for err == nil && left.Add(-1) >= 0 {
				err = start()
			}
			errs[i] = err
		})
	}
	callers.Wait()
	return errors.Join(errs...)
}

func (g *grown) add(run string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ids = append(g.ids, run)
}

// loads returns the measured loads of the process, and of a bare server.
func (g *grown) loads(ctx context.Context) ([]*load, error) {
	servers, err := g.serveTo(growthCallers, roleLogged)
	if err != nil {
		return nil, err
	}
	bare := servers[0]
	p, err := g.dial(&g.up.child, growthCallers)
	if err != nil {
		return nil, err
	}
	order := rand.Perm(len(g.ids))
	ids := make([]string, len(order))
	for i, at := range order {
		ids[i] = g.ids[at]
	}
	same, moved := ids[:favourites], ids[favourites:favourites+growthCallers]
	rest := ids[favourites+growthCallers:]
	var next atomic.Int64
	cold := func(int, int) string { return rest[int(next.Add(1))%len(rest)] }
	warm := func(int, int) string { return same[rand.IntN(len(same))] }
	loads := []*load{
		{name: loggedCheck, server: bare.pid, open: checks(ctx, bare.pool, own(moved))},
		{name: bareTransition, server: bare.pid, open: transitions(ctx, bare.pool, moved)},
		{name: "start", open: starts(ctx, p, "bench", 0, g.add), against: []pair{with(loggedCheck)}},
		{name: "check of cold runs", open: checks(ctx, p, cold), against: []pair{with(loggedCheck)}},
		{name: "check of the same", open: checks(ctx, p, warm), against: []pair{with(loggedCheck)}},
		{name: "transition", open: transitions(ctx, p, moved), against: []pair{with(bareTransition)}},
	}
	for _, l := range loads {
		l.callers, l.calls = growthCallers, 1
	}
	return loads, nil
}

// starts returns StartRun of a workflow's version, 0 for its newest; the started runs are kept.
func starts(ctx context.Context, p pool, workflow string, version int64, keep func(run string)) func(int) (op, error) {
	return func(caller int) (op, error) {
		client := enginev1.NewRunServiceClient(p.of(caller))
		return func() error {
			started, err := client.StartRun(ctx, &enginev1.StartRunRequest{Workflow: workflow, WorkflowVersion: version})
			if err == nil {
				keep(started.GetRun().GetRunId())
			}
			return err
		}, nil
	}
}

// loadsOf makes the loads of a curve on a server of a stage.
type loadsOf func(context.Context, *stage, connected) ([]*load, error)

// curve measures the services with more and more of something, all in alternating rounds.
func (b *bencher) curve(ctx context.Context, title, notes string, more loadsOf) error {
	s := &sheet{title: title, notes: notes + " " + cpuNote, header: loadHeader}
	err := b.onStage("sqlite", func(st *stage) error {
		servers, err := st.serveTo(growthCallers, roleInterlock)
		if err != nil {
			return err
		}
		loads, err := more(ctx, st, servers[0])
		if err != nil {
			return err
		}
		for _, l := range loads {
			l.callers, l.calls, l.server = growthCallers, 1, servers[0].pid
		}
		if err := measure(ctx, loads, b.rounds, b.round); err != nil {
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

// moreVersions returns a workflow of one version and others of more.
func moreVersions(ctx context.Context, s *stage, to connected) ([]*load, error) {
	operator, err := s.operator(to.child, "") // who may start runs of old versions
	if err != nil {
		return nil, err
	}
	var loads []*load
	for _, versions := range []int{1, 10, 100, 1000} {
		name := fmt.Sprintf("versions%d", versions)
		if err := registerVersions(ctx, to.pool[0], name, versions); err != nil {
			return nil, err
		}
		var ids []string
		keep := func(run string) { ids = append(ids, run) }
		for i := range favourites {
			start, err := starts(ctx, pool{operator}, name, int64(i%versions)+1, keep)(0)
			if err == nil {
				err = start()
			}
			if err != nil {
				return nil, err
			}
		}
		any := func(int, int) string { return ids[rand.IntN(len(ids))] }
		ignore := func(string) {}
		for _, l := range []*load{
			{name: "check", open: checks(ctx, to.pool, any)},
			{name: "start", open: starts(ctx, to.pool, name, 0, ignore)},
		} {
			if versions > 1 {
				l.against = []pair{with(l.name + ", 1 version")}
			}
			l.name += fmt.Sprintf(", %d versions", versions)
			if versions == 1 {
				l.name = strings.TrimSuffix(l.name, "s")
			}
			loads = append(loads, l)
		}
	}
	return loads, nil
}

// registerVersions registers a workflow again and again, each time with other words.
func registerVersions(ctx context.Context, conn grpc.ClientConnInterface, name string, versions int) error {
	client := enginev1.NewWorkflowServiceClient(conn)
	named := bytes.Replace(definition, []byte(`"id": "bench"`), []byte(`"id": "`+name+`"`), 1)
	for i := range versions {
		other := bytes.Replace(named, []byte("smallest fix."), []byte("smallest fix, "+strconv.Itoa(i)+"."), 1)
		if _, err := client.RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: other}); err != nil {
			return err
		}
	}
	return nil
}

// largerDocuments returns patches of states from 1 KB to almost the most that a state may have.
// They are few, so that a process keeps all of them in memory.
func largerDocuments(ctx context.Context, s *stage, to connected) ([]*load, error) {
	operator, err := s.operator(to.child, "")
	if err != nil {
		return nil, err
	}
	const states = 8 // of each size
	var loads []*load
	for _, size := range []int{1, 10, 100, 1000} {
		sessions, err := createStates(ctx, operator, stateOf(size<<10), states)
		if err != nil {
			return nil, err
		}
		session := func(caller, _ int) string { return sessions[caller%states] }
		l := &load{name: fmt.Sprintf("patch of %d KB", size), open: patches(ctx, to.pool, session)}
		if len(loads) > 0 {
			l.against = []pair{with(loads[0].name)}
		}
		loads = append(loads, l)
	}
	return loads, nil
}

// moreRules returns checks with policies, each size in a namespace of its own.
func moreRules(ctx context.Context, s *stage, to connected) ([]*load, error) {
	const most = 1000 // rules of one policy
	var loads []*load
	for _, rules := range []int{1, 10, 100, 1000, 10_000} {
		namespace := fmt.Sprintf("rules%d", rules)
		operator, err := s.operator(to.child, namespace)
		if err != nil {
			return nil, err
		}
		for i := range max(1, rules/most) {
			name := fmt.Sprintf("bench%d", i)
			if err := attach(ctx, operator, name, manyRules(name, min(rules, most))); err != nil {
				return nil, err
			}
		}
		p, err := s.dialIn(to.child, growthCallers, namespace)
		if err != nil {
			return nil, err
		}
		runs, err := p.runs(ctx, growthCallers)
		if err != nil {
			return nil, err
		}
		l := &load{name: fmt.Sprintf("check, %d rules", rules), open: checks(ctx, p, own(runs))}
		if rules == 1 {
			l.name = "check, 1 rule"
		} else {
			l.against = []pair{with("check, 1 rule")}
		}
		loads = append(loads, l)
	}
	return loads, nil
}

// manyRules returns a policy of n rules, the last of which allows the checked call.
func manyRules(name string, n int) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"role": "agent", "name": "%s", "default": "deny", "allow": [`, name)
	for i := range n - 1 {
		fmt.Fprintf(&b, `{"capability": "mcp:server_%d:tool_%d"},`, i/20, i)
	}
	b.WriteString(`{"capability": "tool:Edit"}]}`)
	return b.Bytes()
}

// attach registers a policy, and holds the agents of a namespace to it.
func attach(ctx context.Context, operator grpc.ClientConnInterface, name string, definition []byte) error {
	policies := policyv1.NewPolicyServiceClient(operator)
	if _, err := policies.RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{Definition: definition}); err != nil {
		return err
	}
	_, err := policies.AttachPolicy(ctx, &policyv1.AttachPolicyRequest{
		Name: name, To: []*policyv1.Attachment{{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_ROLE, Id: string(auth.Agent)}},
	})
	return err
}
