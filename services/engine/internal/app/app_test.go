package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/engine/internal/schedules"
	"github.com/interlock-run/interlock/services/internal/catalog"
)

const review = `{
	"id": "review", "initial": "reading", "context": {"n": 0},
	"states": {
		"reading": {"allowed_tools": ["Read"], "on": {"DONE": {"target": "done", "guard": "positive"}, "COUNT": "reading", "FAIL": "failed"}},
		"done": {"type": "final"}, "failed": {"type": "final"}
	},
	"guards": {"positive": {"field": "n", "op": "gt", "value": 0}}
}`

const locked = `{
	"id": "locked", "initial": "a", "meta": {"enforcement": "always"},
	"states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}
}`

// announcer makes plain events; how they look on NATS is the rpc layer's.
type announcer struct{ n *atomic.Int64 }

func (a announcer) RunEvent(ns, _ string, run *workflow.Run, ev *workflow.Event, _ time.Time) (store.Event, error) {
	return store.Event{
		Key:     runKey(ns, run.ID),
		ID:      fmt.Sprintf("%s/%d/%s/%d", run.ID, run.Version, ev.Type, a.n.Add(1)),
		Subject: "interlock." + ns + ".run." + run.ID + "." + ev.Type, Payload: []byte(ev.Type),
	}, nil
}

func (a announcer) WorkflowEvent(ns, _ string, v *registry.Version) (store.Event, error) {
	return store.Event{
		Key: store.Key{Namespace: ns, Kind: registry.KindWorkflow, ID: v.Name}, ID: fmt.Sprintf("%s/%d", v.Name, v.Number),
		Subject: "interlock." + ns + ".workflow.x.registered", Payload: []byte("registered"),
	}, nil
}

func (a announcer) CatalogChanged(ns, _ string, c *catalog.Change, _ time.Time) (store.Event, error) {
	return store.Event{
		Key: catalog.Key(ns), ID: fmt.Sprintf("%s/%d/%s", c.Name, c.Revision, c.Type),
		Subject: "interlock." + ns + ".workflow.x." + c.Type, Payload: []byte(c.Type),
	}, nil
}

func (a announcer) ScheduleChanged(ns, _, change string, version int64, s *schedules.Schedule, _ time.Time) (store.Event, error) {
	return scheduleEvent(ns, change, version, s), nil
}

func (a announcer) ScheduleHandled(ns, _ string, version int64, s *schedules.Schedule, o *schedules.Outcome) (store.Event, error) {
	return scheduleEvent(ns, string(o.Result), version, s), nil
}

func scheduleEvent(ns, change string, version int64, s *schedules.Schedule) store.Event {
	return store.Event{
		Key: store.Key{Namespace: ns, Kind: "schedule", ID: s.Name}, ID: fmt.Sprintf("%s/%d/%s", s.Name, version, change),
		Subject: "interlock." + ns + ".schedule." + s.Name + "." + change, Payload: []byte(change),
	}
}

var (
	operator = ports.Caller{Namespace: "default", Principal: auth.Principal{Name: "olga", Role: auth.Operator}}
	agent    = ports.Caller{Namespace: "default", Principal: auth.Principal{Name: "amir", Role: auth.Agent}}
)

func newStore(t *testing.T) *storetest.Faulty {
	t.Helper()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		replayAll(t, st)
		_ = st.Close()
	})
	return &storetest.Faulty{Store: st}
}

func newApp(st store.Store) *App {
	a := New(st, announcer{new(atomic.Int64)}, time.Now, slog.New(slog.DiscardHandler))
	a.Enforcement = workflow.WhileRunning // agents pause and cancel runs here that name nothing else
	return a
}

// newRun registers the workflows and starts a run of the first.
func newRun(t *testing.T, a *App, caller ports.Caller, req Start) *workflow.Run {
	t.Helper()
	for _, definition := range []string{review, locked} {
		if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
	}
	view, _, err := a.Starts.Start(t.Context(), caller, req)
	if err != nil {
		t.Fatal(err)
	}
	return view.Run
}

