package outcome_test

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

const deploying = `{
	"id": "w", "initial": "work",
	"states": {"work": {"on": {"DONE": "after"}}, "after": {"no_unknown_effects": true, "on": {"END": "done"}}, "done": {"type": "final"}},
	"meta": {"effect_deadline": "10m", "reconcile": [{
		"tool": "mcp__ci__status", "of": "mcp__ci__deploy",
		"ok": {"pointer": "/state", "op": "eq", "value": "live"}, "failed": {"pointer": "/state", "op": "eq", "value": "broken"}
	}]}
}`

// later is a clock that a test moves.
type later struct{ by atomic.Int64 }

func (l *later) now() time.Time          { return time.Now().Add(time.Duration(l.by.Load())) }
func (l *later) advance(d time.Duration) { l.by.Add(int64(d)) }

// effects is a run whose workflow keeps account of effects.
type effects struct {
	*testing.T
	engine *stage.Engine
	store  store.Store
	clock  *later
	app    *app.App
}

func newEffects(t *testing.T, st store.Store) *effects {
	t.Helper()
	e, faulty := stage.NewEngineOn(t, st, deploying)
	f := &effects{T: t, engine: e, store: faulty, clock: &later{}}
	f.restart()
	return f
}

// restart begins a new process, with empty caches.
func (f *effects) restart() {
	f.app = app.New(f.store, f.engine, stage.Announcer{}, f.clock.now, slog.New(slog.DiscardHandler), app.Config{})
}

func (f *effects) calls() []evidence.OpenCall {
	f.Helper()
	calls, err := f.app.Outcomes.Calls(f.Context(), stage.Agent, enforcer.Target{RunID: "run_1"})
	if err != nil {
		f.Fatal(err)
	}
	return calls
}

// want compares the calls that wait: their ids, with a ? behind those that are unknown.
func (f *effects) want(what string, ids ...string) {
	f.Helper()
	var got []string
	for _, c := range f.calls() {
		if c.Unknown {
			c.ID += "?"
		}
		got = append(got, c.ID)
	}
	if !slices.Equal(got, ids) {
		f.Errorf("%s: %v wait, not %v", what, got, ids)
	}
}

func (f *effects) deploy(id string) *check.Decision {
	f.Helper()
	return stage.MustCheck(f.T, f.app, "mcp__ci__deploy", []byte(`{"to": "`+id+`"}`), id)
}

func (f *effects) report(caller enforcer.Caller, id, tool, output string) {
	f.Helper()
	_, err := f.app.Outcomes.Report(f.Context(), caller, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: id, Tool: tool, OK: true, Output: []byte(output)})
	if err != nil {
		f.Fatal(err)
	}
}

var person = enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: "olga", Role: auth.Operator}}

func (f *effects) settle(id, outcome string) error {
	_, err := f.app.Outcomes.Settle(f.Context(), person, enforcer.Target{RunID: "run_1"}, id, outcome, "looked")
	return err
}

// S16.1, S16.2, S16.4: a call waits from its decision on, in all processes, is unknown after
// its deadline, once, and then only a witness or a person says how it ended.
func TestUnreportedCallsAreUnknown(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		f := newEffects(t, st)
		stage.MustCheck(t, f.app, "Read", []byte(`{"file_path": "a"}`), "r")
		stage.MustCheck(t, f.app, "Bash", []byte(`{"command": "git status && ls"}`), "l")
		f.want("what only looks")
		f.deploy("d1")
		stage.MustCheck(t, f.app, "Bash", []byte(`{"command": "git push"}`), "p")
		f.want("two with effects", "d1", "p")
		f.report(stage.Agent, "p", "Bash", "")
		f.want("one was reported", "d1")
		f.clock.advance(9 * time.Minute)
		f.deploy("d2")
		f.restart() // it was killed: d1 and d2 are not reported
		f.app.SweepOnce(t.Context())
		f.want("before the deadline", "d1", "d2")
		f.clock.advance(time.Minute + time.Second)
		other := app.New(f.store, f.engine, stage.Announcer{}, f.clock.now, slog.New(slog.DiscardHandler), app.Config{})
		var sweeps sync.WaitGroup
		for _, a := range []*app.App{f.app, other} {
			sweeps.Go(func() { a.SweepOnce(t.Context()) })
		}
		sweeps.Wait()
		f.app.SweepOnce(t.Context())
		f.want("after its deadline", "d1?", "d2")
		if n := count(stage.Payloads(t, st), "unknown d1"); n != 1 {
			t.Errorf("it was announced %d times", n)
		}
		f.report(stage.Agent, "d1", "mcp__ci__deploy", "{}")
		f.want("the agent's own late word", "d1?", "d2")
		f.report(stage.Witnessed, "d1", "mcp__ci__deploy", "{}")
		f.want("what a witness reports late", "d2")
		f.report(stage.Witnessed, "d2", "mcp__ci__deploy", "{}")
		f.want("in time")
	})
}

