package outcome_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
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

// run allows and starts a line, and returns what signs its witness.
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
			r.stands(func(run *workflow.Run) { run.Status = workflow.Cancelled })
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "has moved"},
		"paused": {func(r *jailedRig) error {
			r.stands(func(run *workflow.Run) { run.Status = workflow.Paused })
			_, err := r.start("c", line)
			return err
		}, fault.FailedPrecondition, "has moved"},
		"held": {func(r *jailedRig) error {
			r.stands(func(run *workflow.Run) {
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
			op := enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: "olga", Role: auth.Operator}, Observes: true}
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
			sessions := stage.Registry{r.T, r.st}
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

// stands changes the run behind the enforcer's back.
func (r *jailedRig) stands(change func(*workflow.Run)) {
	r.Helper()
	r.Mu.Lock()
	defer r.Mu.Unlock()
	run := r.Engine.Current
	change(&run)
	run.Version++
	_, err := r.st.Commit(r.Context(), store.Batch{Puts: []store.Put{{Key: ledger.Run("default", run.ID), Expect: store.AnyVersion, Data: []byte("{}")}}})
	if err != nil {
		r.Fatal(err)
	}
	r.Engine.Current = run
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

// S3.10: a call stands for its jail, too, and the log, the answer and a repeat tell of it.
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

// S3.10: where the deployment demands jails, a line without one is denied; where it has none, nothing relies on one.
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

// S3.10: a witness counts that is signed with the key of its line, and of the jail that was asked for; the first stands.
func TestFinishRefuses(t *testing.T) {
	t.Parallel()
	onBothJailed(t, stage.Proven, func(r *jailedRig) {
		started, other := r.run("c", "go test ./..."), r.run("o", "go test ./...")
		forged := *started
		forged.Key = other.Key
		_, err := r.finish(&forged, "c", nil)
		r.refuses("another key", err, fault.PermissionDenied, "not signed")
		forged.Key = nil
		_, err = r.finish(&forged, "c", nil)
		r.refuses("no key", err, fault.PermissionDenied, "not signed")
		_, err = r.finish(started, "c", func(w *jail.Witness) { w.CallID = "o" })
		r.refuses("another call", err, fault.FailedPrecondition, "another call")
		_, err = r.finish(started, "c", func(w *jail.Witness) { w.Level = jail.Scoped })
		r.refuses("a lesser jail", err, fault.FailedPrecondition, "did not run in the jail")
		_, err = r.finish(started, "c", func(w *jail.Witness) { w.Profile = "sha256:00" })
		r.refuses("another profile", err, fault.FailedPrecondition, "did not run in the jail")
		_, err = r.finish(started, "c", func(w *jail.Witness) { w.Written = slices.Repeat([]string{"x"}, jail.MostWritten+1) })
		r.refuses("too many files", err, fault.FailedPrecondition, "more than is allowed")
		_, err = r.finish(started, "none", nil)
		r.refuses("no such call", err, fault.FailedPrecondition, "no such call")
		r.allow("unstarted", "go test ./...")
		_, err = r.finish(started, "unstarted", nil)
		r.refuses("not started", err, fault.FailedPrecondition, "not started")

		if got := r.finished(started, "c", nil); len(got.Evidence) != 1 {
			t.Errorf("it gives %v", got.Evidence)
		}
		if got := r.finished(started, "c", nil); len(got.Evidence) != 1 {
			t.Errorf("again, it gives %v", got.Evidence)
		}
		_, err = r.finish(started, "c", func(w *jail.Witness) { w.ExitStatus = 1 })
		r.refuses("another witness", err, fault.IdempotencyMismatch, "that stands")
	})
}

// S14.10: the jail alone knows how its command has ended. A client's report gives nothing, before and after the witness.
func TestClientOfAJailedCall(t *testing.T) {
	t.Parallel()
	onBothJailed(t, stage.Proven, func(r *jailedRig) {
		want := func(what string, held bool) {
			t.Helper()
			if s := stage.HeldNow(t, r.Engine, r.st); s.Held != held {
				t.Errorf("%s: %+v", what, s)
			}
		}
		c1 := r.run("c1", "go test ./...")
		stage.ReportAs(t, r.app, stage.Witnessed, "c1", "Bash", true)
		want("a report without a witness", false)
		r.finished(c1, "c1", nil)
		want("the witness", true)
		c2 := r.run("c2", "go test ./...")
		r.finished(c2, "c2", func(w *jail.Witness) { w.ExitStatus = 1 })
		want("the witness of a failure", false)
		if got := stage.ReportAs(t, r.app, stage.Witnessed, "c2", "Bash", true); len(got.Evidence) != 0 {
			t.Errorf("a report that says otherwise gives %v", got.Evidence)
		}
		want("a report that says otherwise", false)
		if got := stage.ReportAs(t, r.app, stage.Agent, "c1", "Bash", true); len(got.Evidence) != 1 {
			t.Errorf("the report of a call whose witness gave evidence says %v", got.Evidence)
		}
		r.finished(r.run("c3", "go test ./..."), "c3", func(w *jail.Witness) { w.ExitStatus, w.Signal = 0, "killed" })
		want("killed", false)
		r.finished(r.run("c4", "go test ./..."), "c4", nil)
		want("passed", true)
		r.allow("c5", "go test ./...") // it runs outside of the jail
		stage.ReportAs(t, r.app, stage.Witnessed, "c5", "Bash", false)
		want("a report of one that was not started", true)
	})
}

// S14.6, S14.10: a command in a jail is open until its witness comes; one that was not started has changed nothing.
func TestJailedCallIsOpen(t *testing.T) {
	t.Parallel()
	onBothJailed(t, stage.Proven, func(r *jailedRig) {
		want := func(what string, held bool) {
			t.Helper()
			if s := stage.HeldAt(t, r.Engine, r.st, r.clock.Now()); s.Held != held {
				t.Errorf("%s: %+v", what, s)
			}
		}
		r.finished(r.run("t1", "go test ./..."), "t1", nil)
		want("tests", true)
		e1 := r.run("e1", "./change")
		want("at work", false)
		stage.ReportAs(t, r.app, stage.Witnessed, "e1", "Bash", true)
		want("reported by the client", false)
		r.finished(e1, "e1", func(w *jail.Witness) { w.Failed = "no namespaces" })
		want("it was not started", true)
		r.allow("e2", "./change")
		want("allowed", false)
		if _, err := r.app.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "e2", Tool: "Bash", NotExecuted: true}); err != nil {
			t.Fatal(err)
		}
		want("withdrawn", true)
		e3 := r.run("e3", "./change")
		if _, err := r.app.Outcomes.Report(t.Context(), stage.Witnessed, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "e3", Tool: "Bash", NotExecuted: true}); err != nil {
			t.Fatal(err)
		}
		want("withdrawn after its start", false)
		r.finished(e3, "e3", nil)
		want("ended", false)
		r.finished(r.run("t2", "go test ./..."), "t2", nil)
		want("tested again", true)

		e4 := r.run("e4", "./change")
		if _, err := r.app.Outcomes.Report(t.Context(), stage.Witnessed, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "e4", Tool: "Bash", OK: true, Background: "shell_1"}); err != nil {
			t.Fatal(err)
		}
		r.clock.Advance(time.Hour)
		r.finished(r.run("t3", "go test ./..."), "t3", nil)
		want("tests while it is in the background", false)
		r.finished(e4, "e4", nil)
		r.finished(r.run("t4", "go test ./..."), "t4", nil)
		want("tests after its end", true)
	})
}

