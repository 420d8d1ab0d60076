package outcome_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

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

// S14.4: an observation counts also after a claim of the agent: an edit that is still at work voids, and a test that
// has failed has failed.
func TestEvidenceAfterClaim(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := stage.NewEngineOn(t, st, stage.Proven)
		a := stage.NewApp(e, faulty)
		want := func(what string, held bool) {
			t.Helper()
			if s := stage.HeldNow(t, e, st); s.Held != held {
				t.Errorf("%s: %+v", what, s)
			}
		}
		stage.MustCheck(t, a, "Bash", []byte(`{"command": "./slow-edit"}`), "edit")
		stage.ReportAs(t, a, stage.Agent, "edit", "Bash", true) // it says so while the edit is at work
		stage.MustCheck(t, a, "Bash", stage.GoTest, "t1")
		stage.ReportAs(t, a, stage.Witnessed, "t1", "Bash", true)
		want("tests during the edit", false)
		stage.ReportAs(t, a, stage.Witnessed, "edit", "Bash", true)
		want("the edit has ended", false)

		stage.MustCheck(t, a, "Bash", stage.GoTest, "t2")
		stage.ReportAs(t, a, stage.Agent, "t2", "Bash", true)
		want("claimed", false)
		stage.ReportAs(t, a, stage.Witnessed, "t2", "Bash", true)
		want("observed after the claim", true)
		stage.ReportAs(t, a, stage.Witnessed, "t2", "Bash", true)
		want("observed twice", true)

		stage.MustCheck(t, a, "Bash", stage.GoTest, "t3")
		stage.ReportAs(t, a, stage.Agent, "t3", "Bash", true)
		stage.ReportAs(t, a, stage.Witnessed, "t3", "Bash", false)
		want("observed to have failed", false)
	})
}

// S6.5: the ID of a call covers its folder and its full name. A check that comes first under
// the ID of another call, without them, has no effect on that call.
func TestFolderIsOfTheCall(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := stage.NewEngineOn(t, st, stage.Proven)
		e.Current.Workspace = "/w"
		a := stage.NewApp(e, faulty)
		check := func(id, folder, qualified string) error {
			_, err := a.Checks.Check(t.Context(), stage.Agent, check.Request{
				Target: enforcer.Target{RunID: "run_1"}, Tool: "Bash", Input: stage.GoTest, CallID: id, Folder: folder, Qualified: qualified,
			})
			return err
		}
		for id, first := range map[string]string{"none": "", "right": "/w"} {
			if err := check(id, first, ""); err != nil {
				t.Fatal(err)
			}
			if err := check(id, first, ""); err != nil {
				t.Errorf("%s: the same again: %v", id, err)
			}
			if err := check(id, "/elsewhere", ""); err == nil || !strings.Contains(err.Error(), "idempotency") {
				t.Errorf("%s: elsewhere: %v", id, err)
			}
			if err := check(id, first, "mcp__x__Bash"); err == nil || !strings.Contains(err.Error(), "idempotency") {
				t.Errorf("%s: of a server: %v", id, err)
			}
		}
	})
}

// S17.2: a call that one version of a workflow has allowed gives no evidence to another, which
// may use the name for other evidence. Its edits void all the same.
func TestEvidenceOfAnotherVersion(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := stage.NewEngineOn(t, st, stage.Proven)
		a := stage.NewApp(e, faulty)
		stage.MustCheck(t, a, "Bash", stage.GoTest, "t2")
		e.Moves(t, 2)
		stage.ReportAs(t, a, stage.Witnessed, "t2", "Bash", true)
		if s := stage.HeldNow(t, e, st); s.Held {
			t.Errorf("a call of version 1 gives evidence to version 2: %+v", s)
		}
		stage.MustCheck(t, a, "Bash", stage.GoTest, "t3")
		stage.ReportAs(t, a, stage.Witnessed, "t3", "Bash", true)
		if s := stage.HeldNow(t, e, st); !s.Held {
			t.Errorf("a call of version 2 gives none: %+v", s)
		}
		stage.MustCheck(t, a, "Write", stage.Write("main.go"), "e1")
		e.Moves(t, 3)
		stage.MustCheck(t, a, "Bash", stage.GoTest, "t4")
		stage.ReportAs(t, a, stage.Witnessed, "t4", "Bash", true)
		stage.ReportAs(t, a, stage.Witnessed, "e1", "Write", true) // it was at work until now
		if s := stage.HeldNow(t, e, st); s.Held {
			t.Errorf("an edit of version 2 has ended, and voids nothing: %+v", s)
		}
	})
}

