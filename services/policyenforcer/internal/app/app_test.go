package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/decided"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/pins"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

const sample = `{
	"id": "w", "initial": "planning",
	"states": {
		"planning": {"allowed_tools": ["Read"], "max_iterations": 10, "on": {"READY": "implementing"}},
		"implementing": {"allowed_tools": ["Edit"], "on": {"DONE": "done"}},
		"done": {"type": "final"}
	}
}`

// engine is the engine as the enforcer sees it: one run, in a store.
type engine struct {
	store   store.Store
	machine *workflow.Machine
	// before is a version of the workflow that the run has had.
	before *workflow.Machine
	// parentPolicies are named by the workflow of a run parent_N, which may have invoked the run.
	parentPolicies []string
	// incomplete: the workflow of the run is missing.
	incomplete bool
	// any session drives the run, not s alone.
	any bool
	// superseded is the run that the session drives instead.
	superseded string
	// policies that the workflow names.
	policies []string

	mu   sync.Mutex
	run  workflow.Run
	down bool
	// interrupts are the calls that asked for one.
	interrupts []string
	// fires is what it answers them.
	fires *Interrupted
}

var errDown = fault.New(fault.Unavailable, "the engine is down")

func (e *engine) Run(_ context.Context, _ string, target Target) (*workflow.View, string, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.down:
		return nil, "", errDown
	case target.RunID != e.run.ID && target.SessionID != "s" && (!e.any || target.SessionID == ""):
		return nil, "", fault.New(fault.NotFound, "no such run")
	}
	run := e.run // a snapshot: later events do not change it
	at := run.At(target.Branch)
	return &at, e.superseded, nil
}

func (e *engine) Lane(ctx context.Context, namespace, runID, branch string) (*workflow.View, error) {
	if strings.HasPrefix(runID, "parent_") {
		return new((&workflow.Run{ID: runID, Workflow: "parent", WorkflowVersion: 1}).At("")), nil
	}
	run, _, err := e.Run(ctx, namespace, Target{RunID: runID, Branch: branch})
	return run, err
}

func (e *engine) Interrupt(_ context.Context, _, callID string, _ []string) (*Interrupted, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.down {
		return nil, errDown
	}
	e.interrupts = append(e.interrupts, callID)
	return e.fires, nil
}

func (e *engine) Definition(_ context.Context, _, name string, version int64) (*Definition, error) {
	if e.incomplete {
		return nil, fault.New(fault.NotFound, "no such workflow")
	}
	if e.before != nil && version == e.before.Version() {
		return &Definition{Machine: e.before, Policies: e.policies}, nil
	}
	if name == "parent" {
		return &Definition{Machine: e.machine, Policies: e.parentPolicies}, nil
	}
	return &Definition{Machine: e.machine, Policies: e.policies}, nil
}

// fire steps the run, as the engine does.
func (e *engine) fire(t *testing.T, event string) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	out := e.machine.Step(&e.run, workflow.Fire{Event: event, Actor: "x"}, time.Now())
	if !out.Changed {
		t.Fatalf("%s: %+v", event, out.Rejection)
	}
	key := ledger.Run("default", e.run.ID)
	_, err := e.store.Commit(t.Context(), store.Batch{
		Puts: []store.Put{{Key: key, Expect: e.run.Version}}, Reset: []store.Key{ledger.Entry(key, e.run.Entry)},
	})
	if err != nil {
		t.Fatal(err)
	}
	e.run = out.Run
}

type announcer struct{}

func (announcer) Decided(ns, root string, d *ledger.Decision) (store.Event, error) {
	return decided.Head(ns, root, d)
}

func (announcer) Reported(ns, _ string, r *Reported, _ time.Time) (store.Event, error) {
	return event(ns, r.RunID, r.CallID, fmt.Sprintf("reported accounted=%t", r.Accounted)), nil
}

func (announcer) Sealed(ns string, s decisionlog.Sealed, _ time.Time) (store.Event, error) {
	return event(ns, s.Partition, "sealed", s.Head), nil
}

func (announcer) PolicyChanged(ns, _ string, c *policystore.Change, _ time.Time) (store.Event, error) {
	return event(ns, c.Name, c.Type, fmt.Sprint(c.IndexVersion)), nil
}

func (announcer) UpstreamChanged(ns, _ string, c *pins.Change, _ time.Time) (store.Event, error) {
	return event(ns, c.Server, c.Type, fmt.Sprint(c.Version)), nil
}

func (announcer) Unknown(ns string, c *evidence.Call, _ time.Time) (store.Event, error) {
	return event(ns, c.RunID, c.ID, "unknown "+c.ID), nil
}