func fire(a *App, caller ports.Caller, runID, event, data, key string) (*Outcome, error) {
	return a.Moves.Transition(context.Background(), caller, Transition{
		Target: ports.Target{RunID: runID}, Event: event, Data: []byte(data), IdempotencyKey: key,
	})
}

// S2.3: guards see the context before; data merges afterwards; each accepted
// step is one version with one history entry.
func TestTransitionsAreVersionsWithHistory(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review"})
	for i, step := range []struct {
		event, data string
		rejected    workflow.RejectionCode
	}{
		{"DONE", `{"n": 1}`, "GUARD_FAILED"},
		{"NOPE", ``, "UNKNOWN_EVENT"},
		{"COUNT", `{"_hidden": 1}`, "RESERVED_KEY"},
		{"COUNT", `{"n": 9007199254740993, "rationale": "why"}`, ""},
		{"DONE", ``, ""},
		{"COUNT", ``, "RUN_NOT_RUNNING"},
	} {
		outcome, err := fire(a, agent, run.ID, step.event, step.data, "")
		if err != nil {
			t.Fatalf("step %d: %v", i, err)
		}
		if got := outcome.Rejection; got == nil && step.rejected != "" || got != nil && got.Code != step.rejected {
			t.Fatalf("step %d: rejection %+v, want %q", i, got, step.rejected)
		}
	}
	entries, _, err := a.Reads.History(t.Context(), operator, run.ID, Position{}, 100)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"started -reading", "transitioned reading-reading", "transitioned reading-done"}
	if len(entries) != len(want) {
		t.Fatalf("%d entries, want %d: %+v", len(entries), len(want), entries)
	}
	for i, e := range entries {
		if got := e.Type + " " + e.From + "-" + e.To; got != want[i] || e.RunVersion != int64(i+1) || e.Actor != "amir" {
			t.Errorf("entry %d: %s at version %d by %s, want %s", i, got, e.RunVersion, e.Actor, want[i])
		}
	}
	if entries[1].Rationale != "why" || string(entries[1].Data) != `{"n":9007199254740993,"rationale":"why"}` {
		t.Errorf("entry 1 keeps %q and %s", entries[1].Rationale, entries[1].Data)
	}
}

// Two replicas cache the same run. Whatever the cache of one holds, it steps the
// run as it is.
func TestReplicasNeverStepAStaleRun(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a, b := newApp(st), newApp(st)
	run := newRun(t, a, agent, Start{Workflow: "review"})
	for i := range 50 {
		first, second := a, b
		if i%2 == 1 {
			first, second = b, a
		}
		if _, err := fire(first, agent, run.ID, "COUNT", `{"n": 0}`, ""); err != nil {
			t.Fatal(err)
		}
		// The guard fails on the context as it is now, in every replica.
		outcome, err := fire(second, agent, run.ID, "DONE", "", "")
		if err != nil || outcome.Rejection == nil || outcome.View.Run.Version != int64(i+2) {
			t.Fatalf("round %d: %+v, %v", i, outcome, err)
		}
	}
}

func TestConcurrentTransitionsAllCount(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	replicas := []*App{newApp(st), newApp(st), newApp(st)}
	run := newRun(t, replicas[0], agent, Start{Workflow: "review"})
	var accepted atomic.Int64
	var group sync.WaitGroup
	for i := range 32 {
		group.Go(func() {
			for {
				outcome, err := fire(replicas[i%3], agent, run.ID, "COUNT", "", "")
				if err == nil && outcome.Rejection == nil {
					accepted.Add(1)
					return
				}
				if fault.ReasonOf(err) != fault.VersionConflict {
					t.Errorf("outcome %+v, error %v", outcome, err)
					return
				}
			}
		})
	}
	group.Wait()
	view, err := replicas[1].Reads.Get(t.Context(), operator, ports.Target{RunID: run.ID}, false)
	if err != nil || view.Run.Version != 1+accepted.Load() || view.Run.TransitionCount != 32 {
		t.Fatalf("%+v, %v after %d transitions", view, err, accepted.Load())
	}
}