// S14.1, S14.4: the order is that of the decisions. A crash between a decision and its report gives no evidence, and
// voided evidence stays void.
func TestEvidenceFollowsDecisions(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := stage.NewEngineOn(t, st, stage.Proven)
		a := stage.NewApp(e, faulty)
		want := func(what string, held bool) {
			t.Helper()
			if s := stage.HeldNow(t, e, st); s.Held != held {
				t.Errorf("%s: %+v", what, s)
			}
		}
		stage.MustCheck(t, a, "Bash", stage.GoTest, "t1")
		want("allowed, not reported", false)
		a = stage.NewApp(e, faulty) // it has crashed, and is another process
		if r := stage.ReportAs(t, a, stage.Witnessed, "t1", "Bash", true); len(r.Evidence) != 1 {
			t.Errorf("the report gives %v", r.Evidence)
		}
		want("reported", true)
		stage.ReportAs(t, a, stage.Witnessed, "t1", "Bash", true) // a repeat changes nothing
		want("reported twice", true)

		// The edit does not happen: its decision was not committed, and the evidence stays.
		faulty.Decide = func(_ int, batch *store.Batch) storetest.Fault {
			for _, p := range batch.Puts {
				if strings.Contains(p.Key.Kind, "evidence") {
					return storetest.Failed
				}
			}
			return storetest.Healthy
		}
		if d := stage.MustCheck(t, a, "Write", stage.Write("main.go"), "e1"); d.Verdict.Decision == toolcall.Allow {
			t.Error("an edit is allowed that voids nothing")
		}
		faulty.Decide = nil
		want("an edit that was not allowed", true)

		stage.MustCheck(t, a, "Write", stage.Write("main.go"), "e2")
		want("an edit was allowed", false)
		a = stage.NewApp(e, faulty) // it has crashed before the report, which never comes
		want("after the crash", false)
		stage.MustCheck(t, a, "Bash", stage.GoTest, "t2")
		stage.ReportAs(t, a, stage.Witnessed, "t2", "Bash", true)
		want("tests before the end of the edit", false)
		stage.ReportAs(t, a, stage.Witnessed, "e2", "Write", true) // it was at work until now
		want("the edit ends after the tests", false)

		stage.MustCheck(t, a, "Bash", stage.GoTest, "t3")
		stage.ReportAs(t, a, stage.Agent, "t3", "Bash", true)
		want("an agent's word", false)
		stage.ReportAs(t, a, stage.Witnessed, "t3", "Bash", true) // the first that was observed counts
		want("observed after that", true)
		stage.MustCheck(t, a, "Write", stage.Write("main.go"), "e3")
		want("edited again", false)
		stage.MustCheck(t, a, "Bash", stage.GoTest, "t4")
		stage.ReportAs(t, a, stage.Witnessed, "t4", "Bash", true)
		want("the edit is open", false)
		stage.ReportAs(t, a, stage.Witnessed, "e3", "Write", true)
		stage.MustCheck(t, a, "Bash", stage.GoTest, "t4b")
		stage.ReportAs(t, a, stage.Witnessed, "t4b", "Bash", true)
		want("seen", true)
		stage.MustCheck(t, a, "Bash", stage.GoTest, "t5")
		stage.ReportAs(t, a, stage.Witnessed, "t5", "Bash", false)
		want("seen to fail", false)
	})
}