func (announcer) Settled(ns string, s *Settled, _ time.Time) (store.Event, error) {
	return event(ns, s.RunID, s.ID, "settled "+s.ID+" "+s.Outcome), nil
}

func (announcer) LeaseEvent(ns, actor, change string, l *consent.Lease, at time.Time) (store.Event, error) {
	return protomap.LeaseEvent(ns, actor, change, l, at)
}

func event(ns, run, call, payload string) store.Event {
	return store.Event{Key: ledger.Run(ns, run), ID: run + call + payload, Subject: "interlock.x", Payload: []byte(payload)}
}

var agent = Caller{Namespace: "default", Principal: auth.Principal{Name: "amir", Role: auth.Agent}}

func newEngine(t *testing.T) (*engine, *storetest.Faulty) {
	t.Helper()
	return newEngineOf(t, sample)
}

func newEngineOf(t *testing.T, definition string) (*engine, *storetest.Faulty) {
	t.Helper()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return newEngineOn(t, st, definition)
}

// newEngineOn is newEngineOf in a store that is open.
func newEngineOn(t *testing.T, st store.Store, definition string) (*engine, *storetest.Faulty) {
	t.Helper()
	def, problems := workflow.Parse([]byte(definition))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	e := &engine{store: st, machine: workflow.Compile(def, 1)}
	out := e.machine.Start(workflow.StartParams{ID: "run_1", SessionID: "s"}, "x", time.Now())
	if out.Rejection != nil {
		t.Fatalf("start: %+v", out.Rejection)
	}
	e.run = out.Run
	if _, err := st.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: ledger.Run("default", "run_1")}}}); err != nil {
		t.Fatal(err)
	}
	return e, &storetest.Faulty{Store: st}
}

func newApp(e *engine, st store.Store) *App {
	return New(st, e, announcer{}, time.Now, slog.New(slog.DiscardHandler), Config{})
}

func check(t *testing.T, a *App, tool, call string) *Decision {
	t.Helper()
	d, err := a.Check(t.Context(), agent, Check{Target: Target{RunID: "run_1"}, Tool: tool, CallID: call})
	if err != nil {
		t.Fatalf("check %s: %v", tool, err)
	}
	return d
}

// payloads returns what the outbox holds.
func payloads(t *testing.T, st store.Store) []string {
	t.Helper()
	after := map[int]int64{}
	for i := range st.Shards() {
		after[i] = 0
	}
	entries, err := st.Tail(t.Context(), after, 1000, 0)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, string(e.Payload))
	}
	return out
}

// A decision is never made on an old state: each replica's cache goes stale with
// every transition, and the very next check is judged in the new state.
func TestNeverDecidesOnAStaleState(t *testing.T) {
	t.Parallel()
	e, st := newEngine(t)
	replicas := []*App{newApp(e, st), newApp(e, st)}
	for _, a := range replicas {
		if d := check(t, a, "Read", ""); d.Verdict.Decision != toolcall.Allow {
			t.Fatalf("Read while planning: %+v", d)
		}
	}
	e.fire(t, "READY")
	for i, a := range replicas {
		if d := check(t, a, "Read", ""); d.Verdict.Decision != toolcall.Deny || d.Run.Version != 2 {
			t.Errorf("replica %d allows Read after the transition: %+v", i, d)
		}
		if d := check(t, a, "Edit", ""); d.Verdict.Decision != toolcall.Allow {
			t.Errorf("replica %d denies Edit after the transition: %+v", i, d)
		}
	}
}

// S3.2: 100 concurrent calls with 10 left allow exactly 10.
func TestIterationsAreCountedExactly(t *testing.T) {
	t.Parallel()
	e, st := newEngine(t)
	replicas := []*App{newApp(e, st), newApp(e, st), newApp(e, st)}
	var allowed, denied atomic.Int64
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			d, err := replicas[i%3].Check(context.Background(), agent, Check{Target: Target{RunID: "run_1"}, Tool: "Read"})
			switch {
			case err != nil:
				t.Error(err)
			case d.Verdict.Decision == toolcall.Allow:
				allowed.Add(1)
			case d.Verdict.Code == toolcall.CodeMaxIterations:
				denied.Add(1)
			default:
				t.Errorf("%+v", d)
			}
		})
	}
	group.Wait()
	if allowed.Load() != 10 || denied.Load() != 90 {
		t.Fatalf("%d allowed, %d denied", allowed.Load(), denied.Load())
	}
	if n := len(payloads(t, st)); n != 100 {
		t.Errorf("%d decisions were announced", n)
	}
	// Denied calls and own tools do not count; a new entry counts anew.
	if d := check(t, replicas[0], "transition", ""); d.Verdict.Decision != toolcall.Allow {
		t.Errorf("own tool: %+v", d)
	}
}