func count(all []string, one string) (n int) {
	for _, s := range all {
		if s == one {
			n++
		}
	}
	return n
}

// S16.4: a person settles a call once; the first outcome counts.
func TestSettle(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		f := newEffects(t, st)
		f.deploy("d")
		if err := f.settle("x", outcome.OK); fault.ReasonOf(err) != fault.NotFound {
			t.Errorf("settling what does not wait: %v", err)
		}
		if err := f.settle("d", "fine"); fault.ReasonOf(err) != fault.InvalidRequest {
			t.Errorf("an outcome that there is not: %v", err)
		}
		for range 2 {
			if err := f.settle("d", outcome.Failed); err != nil {
				t.Errorf("settling, or repeating it: %v", err)
			}
		}
		if err := f.settle("d", outcome.OK); fault.ReasonOf(err) != fault.IdempotencyMismatch {
			t.Errorf("another word on it: %v", err)
		}
		f.want("settled")
		if n := count(stage.Payloads(t, st), "settled d failed"); n != 1 {
			t.Errorf("it was announced %d times", n)
		}
	})
}

// S16.5: the observed result of the tool that the author names settles the only call that is
// unknown, and none where it is in doubt.
func TestReconcile(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		f := newEffects(t, st)
		status := func(id string, caller enforcer.Caller, output string) {
			t.Helper()
			stage.MustCheck(t, f.app, "mcp__ci__status", []byte(`{}`), id)
			f.report(caller, id, "mcp__ci__status", output)
		}
		f.deploy("d1")
		status("s0", stage.Witnessed, `{"state": "live"}`)
		f.want("it may still be at work", "d1")
		f.clock.advance(11 * time.Minute)
		f.app.SweepOnce(t.Context())
		status("s1", stage.Agent, `{"state": "live"}`)
		f.want("the agent's word", "d1?")
		status("s2", stage.Witnessed, `{"state": "starting"}`)
		f.want("a result that does not tell", "d1?")
		f.deploy("d2")
		status("s3", stage.Witnessed, `{"state": "broken"}`)
		f.want("of which of two?", "d1?", "d2")
		f.report(stage.Witnessed, "d2", "mcp__ci__deploy", "{}")
		status("s4", stage.Witnessed, `{"state": "broken"}`)
		f.want("reconciled")
		if n := count(stage.Payloads(t, st), "settled d1 failed"); n != 1 {
			t.Errorf("it was announced %d times", n)
		}
	})
}

// S16.2, S16.4: reports and deadlines race, and each call ends in one way.
func TestReportsRaceDeadlines(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		f := newEffects(t, st)
		const calls = 8
		for i := range calls {
			f.deploy(fmt.Sprint("d", i))
		}
		f.clock.advance(10*time.Minute + time.Second)
		var all sync.WaitGroup
		for i := range calls {
			all.Go(func() { f.report(stage.Witnessed, fmt.Sprint("d", i), "mcp__ci__deploy", "{}") })
		}
		all.Go(func() { f.app.SweepOnce(t.Context()) })
		all.Wait()
		f.app.SweepOnce(t.Context())
		f.want("all were reported")
	})
}

