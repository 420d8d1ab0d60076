package app

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

const proven = `{
	"id": "w", "initial": "work",
	"states": {"work": {"on": {"READY": "work", "DONE": {"target": "done", "guard": "green"}}}, "done": {"type": "final"}},
	"evidence": {"tests": {"tool": "Bash", "command": "go test ./...", "after": "edit"}},
	"guards": {"green": {"evidence": "tests"}}
}`

// onBoth runs a test on both stores.
func onBoth(t *testing.T, test func(t *testing.T, st store.Store)) {
	t.Helper()
	for name, open := range map[string]func(t *testing.T) (store.Store, error){
		"sqlite": func(t *testing.T) (store.Store, error) {
			return sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
		},
		"redis": func(t *testing.T) (store.Store, error) {
			return redisstore.Open(context.Background(), redisstore.Config{
				URL: redistest.Shared(t).URL(), Prefix: redistest.Prefix(), Logger: slog.New(slog.DiscardHandler),
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = st.Close() })
			test(t, st)
		})
	}
}

// witnessed is the agent, with somebody who vouches for what it reports.
var witnessed = Caller{Namespace: agent.Namespace, Principal: agent.Principal, Observes: true}

var goTest = []byte(`{"command": "go test ./..."}`)

func reportAs(t *testing.T, a *App, caller Caller, id, tool string, ok bool) *Reported {
	t.Helper()
	r, err := a.Report(t.Context(), caller, Report{Target: Target{RunID: "run_1"}, CallID: id, Tool: tool, OK: ok})
	if err != nil {
		t.Fatalf("report %s: %v", id, err)
	}
	return r
}

// heldNow is how the evidence stands, as the store has it.
func heldNow(t *testing.T, e *engine, st store.Store) evidence.Standing {
	t.Helper()
	return heldAt(t, e, st, time.Now())
}

func heldAt(t *testing.T, e *engine, st store.Store, now time.Time) evidence.Standing {
	t.Helper()
	var record evidence.Record
	if stored, err := st.Get(t.Context(), ledger.EvidenceOf(ledger.Run("default", "run_1"))); err == nil {
		if record, err = ledger.DecodeEvidence(stored.Data); err != nil {
			t.Fatal(err)
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	at := e.run.At("")
	b := at.EvidenceOf(record, now)
	return b.Judge(e.machine.Evidence())["tests"]
}

// S14.4: what an agent says of a call first takes nothing from what is observed of it: an edit
// that is still at work voids, and a test that has failed has failed.
func TestEvidenceAfterClaim(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := newEngineOn(t, st, proven)
		a := newApp(e, faulty)
		want := func(what string, held bool) {
			t.Helper()
			if s := heldNow(t, e, st); s.Held != held {
				t.Errorf("%s: %+v", what, s)
			}
		}
		mustCheck(t, a, "Bash", []byte(`{"command": "./slow-edit"}`), "edit")
		reportAs(t, a, agent, "edit", "Bash", true) // it says so while the edit is at work
		mustCheck(t, a, "Bash", goTest, "t1")
		reportAs(t, a, witnessed, "t1", "Bash", true)
		want("tests during the edit", false)
		reportAs(t, a, witnessed, "edit", "Bash", true)
		want("the edit has ended", false)

		mustCheck(t, a, "Bash", goTest, "t2")
		reportAs(t, a, agent, "t2", "Bash", true)
		want("claimed", false)
		reportAs(t, a, witnessed, "t2", "Bash", true)
		want("observed after the claim", true)
		reportAs(t, a, witnessed, "t2", "Bash", true)
		want("observed twice", true)

		mustCheck(t, a, "Bash", goTest, "t3")
		reportAs(t, a, agent, "t3", "Bash", true)
		reportAs(t, a, witnessed, "t3", "Bash", false)
		want("observed to have failed", false)
	})
}

// S6.5: the id of a call stands for its folder and its full name, too. A check that comes first under
// the id of another call, and leaves them out, gives that call nothing.
func TestFolderIsOfTheCall(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := newEngineOn(t, st, proven)
		e.run.Workspace = "/w"
		a := newApp(e, faulty)
		check := func(id, folder, qualified string) error {
			_, err := a.Check(t.Context(), agent, Check{
				Target: Target{RunID: "run_1"}, Tool: "Bash", Input: goTest, CallID: id, Folder: folder, Qualified: qualified,
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
// may call something else by that name; what it may have edited is void all the same.
func TestEvidenceOfAnotherVersion(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := newEngineOn(t, st, proven)
		a := newApp(e, faulty)
		mustCheck(t, a, "Bash", goTest, "t2")
		e.moves(t, 2)
		reportAs(t, a, witnessed, "t2", "Bash", true)
		if s := heldNow(t, e, st); s.Held {
			t.Errorf("a call of version 1 gives evidence to version 2: %+v", s)
		}
		mustCheck(t, a, "Bash", goTest, "t3")
		reportAs(t, a, witnessed, "t3", "Bash", true)
		if s := heldNow(t, e, st); !s.Held {
			t.Errorf("a call of version 2 gives none: %+v", s)
		}
		mustCheck(t, a, "Write", write("main.go"), "e1")
		e.moves(t, 3)
		mustCheck(t, a, "Bash", goTest, "t4")
		reportAs(t, a, witnessed, "t4", "Bash", true)
		reportAs(t, a, witnessed, "e1", "Write", true) // it was at work until now
		if s := heldNow(t, e, st); s.Held {
			t.Errorf("an edit of version 2 has ended, and voids nothing: %+v", s)
		}
	})
}

// moves moves the run to another version of its workflow.
func (e *engine) moves(t *testing.T, version int64) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	run := e.run
	run.WorkflowVersion = version
	run.Version++
	e.machine = workflow.Compile(e.machine.Definition(), version)
	if _, err := e.store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: ledger.Run("default", run.ID), Expect: store.AnyVersion, Data: []byte("{}")}}}); err != nil {
		t.Fatal(err)
	}
	e.run = run
}