// S6.5, and the commit that failed but was applied: asking again with the same
// key happens once and answers the first outcome.
func TestRepeatAnswersTheFirstOutcome(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		fault   storetest.Fault
		reason  fault.Reason
		version int64
	}{
		"healthy":            {storetest.Healthy, "", 2},
		"failed":             {storetest.Failed, fault.Unavailable, 2},
		"failed but applied": {storetest.FailedButApplied, fault.CommitUncertain, 2},
		"uncertain":          {storetest.Uncertain, fault.CommitUncertain, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			st := newStore(t)
			a := newApp(st)
			run := newRun(t, a, agent, Start{Workflow: "review"})
			st.Decide = storetest.Nth(st.Commits()+1, c.fault)
			if _, err := fire(a, agent, run.ID, "COUNT", `{"n": 5}`, "key"); fault.ReasonOf(err) != c.reason {
				t.Fatalf("first: %v, want %q", err, c.reason)
			}
			for range 2 {
				outcome, err := fire(a, agent, run.ID, "COUNT", `{"n": 5}`, "key")
				if err != nil || outcome.View.Run.Version != c.version {
					t.Fatalf("repeat: %+v, %v", outcome, err)
				}
			}
			if _, err := fire(a, agent, run.ID, "COUNT", `{"n": 6}`, "key"); fault.ReasonOf(err) != fault.IdempotencyMismatch {
				t.Fatalf("another request with the key: %v", err)
			}
			if view, err := newApp(st).Reads.Get(t.Context(), operator, ports.Target{RunID: run.ID}, false); err != nil || view.Run.Version != 2 {
				t.Fatalf("in the end: %+v, %v", view, err)
			}
		})
	}
}

func TestStartIsIdempotent(t *testing.T) {
	t.Parallel()
	for _, session := range []string{"", "s1"} {
		t.Run("session "+session, func(t *testing.T) {
			t.Parallel()
			st := newStore(t)
			a := newApp(st)
			req := Start{Workflow: "review", SessionID: session, IdempotencyKey: "k"}
			st.Decide = func(_ int, b *store.Batch) storetest.Fault {
				if b.Idempotency != nil {
					st.Decide = nil
					return storetest.FailedButApplied
				}
				return storetest.Healthy
			}
			for _, d := range []string{review, locked} {
				if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(d), ""); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := a.Starts.Start(t.Context(), agent, req); fault.ReasonOf(err) != fault.CommitUncertain {
				t.Fatalf("first: %v", err)
			}
			ids := map[string]bool{}
			for range 3 {
				view, _, err := a.Starts.Start(t.Context(), agent, req)
				if err != nil {
					t.Fatal(err)
				}
				ids[view.Run.ID] = true
			}
			runs, _, err := a.Reads.List(t.Context(), operator, ListQuery{Limit: 10})
			if err != nil || len(ids) != 1 || len(runs) != 1 || runs[0].Run.Status != workflow.Running {
				t.Fatalf("%d ids, runs %+v, %v", len(ids), runs, err)
			}
		})
	}
}

func TestExpectedVersion(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review"})
	ask := func(version int64) error {
		_, err := a.Moves.Transition(t.Context(), agent, Transition{Target: ports.Target{RunID: run.ID}, Event: "COUNT", ExpectedVersion: version})
		return err
	}
	if err := ask(1); err != nil {
		t.Fatal(err)
	}
	err := ask(1)
	var f *fault.Error
	if !errors.As(err, &f) || f.Reason != fault.VersionConflict || f.Metadata["current_version"] != "2" {
		t.Fatalf("stale version: %v", err)
	}
}

