package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// completeProcess returns the process that a session drives up to its end.
func completeProcess(t *testing.T, g *gated, session string) {
	t.Helper()
	parked := say(t, g.App, ports.Target{SessionID: session}, "yes", "")
	g.humans.decide(t, parked.ApprovalID, true, "", "")
	g.settle(parked.View.Run.ID, parked.ApprovalID, true)
	say(t, g.App, ports.Target{SessionID: session}, "yes", "")
}

// S8: an agent does not leave a process before its end, whichever of the runs it names;
// an operator does, and the agent afterwards.
func TestProcessesAreNotLeft(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	registerEscapes(t, g.App)
	forked := mustStart(t, g.App, agent, Start{Workflow: "nfork", SessionID: "F"})
	accepted(t, g.App, ports.Target{SessionID: "F"}, "GO", "", "")
	direct := g.start("signoff", "s")
	parent := g.start("outer", "p")
	child := accepted(t, g.App, ports.Target{SessionID: "p"}, "CHECK", "", "").Run.ID
	leave := func(caller ports.Caller, session string, runs ...string) map[string]error {
		ways := map[string]error{}
		for _, run := range runs {
			_, ways["pause "+run] = g.Moves.Pause(t.Context(), caller, run, "", "")
			_, ways["cancel "+run] = g.Moves.Cancel(t.Context(), caller, run, "", "")
		}
		_, _, ways["load"] = g.Starts.Start(t.Context(), caller, Start{Workflow: "free", SessionID: session})
		_, _, ways["load or resume"] = g.Starts.Start(t.Context(), caller, Start{Workflow: "free", SessionID: session, Resume: true})
		_, ways["start a process"] = g.Starts.StartProcess(t.Context(), caller, Start{Workflow: "signoff", SessionID: session})
		if caller.Principal.Session == "" { // a bound one takes no branch of another's run anyway
			_, ways["take a branch"] = g.Branches.Bind(t.Context(), caller, Bind{RunID: forked.ID, Branch: "b", SessionID: session})
		}
		return ways
	}
	for _, state := range []string{"before an answer", "while humans are asked"} {
		for _, caller := range []ports.Caller{agent, of("s", "")} {
			for way, err := range leave(caller, "s", direct) {
				if fault.ReasonOf(err) != fault.EnforcementKept || !strings.Contains(fault.From(err).Message, `process "signoff"`) {
					t.Errorf("%s, bound to %q: %s: %v", state, caller.Principal.Session, way, err)
				}
			}
		}
		for _, caller := range []ports.Caller{agent, of("p", "")} {
			for way, err := range leave(caller, "p", parent, child) {
				if fault.ReasonOf(err) != fault.EnforcementKept {
					t.Errorf("invoked, %s, bound to %q: %s: %v", state, caller.Principal.Session, way, err)
				}
			}
		}
		say(t, g.App, ports.Target{SessionID: "s"}, "yes", "")
		say(t, g.App, ports.Target{SessionID: "p"}, "yes", "")
	}

	completeProcess(t, g, g.load("done"))
	if got := loads(t, g.App, "done"); got != "" {
		t.Errorf("after its end: %v", got)
	}
	for i, op := range []func(run string) error{
		func(run string) error { _, err := g.Moves.Pause(t.Context(), operator, run, "", ""); return err },
		func(run string) error { _, err := g.Moves.Cancel(t.Context(), operator, run, "", ""); return err },
		func(string) error {
			_, _, err := g.Starts.Start(t.Context(), operator, Start{Workflow: "free", SessionID: "op2"})
			return err
		},
	} {
		if err := op(g.start("signoff", fmt.Sprint("op", i))); err != nil {
			t.Errorf("an operator: %v", err)
		}
	}
	if got := loads(t, g.App, "op0"); got != fault.RunHeld {
		t.Errorf("after an operator's pause: %v", got)
	}
	for _, session := range []string{"op1", "op2"} {
		if got := loads(t, g.App, session); got != "" {
			t.Errorf("%s: %v", session, got)
		}
	}
}

// load starts a process in a session, and answers the session.
func (g *gated) load(session string) string {
	g.Helper()
	g.start("signoff", session)
	return session
}

// S5.3: nor is a process left that a branch has invoked.
func TestProcessOfABranchIsNotLeft(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	registerEscapes(t, g.App)
	fork := strings.NewReplacer(`"nfork"`, `"pfork"`, `"locked"`, `"signoff"`).Replace(looseFork)
	if _, _, _, err := g.Registry.Register(t.Context(), operator, []byte(fork), ""); err != nil {
		t.Fatal(err)
	}
	run := g.start("pfork", "m")
	accepted(t, g.App, ports.Target{SessionID: "m"}, "GO", "", "")
	mustBind(t, g.App, run, "b", "m/x")
	accepted(t, g.App, ports.Target{SessionID: "m/x"}, "SUB", "", "")
	if own, branch := loads(t, g.App, "m"), loads(t, g.App, "m/x"); own != fault.EnforcementKept || branch != fault.EnforcementKept {
		t.Errorf("%v and %v", own, branch)
	}
	if _, err := g.Moves.Pause(t.Context(), agent, run, "", ""); fault.ReasonOf(err) != fault.EnforcementKept {
		t.Errorf("pause: %v", err)
	}
}

