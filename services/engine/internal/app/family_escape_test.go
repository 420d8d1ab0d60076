package app

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

const (
	lockedFork = `{
		"id": "lfork", "initial": "start", "meta": {"enforcement": "always"},
		"states": {
			"start": {"on": {"GO": {"fork": {"branches": {
				"a": {"initial": "a1", "terminal": "a2"}, "b": {"initial": "b1", "terminal": "b2"}}, "on_complete": "end"}}}},
			"a1": {"on": {"OK": "a2"}}, "a2": {"type": "final"}, "b1": {"on": {"OK": "b2"}}, "b2": {"type": "final"},
			"end": {"on": {"END": "done"}}, "done": {"type": "final"}
		}
	}`
	looseFork = `{
		"id": "nfork", "initial": "start",
		"states": {
			"start": {"on": {"GO": {"fork": {"branches": {
				"a": {"initial": "a1", "terminal": "a2"}, "b": {"initial": "b1", "terminal": "b2"}}, "on_complete": "end"}}}},
			"a1": {"on": {"OK": "a2"}}, "a2": {"type": "final"},
			"b1": {"on": {"OK": "b2", "SUB": {"invoke": "locked", "on_complete": "b2"}}}, "b2": {"type": "final"},
			"end": {"on": {"END": "done"}}, "done": {"type": "final"}
		}
	}`
	free = `{"id": "free", "initial": "x", "states": {"x": {"on": {"END": "y"}}, "y": {"type": "final"}}}`
	// around invokes nfork, and lockedAround a suite, enforcing always.
	around = `{"id": "around", "initial": "x", "states": {
		"x": {"on": {"SUB": {"invoke": "nfork", "on_complete": "y"}}}, "y": {"on": {"END": "z"}}, "z": {"type": "final"}}}`
	lockedAround = `{"id": "laround", "initial": "x", "meta": {"enforcement": "always"}, "states": {
		"x": {"on": {"SUB": {"invoke": "free", "on_complete": "y"}}}, "y": {"on": {"END": "z"}}, "z": {"type": "final"}}}`
)

func registerEscapes(t *testing.T, a *App) {
	t.Helper()
	for _, definition := range []string{locked, lockedFork, looseFork, free, around, lockedAround} {
		if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
	}
}

func mustBind(t *testing.T, a *App, run, branch, session string) *View {
	t.Helper()
	view, err := a.Branches.Bind(t.Context(), agent, Bind{RunID: run, Branch: branch, SessionID: session})
	if err != nil {
		t.Fatalf("bind %s to %s: %v", session, branch, err)
	}
	return view
}

// loads is why a session may not load another workflow.
func loads(t *testing.T, a *App, session string) fault.Reason {
	t.Helper()
	_, _, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "free", SessionID: session})
	return fault.ReasonOf(err)
}

// S2.9, S6.6, S6.2: a session that works in a branch leaves no earlier than the run's
// own: not when its branch is over, not while an operator holds the run, not
// while a child that enforces always is at work.
func TestBranchSessionsDoNotEscape(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerEscapes(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "lfork", SessionID: "S"})
	accepted(t, a, ports.Target{SessionID: "S"}, "GO", "", "")
	mustBind(t, a, run.ID, "b", "S/x")
	mustBind(t, a, run.ID, "b", "S/x") // is no leaving
	accepted(t, a, ports.Target{SessionID: "S/x"}, "OK", "", "")
	if got := loads(t, a, "S/x"); got != fault.EnforcementKept {
		t.Errorf("after its branch: %v", got)
	}
	accepted(t, a, ports.Target{SessionID: "S"}, "OK", "", "")
	accepted(t, a, ports.Target{SessionID: "S"}, "END", "", "")
	for _, session := range []string{"S", "S/x"} { // what enforces always stays in force
		if got := loads(t, a, session); got != fault.EnforcementKept {
			t.Errorf("after the run, %s: %v", session, got)
		}
	}
	mustStart(t, a, agent, Start{Workflow: "lfork", SessionID: "S"})

	run = mustStart(t, a, agent, Start{Workflow: "nfork", SessionID: "H"})
	accepted(t, a, ports.Target{SessionID: "H"}, "GO", "", "")
	mustBind(t, a, run.ID, "b", "H2")
	if _, err := a.Moves.Pause(t.Context(), operator, run.ID, "stop", ""); err != nil {
		t.Fatal(err)
	}
	if own, branch := loads(t, a, "H"), loads(t, a, "H2"); own != fault.RunHeld || branch != fault.RunHeld {
		t.Errorf("while held: %v and %v", own, branch)
	}

	run = mustStart(t, a, agent, Start{Workflow: "nfork", SessionID: "C"})
	accepted(t, a, ports.Target{SessionID: "C"}, "GO", "", "")
	mustBind(t, a, run.ID, "b", "C2")
	accepted(t, a, ports.Target{SessionID: "C2"}, "SUB", "", "")
	if got := loads(t, a, "C2"); got != fault.EnforcementKept {
		t.Errorf("with a child that enforces always: %v", got)
	}
}

// S6.6: an agent ends a run that enforces always neither by itself nor by its
// child.
func TestChildIsNoWayOut(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerEscapes(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "laround", SessionID: "S"})
	child := accepted(t, a, ports.Target{SessionID: "S"}, "SUB", "", "").Run
	for _, id := range []string{run.ID, child.ID} {
		if _, err := a.Moves.Cancel(t.Context(), agent, id, "", ""); fault.ReasonOf(err) != fault.EnforcementKept {
			t.Errorf("cancel: %v", err)
		}
	}
	if _, err := a.Moves.Cancel(t.Context(), operator, child.ID, "", ""); err != nil {
		t.Error(err)
	}
}

