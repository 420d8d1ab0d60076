package check_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/calls"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
)

// A decision is never made on an old state: each replica's cache goes stale with
// every transition, and the very next check is judged in the new state.
func TestNeverDecidesOnAStaleState(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngine(t)
	replicas := []*app.App{stage.NewApp(e, st), stage.NewApp(e, st)}
	for _, a := range replicas {
		if d := stage.Check(t, a, "Read", ""); d.Verdict.Decision != toolcall.Allow {
			t.Fatalf("Read while planning: %+v", d)
		}
	}
	e.Fire(t, "READY")
	for i, a := range replicas {
		if d := stage.Check(t, a, "Read", ""); d.Verdict.Decision != toolcall.Deny || d.Run.Version != 2 {
			t.Errorf("replica %d allows Read after the transition: %+v", i, d)
		}
		if d := stage.Check(t, a, "Edit", ""); d.Verdict.Decision != toolcall.Allow {
			t.Errorf("replica %d denies Edit after the transition: %+v", i, d)
		}
	}
}

// S3.2: 100 concurrent calls with 10 left allow exactly 10.
func TestIterationsAreCountedExactly(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngine(t)
	replicas := []*app.App{stage.NewApp(e, st), stage.NewApp(e, st), stage.NewApp(e, st)}
	var allowed, denied atomic.Int64
	var group sync.WaitGroup
	for i := range 100 {
		group.Go(func() {
			d, err := replicas[i%3].Checks.Check(context.Background(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Read"})
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
	if n := len(stage.Payloads(t, st)); n != 100 {
		t.Errorf("%d decisions were announced", n)
	}
	// Denied calls and own tools do not count; a new entry counts anew.
	if d := stage.Check(t, replicas[0], "transition", ""); d.Verdict.Decision != toolcall.Allow {
		t.Errorf("own tool: %+v", d)
	}
}

// S7.2: a call is denied if its decision cannot be recorded.
func TestFailsClosed(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]storetest.Fault{
		"failed": storetest.Failed, "applied": storetest.FailedButApplied, "uncertain": storetest.Uncertain,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, st := stage.NewEngine(t)
			st.Decide = func(int, *store.Batch) storetest.Fault { return f }
			if d := stage.Check(t, stage.NewApp(e, st), "Read", ""); d.Verdict.Decision != toolcall.Deny || d.Verdict.Code != toolcall.CodePolicyUnavailable {
				t.Errorf("%+v", d)
			}
		})
	}
	t.Run("engine down", func(t *testing.T) {
		t.Parallel()
		e, st := stage.NewEngine(t)
		a := stage.NewApp(e, st)
		e.Down = true
		if d := stage.Check(t, a, "Read", ""); d.Verdict.Code != toolcall.CodePolicyUnavailable {
			t.Errorf("%+v", d)
		}
	})
	t.Run("unknown run", func(t *testing.T) {
		t.Parallel()
		e, st := stage.NewEngine(t)
		_, err := stage.NewApp(e, st).Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_2"}, Tool: "Read"})
		if fault.ReasonOf(err) != fault.NotFound {
			t.Errorf("%v", err)
		}
	})
}

// Metrics get each answer, and the reason of a missing decision. They do not get dry runs and invalid requests.
func TestAnswersAreReported(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngine(t)
	a := stage.NewApp(e, st)
	var got []string
	a.Checks.TimeAnswer = func(_ context.Context, d *check.Decision, took time.Duration) {
		if took <= 0 {
			t.Errorf("it took %s", took)
		}
		got = append(got, string(d.Verdict.Decision)+" "+string(d.Undecided))
	}
	for _, req := range []check.Request{{Tool: "Read"}, {Tool: "Bash"}, {Tool: "Read", DryRun: true}, {Tool: " Read"}} {
		req.Target = enforcer.Target{RunID: "run_1"}
		_, _ = a.Checks.Check(t.Context(), stage.Agent, req)
	}
	st.Decide = func(int, *store.Batch) storetest.Fault { return storetest.Uncertain }
	stage.Check(t, a, "Read", "")
	if want := []string{"ALLOW ", "DENY ", "DENY COMMIT_UNCERTAIN"}; !slices.Equal(got, want) {
		t.Errorf("metrics got %q, want %q", got, want)
	}
}

// A call id is one call: a repeat answers the first decision and is not counted
// again; for anything else, or after the run has moved, it is refused.
func TestCallIDs(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngine(t)
	a := stage.NewApp(e, st)
	for range 3 {
		if d := stage.Check(t, a, "Read", "c1"); d.Verdict.Decision != toolcall.Allow || d.Iterations != 1 {
			t.Fatalf("%+v", d)
		}
	}
	if n := len(stage.Payloads(t, st)); n != 1 {
		t.Errorf("%d events of one call", n)
	}
	ask := func(tool string) error {
		_, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: tool, CallID: "c1"})
		return err
	}
	if err := ask("Edit"); fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("the id for another tool: %v", err)
	}
	e.Fire(t, "READY")
	if err := ask("Read"); fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("the id after a transition: %v", err)
	}
}

