package outcome_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
)

// jailedRig is a run whose agent has jails of level 3.
type jailedRig struct {
	*testing.T
	*stage.Engine
	st     store.Store
	faulty *storetest.Faulty
	clock  *storetest.Clock
	app    *app.App
}

// onBothJailed runs a test on both stores.
func onBothJailed(t *testing.T, definition string, test func(r *jailedRig)) {
	t.Helper()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := stage.NewEngineOn(t, st, definition)
		r := &jailedRig{T: t, Engine: e, st: st, faulty: faulty, clock: storetest.NewClock()}
		r.app = r.with(app.Config{})
		test(r)
	})
}

// with is another process.
func (r *jailedRig) with(cfg app.Config) *app.App {
	return app.New(r.faulty, r.Engine, stage.Announcer{}, r.clock.Now, slog.New(slog.DiscardHandler), cfg)
}

// allow asks for a line in a jail, which must be allowed.
func (r *jailedRig) allow(id, line string) *check.Decision {
	r.Helper()
	d, err := r.app.Checks.Check(r.Context(), stage.Agent, check.Request{
		Target: enforcer.Target{RunID: "run_1"}, Tool: "Bash", Input: lineInput(line), CallID: id, Jail: jail.Full,
	})
	if err != nil || d.Verdict.Decision != toolcall.Allow || d.Jail == nil {
		r.Fatalf("check %s: %+v, %v", id, d, err)
	}
	return d
}

func lineInput(line string) []byte { return fmt.Appendf(nil, `{"command": %q}`, line) }

func (r *jailedRig) start(id, line string) (*outcome.StartedCommand, error) {
	return r.app.Outcomes.Start(r.Context(), stage.Witnessed, outcome.Start{Target: enforcer.Target{RunID: "run_1"}, CallID: id, Command: []byte(line), Level: jail.Full})
}

// run allows and starts a line, and returns the key of its witness.
func (r *jailedRig) run(id, line string) *outcome.StartedCommand {
	r.Helper()
	r.allow(id, line)
	started, err := r.start(id, line)
	if err != nil {
		r.Fatalf("start %s: %v", id, err)
	}
	return started
}

// finish hands in a witness, as change makes it.
func (r *jailedRig) finish(started *outcome.StartedCommand, id string, change func(*jail.Witness)) (*outcome.FinishedCommand, error) {
	w := &jail.Witness{CallID: id, Profile: started.Jail.Digest, Level: jail.Full, Started: r.clock.Now(), Ended: r.clock.Now()}
	if change != nil {
		change(w)
	}
	data, signature := w.Sign(started.Key)
	return r.app.Outcomes.Finish(r.Context(), stage.Agent, outcome.Finish{RunID: "run_1", CallID: id, Witness: data, Signature: signature})
}

func (r *jailedRig) finished(started *outcome.StartedCommand, id string, change func(*jail.Witness)) *outcome.FinishedCommand {
	r.Helper()
	finished, err := r.finish(started, id, change)
	if err != nil {
		r.Fatalf("finish %s: %v", id, err)
	}
	return finished
}

func (r *jailedRig) refuses(what string, err error, reason fault.Reason, words string) {
	r.Helper()
	if fault.ReasonOf(err) != reason || !strings.Contains(fmt.Sprint(err), words) {
		r.Errorf("%s: %v, want %s: %s", what, err, reason, words)
	}
}