// S6.7: what an operator has registered does not invoke what an agent fills in.
func TestAgentsFillInNothing(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	invoking := strings.Replace(around, `"nfork"`, `"later"`, 1)
	later := strings.Replace(free, `"free"`, `"later"`, 1)
	register := func(by ports.Caller, definition string) {
		t.Helper()
		if _, _, _, err := a.Registry.Register(t.Context(), by, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
	}
	register(operator, invoking)
	register(agent, strings.Replace(invoking, `"around"`, `"mine"`, 1))
	register(agent, later)
	run := mustStart(t, a, agent, Start{Workflow: "around"})
	outcome, err := fire(a, agent, run.ID, "SUB", "", "")
	if err != nil || outcome.Rejection == nil || outcome.Rejection.Code != workflow.RejectUnknownWorkflow {
		t.Errorf("an agent's workflow is invoked by an operator's: %+v, %v", outcome, err)
	}
	mine := mustStart(t, a, agent, Start{Workflow: "mine"})
	accepted(t, a, ports.Target{RunID: mine.ID}, "SUB", "", "")
	register(operator, later) // claims it
	accepted(t, a, ports.Target{RunID: run.ID}, "SUB", "", "")
}

// A replica whose cache is old still stops a family.
func TestPauseByAStaleReplica(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a, b := newApp(st), newApp(st)
	registerAll(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "release", SessionID: "S"})
	accepted(t, a, ports.Target{SessionID: "S"}, "TEST", "", "")
	accepted(t, b, ports.Target{SessionID: "S"}, "PASS", "", "")
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	outcome, err := a.Moves.Pause(ctx, operator, run.ID, "stop", "")
	if err != nil || outcome.Rejection != nil || load(t, b, run.ID).Status != workflow.Held {
		t.Errorf("%+v, %v", outcome, err)
	}
	run = mustStart(t, a, agent, Start{Workflow: "release", SessionID: "S2"})
	accepted(t, a, ports.Target{SessionID: "S2"}, "TEST", "", "")
	accepted(t, b, ports.Target{SessionID: "S2"}, "PASS", "", "")
	outcome, err = fire(a, agent, run.ID, "NOPE", "", "")
	if err != nil || outcome.Rejection == nil || outcome.View.Run.ID != run.ID || outcome.Rejection.State != "shipping" {
		t.Errorf("a stale rejection: %+v, %v", outcome, err)
	}
}

// S6.5: sessions in different branches may use the same keys.
func TestKeysInBranches(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerEscapes(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "nfork", SessionID: "S"})
	accepted(t, a, ports.Target{SessionID: "S"}, "GO", "", "")
	mustBind(t, a, run.ID, "a", "S1")
	mustBind(t, a, run.ID, "b", "S2")
	for range 2 { // and are answered again
		accepted(t, a, ports.Target{SessionID: "S1"}, "OK", "", "step-1")
		accepted(t, a, ports.Target{SessionID: "S2"}, "OK", "", "step-1")
	}
	if r := load(t, a, run.ID); r.State != "end" || r.TransitionCount != 3 {
		t.Errorf("the run is in %s after %d transitions", r.State, r.TransitionCount)
	}
}

// The session that drives a run may take a branch of its own child's fork: that is
// no leaving, and the family pauses and resumes together afterwards.
func TestDriverTakesABranchOfItsChild(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerEscapes(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "around", SessionID: "S"})
	child := accepted(t, a, ports.Target{SessionID: "S"}, "SUB", "", "").Run
	accepted(t, a, ports.Target{SessionID: "S"}, "GO", "", "")
	if view := mustBind(t, a, child.ID, "b", "S"); view.At.Branch != "b" || view.At.Status != workflow.Running {
		t.Errorf("bound to %+v", view.At)
	}
	states := func() string {
		return fmt.Sprint(load(t, a, run.ID).Status, " ", load(t, a, child.ID).Status)
	}
	if got := states(); got != "WAITING RUNNING" {
		t.Errorf("after binding: %s", got)
	}
	mustStart(t, a, agent, Start{Workflow: "free", SessionID: "S"})
	if got := states(); got != "PAUSED PAUSED" {
		t.Errorf("after loading another: %s", got)
	}
	if _, resumed, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "around", SessionID: "S", Resume: true}); err != nil || !resumed {
		t.Errorf("resumed %t, %v", resumed, err)
	}
	if got := states(); got != "WAITING RUNNING" {
		t.Errorf("after resuming: %s", got)
	}
}

// A session that had resumed the run in another shard is freed all the same.
func TestCancelFreesASessionElsewhere(t *testing.T) {
	t.Parallel()
	st := newStore(t)
	a := newApp(st)
	registerEscapes(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "free", SessionID: "S"})
	session := ""
	for i := 0; session == "" || bindingKey("default", session).Shard(st.Shards()) == runKey("default", run.ID).Shard(st.Shards()); i++ {
		session = fmt.Sprint("T", i)
	}
	if _, err := a.Moves.Pause(t.Context(), agent, run.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	mustStart(t, a, agent, Start{Workflow: "free", SessionID: session, Resume: true})
	if _, err := a.Moves.Cancel(t.Context(), agent, run.ID, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := a.Reads.Get(t.Context(), operator, ports.Target{SessionID: session}, false); fault.ReasonOf(err) != fault.NotFound {
		t.Errorf("the session still drives: %v", err)
	}
}