// S6.6: one session drives one run; loading another pauses the first, unless the
// workflow enforces always and an agent asks.
func TestSessionDrivesOneRun(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	first := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
	second, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "locked", SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	status := func(id string) workflow.Status {
		view, err := a.Reads.Get(t.Context(), operator, ports.Target{RunID: id}, false)
		if err != nil {
			t.Fatal(err)
		}
		return view.Run.Status
	}
	if got := status(first.ID); got != workflow.Paused {
		t.Errorf("the first run is %s", got)
	}
	bound, err := a.Reads.Get(t.Context(), operator, ports.Target{SessionID: "s"}, false)
	if err != nil || bound.Run.ID != second.Run.ID {
		t.Fatalf("the session drives %+v, %v", bound, err)
	}
	for name, leave := range map[string]func() error{
		"load": func() error {
			_, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "review", SessionID: "s"})
			return err
		},
		"pause":  func() error { _, err := a.Moves.Pause(t.Context(), agent, second.Run.ID, "", ""); return err },
		"cancel": func() error { _, err := a.Moves.Cancel(t.Context(), agent, second.Run.ID, "", ""); return err },
	} {
		if err := leave(); fault.ReasonOf(err) != fault.EnforcementKept {
			t.Errorf("%s by an agent: %v", name, err)
		}
	}
	if got := status(second.Run.ID); got != workflow.Running {
		t.Errorf("after all that the run is %s", got)
	}
	if _, _, err := a.Starts.Start(t.Context(), operator, Start{Workflow: "review", SessionID: "s"}); err != nil {
		t.Errorf("an operator cannot load another: %v", err)
	}
}

// S6.2: resume takes the owner's newest paused run into the new session.
func TestResumeInAnotherSession(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "one"})
	if _, err := fire(a, agent, run.ID, "COUNT", `{"n": 3}`, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Moves.Pause(t.Context(), agent, run.ID, "lunch", ""); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a repeat resumes the same run
		view, resumed, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "review", SessionID: "two", Resume: true, IdempotencyKey: "r"})
		if err != nil || !resumed || view.Run.ID != run.ID || view.Run.Status != workflow.Running || view.Run.SessionID != "two" {
			t.Fatalf("resumed %t: %+v, %v", resumed, view, err)
		}
		if n, _ := view.Run.Context.Get("n"); n.Number() != "3" || view.Run.TransitionCount != 1 {
			t.Fatalf("the run lost its context or count: %+v", view.Run)
		}
	}
	bound, err := a.Reads.Get(t.Context(), operator, ports.Target{SessionID: "two"}, false)
	if err != nil || bound.Run.ID != run.ID {
		t.Fatalf("session two drives %+v, %v", bound, err)
	}
	if _, resumed, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "review", SessionID: "three", Resume: true}); err != nil || resumed {
		t.Fatalf("with nothing paused: resumed %t, %v", resumed, err)
	}
}

func TestOperatorHolds(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
	if _, err := a.Moves.Pause(t.Context(), operator, run.ID, "stop", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Moves.Resume(t.Context(), agent, run.ID, ""); fault.ReasonOf(err) != fault.RunHeld {
		t.Errorf("resume by an agent: %v", err)
	}
	if _, err := a.Moves.Cancel(t.Context(), agent, run.ID, "", ""); fault.ReasonOf(err) != fault.RunHeld {
		t.Errorf("cancel by an agent: %v", err)
	}
	if _, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "review", SessionID: "s"}); fault.ReasonOf(err) != fault.RunHeld {
		t.Errorf("another run by an agent: %v", err)
	}
	if _, _, err := a.Starts.Start(t.Context(), operator, Start{Workflow: "review", SessionID: "s"}); err != nil {
		t.Errorf("another run by an operator: %v", err)
	}
	outcome, err := a.Moves.Resume(t.Context(), operator, run.ID, "")
	if err != nil || outcome.View.Run.Status != workflow.Running || outcome.View.Run.Held() {
		t.Errorf("resume by an operator: %+v, %v", outcome, err)
	}
}

// An agent's cancel frees its session; an operator's does not.
func TestCancelUnbinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		by   ports.Caller
		free bool
	}{{agent, true}, {operator, false}} {
		a := newApp(newStore(t))
		run := newRun(t, a, agent, Start{Workflow: "review", SessionID: "s"})
		if _, err := a.Moves.Cancel(t.Context(), c.by, run.ID, "", ""); err != nil {
			t.Fatal(err)
		}
		_, err := a.Reads.Get(t.Context(), operator, ports.Target{SessionID: "s"}, false)
		if free := fault.ReasonOf(err) == fault.NotFound; free != c.free {
			t.Errorf("cancelled by %s: free is %t, %v", c.by.Principal.Role, free, err)
		}
		if _, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "review", SessionID: "s"}); err != nil {
			t.Errorf("afterwards a run cannot start: %v", err)
		}
	}
}