// S14.1, S14.4: the order is that of what was allowed, and a crash between a decision and its
// report gives nothing and leaves what was voided void.
func TestEvidenceFollowsDecisions(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, st store.Store) {
		e, faulty := newEngineOn(t, st, proven)
		a := newApp(e, faulty)
		want := func(what string, held bool) {
			t.Helper()
			if s := heldNow(t, e, st); s.Held != held {
				t.Errorf("%s: %+v", what, s)
			}
		}
		mustCheck(t, a, "Bash", goTest, "t1")
		want("allowed, not reported", false)
		a = newApp(e, faulty) // it has crashed, and is another process
		if r := reportAs(t, a, witnessed, "t1", "Bash", true); len(r.Evidence) != 1 {
			t.Errorf("the report gives %v", r.Evidence)
		}
		want("reported", true)
		reportAs(t, a, witnessed, "t1", "Bash", true) // a repeat changes nothing
		want("reported twice", true)

		// The edit does not happen: its decision was not committed, and nothing is void.
		faulty.Decide = func(_ int, batch *store.Batch) storetest.Fault {
			for _, p := range batch.Puts {
				if strings.Contains(p.Key.Kind, "evidence") {
					return storetest.Failed
				}
			}
			return storetest.Healthy
		}
		if d := mustCheck(t, a, "Write", write("main.go"), "e1"); d.Verdict.Decision == toolcall.Allow {
			t.Error("an edit is allowed that voids nothing")
		}
		faulty.Decide = nil
		want("an edit that was not allowed", true)

		mustCheck(t, a, "Write", write("main.go"), "e2")
		want("an edit was allowed", false)
		a = newApp(e, faulty) // it has crashed before the report, which never comes
		want("after the crash", false)
		mustCheck(t, a, "Bash", goTest, "t2")
		reportAs(t, a, witnessed, "t2", "Bash", true)
		want("tests before the end of the edit", false)
		reportAs(t, a, witnessed, "e2", "Write", true) // it was at work until now
		want("the edit ends after the tests", false)

		mustCheck(t, a, "Bash", goTest, "t3")
		reportAs(t, a, agent, "t3", "Bash", true)
		want("an agent's word", false)
		reportAs(t, a, witnessed, "t3", "Bash", true) // the first that was observed counts
		want("observed after that", true)
		mustCheck(t, a, "Write", write("main.go"), "e3")
		want("edited again", false)
		mustCheck(t, a, "Bash", goTest, "t4")
		reportAs(t, a, witnessed, "t4", "Bash", true)
		want("the edit is open", false)
		reportAs(t, a, witnessed, "e3", "Write", true)
		mustCheck(t, a, "Bash", goTest, "t4b")
		reportAs(t, a, witnessed, "t4b", "Bash", true)
		want("seen", true)
		mustCheck(t, a, "Bash", goTest, "t5")
		reportAs(t, a, witnessed, "t5", "Bash", false)
		want("seen to fail", false)
	})
}

// S14.1: whatever races with whatever, on several replicas, evidence that is held was of a call
// that was allowed after the last edit that was.
func TestEvidenceRaces(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, st store.Store) {
		e, _ := newEngineOn(t, st, proven)
		replicas := []*App{newApp(e, st), newApp(e, st), newApp(e, st)}
		var group sync.WaitGroup
		var edits, tests atomic.Int64
		do := func(a *App, tool string, input []byte, id string) {
			for {
				d, err := a.Check(context.Background(), agent, Check{Target: Target{RunID: "run_1"}, Tool: tool, Input: input, CallID: id})
				if err != nil { // too many at once: it says so, and is asked again
					continue
				}
				if d.Verdict.Decision != toolcall.Allow {
					t.Errorf("%s is denied: %s", id, d.Message)
				}
				break
			}
			for {
				if _, err := a.Report(context.Background(), witnessed, Report{Target: Target{RunID: "run_1"}, CallID: id, Tool: tool, OK: true}); err == nil {
					return
				}
			}
		}
		for i := range 24 {
			group.Go(func() {
				if i%3 == 0 {
					do(replicas[i%3], "Write", write("main.go"), fmt.Sprint("e", i))
					edits.Add(1)
					return
				}
				do(replicas[i%3], "Bash", goTest, fmt.Sprint("t", i))
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
		if s := heldNow(t, e, st); s.Held {
			for _, o := range record.Fact("run_1", "tests").Seen {
				if allowed[o.CallID] < lastEdit {
					t.Errorf("%s was allowed at %d, the last edit at %d, and it is held", o.CallID, allowed[o.CallID], lastEdit)
				}
			}
		}
		do(replicas[0], "Bash", goTest, "last")
		if s := heldNow(t, e, st); !s.Held {
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

// S14.4: where no evidence is declared, nothing is read or kept of any.
func TestWithoutEvidenceNothingIsPaid(t *testing.T) {
	t.Parallel()
	e, st := newEngineOf(t, limited)
	counted := &reads{Store: st}
	a := newApp(e, counted)
	mustCheck(t, a, "Write", write("main.go"), "e1")
	reportAs(t, a, witnessed, "e1", "Write", true)
	mustCheck(t, a, "Bash", goTest, "t1")
	reportAs(t, a, witnessed, "t1", "Bash", true)
	if n := counted.evidence.Load(); n != 0 {
		t.Errorf("evidence was read %d times", n)
	}
	if _, err := st.Get(t.Context(), ledger.EvidenceOf(ledger.Run("default", "run_1"))); err == nil {
		t.Error("evidence was kept")
	}
}