// S16.1: no further call with an effect is allowed while too many wait.
func TestTooManyWait(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		f := newEffects(t, st)
		for i := range evidence.MostCalls {
			if d := f.deploy(fmt.Sprint("d", i)); d.Verdict.Decision != toolcall.Allow {
				t.Fatalf("call %d: %s", i, d.Message)
			}
		}
		if d := f.deploy("more"); d.Verdict.Decision != toolcall.Deny || d.Verdict.Code != toolcall.CodeEffectsUnknown {
			t.Errorf("one too many: %+v", d.Verdict)
		}
		if err := f.settle("d7", outcome.NotExecuted); err != nil {
			t.Fatal(err)
		}
		if d := f.deploy("again"); d.Verdict.Decision != toolcall.Allow {
			t.Errorf("one was settled: %s", d.Message)
		}
	})
}

// S16.6: a policy refuses repeats of an unknown call or asks about them, and no other calls.
func TestRepeatsOfUnknownCalls(t *testing.T) {
	t.Parallel()
	for mode, want := range map[string]toolcall.Decision{"allow": toolcall.Allow, "ask": toolcall.Ask, "deny": toolcall.Deny} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			stage.OnBoth(t, func(t *testing.T, st store.Store) {
				f := newEffects(t, st)
				if _, _, _, err := f.app.Policies.Put(t.Context(), person, policystore.Put{Name: "p", Definition: []byte(`{"role": "agent", "repeat_unknown": "` + mode + `"}`)}); err != nil {
					t.Fatal(err)
				}
				if _, err := f.app.Policies.Attach(t.Context(), person, "p", policystore.Attachment{Kind: policystore.AttachedToWorkflow, ID: "w"}); err != nil {
					t.Fatal(err)
				}
				repeat := func(id, to string) *check.Decision {
					return stage.MustCheck(t, f.app, "mcp__ci__deploy", []byte(`{"to": "`+to+`"}`), id)
				}
				repeat("d", "prod")
				if d := repeat("same", "prod"); d.Verdict.Decision != toolcall.Allow {
					t.Errorf("the first may still be reported: %s", d.Message)
				}
				f.clock.advance(11 * time.Minute)
				f.app.SweepOnce(t.Context())
				d := repeat("again", "prod")
				if d.Verdict.Decision != want && (want != toolcall.Ask || d.Verdict.Decision != toolcall.Deny) { // there is no approval service here
					t.Errorf("%s: %+v, %s", mode, d.Verdict, d.Message)
				}
				if want == toolcall.Deny && d.Verdict.Code != toolcall.CodeEffectsUnknown {
					t.Errorf("the code is %s", d.Verdict.Code)
				}
				for i, spelled := range []string{`{ "to" : "prod" }`, `{"to":"pr\u006fd"}`} {
					if d := stage.MustCheck(t, f.app, "mcp__ci__deploy", []byte(spelled), fmt.Sprint("spelled-", i)); want == toolcall.Deny && d.Verdict.Code != toolcall.CodeEffectsUnknown {
						t.Errorf("%s is the same call: %+v", spelled, d.Verdict)
					}
				}
				if d := repeat("other", "staging"); d.Verdict.Decision != toolcall.Allow {
					t.Errorf("another call: %s", d.Message)
				}
			})
		})
	}
}

// A workflow without effect_deadline has no additional reads and writes (S16.1).
func TestWithoutDeadlineNothingWaits(t *testing.T) {
	t.Parallel()
	e, faulty := stage.NewEngineOf(t, stage.Sample)
	a := stage.NewApp(e, faulty)
	stage.MustCheck(t, a, "Bash", []byte(`{"command": "git push"}`), "p")
	if _, err := faulty.Get(t.Context(), ledger.EvidenceOf(ledger.Run("default", "run_1"))); err == nil {
		t.Error("there is a record of what waits")
	}
}