// S1.6, S6.7
func TestRegister(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	a.Enforcement = workflow.UntilSuccess
	changed := `{"id":"review","initial":"a","states":{"a":{"on":{"X":"b"}},"b":{"type":"final"}}}`
	reordered := `{"initial":"a","id":"review","states":{"a":{"on":{"X":"b"}},"b":{"type":"final"}}}`
	for i, step := range []struct {
		by      ports.Caller
		src     string
		version int64
		created bool
		reason  fault.Reason
	}{
		{operator, review, 1, true, ""},
		{operator, review, 1, false, ""},
		{agent, review, 1, false, ""},
		{agent, changed, 0, false, fault.NameTaken},
		{operator, changed, 2, true, ""},
		{operator, reordered, 2, false, ""},
		{operator, review, 3, true, ""},
		{operator, `{"id":"review"}`, 0, false, fault.InvalidDefinition},
		{operator, `{`, 0, false, fault.InvalidDefinition},
		{agent, locked, 1, true, ""},
	} {
		v, created, _, err := a.Registry.Register(t.Context(), step.by, []byte(step.src), "")
		if fault.ReasonOf(err) != step.reason || created != step.created || err == nil && v.Number != step.version {
			t.Errorf("step %d: version %+v, created %t, %v", i, v, created, err)
		}
	}
	v, err := a.Registry.Workflow(t.Context(), "default", "review", 1)
	if err != nil || string(v.Definition) != review {
		t.Errorf("version 1 is %+v, %v", v, err)
	}
	for _, number := range []int64{4, -1} {
		if _, err := a.Registry.Workflow(t.Context(), "default", "review", number); fault.ReasonOf(err) != fault.NotFound {
			t.Errorf("version %d: %v", number, err)
		}
	}
}

func TestWatchSendsUntilTheEnd(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	run := newRun(t, a, agent, Start{Workflow: "review"})
	sent := make(chan *View)
	done := make(chan error, 1)
	go func() {
		done <- a.Reads.Watch(t.Context(), operator, run.ID, func(v *View) error { sent <- v; return nil })
	}()
	for i, event := range []string{"COUNT", "FAIL", ""} {
		if v := <-sent; v.Run.Version != int64(i+1) {
			t.Fatalf("sent version %d as number %d", v.Run.Version, i+1)
		}
		if event == "" {
			break
		}
		if _, err := fire(a, agent, run.ID, event, "", ""); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := a.Changed.Waiting(); n != 0 {
		t.Errorf("%d waiters are left", n)
	}
}

// S2.9: a deployment's enforcement is written into what names none, and stays as it is written.
func TestRegisterWritesTheEnforcement(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	for i, step := range []struct {
		by                workflow.Enforcement
		src               string
		version           int64
		enforcement, mode string
	}{
		{workflow.WhileRunning, review, 1, "while_running", "none"},
		{workflow.WhileRunning, review, 1, "while_running", "none"},
		{workflow.UntilSuccess, review, 2, "until_success", "ui"},
		{workflow.WhileRunning, locked, 1, "always", "ui"},
	} {
		a.Enforcement = step.by
		v, _, _, err := a.Registry.Register(t.Context(), operator, []byte(step.src), "")
		if err != nil {
			t.Fatal(err)
		}
		def, problems := workflow.Parse(v.Definition)
		if problems.HasErrors() || v.Number != step.version || def.Meta.Enforcement.String() != step.enforcement || def.Meta.ApprovalMode != step.mode {
			t.Errorf("step %d: version %d has %s and %s, %v", i, v.Number, def.Meta.Enforcement, def.Meta.ApprovalMode, problems)
		}
	}
}