// S3.10: a line is started once, byte for byte, by who observes, while its run is still at work on it.
func TestStartRefuses(t *testing.T) {
	t.Parallel()
	const line = "go test ./..."
	for what, one := range map[string]struct {
		do     func(r *jailedRig) error
		reason fault.Reason
		words  string
	}{
		"nothing was allowed": {func(r *jailedRig) error { _, err := r.start("other", line); return err }, fault.NotFound, "no call"},
		"another line":        {func(r *jailedRig) error { _, err := r.start("c", line+" "); return err }, fault.FailedPrecondition, "not the one that was judged"},
		"a longer line":       {func(r *jailedRig) error { _, err := r.start("c", line+"; rm -rf x"); return err }, fault.FailedPrecondition, "not the one"},
		"a prefix":            {func(r *jailedRig) error { _, err := r.start("c", line[:4]); return err }, fault.FailedPrecondition, "not the one"},
		"no line":             {func(r *jailedRig) error { _, err := r.start("c", ""); return err }, fault.FailedPrecondition, "not the one"},
		"twice": {func(r *jailedRig) error {
			if _, err := r.start("c", line); err != nil {
				return err
			}
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "started already"},
		"an agent": {func(r *jailedRig) error {
			_, err := r.app.Outcomes.Start(r.Context(), stage.Agent, outcome.Start{Target: enforcer.Target{RunID: "run_1"}, CallID: "c", Command: []byte(line), Level: 3})
			return err
		}, fault.PermissionDenied, "only who observes"},
		"a lesser jail": {func(r *jailedRig) error {
			_, err := r.app.Outcomes.Start(r.Context(), stage.Witnessed, outcome.Start{Target: enforcer.Target{RunID: "run_1"}, CallID: "c", Command: []byte(line), Level: 2})
			return err
		}, fault.FailedPrecondition, "level 3"},
		"too late": {func(r *jailedRig) error {
			r.clock.Advance(outcome.StartWithin + time.Second)
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "ago"},
		"after a transition": {func(r *jailedRig) error {
			r.Fire(r.T, "READY")
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "has moved"},
		"after the end": {func(r *jailedRig) error {
			r.changeRun(func(run *workflow.Run) { run.Status = workflow.Cancelled })
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "has moved"},
		"paused": {func(r *jailedRig) error {
			r.changeRun(func(run *workflow.Run) { run.Status = workflow.Paused })
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "has moved"},
		"held": {func(r *jailedRig) error {
			r.changeRun(func(run *workflow.Run) {
				run.Status, run.Holds = workflow.Paused, []workflow.Hold{{Cause: workflow.HoldOperator}}
			})
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "has moved"},
		"reported": {func(r *jailedRig) error {
			stage.ReportAs(r.T, r.app, stage.Witnessed, "c", "Bash", true)
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "reported or settled"},
		"settled": {func(r *jailedRig) error {
			r.allow("w", "make all")
			op := enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: "olga", Role: auth.Operator}, Vouched: true}
			if _, err := r.app.Outcomes.Settle(r.Context(), op, enforcer.Target{RunID: "run_1"}, "w", outcome.NotExecuted, ""); err != nil {
				return err
			}
			_, err := r.start("w", "make all")
			return err
		}, fault.FailedPrecondition, "reported or settled"},
		"not executed": {func(r *jailedRig) error {
			if _, err := r.app.Outcomes.Report(r.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "c", Tool: "Bash", NotExecuted: true}); err != nil {
				return err
			}
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "is not started"},
		"switched off since": {func(r *jailedRig) error {
			r.app = r.with(app.Config{Jails: enforcer.JailsOff})
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "switched off"},
		"in a session that has ended": {func(r *jailedRig) error {
			sessions := stage.Registry{T: r.T, Store: r.st}
			sessions.Session("s", "", "", "ENDED")
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, `session "s" has ended`},
		"no jail": {func(r *jailedRig) error {
			stage.MustCheck(r.T, r.app, "Bash", lineInput("ls"), "plain")
			_, err := r.start("plain", "ls")
			return err
		}, fault.FailedPrecondition, "not allowed as a command in a jail"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			onBothJailed(t, stage.Proven, func(r *jailedRig) {
				r.allow("c", line)
				r.refuses(what, one.do(r), one.reason, one.words)
			})
		})
	}
}

// changeRun changes the run behind the enforcer's back.
func (r *jailedRig) changeRun(change func(*workflow.Run)) {
	r.Helper()
	r.Mu.Lock()
	defer r.Mu.Unlock()
	run := r.Current
	change(&run)
	run.Version++
	_, err := r.st.Commit(r.Context(), store.Batch{Puts: []store.Put{{Key: ledger.Run("default", run.ID), Expect: store.AnyVersion, Data: []byte("{}")}}})
	if err != nil {
		r.Fatal(err)
	}
	r.Current = run
}

// S3.10: of many that start a line at once, on several replicas, one does.
func TestStartRaces(t *testing.T) {
	t.Parallel()
	onBothJailed(t, stage.Proven, func(r *jailedRig) {
		r.allow("c", "make all")
		var group sync.WaitGroup
		var won atomic.Int64
		for range 8 {
			replica := r.with(app.Config{})
			group.Go(func() {
				_, err := replica.Outcomes.Start(context.Background(), stage.Witnessed, outcome.Start{Target: enforcer.Target{RunID: "run_1"}, CallID: "c", Command: []byte("make all"), Level: 3})
				switch {
				case err == nil:
					won.Add(1)
				case fault.ReasonOf(err) != fault.FailedPrecondition && fault.ReasonOf(err) != fault.VersionConflict:
					t.Error(err)
				}
			})
		}
		group.Wait()
		if n := won.Load(); n != 1 {
			t.Errorf("%d have started it", n)
		}
	})
}

// S3.10: the answer to a start that was committed is not lost with the commit's own; another start is refused.
func TestStartSurvivesTheStore(t *testing.T) {
	t.Parallel()
	for name, injected := range map[string]storetest.Fault{"applied": storetest.FailedButApplied, "failed": storetest.Failed, "uncertain": storetest.Uncertain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothJailed(t, stage.Proven, func(r *jailedRig) {
				r.allow("c", "make all")
				once := true
				r.faulty.Decide = func(_ int, batch *store.Batch) storetest.Fault {
					if i := batch.Idempotency; once && i != nil && i.Name == ledger.StartedName("c") {
						once = false
						return injected
					}
					return storetest.Healthy
				}
				_, first := r.start("c", "make all")
				_, second := r.start("c", "make all")
				if (first == nil) == (second == nil) {
					t.Errorf("first %v, second %v: exactly one starts it", first, second)
				}
			})
		})
	}
}

// S3.10: the ID of a call covers its jail, and the log, the answer and a repeat have the jail.
func TestJailIsOfTheCall(t *testing.T) {
	t.Parallel()
	onBothJailed(t, stage.Proven, func(r *jailedRig) {
		d := r.allow("c", "make all")
		if again := r.allow("c", "make all"); string(again.Jail.Profile) != string(d.Jail.Profile) || again.Jail.Digest != d.Jail.Digest {
			t.Errorf("the same again: %+v", again.Jail)
		}
		for _, level := range []jail.Level{0, 1, 2} {
			_, err := r.app.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Bash", Input: lineInput("make all"), CallID: "c", Jail: level})
			r.refuses(fmt.Sprint("level ", level), err, fault.IdempotencyMismatch, "")
		}
		history, err := r.st.History(t.Context(), ledger.Decisions(ledger.Run("default", "run_1")), 0, 10)
		if err != nil || len(history) != 1 {
			t.Fatalf("%d decisions, %v", len(history), err)
		}
		logged, err := ledger.DecodeDecision("run_1", history[0])
		if err != nil || logged.JailLevel != jail.Full || logged.JailDigest != d.Jail.Digest || string(logged.Kept.Profile) != string(d.Jail.Profile) {
			t.Errorf("the log has %+v, %v", logged, err)
		}
	})
}

// S3.10: a deployment that demands jails denies a line without one; in a deployment without jails, no rule relies on one.
func TestJailsOfTheDeployment(t *testing.T) {
	t.Parallel()
	onBothJailed(t, stage.Proven, func(r *jailedRig) {
		ask := func(a *app.App, level jail.Level, tool string, input []byte) *check.Decision {
			t.Helper()
			d, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: tool, Input: input, Jail: level})
			if err != nil {
				t.Fatal(err)
			}
			return d
		}
		required, off := r.with(app.Config{Jails: enforcer.JailsRequired}), r.with(app.Config{Jails: enforcer.JailsOff})
		if d := ask(required, 0, "Bash", lineInput("ls")); d.Verdict.Code != toolcall.CodeJailRequired || !strings.Contains(d.Message, "interlock doctor") {
			t.Errorf("required, without: %+v", d)
		}
		if d := ask(required, 1, "Bash", lineInput("ls")); d.Verdict.Decision != toolcall.Allow || d.Jail == nil {
			t.Errorf("required, with: %+v", d)
		}
		if d := ask(required, 0, "Read", []byte(`{"file_path": "x"}`)); d.Verdict.Decision != toolcall.Allow {
			t.Errorf("required, no line: %+v", d)
		}
		if d := ask(off, 3, "Bash", lineInput("ls")); d.Verdict.Decision != toolcall.Allow || d.Jail != nil {
			t.Errorf("off: %+v", d)
		}
		if d := ask(r.app, 0, "Bash", lineInput("ls")); d.Verdict.Decision != toolcall.Allow || d.Jail != nil {
			t.Errorf("auto, without: %+v", d)
		}
	})
}

// S3.10: a change between the reads of a start and its commit is detected: the line is not started.
func TestStartIsOvertaken(t *testing.T) {
	t.Parallel()
	for what, happens := range map[string]func(r *jailedRig, other *app.App){
		"a transition": func(r *jailedRig, _ *app.App) { r.Fire(r.T, "READY") },
		"a pause":      func(r *jailedRig, _ *app.App) { r.changeRun(func(run *workflow.Run) { run.Status = workflow.Paused }) },
		"the end of its session": func(r *jailedRig, _ *app.App) {
			stage.Registry{T: r.T, Store: r.st}.Session("s", "", "", "ENDED")
		},
		"its client gives it up": func(r *jailedRig, other *app.App) {
			if _, err := other.Outcomes.Report(r.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "c", Tool: "Bash", NotExecuted: true}); err != nil {
				r.Error(err)
			}
		},
		"an operator settles it": func(r *jailedRig, other *app.App) {
			op := enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: "olga", Role: auth.Operator}, Vouched: true}
			if _, err := other.Outcomes.Settle(r.Context(), op, enforcer.Target{RunID: "run_1"}, "c", outcome.NotExecuted, ""); err != nil {
				r.Error(err)
			}
		},
		"another jail": func(r *jailedRig, other *app.App) {
			if _, err := other.Outcomes.Start(r.Context(), stage.Witnessed, outcome.Start{Target: enforcer.Target{RunID: "run_1"}, CallID: "c", Command: []byte("./change"), Level: 3}); err != nil {
				r.Error(err)
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			onBothJailed(t, stage.Proven, func(r *jailedRig) {
				stage.Registry{T: t, Store: r.st}.Session("s", "", "", "RUNNING")
				r.allow("c", "./change")
				other := app.New(r.st, r.Engine, stage.Announcer{}, r.clock.Now, slog.New(slog.DiscardHandler), app.Config{})
				once := true
				r.faulty.Decide = func(_ int, batch *store.Batch) storetest.Fault {
					if i := batch.Idempotency; once && i != nil && i.Name == ledger.StartedName("c") {
						once = false
						happens(r, other)
					}
					return storetest.Healthy
				}
				_, err := r.start("c", "./change")
				r.refuses(what, err, fault.FailedPrecondition, "is not started")
				if once {
					t.Error("nothing has happened")
				}
			})
		})
	}
}