// S3.10: a crash between the commits of a witness loses nothing that a repeat does not bring.
func TestFinishSurvivesCrashes(t *testing.T) {
	t.Parallel()
	for _, name := range []string{ledger.WitnessName("c"), ledger.FinishedName("c")} {
		for what, injected := range map[string]storetest.Fault{"applied": storetest.FailedButApplied, "failed": storetest.Failed, "uncertain": storetest.Uncertain} {
			t.Run(name+" "+what, func(t *testing.T) {
				t.Parallel()
				onBothJailed(t, stage.Proven, func(r *jailedRig) {
					started := r.run("c", "go test ./...")
					once := true
					r.faulty.Decide = func(_ int, batch *store.Batch) storetest.Fault {
						if i := batch.Idempotency; once && i != nil && i.Name == name {
							once = false
							return injected
						}
						return storetest.Healthy
					}
					if _, err := r.finish(started, "c", nil); err == nil {
						t.Error("the fault is not answered")
					}
					r.app = r.with(app.Config{}) // another process
					if got := r.finished(started, "c", nil); len(got.Evidence) != 1 {
						t.Errorf("the repeat gives %v", got.Evidence)
					}
					if s := stage.HeldNow(t, r.Engine, r.st); !s.Held {
						t.Errorf("%+v", s)
					}
				})
			})
		}
	}
}