// S7.2: what cannot be decided and recorded is denied.
func TestFailsClosed(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]storetest.Fault{
		"failed": storetest.Failed, "applied": storetest.FailedButApplied, "uncertain": storetest.Uncertain,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, st := newEngine(t)
			st.Decide = func(int, *store.Batch) storetest.Fault { return f }
			if d := check(t, newApp(e, st), "Read", ""); d.Verdict.Decision != toolcall.Deny || d.Verdict.Code != toolcall.CodePolicyUnavailable {
				t.Errorf("%+v", d)
			}
		})
	}
	t.Run("engine down", func(t *testing.T) {
		t.Parallel()
		e, st := newEngine(t)
		a := newApp(e, st)
		e.down = true
		if d := check(t, a, "Read", ""); d.Verdict.Code != toolcall.CodePolicyUnavailable {
			t.Errorf("%+v", d)
		}
	})
	t.Run("unknown run", func(t *testing.T) {
		t.Parallel()
		e, st := newEngine(t)
		_, err := newApp(e, st).Check(t.Context(), agent, Check{Target: Target{RunID: "run_2"}, Tool: "Read"})
		if fault.ReasonOf(err) != fault.NotFound {
			t.Errorf("%v", err)
		}
	})
}

// Metrics are told of each answer, and of why there is no decision; not of rehearsals, and not
// of questions that are none.
func TestAnswersAreTold(t *testing.T) {
	t.Parallel()
	e, st := newEngine(t)
	a := newApp(e, st)
	var told []string
	a.Answered = func(_ context.Context, d *Decision, took time.Duration) {
		if took <= 0 {
			t.Errorf("it took %s", took)
		}
		told = append(told, string(d.Verdict.Decision)+" "+string(d.Undecided))
	}
	for _, req := range []Check{{Tool: "Read"}, {Tool: "Bash"}, {Tool: "Read", DryRun: true}, {Tool: " Read"}} {
		req.Target = Target{RunID: "run_1"}
		_, _ = a.Check(t.Context(), agent, req)
	}
	st.Decide = func(int, *store.Batch) storetest.Fault { return storetest.Uncertain }
	check(t, a, "Read", "")
	if want := []string{"ALLOW ", "DENY ", "DENY COMMIT_UNCERTAIN"}; !slices.Equal(told, want) {
		t.Errorf("told of %q, want %q", told, want)
	}
}

// A call id is one call: a repeat answers the first decision and is not counted
// again; for anything else, or after the run has moved, it is refused.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	e, st := newEngine(t)
	a := newApp(e, st)
	for range 3 {
		if d := check(t, a, "Read", "c1"); d.Verdict.Decision != toolcall.Allow || d.Iterations != 1 {
			t.Fatalf("%+v", d)
		}
	}
	if n := len(payloads(t, st)); n != 1 {
		t.Errorf("%d events of one call", n)
	}
	ask := func(tool string) error {
		_, err := a.Check(t.Context(), agent, Check{Target: Target{RunID: "run_1"}, Tool: tool, CallID: "c1"})
		return err
	}
	if err := ask("Edit"); fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("the id for another tool: %v", err)
	}
	e.fire(t, "READY")
	if err := ask("Read"); fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("the id after a transition: %v", err)
	}
}

// A replica that has not heard of the last transition repeats what another one has
// decided since.
func TestRepeatAtAnotherReplica(t *testing.T) {
	t.Parallel()
	e, st := newEngine(t)
	first, second := newApp(e, st), newApp(e, st)
	check(t, second, "Read", "before")
	e.fire(t, "READY")
	want := check(t, first, "Edit", "c1")
	got := check(t, second, "Edit", "c1")
	if want.Verdict.Decision != toolcall.Allow || got.Verdict.Decision != toolcall.Allow || got.Run.Version != want.Run.Version ||
		got.Iterations != want.Iterations {
		t.Errorf("first %+v, repeated %+v", want, got)
	}
}

func TestSessionFollowsItsRun(t *testing.T) {
	t.Parallel()
	e, st := newEngine(t)
	a := newApp(e, st)
	d, err := a.Check(t.Context(), agent, Check{Target: Target{SessionID: "s"}, Tool: "Read"})
	if err != nil || d.Run.ID != "run_1" || d.Verdict.Decision != toolcall.Allow {
		t.Fatalf("%+v, %v", d, err)
	}
}

