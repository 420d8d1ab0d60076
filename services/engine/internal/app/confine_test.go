package app

import (
	"context"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// of is the agent with a token that is bound to a session, and maybe to a branch.
func of(session, branch string) ports.Caller {
	caller := agent
	caller.Principal.Session, caller.Principal.Branch = session, branch
	return caller
}

// acts tries all that a caller can do to a run, and answers what was let through. What
// the run itself refuses was.
func acts(t *testing.T, a *App, caller ports.Caller, target ports.Target) map[string]bool {
	t.Helper()
	ctx := t.Context()
	_, fires := a.Moves.Transition(ctx, caller, Transition{Target: target, Event: "NO SUCH EVENT"})
	_, answers := a.Moves.Answer(ctx, caller, Answer{Target: target, Answer: "no such answer"})
	_, gets := a.Reads.Get(ctx, caller, target, false)
	through := map[string]bool{}
	for what, err := range map[string]error{"fire": fires, "answer": answers, "get": gets} {
		switch reason := fault.ReasonOf(err); reason {
		case "", fault.FailedPrecondition: // it is not a process
			through[what] = true
		case fault.PermissionDenied, fault.NotFound:
		default:
			t.Errorf("%s: %v", what, err)
		}
	}
	if through["fire"] != through["answer"] {
		t.Errorf("%+v may fire: %t, answer: %t", target, through["fire"], through["answer"])
	}
	return through
}

// A bound token acts on the run that its session drives, and on those that wait for
// each other with it, and on nothing else; an unbound one as always.
func TestBoundToASession(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	registerAll(t, g.App)
	mine, other := g.start("outer", "s"), g.start("shipping", "x")
	left := g.start("shipping", "s0")
	g.start("shipping", "s0") // which pauses the one before
	accepted(t, g.App, ports.Target{RunID: mine}, "DELEGATE", "", "")
	child := g.is(mine, workflow.Waiting, "a").Child.RunID
	for _, tt := range []struct {
		caller    ports.Caller
		target    ports.Target
		act, read bool
	}{
		{of("s", ""), ports.Target{}, true, true},
		{of("s", ""), ports.Target{SessionID: "s"}, true, true},
		{of("s", ""), ports.Target{RunID: mine}, true, true},
		{of("s", ""), ports.Target{RunID: child}, true, true},
		{of("s", ""), ports.Target{RunID: other}, false, false},
		{of("s", ""), ports.Target{SessionID: "x"}, false, false},
		{of("s", ""), ports.Target{RunID: mine, SessionID: "x"}, false, false},
		{of("s", ""), ports.Target{RunID: "run_none"}, false, false},
		{of("s0", ""), ports.Target{RunID: left}, false, true},
		{of("none", ""), ports.Target{RunID: mine}, false, false},
		{of("none", ""), ports.Target{}, false, false},
		{agent, ports.Target{RunID: other}, true, true},
		{agent, ports.Target{SessionID: "x"}, true, true},
	} {
		got := acts(t, g.App, tt.caller, tt.target)
		if got["fire"] != tt.act || got["get"] != tt.read {
			t.Errorf("session %q on %+v: acts %t, reads %t", tt.caller.Principal.Session, tt.target, got["fire"], got["get"])
		}
	}
	// What concerns the whole run, and what is read of it.
	for runID, may := range map[string]bool{mine: true, other: false, "run_none": false} {
		for what, call := range map[string]func(ports.Caller) error{
			"pause":  func(c ports.Caller) error { _, err := g.Moves.Pause(t.Context(), c, runID, "", ""); return err },
			"resume": func(c ports.Caller) error { _, err := g.Moves.Resume(t.Context(), c, runID, ""); return err },
			"cancel": func(c ports.Caller) error { _, err := g.Moves.Cancel(t.Context(), c, runID, "", ""); return err },
			"history": func(c ports.Caller) error {
				_, _, err := g.Reads.History(t.Context(), c, runID, Position{}, 1)
				return err
			},
			"watch": func(c ports.Caller) error {
				ctx, cancel := context.WithCancel(t.Context())
				return g.Reads.Watch(ctx, c, runID, func(*View) error { cancel(); return nil })
			},
		} {
			reason := fault.ReasonOf(call(of("s", "")))
			if denied := reason == fault.PermissionDenied || reason == fault.NotFound; denied == may {
				t.Errorf("%s of %s: %s", what, runID, reason)
			}
		}
	}
	views, _, err := g.Reads.List(t.Context(), of("s", ""), ListQuery{Limit: 10})
	if err != nil || len(views) != 2 {
		t.Errorf("lists %d runs, %v", len(views), err)
	}
	if views, _, err := g.Reads.List(t.Context(), of("none", ""), ListQuery{Limit: 10}); err != nil || len(views) != 0 {
		t.Errorf("lists %d runs, %v", len(views), err)
	}
}

// S6.5: that a session is free again after its run was cancelled is no reason to
// refuse the repeat of that.
func TestBoundRepeatsCancel(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	run, other := g.start("shipping", "s"), g.start("shipping", "x")
	for range 2 {
		if outcome, err := g.Moves.Cancel(t.Context(), of("s", ""), run, "enough", "k"); err != nil || outcome.Rejection != nil {
			t.Errorf("%+v, %v", outcome, err)
		}
	}
	if _, err := g.Moves.Cancel(t.Context(), agent, other, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Moves.Cancel(t.Context(), of("s", ""), other, "", ""); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("another's: %v", err)
	}
}

// A bound token starts runs in its own session, and resumes what that has paused.
func TestBoundStarts(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	other := g.start("shipping", "x")
	if _, err := g.Moves.Pause(t.Context(), agent, other, "", ""); err != nil {
		t.Fatal(err)
	}
	view, resumed, err := g.Starts.Start(t.Context(), of("s", ""), Start{Workflow: "shipping", Resume: true})
	if err != nil || resumed || view.Run.SessionID != "s" {
		t.Fatalf("%+v, resumed %t, %v", view, resumed, err)
	}
	mine := view.Run.ID
	if _, err := g.Starts.StartProcess(t.Context(), of("s", ""), Start{Workflow: "signoff", SessionID: "s"}); err != nil {
		t.Error(err)
	}
	g.is(mine, workflow.Paused, "ready")
	completeProcess(t, g, "s")
	if view, resumed, err := g.Starts.Start(t.Context(), of("s", ""), Start{Workflow: "shipping", Resume: true}); err != nil || !resumed || view.Run.ID != mine {
		t.Errorf("resumed %t, %v", resumed, err)
	}
	for name, tt := range map[string]struct {
		caller ports.Caller
		req    Start
	}{
		"another session": {of("s", ""), Start{Workflow: "shipping", SessionID: "x"}},
		"a branch":        {of("s", "lint"), Start{Workflow: "shipping"}},
	} {
		if _, _, err := g.Starts.Start(t.Context(), tt.caller, tt.req); fault.ReasonOf(err) != fault.PermissionDenied {
			t.Errorf("%s: %v", name, err)
		}
	}
	g.is(other, workflow.Paused, "ready")
}

// S5.3: in a fork a bound token takes the branches of its own session's runs and of those
// above it, or the branch that it names; where it acts, pkg/authority/testdata tells.
func TestBoundInAFork(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	registerAll(t, g.App)
	run := g.start("checks", "m")
	accepted(t, g.App, ports.Target{RunID: run}, "CHECK", "", "")
	strangers := mustStart(t, g.App, ports.Caller{Namespace: "default", Principal: auth.Principal{Name: "zoe", Role: auth.Agent}}, Start{Workflow: "checks", SessionID: "z"}).ID
	accepted(t, g.App, ports.Target{RunID: strangers}, "CHECK", "", "")
	for name, tt := range map[string]struct {
		caller ports.Caller
		req    Bind
		denied bool
	}{
		"its own session":          {of("m/2", ""), Bind{RunID: run, Branch: "tests", SessionID: "m/2"}, false},
		"another session":          {of("m/2", ""), Bind{RunID: run, Branch: "types", SessionID: "m3"}, true},
		"another's run":            {of("x4", ""), Bind{RunID: strangers, Branch: "types", SessionID: "x4"}, true},
		"the token's branch":       {of("m5", "types"), Bind{RunID: strangers, Branch: "types", SessionID: "m5"}, false},
		"not the token's branch":   {of("m6", "types"), Bind{RunID: run, Branch: "lint", SessionID: "m6"}, true},
		"by workflow, not its own": {of("m7", ""), Bind{Workflow: "checks", Branch: "lint", SessionID: "m8"}, true},
		"no such run":              {of("m9", ""), Bind{RunID: "run_none", Branch: "lint", SessionID: "m9"}, true},
	} {
		if _, err := g.Branches.Bind(t.Context(), tt.caller, tt.req); (fault.ReasonOf(err) == fault.PermissionDenied) != tt.denied || err != nil && !tt.denied {
			t.Errorf("bind %s: %v", name, err)
		}
	}
	// The whole run is not assigned to a branch.
	for _, caller := range []ports.Caller{of("m/2", ""), of("m", "lint")} {
		if _, err := g.Moves.Pause(t.Context(), caller, run, "", ""); fault.ReasonOf(err) != fault.PermissionDenied {
			t.Errorf("%s pauses: %v", caller.Principal.Session, err)
		}
	}
	// A branch that another session takes over is lost, for anyone who names the run too.
	if _, err := g.Branches.Bind(t.Context(), agent, Bind{RunID: run, Branch: "tests", SessionID: "m10"}); err != nil {
		t.Fatal(err)
	}
	view, err := g.Reads.Get(t.Context(), of("m/2", ""), ports.Target{RunID: run}, true)
	if err != nil || !view.At.Over {
		t.Errorf("the branch is still assigned: %+v, %v", view, err)
	}
	outcome, err := g.Moves.Transition(t.Context(), of("m/2", ""), Transition{Target: ports.Target{RunID: run}, Event: "OK"})
	if err != nil || outcome.Rejection == nil {
		t.Errorf("it fires: %+v, %v", outcome, err)
	}
}

// The call that was allowed is what admits an interrupt, in the session's own tree.
func TestBoundInterrupts(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	mine, other := g.start("shipping", "s"), g.start("shipping", "x")
	for runID, want := range map[string]fault.Reason{mine: fault.FailedPrecondition, other: fault.PermissionDenied} {
		_, err := g.Moves.Interrupt(t.Context(), of("s", ""), runID, "call_1", nil)
		if fault.ReasonOf(err) != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