const writing = `{
	"id": "w", "initial": "work",
	"states": {
		"work": {"max_files_per_state": 2, "on": {"DONE": "done"}},
		"fixing": {"on": {"DONE": "done"}}, "done": {"type": "final"}
	},
	"interrupts": {"schema": {"trigger": {"file_pattern": "schema/**"}, "target": "fixing"}}
}`

// S3.6, S3.10, S4.1: files that a command has really written count, and fire interrupts.
func TestWrittenFiles(t *testing.T) {
	t.Parallel()
	onBothJailed(t, writing, func(r *jailedRig) {
		r.finished(r.run("c", "./gen"), "c", func(w *jail.Witness) { w.Written = []string{"a", "b", "c"} })
		d, err := r.app.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Write", Input: stage.Write("d"), CallID: "e"})
		if err != nil || d.Verdict.Code != toolcall.CodeTooManyFiles {
			t.Errorf("a fourth file: %+v, %v", d, err)
		}
		d, err = r.app.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Write", Input: stage.Write("a"), CallID: "f"})
		if err != nil || d.Verdict.Decision != toolcall.Allow {
			t.Errorf("one that counts already: %+v, %v", d, err)
		}
		if len(r.Interrupts) != 0 {
			t.Errorf("%v have asked for an interrupt", r.Interrupts)
		}
		at := r.Engine.Current.At("")
		r.Fires = &enforcer.Interrupted{Name: "schema", From: "work", Run: &at, Machine: r.Machine}
		got := r.finished(r.run("s", "./gen"), "s", func(w *jail.Witness) { w.Written = []string{"schema/x.sql"} })
		if !strings.HasPrefix(got.Notice, "[INTERLOCK INTERRUPT]") {
			t.Errorf("the agent reads %q", got.Notice)
		}
		r.finished(r.run("tried", "./gen"), "tried", func(w *jail.Witness) { w.Tried = []string{"schema/x.sql"} })
		if fmt.Sprint(r.Interrupts) != "[s]" {
			t.Errorf("%v have asked for an interrupt", r.Interrupts)
		}
	})
}

// S3.6, S4.1: files that are not known count as any file, unless the line is proved to read or its jail lets it change none.
func TestFilesThatAreNotKnown(t *testing.T) {
	t.Parallel()
	unknown := func(w *jail.Witness) { w.TreeFailed = "d/d: the workspace is too large for a digest" }
	for name, tc := range map[string]struct {
		line   string
		tools  string
		change func(*jail.Witness)
		fires  bool
	}{
		"it may have written":    {"./gen", "", unknown, true},
		"some are known":         {"./gen", "", func(w *jail.Witness) { unknown(w); w.Written = []string{"a"} }, true},
		"all are known":          {"./gen", "", func(w *jail.Witness) { w.Written = []string{"a"} }, false},
		"it only reads":          {"ls", "", unknown, false},
		"it was not started":     {"./gen", "", func(w *jail.Witness) { unknown(w); w.Failed = "no bash" }, false},
		"its jail discards":      {"./gen", `"allowed_tools": ["Read", "Bash"], `, unknown, false},
		"it was killed":          {"./gen", "", func(w *jail.Witness) { unknown(w); w.ExitStatus, w.Signal = -1, "SIGKILL" }, true},
		"it has failed":          {"./gen", "", func(w *jail.Witness) { unknown(w); w.ExitStatus = 1 }, true},
		"it writes, in one line": {"ls; ./gen", "", unknown, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onBothJailed(t, strings.Replace(writing, `"work": {`, `"work": {`+tc.tools, 1), func(r *jailedRig) {
				r.finished(r.run("c", tc.line), "c", tc.change)
				if fires := fmt.Sprint(r.Interrupts) == "[c]"; fires != tc.fires {
					t.Errorf("%v have asked for an interrupt", r.Interrupts)
				}
				if tc.tools != "" {
					return
				}
				d, err := r.app.Checks.Check(t.Context(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: "Write", Input: stage.Write("d"), CallID: "e"})
				if err != nil || (d.Verdict.Code == toolcall.CodeTooManyFiles) != tc.fires || tc.fires && !strings.Contains(d.Message, "are not known") {
					t.Errorf("an edit: %+v, %v", d, err)
				}
			})
		})
	}
}

