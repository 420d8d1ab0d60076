package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// The environment of `make fault`: how many faults each topology gets. Package randtest says
// which.
const (
	faultsVariable = "INTERLOCK_FAULTS"
	fewFaults      = 6
)

// TestFaultCampaign: random faults, from a seed, meet a system under load, one after the
// other. What was acknowledged is there once, no limit is exceeded, nothing that the workflow
// forbids is allowed, and the system works on after each fault.
func TestFaultCampaign(t *testing.T) {
	t.Parallel()
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		addresses := freeAddresses(t, 3)
		u := startUp(t, "--http", addresses[0], "--grpc", addresses[1], "--nats", addresses[2])
		c := newCampaign(t, &u.shape, "embedded")
		c.run(map[string]func(){
			"kill":    func() { u.process.kill(); u.restart(t) },
			"restart": func() { u.process.drain(t); u.restart(t) },
			"pause":   func() { c.pause(u.process) },
		})
		u.process.kill() // the last word is that of the disk
		u.restart(t)
		c.verify()
		verify := exec.CommandContext(within(t), binary(t, "interlock"), "audit", "verify", "--data-dir", string(u.data), "--namespace", "embedded")
		verify.Env = u.operatorEnv()
		if out, err := verify.CombinedOutput(); err != nil {
			t.Errorf("audit verify: %v: %s", err, out)
		}
	})
	t.Run("replicated", func(t *testing.T) {
		t.Parallel()
		var between *link
		s := startSeparateOn(t, func(redis *redistest.Server) string {
			between = newLink(t, redis.Addr())
			return "redis://" + between.address() + "/0"
		})
		c := newCampaign(t, &s.shape, "replicated")
		redis := func(do func() error) {
			if err := do(); err != nil {
				t.Fatal(err)
			}
		}
		c.run(map[string]func(){
			"kill a replica":    func() { s.again(t, c.any(4), c.any(replicaCount), (*process).kill) },
			"restart a replica": func() { s.again(t, c.any(4), c.any(replicaCount), func(p *process) { p.drain(t) }) },
			"pause a replica":   func() { c.pause(s.replicas(c.any(4))[c.any(replicaCount)]) },
			"kill Redis":        func() { s.redis.Kill(); redis(s.redis.Restart) },
			"pause Redis":       func() { redis(s.redis.Pause); c.wait(); redis(s.redis.Resume) },
			"cut the links":     func() { between.cut() },
			"silent links":      func() { between.hold(true); c.wait(); between.cut(); between.hold(false) },
			"stop NATS":         func() { s.natsServer.Stop(); c.wait(); s.natsServer.Start() },
		})
		c.verify()
	})
}

// campaign is a system under load, and what was seen of its faults.
type campaign struct {
	*testing.T
	world  *world
	caller *caller
	faults int
	random *rand.Rand

	moves   *ledger
	spends  *spender
	appends *appender
	// recovered is how long the system took to work on after each fault, by its kind.
	recovered map[string][]time.Duration
}

