package app

import (
	"fmt"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

const (
	release = `{
		"id": "release", "initial": "building", "context": {"by": "us"},
		"states": {
			"building": {"on": {
				"TEST": {"invoke": "suite", "on_complete": "shipping", "on_fail": "fixing", "input": {"kind": "all"}},
				"STRICT": {"invoke": "suite", "on_complete": "shipping"},
				"LOST": {"invoke": "nowhere", "on_complete": "shipping"}}},
			"fixing": {"on": {"AGAIN": "building"}},
			"shipping": {"on": {"DONE": "done"}},
			"done": {"type": "final"}
		}
	}`
	suite = `{
		"id": "suite", "initial": "unit", "context": {"kind": "unit"},
		"states": {
			"unit": {"max_iterations": 5, "on": {"PASS": "green", "FAIL": "failed", "DEEPER": {"invoke": "deep", "on_complete": "green", "on_fail": "failed"}}},
			"green": {"type": "final"}, "failed": {"type": "final"}
		}
	}`
	deep = `{
		"id": "deep", "initial": "unit",
		"states": {
			"unit": {"on": {"PASS": "green", "DEEPER": {"invoke": "suite", "on_complete": "green"}}},
			"green": {"type": "final"}
		}
	}`
	checks = `{
		"id": "checks", "initial": "start", "context": {"n": 0},
		"states": {
			"start": {"on": {"CHECK": {"fork": {"branches": {
				"lint": {"initial": "lint_run", "terminal": "lint_done"},
				"types": {"initial": "types_run", "terminal": "types_done"},
				"tests": {"initial": "tests_run", "terminal": "tests_done"}},
				"on_complete": "ready", "on_fail": "broken"}}}},
			"lint_run": {"on": {"OK": "lint_done", "SELF": "lint_run", "BAD": "broken"}}, "lint_done": {"type": "final"},
			"types_run": {"on": {"OK": "types_done", "SELF": "types_run", "BAD": "broken"}}, "types_done": {"type": "final"},
			"tests_run": {"on": {"OK": "tests_done", "SELF": "tests_run", "BAD": "broken",
				"RUN": {"invoke": "suite", "on_complete": "tests_done", "on_fail": "broken"}}}, "tests_done": {"type": "final"},
			"ready": {"on": {"END": "done"}},
			"done": {"type": "final"}, "broken": {"type": "final", "outcome": "failure"}
		}
	}`
)

func registerAll(t *testing.T, a *App) {
	t.Helper()
	for _, definition := range []string{release, suite, deep, checks} {
		if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
	}
}

// accepted fires an event that must be accepted, and answers the run in force.
func accepted(t *testing.T, a *App, target ports.Target, event, data, key string) *View {
	t.Helper()
	outcome, err := a.Moves.Transition(t.Context(), agent, Transition{Target: target, Event: event, Data: []byte(data), IdempotencyKey: key})
	if err != nil {
		t.Fatalf("%s: %v", event, err)
	}
	if outcome.Rejection != nil {
		t.Fatalf("%s: %s", event, outcome.Rejection.Message)
	}
	return outcome.View
}

func load(t *testing.T, a *App, id string) *workflow.Run {
	t.Helper()
	view, err := a.Reads.Get(t.Context(), operator, ports.Target{RunID: id}, false)
	if err != nil {
		t.Fatal(err)
	}
	return view.Run
}

// S5.5: the child has the parent's session, what is asked of the parent is judged
// in the child, and its end moves the parent on with its results.
func TestInvoke(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	parent := mustStart(t, a, agent, Start{Workflow: "release", SessionID: "s", Workspace: "/w"})
	bySession := ports.Target{SessionID: "s"}
	child := accepted(t, a, bySession, "TEST", `{"asked": true}`, "").Run
	if child.Workflow != "suite" || child.SessionID != "s" || child.Workspace != "/w" || child.Parent.RunID != parent.ID ||
		child.Context.String() != `{"kind":"all"}` {
		t.Errorf("child %+v", child)
	}
	if p := load(t, a, parent.ID); p.Status != workflow.Waiting || p.State != "building" || p.Context.String() != `{"by":"us","asked":true}` {
		t.Errorf("parent %+v", p)
	}
	for _, target := range []ports.Target{bySession, {RunID: parent.ID}, {RunID: child.ID}} {
		view, err := a.Reads.Get(t.Context(), operator, target, true)
		if err != nil || view.Run.ID != child.ID {
			t.Errorf("%+v is run %s, %v", target, view.Run.ID, err)
		}
		if want := max(target.RunID, map[bool]string{true: parent.ID}[target.SessionID != ""]); view.AskedID != want {
			t.Errorf("%+v was asked as %s, want %s", target, view.AskedID, want)
		}
	}
	after := accepted(t, a, ports.Target{RunID: parent.ID}, "PASS", `{"passed": 7}`, "").Run
	if after.ID != parent.ID || after.State != "shipping" || after.Status != workflow.Running ||
		after.Context.String() != `{"by":"us","asked":true,"results":{"TEST":{"kind":"all","passed":7}}}` {
		t.Errorf("afterwards %+v, context %s", after, after.Context)
	}
	if c := load(t, a, child.ID); c.Status != workflow.Completed {
		t.Errorf("child %+v", c)
	}
}

// S5.5, S5.6: failure, what is not registered, depth, cancelling on both sides.
func TestInvokeThatFails(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	begin := func(event string) (parent string, child string) {
		run := mustStart(t, a, agent, Start{Workflow: "release"})
		return run.ID, accepted(t, a, ports.Target{RunID: run.ID}, event, "", "").Run.ID
	}
	parent, _ := begin("TEST")
	if after := accepted(t, a, ports.Target{RunID: parent}, "FAIL", "", "").Run; after.State != "fixing" {
		t.Errorf("after a failed child: %+v", after)
	}
	parent, child := begin("STRICT")
	if after := accepted(t, a, ports.Target{RunID: child}, "FAIL", "", "").Run; after.ID != parent || after.Status != workflow.Failed {
		t.Errorf("without on_fail: %+v", after)
	}
	parent, child = begin("TEST")
	if _, err := a.Moves.Cancel(t.Context(), operator, child, "enough", ""); err != nil {
		t.Fatal(err)
	}
	if p := load(t, a, parent); p.State != "fixing" || p.Status != workflow.Running {
		t.Errorf("after a cancelled child: %+v", p)
	}
	parent, child = begin("TEST")
	grandchild := accepted(t, a, ports.Target{RunID: parent}, "DEEPER", "", "").Run.ID
	if _, err := a.Moves.Cancel(t.Context(), operator, parent, "enough", ""); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{parent, child, grandchild} {
		if r := load(t, a, id); r.Status != workflow.Cancelled {
			t.Errorf("run %s is %s after its parent was cancelled", r.Workflow, r.Status)
		}
	}
	run := mustStart(t, a, agent, Start{Workflow: "release"})
	outcome, err := fire(a, agent, run.ID, "LOST", "", "")
	if err != nil || outcome.Rejection == nil || outcome.Rejection.Code != workflow.RejectUnknownWorkflow {
		t.Errorf("an unknown workflow: %+v, %v", outcome, err)
	}
	accepted(t, a, ports.Target{RunID: run.ID}, "TEST", "", "")
	for depth := 1; depth < workflow.MaxInvokeDepth; depth++ {
		accepted(t, a, ports.Target{RunID: run.ID}, "DEEPER", "", "")
	}
	outcome, err = fire(a, agent, run.ID, "DEEPER", "", "")
	if err != nil || outcome.Rejection == nil || outcome.Rejection.Code != workflow.RejectInvokeTooDeep {
		t.Errorf("at the limit: %+v, %v", outcome, err)
	}
	// All of them end together: each is the success of the one above.
	if after := accepted(t, a, ports.Target{RunID: run.ID}, "PASS", "", "").Run; after.ID != run.ID || after.State != "shipping" {
		t.Errorf("after %d children: %+v", workflow.MaxInvokeDepth, after)
	}
}

// A pause stops the whole family and a resume continues it (S6.2); an agent may
// not leave a child that enforces always (S6.6).
func TestFamilyPausesTogether(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	parent := mustStart(t, a, agent, Start{Workflow: "release", SessionID: "s"})
	child := accepted(t, a, ports.Target{SessionID: "s"}, "TEST", "", "").Run
	if _, err := a.Moves.Pause(t.Context(), operator, child.ID, "look", ""); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{parent.ID, child.ID} {
		if r := load(t, a, id); r.Status != workflow.Held || !r.Held() {
			t.Errorf("%s is %s, held %t", r.Workflow, r.Status, r.Held())
		}
	}
	outcome, err := fire(a, agent, parent.ID, "PASS", "", "")
	if err != nil || outcome.Rejection == nil || outcome.Rejection.Code != workflow.RejectRunNotRunning {
		t.Errorf("an event while held: %+v, %v", outcome, err)
	}
	if _, err := a.Moves.Resume(t.Context(), agent, parent.ID, ""); fault.ReasonOf(err) != fault.RunHeld {
		t.Errorf("an agent lifts a hold: %v", err)
	}
	if _, err := a.Moves.Resume(t.Context(), operator, parent.ID, ""); err != nil {
		t.Fatal(err)
	}
	if p, c := load(t, a, parent.ID), load(t, a, child.ID); p.Status != workflow.Waiting || c.Status != workflow.Running {
		t.Errorf("resumed: parent %s, child %s", p.Status, c.Status)
	}
	// Loading another workflow pauses both, and resume brings both back.
	mustStart(t, a, agent, Start{Workflow: "suite", SessionID: "s"})
	if p, c := load(t, a, parent.ID), load(t, a, child.ID); p.Status != workflow.Paused || c.Status != workflow.Paused {
		t.Errorf("left: parent %s, child %s", p.Status, c.Status)
	}
	view, resumed, err := a.Starts.Start(t.Context(), agent, Start{Workflow: "release", SessionID: "s2", Resume: true})
	if err != nil || !resumed || view.Run.ID != child.ID || view.Run.SessionID != "s2" {
		t.Errorf("resumed %t as %+v, %v", resumed, view.Run, err)
	}
	if after := accepted(t, a, ports.Target{SessionID: "s2"}, "PASS", "", "").Run; after.ID != parent.ID || after.State != "shipping" {
		t.Errorf("afterwards %+v", after)
	}
}

// The parent resumes whatever befalls the store between any two steps, and each
// event counts once: commits fail, or are applied and seem to fail, and the
// request is repeated with its key, here or on another replica.
func TestInvokeSurvivesFaults(t *testing.T) {
	t.Parallel()
	for _, kind := range []storetest.Fault{storetest.Failed, storetest.FailedButApplied, storetest.Uncertain} {
		for n := 1; n <= 4; n++ {
			st := newStore(t)
			a := newApp(st)
			registerAll(t, a)
			run := mustStart(t, a, agent, Start{Workflow: "release", SessionID: "s"})
			st.Decide = storetest.Nth(st.Commits()+n, kind)
			for i, event := range []string{"TEST", "DEEPER", "PASS", "DONE"} {
				request := Transition{Target: ports.Target{RunID: run.ID}, Event: event, IdempotencyKey: fmt.Sprint("k", i)}
				outcome, err := a.Moves.Transition(t.Context(), agent, request)
				for try := 0; err != nil && try < 3; try++ {
					a = newApp(st) // another replica, or this one after a restart
					outcome, err = a.Moves.Transition(t.Context(), agent, request)
				}
				if err != nil || outcome.Rejection != nil {
					t.Fatalf("fault %d at commit %d: %s: %+v, %v", kind, n, event, outcome, err)
				}
			}
			if p := load(t, a, run.ID); p.State != "done" || p.TransitionCount != 3 {
				t.Errorf("fault %d at commit %d: %+v", kind, n, p)
			}
			views, _, err := a.Reads.List(t.Context(), operator, ListQuery{Limit: 100})
			if err != nil || len(views) != 3 {
				t.Errorf("fault %d at commit %d: %d runs were started, %v", kind, n, len(views), err)
			}
		}
	}
}

// A child that was invoked in a branch is cancelled when the fork joins without
// it.
func TestJoinCancelsChildren(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerAll(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "checks"})
	accepted(t, a, ports.Target{RunID: run.ID}, "CHECK", "", "")
	child := accepted(t, a, ports.Target{RunID: run.ID, Branch: "tests"}, "RUN", "", "").Run
	if child.Workflow != "suite" {
		t.Fatalf("invoked %+v", child)
	}
	accepted(t, a, ports.Target{RunID: run.ID, Branch: "lint"}, "BAD", "", "")
	if r, c := load(t, a, run.ID), load(t, a, child.ID); r.State != "broken" || c.Status != workflow.Cancelled {
		t.Errorf("run in %s, child %s", r.State, c.Status)
	}
	outcome, err := fire(a, agent, child.ID, "PASS", "", "")
	if err != nil || outcome.Rejection == nil {
		t.Errorf("a cancelled child continues: %+v, %v", outcome, err)
	}
}