// on is a witness's word on the files before and after its command.
func on(before, after, changed string) func(*jail.Witness) {
	return func(w *jail.Witness) { w.TreeBefore, w.TreeAfter, w.TreeChanged = before, after, changed }
}

// S14.9: a witness binds evidence to the files that its command ran on, and one during which they have changed gives none.
func TestTreesOfWitnesses(t *testing.T) {
	t.Parallel()
	for what, c := range map[string]struct {
		witness       func(*jail.Witness)
		gives, edits  int
		tree, missing string
	}{
		"the same files":       {on("tree:sha256:a", "tree:sha256:a", ""), 1, 0, "tree:sha256:a", ""},
		"files changed":        {on("tree:sha256:a", "tree:sha256:b", "gen/x.go"), 0, 1, "", `during which "gen/x.go" changed`},
		"some file changed":    {on("tree:sha256:a", "tree:sha256:b", ""), 0, 1, "", `during which "a file" changed`},
		"changed and back":     {on("tree:sha256:a", "tree:sha256:a", "main.go"), 0, 1, "", `during which "main.go" changed`},
		"not known before":     {on("", "tree:sha256:a", ""), 1, 0, "", ""},
		"not known after":      {on("tree:sha256:a", "", ""), 1, 0, "", ""},
		"not known":            {nil, 1, 0, "", ""},
		"failed on the files":  {func(w *jail.Witness) { on("tree:sha256:a", "tree:sha256:a", "")(w); w.ExitStatus = 1 }, 0, 0, "", "ended otherwise"},
		"failed, changed them": {func(w *jail.Witness) { on("tree:sha256:a", "tree:sha256:b", "x")(w); w.ExitStatus = 1 }, 0, 1, "", "ended otherwise"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			onBothJailed(t, stage.Proven, func(r *jailedRig) {
				got := r.finished(r.run("c", "go test ./..."), "c", c.witness)
				stored, err := r.st.Get(t.Context(), ledger.EvidenceOf(ledger.Run("default", "run_1")))
				if err != nil {
					t.Fatal(err)
				}
				record, err := ledger.DecodeEvidence(stored.Data)
				if err != nil || len(got.Evidence) != c.gives || record.Edits != int64(c.edits) {
					t.Errorf("it gives %v; %+v, %v", got.Evidence, record, err)
				}
				if seen := record.Fact("run_1", "tests").Seen; c.gives == 1 && (len(seen) != 1 || seen[0].Tree != c.tree) {
					t.Errorf("seen %+v", seen)
				}
				if s := stage.HeldNow(t, r.Engine, r.st); s.Held != (c.gives == 1) || !strings.Contains(s.Missing, c.missing) {
					t.Errorf("%+v", s)
				}
			})
		})
	}
}

// S14.9: a command during which another one could change files, and put them back, is evidence of no tree.
func TestTreesOfCommandsThatOverlap(t *testing.T) {
	t.Parallel()
	same := on("tree:sha256:a", "tree:sha256:a", "")
	for what, overlap := range map[string]func(r *jailedRig){
		"an edit that ends within": func(r *jailedRig) {
			test := r.run("t", "go test ./...")
			r.finished(r.run("e", "./change"), "e", same)
			r.finished(test, "t", same)
		},
		"an edit that began before": func(r *jailedRig) {
			edit := r.run("e", "./change")
			test := r.run("t", "go test ./...")
			r.finished(edit, "e", same)
			r.finished(test, "t", same)
		},
		"an edit that ends later": func(r *jailedRig) {
			edit := r.run("e", "./change")
			r.finished(r.run("t", "go test ./..."), "t", same)
			r.finished(edit, "e", same)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			onBothJailed(t, stage.Proven, func(r *jailedRig) {
				overlap(r)
				stored, err := r.st.Get(t.Context(), ledger.EvidenceOf(ledger.Run("default", "run_1")))
				if err != nil {
					t.Fatal(err)
				}
				record, err := ledger.DecodeEvidence(stored.Data)
				if err != nil {
					t.Fatal(err)
				}
				for _, seen := range record.Fact("run_1", "tests").Seen {
					if seen.Tree != "" {
						t.Errorf("seen %+v", seen)
					}
				}
			})
		})
	}
}