// S3.9
func TestReports(t *testing.T) {
	t.Parallel()
	e, st := newEngine(t)
	a := newApp(e, st)
	check(t, a, "Read", "allowed")
	check(t, a, "Edit", "denied")
	for _, c := range []struct {
		call, cost string
		accounted  bool
		reason     fault.Reason
	}{
		{"allowed", "0.02", true, ""},
		{"allowed", "0.02", true, ""},
		{"allowed", "0.03", false, fault.IdempotencyMismatch},
		{"denied", "", false, ""},
		{"never asked", "1", false, ""},
		{"x", "1e9", false, fault.InvalidRequest},
		{"x", "Unknown", false, fault.InvalidRequest},
		{"x", "-1", false, fault.InvalidRequest},
		{"x", ".5", false, fault.InvalidRequest},
	} {
		r, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: c.call, Tool: "Read", OK: true, CostUSD: c.cost})
		if fault.ReasonOf(err) != c.reason || err == nil && r.Accounted != c.accounted {
			t.Errorf("%s at %q: %+v, %v", c.call, c.cost, r, err)
		}
	}
	for bytes, reason := range map[int64]fault.Reason{
		-1: fault.InvalidRequest, 0: "", 1 << 40: "", 1<<40 + 1: fault.InvalidRequest, math.MaxInt64: fault.InvalidRequest,
	} {
		_, err := a.Report(t.Context(), agent, Report{Target: Target{RunID: "run_1"}, CallID: fmt.Sprint("bytes ", bytes), Tool: "Read", OK: true, ResultBytes: bytes})
		if fault.ReasonOf(err) != reason {
			t.Errorf("a result of %d bytes: %v", bytes, err)
		}
	}
	_, err := a.Check(t.Context(), agent, Check{Target: Target{RunID: "run_1"}, Tool: "Read", CallID: "allowed"})
	if fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("the id of a reported call admits another: %v", err)
	}
	reports := 0
	for _, p := range payloads(t, st) {
		if p == "reported accounted=true" || p == "reported accounted=false" {
			reports++
		}
	}
	if reports != 5 {
		t.Errorf("%d reports were announced, want one per call", reports)
	}
}

func TestCancelledCheckIsNoDenial(t *testing.T) {
	t.Parallel()
	e, st := newEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newApp(e, st).Check(ctx, agent, Check{Target: Target{RunID: "run_1"}, Tool: "Read"}); !errors.Is(err, fault.New(fault.Cancelled, "")) && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A name that shows as another one is no name of a tool: not even an exact rule for the
// other one would meet it, where one that begins like it does.
func TestNamesOfToolsAreAsTheyShow(t *testing.T) {
	t.Parallel()
	e, st := newEngineOf(t, `{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["mcp__fs__*"], "disallowed_tools": ["mcp__fs__secret"], "on": {"GO": "b"}}, "b": {"type": "final"}}}`)
	a := newApp(e, st)
	for _, end := range []string{"\x00", "\n", " ", "\u00a0", "\u0085", "\x7f", "\t"} {
		for _, check := range []Check{{Tool: "mcp__fs__secret" + end}, {Tool: end + "mcp__fs__secret"}, {Tool: "secret", Qualified: "mcp__fs__secret" + end}} {
			check.Target = Target{RunID: "run_1"}
			if d, err := a.Check(t.Context(), agent, check); fault.ReasonOf(err) != fault.InvalidRequest {
				t.Errorf("%q is answered %+v, %v", check.Tool, d, err)
			}
		}
	}
	if d := check(t, a, "mcp__fs__read file", ""); d.Verdict.Decision != toolcall.Allow {
		t.Errorf("a name with a blank within: %+v", d)
	}
}

// The id of a call is kept with a part of the digest of its input. Where two inputs have
// that in common, the log tells them apart.
func TestDigestsThatBeginAlike(t *testing.T) {
	t.Parallel()
	e, st := newEngine(t)
	a := newApp(e, st)
	first := check(t, a, "Read", "call_1")
	other := first.InputDigest[:shortDigest] + strings.Repeat("0", len(first.InputDigest)-shortDigest)
	root := ledger.Run("default", "run_1")
	log := ledger.Decisions(root)
	if _, err := st.Commit(t.Context(), store.Batch{
		Appends:     []store.Append{{Key: log, Entry: (&ledger.Decision{RunID: "run_1", RunVersion: 1, Decision: toolcall.Allow, InputDigest: other}).Encode()}},
		Idempotency: &store.Idempotency{Owner: root, Name: ledger.CallName("call_2"), Digest: other[:shortDigest], Entry: log, TTL: time.Hour},
	}); err != nil {
		t.Fatal(err)
	}
	if d, err := a.Check(t.Context(), agent, Check{Target: Target{RunID: "run_1"}, Tool: "Read", CallID: "call_2"}); fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("a call with another input is answered %+v, %v", d, err)
	}
	if d := check(t, a, "Read", "call_1"); d.Verdict.Decision != toolcall.Allow {
		t.Errorf("the repeat: %+v", d)
	}
}