// S14.1: in races on several replicas, satisfied evidence is of a call that was allowed after the last allowed edit.
func TestEvidenceRaces(t *testing.T) {
	t.Parallel()
	stage.OnBoth(t, func(t *testing.T, st store.Store) {
		e, _ := stage.NewEngineOn(t, st, stage.Proven)
		replicas := []*app.App{stage.NewApp(e, st), stage.NewApp(e, st), stage.NewApp(e, st)}
		var group sync.WaitGroup
		var edits, tests atomic.Int64
		do := func(a *app.App, tool string, input []byte, id string) {
			for {
				d, err := a.Checks.Check(context.Background(), stage.Agent, check.Request{Target: enforcer.Target{RunID: "run_1"}, Tool: tool, Input: input, CallID: id})
				if err != nil { // too many at once: it says so, and is asked again
					continue
				}
				if d.Verdict.Decision != toolcall.Allow {
					t.Errorf("%s is denied: %s", id, d.Message)
				}
				break
			}
			for {
				if _, err := a.Outcomes.Report(context.Background(), stage.Witnessed, outcome.Report{Target: enforcer.Target{RunID: "run_1"}, CallID: id, Tool: tool, OK: true}); err == nil {
					return
				}
			}
		}
		for i := range 24 {
			group.Go(func() {
				if i%3 == 0 {
					do(replicas[i%3], "Write", stage.Write("main.go"), fmt.Sprint("e", i))
					edits.Add(1)
					return
				}
				do(replicas[i%3], "Bash", stage.GoTest, fmt.Sprint("t", i))
				tests.Add(1)
			})
		}
		group.Wait()
		stored, err := st.Get(t.Context(), ledger.EvidenceOf(ledger.Run("default", "run_1")))
		if err != nil {
			t.Fatal(err)
		}
		record, err := ledger.DecodeEvidence(stored.Data)
		if err != nil || record.Edits != edits.Load() {
			t.Fatalf("%d edits were reported, the record has %d, %v", edits.Load(), record.Edits, err)
		}
		// The decisions are in the order in which they were made.
		lastEdit, allowed := int64(0), map[string]int64{}
		history, err := st.History(t.Context(), ledger.Decisions(ledger.Run("default", "run_1")), 0, 1000)
		if err != nil || int64(len(history)) != edits.Load()+tests.Load() {
			t.Fatalf("%d decisions, %v", len(history), err)
		}
		for _, h := range history {
			d, err := ledger.DecodeDecision("run_1", h)
			if err != nil {
				t.Fatal(err)
			}
			allowed[d.CallID] = h.Version
			if d.Kept.Voids {
				lastEdit = h.Version
			}
		}
		if s := stage.HeldNow(t, e, st); s.Held {
			for _, o := range record.Fact("run_1", "tests").Seen {
				if allowed[o.CallID] < lastEdit {
					t.Errorf("%s was allowed at %d, the last edit at %d, and it is held", o.CallID, allowed[o.CallID], lastEdit)
				}
			}
		}
		do(replicas[0], "Bash", stage.GoTest, "last")
		if s := stage.HeldNow(t, e, st); !s.Held {
			t.Errorf("after the last tests: %+v", s)
		}
	})
}

// reads counts reads of evidence.
type reads struct {
	store.Store
	evidence atomic.Int64
}

func (r *reads) Get(ctx context.Context, key store.Key) (store.Record, error) {
	if strings.Contains(key.Kind, "evidence") {
		r.evidence.Add(1)
	}
	return r.Store.Get(ctx, key)
}

// S14.4: without declared evidence, no evidence is read or kept.
func TestWithoutEvidenceNothingIsPaid(t *testing.T) {
	t.Parallel()
	e, st := stage.NewEngineOf(t, stage.Limited)
	counted := &reads{Store: st}
	a := stage.NewApp(e, counted)
	stage.MustCheck(t, a, "Write", stage.Write("main.go"), "e1")
	stage.ReportAs(t, a, stage.Witnessed, "e1", "Write", true)
	stage.MustCheck(t, a, "Bash", stage.GoTest, "t1")
	stage.ReportAs(t, a, stage.Witnessed, "t1", "Bash", true)
	if n := counted.evidence.Load(); n != 0 {
		t.Errorf("evidence was read %d times", n)
	}
	if _, err := st.Get(t.Context(), ledger.EvidenceOf(ledger.Run("default", "run_1"))); err == nil {
		t.Error("evidence was kept")
	}
}