// S14.9: the history tells which files the tests have passed on, and by which witness.
func TestHistoryOfAWitness(t *testing.T) {
	t.Parallel()
	onBothJailed(t, stage.Proven, func(r *jailedRig) {
		started := r.run("c", "go test ./...")
		r.finished(started, "c", on("tree:sha256:a", "tree:sha256:a", ""))
		results, err := r.st.History(t.Context(), ledger.ResultsOf(ledger.Run("default", "run_1")), 0, 10)
		if err != nil || len(results) != 1 {
			t.Fatalf("%d results, %v", len(results), err)
		}
		result, err := ledger.DecodeResult(results[0].Data, 1)
		if err != nil || result.Tree != "tree:sha256:a" || !strings.HasPrefix(result.Witness, "sha256:") || fmt.Sprint(result.Evidence) != "[tests]" {
			t.Errorf("%+v, %v", result, err)
		}
	})
}

const shown = `{
	"id": "w", "initial": "work",
	"states": {"work": {"on": {"DONE": "done"}}, "done": {"type": "final"}},
	"evidence": {"tests": {"tool": "Bash", "command": "./scan", "output": {"pointer": "/critical", "op": "eq", "value": 0}}}
}`

// S14.1, S14.10: where evidence asks for an output, it takes the client's report of that and the jail's word on the outcome.
func TestOutputOfAJailedCall(t *testing.T) {
	t.Parallel()
	onBothJailed(t, shown, func(r *jailedRig) {
		report := func(caller enforcer.Caller, id string) {
			t.Helper()
			_, err := r.app.Outcomes.Report(t.Context(), caller, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: id, Tool: "Bash", OK: true, Output: []byte(`{"critical": 0}`)})
			if err != nil {
				t.Fatal(err)
			}
		}
		want := func(what string, held bool) {
			t.Helper()
			if s := stage.HeldNow(t, r.Engine, r.st); s.Held != held {
				t.Errorf("%s: %+v", what, s)
			}
		}
		first := r.run("c1", "./scan")
		report(stage.Witnessed, "c1")
		want("no witness yet", false)
		r.finished(first, "c1", nil)
		want("the witness has no output", false)
		r.finished(r.run("c2", "./scan"), "c2", nil)
		report(stage.Agent, "c2")
		want("an agent's word", false)
		report(stage.Witnessed, "c2")
		want("both", true)
		r.finished(r.run("c3", "./scan"), "c3", func(w *jail.Witness) { w.ExitStatus = 1 })
		report(stage.Witnessed, "c3")
		want("the witness says that it has failed", false)
	})
}

// S3.10: whatever happens between the reads of a start and its commit is found out: the line is not started.
func TestStartIsOvertaken(t *testing.T) {
	t.Parallel()
	for what, happens := range map[string]func(r *jailedRig, other *app.App){
		"a transition": func(r *jailedRig, _ *app.App) { r.Fire(r.T, "READY") },
		"a pause":      func(r *jailedRig, _ *app.App) { r.stands(func(run *workflow.Run) { run.Status = workflow.Paused }) },
		"the end of its session": func(r *jailedRig, _ *app.App) {
			stage.Registry{r.T, r.st}.Session("s", "", "", "ENDED")
		},
		"its client gives it up": func(r *jailedRig, other *app.App) {
			if _, err := other.Outcomes.Report(r.Context(), stage.Agent, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: "c", Tool: "Bash", NotExecuted: true}); err != nil {
				r.Error(err)
			}
		},
		"an operator settles it": func(r *jailedRig, other *app.App) {
			op := enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: "olga", Role: auth.Operator}, Observes: true}
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
				stage.Registry{t, r.st}.Session("s", "", "", "RUNNING")
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