// S8.3: in a session whose run has ended BLOCKED no agent moves on to another one, until
// an operator has.
func TestBlockedSessionsStop(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	registerEscapes(t, g.App)
	forked := mustStart(t, g.App, agent, Start{Workflow: "nfork", SessionID: "F"})
	accepted(t, g.App, ports.Target{SessionID: "F"}, "GO", "", "")
	paused := g.start("free", "s")
	first := mustStart(t, g.App, agent, Start{Workflow: "signoff", SessionID: "s", IdempotencyKey: "k"}).ID
	say(t, g.App, ports.Target{SessionID: "s"}, "no", "")
	g.is(first, workflow.Blocked, "$blocked")

	for _, caller := range []ports.Caller{agent, of("s", "")} {
		ways := map[string]error{}
		_, _, ways["load"] = g.Starts.Start(t.Context(), caller, Start{Workflow: "free", SessionID: "s"})
		_, _, ways["load with the key of another"] = g.Starts.Start(t.Context(), caller, Start{Workflow: "free", SessionID: "s", IdempotencyKey: "k2"})
		_, _, ways["load or resume"] = g.Starts.Start(t.Context(), caller, Start{Workflow: "free", SessionID: "s", Resume: true})
		_, ways["start a process"] = g.Starts.StartProcess(t.Context(), caller, Start{Workflow: "signoff", SessionID: "s"})
		if caller.Principal.Session == "" {
			_, ways["take a branch"] = g.Branches.Bind(t.Context(), caller, Bind{RunID: forked.ID, Branch: "b", SessionID: "s"})
			_, ways["resume by id"] = g.Moves.Resume(t.Context(), caller, paused, "")
		}
		for way, err := range ways {
			if fault.ReasonOf(err) != fault.FailedPrecondition || !strings.Contains(fault.From(err).Message, "an operator can") {
				t.Errorf("bound to %q: %s: %v", caller.Principal.Session, way, err)
			}
		}
		repeat, _, err := g.Starts.Start(t.Context(), caller, Start{Workflow: "signoff", SessionID: "s", IdempotencyKey: "k"})
		if caller.Principal != agent.Principal { // whose request it was
			if fault.ReasonOf(err) != fault.FailedPrecondition {
				t.Errorf("the key of another is answered with %+v, %v", repeat, err)
			}
		} else if err != nil || repeat.Run.ID != first {
			t.Errorf("the repeat is answered with %+v, %v", repeat, err)
		}
		if outcome, err := g.Moves.Cancel(t.Context(), caller, first, "", ""); err != nil || outcome.Rejection == nil {
			t.Errorf("a blocked run is cancelled: %+v, %v", outcome, err)
		}
	}
	if now := driven(t, g.App, "s"); now.ID != first {
		t.Errorf("the session drives %s", now.ID)
	}
	g.is(paused, workflow.Paused, "x")
	mustStart(t, g.App, operator, Start{Workflow: "free", SessionID: "s"})
	if got := loads(t, g.App, "s"); got != "" {
		t.Errorf("after an operator's start: %v", got)
	}
}

// A run that ends BLOCKED in another session than it began in stops that one, wherever
// its binding is, and not the first.
func TestBlockedElsewhere(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	registerEscapes(t, g.App)
	for i := range 4 { // whose bindings are in several shards
		from, to := fmt.Sprint("from", i), fmt.Sprint("to", i)
		run := mustStart(t, g.App, operator, Start{Workflow: "signoff", SessionID: from}).ID
		if _, err := g.Moves.Pause(t.Context(), operator, run, "", ""); err != nil {
			t.Fatal(err)
		}
		if moved := mustStart(t, g.App, operator, Start{Workflow: "signoff", SessionID: to, Resume: true}); moved.ID != run {
			t.Fatalf("resumed %s, not %s", moved.ID, run)
		}
		say(t, g.App, ports.Target{SessionID: to}, "no", "")
		if there, here := loads(t, g.App, to), loads(t, g.App, from); there != fault.FailedPrecondition || here != "" {
			t.Errorf("%s: %v, %s: %v", to, there, from, here)
		}
	}
}

// S6.6: what a session has paused is not resumed while it drives a run that it cannot leave.
func TestNoWayBack(t *testing.T) {
	t.Parallel()
	g := newGated(t)
	registerEscapes(t, g.App)
	old := g.start("free", "s")
	g.start("locked", "s")
	if _, err := g.Moves.Resume(t.Context(), agent, old, "k"); fault.ReasonOf(err) != fault.EnforcementKept {
		t.Errorf("by an agent: %v", err)
	}
	g.is(old, workflow.Paused, "x")
	if _, err := g.Moves.Resume(t.Context(), operator, old, ""); err != nil {
		t.Errorf("by an operator: %v", err)
	}

	// In addition to one that may be left it is not resumed either: it must be loaded again.
	old = g.start("free", "t")
	other := g.start("around", "t")
	if _, err := g.Moves.Resume(t.Context(), agent, old, "k"); fault.ReasonOf(err) != fault.FailedPrecondition {
		t.Errorf("in addition to another: %v", err)
	}
	if now := mustStart(t, g.App, agent, Start{Workflow: "free", SessionID: "t", Resume: true}); now.ID != old {
		t.Fatalf("loaded %s, not %s", now.ID, old)
	}
	g.is(other, workflow.Paused, "x")
	if _, err := g.Moves.Pause(t.Context(), agent, old, "", ""); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Moves.Resume(t.Context(), agent, old, "k"); err != nil {
		t.Error(err)
	}
	if _, err := g.Moves.Pause(t.Context(), agent, old, "", ""); err != nil {
		t.Fatal(err)
	}
	mustStart(t, g.App, operator, Start{Workflow: "locked", SessionID: "t"})
	if outcome, err := g.Moves.Resume(t.Context(), agent, old, "k"); err != nil || outcome.Rejection != nil {
		t.Errorf("the repeat: %+v, %v", outcome, err) // which changes nothing
	}
	g.is(old, workflow.Paused, "x")
}