func newCampaign(t *testing.T, s *shape, name string) *campaign {
	t.Helper()
	faults := number(t, faultsVariable, fewFaults)
	c := &campaign{
		T: t, world: &world{shape: s, namespace: name}, faults: faults, random: randtest.New(t, 0),
		recovered: map[string][]time.Duration{},
	}
	c.caller = c.world.replicas(t, auth.Agent)
	c.moves = newLedger(t, c.caller, 4)
	c.moves.retry = true
	c.spends = newSpender(t, c.world, c.caller, 40*int64(faults))
	c.appends = newAppender(t, c.world, 4)
	return c
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

// wait lets a fault last: up to a second, for that is part of it.
func (c *campaign) wait() { time.Sleep(time.Duration(200+c.any(800)) * time.Millisecond) }

// pause stops a process for a while.
func (c *campaign) pause(p *process) {
	p.signal(c, syscall.SIGSTOP)
	c.wait()
	p.signal(c, syscall.SIGCONT)
}

// run strikes with one fault after the other, each kind at least once if there are enough, and
// demands each time that the system works on.
func (c *campaign) run(kinds map[string]func()) {
	c.Helper()
	ctx, cancel := context.WithCancel(c.Context())
	end := c.moves.load(ctx, c.caller)
	var others sync.WaitGroup
	c.spends.load(ctx, &others)
	c.appends.load(ctx, &others)
	c.works("the beginning")
	names := slices.Sorted(maps.Keys(kinds))
	c.random.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for i := range c.faults {
		name := names[c.any(len(names))]
		if i < len(names) {
			name = names[i]
		}
		kinds[name]()
		began := time.Now()
		c.works(name)
		c.recovered[name] = append(c.recovered[name], time.Since(began))
	}
	end()
	cancel()
	others.Wait()
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

// verify compares what was acknowledged with what there is, and prints the table.
func (c *campaign) verify() {
	c.Helper()
	c.moves.resume(c, c.caller)
	c.moves.verify(c, c.world, c.caller)
	c.spends.verify(c.T)
	c.appends.verify(c.T)
	for _, name := range slices.Sorted(maps.Keys(c.recovered)) {
		took := c.recovered[name]
		slices.Sort(took)
		c.Logf("%-18s %4d times, works again after p50 %6s, at most %6s", name, len(took),
			took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	}
	c.Logf("%d transitions and checks, %d limited checks (%d of %d allowed), %d patches: 0 lost, 0 doubled, 0 over-admitted, 0 fail-open",
		c.moves.count.Load(), c.spends.answered.Load(), c.spends.allowed, c.spends.limit, c.appends.count.Load())
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

// spender asks for calls that a policy limits, by an id of its own each, until it is told.
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
		Name: "spends", To: &policyv1.Attachment{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_WORKFLOW, Id: "spending"},
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

// pace keeps the load below what the verifiers can read again.
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

// appender appends to the list of a shared state, each element by a request of its own.
type appender struct {
	states  statev1.StateServiceClient
	id      string
	workers int
	count   atomic.Int64
	mu      sync.Mutex
	told    map[string]int64 // the version of each acknowledged element
}

func newAppender(t testing.TB, w *world, workers int) *appender {
	t.Helper()
	conn := w.dial(t, strings.Join(w.states, ","), w.tokens[auth.Operator])
	a := &appender{states: statev1.NewStateServiceClient(conn), workers: workers, told: map[string]int64{}}
	must[*statev1.RegisterSchemaResponse](t)(statev1.NewSchemaServiceClient(conn).RegisterSchema(within(t), &statev1.RegisterSchemaRequest{
		Name: "list", JsonSchema: []byte(`{"type":"object","properties":{"list":{"type":"array","items":{"type":"string"}}}}`),
	}))
	a.id = must[*statev1.CreateStateResponse](t)(a.states.CreateState(within(t), &statev1.CreateStateRequest{
		SchemaName: "list", Data: []byte(`{"list":[]}`), Session: "appender",
	})).GetState().GetStateId()
	return a
}

func (a *appender) load(ctx context.Context, group *sync.WaitGroup) {
	for worker := range a.workers {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				a.append(ctx, fmt.Sprintf("%d.%d", worker, n))
				pace(ctx)
			}
		})
	}
}

func (a *appender) append(ctx context.Context, element string) {
	for ctx.Err() == nil {
		resp, err := a.states.UpdateState(ctx, &statev1.UpdateStateRequest{
			StateId: a.id, IdempotencyKey: element,
			Change: &statev1.UpdateStateRequest_Patch{Patch: fmt.Appendf(nil, `[{"op":"add","path":"/list/-","value":%q}]`, element)},
		})
		if err != nil {
			pace(ctx)
			continue
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.told[element] = resp.GetState().GetVersion()
		a.count.Add(1)
		return
	}
}

// verify demands that every element that was acknowledged is there once, that none is there
// twice, and that those of one worker are in order.
func (a *appender) verify(t *testing.T) {
	t.Helper()
	st := must[*statev1.GetStateResponse](t)(a.states.GetState(within(t), &statev1.GetStateRequest{StateId: a.id})).GetState()
	var doc struct{ List []string }
	if err := json.Unmarshal(st.GetData(), &doc); err != nil {
		t.Fatal(err)
	}
	seen, last := map[string]bool{}, map[string]int{}
	for _, element := range doc.List {
		worker, text, _ := strings.Cut(element, ".")
		n, err := strconv.Atoi(text)
		if err != nil || seen[element] || n < last[worker] {
			t.Fatalf("element %q is twice in the list, or out of order", element)
		}
		seen[element], last[worker] = true, n
	}
	for element, version := range a.told {
		if !seen[element] {
			t.Errorf("element %q was acknowledged at version %d and is not there", element, version)
		}
	}
	if len(a.told) == 0 {
		t.Error("no patch was acknowledged: this test tests nothing")
	}
}
