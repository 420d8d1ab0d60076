package outcome_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
)

// S3.10: a witness counts that is signed with the key of its line, and of the jail that was asked for; the first one counts.
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

// S14.10: the jail alone knows how its command has ended. A client's report gives no evidence, before and after the witness.
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

// S14.6, S14.10: a command in a jail is open until its witness comes; one that was not started has changed no files.
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

// S3.10: after a crash between the commits of a witness, a repeat completes them.
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
		at := r.Current.At("")
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

// S14.9: the history has the tree on which the tests have passed, and the witness.
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