// A replica with an old run repeats the decision of another replica on the present run.
func TestRepeatAtAnotherReplica(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngine(t)
	first, second := stage.NewApp(e, st), stage.NewApp(e, st)
	stage.Check(t, second, "Read", "before")
	e.Fire(t, "READY")
	want := stage.Check(t, first, "Edit", "c1")
	got := stage.Check(t, second, "Edit", "c1")
	if want.Verdict.Decision != toolcall.Allow || got.Verdict.Decision != toolcall.Allow || got.Run.Version != want.Run.Version ||
		got.Iterations != want.Iterations {
		t.Errorf("first %+v, repeated %+v", want, got)
	}
}

func TestSessionFollowsItsRun(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngine(t)
	a := stage.NewApp(e, st)
	d, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{SessionID: "s"}, Tool: "Read"})
	if err != nil || d.Run.ID != "run_1" || d.Verdict.Decision != toolcall.Allow {
		t.Fatalf("%+v, %v", d, err)
	}
}

// S3.9
func TestReports(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngine(t)
	a := stage.NewApp(e, st)
	stage.Check(t, a, "Read", "allowed")
	stage.Check(t, a, "Edit", "denied")
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
		r, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: c.call, Tool: "Read", OK: true, CostUSD: c.cost})
		if fault.ReasonOf(err) != c.reason || err == nil && r.Accounted != c.accounted {
			t.Errorf("%s at %q: %+v, %v", c.call, c.cost, r, err)
		}
	}
	for bytes, reason := range map[int64]fault.Reason{
		-1: fault.InvalidRequest, 0: "", 1 << 40: "", 1<<40 + 1: fault.InvalidRequest, math.MaxInt64: fault.InvalidRequest,
	} {
		_, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: fmt.Sprint("bytes ", bytes), Tool: "Read", OK: true, ResultBytes: bytes})
		if fault.ReasonOf(err) != reason {
			t.Errorf("a result of %d bytes: %v", bytes, err)
		}
	}
	_, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Read", CallID: "allowed"})
	if fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("the id of a reported call admits another: %v", err)
	}
	reports := 0
	for _, p := range stage.Payloads(t, st) {
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
	e, st := stage.NewEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := stage.NewApp(e, st).Checks.Check(ctx, stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Read"}); !errors.Is(err, fault.New(fault.Cancelled, "")) && !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// A name that shows as another one is no name of a tool: not even an exact rule for the
// other one would meet it, where one that begins like it does.
func TestNamesOfToolsAreAsTheyShow(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, `{"id": "w", "initial": "a", "states": {"a": {"allowed_tools": ["mcp__fs__*"], "disallowed_tools": ["mcp__fs__secret"], "on": {"GO": "b"}}, "b": {"type": "final"}}}`)
	a := stage.NewApp(e, st)
	for _, end := range []string{"\x00", "\n", " ", "\u00a0", "\u0085", "\x7f", "\t"} {
		for _, check := range []check.Request{{Tool: "mcp__fs__secret" + end}, {Tool: end + "mcp__fs__secret"}, {Tool: "secret", Qualified: "mcp__fs__secret" + end}} {
			check.Target = enforcer.Target{RunID: "run_1"}
			if d, err := a.Checks.Check(t.Context(), stage.Agent, check); fault.ReasonOf(err) != fault.InvalidRequest {
				t.Errorf("%q is answered %+v, %v", check.Tool, d, err)
			}
		}
	}
	if d := stage.Check(t, a, "mcp__fs__read file", ""); d.Verdict.Decision != toolcall.Allow {
		t.Errorf("a name with a blank within: %+v", d)
	}
}

// The store has a part of the digest with the ID of a call. If two inputs have that part in common, the log
// distinguishes them.
func TestDigestsThatBeginAlike(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngine(t)
	a := stage.NewApp(e, st)
	first := stage.Check(t, a, "Read", "call_1")
	other := first.InputDigest[:calls.ShortDigest] + strings.Repeat("0", len(first.InputDigest)-calls.ShortDigest)
	root := ledger.Run("default", "run_1")
	log := ledger.Decisions(root)
	if _, err := st.Commit(t.Context(), store.Batch{
		Appends:     []store.Append{{Key: log, Entry: (&ledger.Decision{RunID: "run_1", RunVersion: 1, Decision: toolcall.Allow, InputDigest: other}).Encode()}},
		Idempotency: &store.Idempotency{Owner: root, Name: ledger.CallName("call_2"), Digest: other[:calls.ShortDigest], Entry: log, TTL: time.Hour},
	}); err != nil {
		t.Fatal(err)
	}
	if d, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Read", CallID: "call_2"}); fault.ReasonOf(err) != fault.IdempotencyMismatch {
		t.Errorf("a call with another input is answered %+v, %v", d, err)
	}
	if d := stage.Check(t, a, "Read", "call_1"); d.Verdict.Decision != toolcall.Allow {
		t.Errorf("the repeat: %+v", d)
	}
}
