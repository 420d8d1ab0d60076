package app

import (
	"fmt"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

const (
	// hub forks into branches that may each invoke what enforces always, or what forks.
	hub = `{
		"id": "hub", "initial": "start", "meta": {"enforcement": "normal"},
		"states": {
			"start": {"on": {"GO": {"fork": {"branches": {
				"x": {"initial": "x1", "terminal": "x2"}, "y": {"initial": "y1", "terminal": "y2"}}, "on_complete": "end"}}}},
			"x1": {"on": {"OK": "x2", "SUB": {"invoke": "locked", "on_complete": "x2"}, "INN": {"invoke": "nfork", "on_complete": "x1b"}}},
			"x1b": {"on": {"OK": "x2"}}, "x2": {"type": "final"},
			"y1": {"on": {"OK": "y2", "SUB": {"invoke": "locked", "on_complete": "y2"}}}, "y2": {"type": "final"},
			"end": {"on": {"END": "done"}}, "done": {"type": "final"}
		}
	}`
	// nest forks in a branch.
	nest = `{
		"id": "nest", "initial": "start",
		"states": {
			"start": {"on": {"GO": {"fork": {"branches": {
				"a": {"initial": "a1", "terminal": "a2"}, "b": {"initial": "b1", "terminal": "b2"}}, "on_complete": "end"}}}},
			"a1": {"on": {"OK": "a2"}}, "a2": {"type": "final"},
			"b1": {"on": {"SPLIT": {"fork": {"branches": {
				"p": {"initial": "p1", "terminal": "p2"}, "q": {"initial": "q1", "terminal": "q2"}}, "on_complete": "b2"}}}},
			"b2": {"type": "final"},
			"p1": {"on": {"OK": "p2"}}, "p2": {"type": "final"},
			"q1": {"on": {"OK": "q2", "SUB": {"invoke": "locked", "on_complete": "q2"}}}, "q2": {"type": "final"},
			"end": {"on": {"END": "done"}}, "done": {"type": "final"}
		}
	}`
)

func registerHubs(t *testing.T, a *App) {
	t.Helper()
	registerEscapes(t, a)
	plain := strings.Replace(hub, `"meta": {"enforcement": "normal"},`, "", 1)
	always := strings.NewReplacer(`"id": "hub"`, `"id": "lhub"`, `"normal"`, `"always"`).Replace(hub)
	for _, definition := range []string{plain, always, nest} {
		if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(definition), ""); err != nil {
			t.Fatal(err)
		}
	}
}

// S6.6: a session takes no other branch while its own waits for what enforces always.
func TestHopBetweenBranches(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerHubs(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "hub", SessionID: "m"})
	accepted(t, a, ports.Target{SessionID: "m"}, "GO", "", "")
	mustBind(t, a, run.ID, "y", "m/2")
	accepted(t, a, ports.Target{SessionID: "m/2"}, "SUB", "", "")
	_, err := a.Branches.Bind(t.Context(), of("m/2", ""), Bind{RunID: run.ID, Branch: "x", SessionID: "m/2"})
	if fault.ReasonOf(err) != fault.EnforcementKept {
		t.Errorf("the other branch: %v", err)
	}
	if got := loads(t, a, "m/2"); got != fault.EnforcementKept {
		t.Errorf("after the hop: %q", got)
	}
}

// S6.6: nor does it move from a branch of an invoked run that enforces always to a branch
// of the run that has invoked it.
func TestHopOutOfAnInvokedRun(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerHubs(t, a)
	inv := strings.NewReplacer(`"id": "hub"`, `"id": "hub2"`, `"meta": {"enforcement": "normal"},`, "", `"nfork"`, `"lfork"`).Replace(hub)
	if _, _, _, err := a.Registry.Register(t.Context(), operator, []byte(inv), ""); err != nil {
		t.Fatal(err)
	}
	run := mustStart(t, a, agent, Start{Workflow: "hub2", SessionID: "m"})
	accepted(t, a, ports.Target{SessionID: "m"}, "GO", "", "")
	child := accepted(t, a, ports.Target{SessionID: "m", Branch: "x"}, "INN", "", "").Run
	accepted(t, a, ports.Target{RunID: child.ID}, "GO", "", "")
	mustBind(t, a, child.ID, "a", "m/2")
	if got := loads(t, a, "m/2"); got != fault.EnforcementKept {
		t.Errorf("before: %q", got)
	}
	_, err := a.Branches.Bind(t.Context(), of("m/2", ""), Bind{RunID: run.ID, Branch: "y", SessionID: "m/2"})
	if fault.ReasonOf(err) != fault.EnforcementKept {
		t.Errorf("the branch outside: %v", err)
	}
	if got := loads(t, a, "m/2"); got != fault.EnforcementKept {
		t.Errorf("after the hop: %q", got)
	}
}

// S6.6: the end of an invoked run does not free a session that had a branch of it from the
// run that has invoked it, neither the driver nor another.
func TestEndedChildFreesItsBranchSession(t *testing.T) {
	t.Parallel()
	for _, driver := range []bool{false, true} {
		t.Run(fmt.Sprint("driver ", driver), func(t *testing.T) {
			t.Parallel()
			a := newApp(newStore(t))
			registerHubs(t, a)
			run := mustStart(t, a, agent, Start{Workflow: "lhub", SessionID: "m"})
			accepted(t, a, ports.Target{SessionID: "m"}, "GO", "", "")
			who := "m/2"
			if driver {
				const other = "m/2"
				who = "m"
				mustBind(t, a, run.ID, "x", other)
				accepted(t, a, ports.Target{SessionID: other}, "INN", "", "")
			} else {
				accepted(t, a, ports.Target{SessionID: "m", Branch: "x"}, "INN", "", "")
				mustBind(t, a, run.ID, "x", who)
			}
			at, err := a.Reads.Get(t.Context(), operator, ports.Target{RunID: run.ID, Branch: "x"}, false)
			if err != nil {
				t.Fatal(err)
			}
			child := at.At.Child.RunID
			accepted(t, a, ports.Target{RunID: child}, "GO", "", "")
			mustBind(t, a, child, "a", who)
			if got := loads(t, a, who); got != fault.EnforcementKept {
				t.Errorf("while it runs: %q", got)
			}
			accepted(t, a, ports.Target{RunID: child, Branch: "a"}, "OK", "", "")
			accepted(t, a, ports.Target{RunID: child, Branch: "b"}, "OK", "", "")
			accepted(t, a, ports.Target{RunID: child}, "END", "", "")
			if got := loads(t, a, who); got != fault.EnforcementKept {
				t.Errorf("after the child has ended: %q; the run is %s", got, load(t, a, run.ID).Status)
			}
		})
	}
}

// S6.6: the driver of a run that takes a branch of what another session has invoked still
// drives the first.
func TestDriverForgetsItsOwnRun(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerHubs(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "hub", SessionID: "m"})
	accepted(t, a, ports.Target{SessionID: "m"}, "GO", "", "")
	mustBind(t, a, run.ID, "x", "m/2")
	accepted(t, a, ports.Target{SessionID: "m/2"}, "INN", "", "")
	accepted(t, a, ports.Target{SessionID: "m"}, "SUB", "", "") // in y
	if got := loads(t, a, "m"); got != fault.EnforcementKept {
		t.Errorf("before: %q", got)
	}
	at, err := a.Reads.Get(t.Context(), operator, ports.Target{RunID: run.ID, Branch: "x"}, false)
	if err != nil {
		t.Fatal(err)
	}
	child := at.At.Child.RunID
	accepted(t, a, ports.Target{RunID: child}, "GO", "", "")
	if _, err := a.Branches.Bind(t.Context(), agent, Bind{RunID: child, Branch: "a", SessionID: "m"}); fault.ReasonOf(err) != fault.EnforcementKept {
		t.Errorf("it leaves the one that it waits for: %v", err)
	}
	if got := loads(t, a, "m"); got != fault.EnforcementKept {
		t.Errorf("after: %q; the run is %s", got, load(t, a, run.ID).Status)
	}
}

// S6.6: a session leaves no branch whose own fork waits for what enforces always, in
// whichever branch of it.
func TestForkInABranchHidesWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	a := newApp(newStore(t))
	registerHubs(t, a)
	run := mustStart(t, a, agent, Start{Workflow: "nest", SessionID: "m"})
	accepted(t, a, ports.Target{SessionID: "m"}, "GO", "", "")
	mustBind(t, a, run.ID, "b", "m/2")
	accepted(t, a, ports.Target{SessionID: "m/2"}, "SPLIT", "", "")
	accepted(t, a, ports.Target{RunID: run.ID, Branch: "b/q"}, "SUB", "", "")
	if got := loads(t, a, "m/2"); got != fault.EnforcementKept {
		t.Errorf("with a child in b/q: %q", got)
	}
}

// S11.1: the driver's end holds its family, whatever branch of it the driver has taken.
func TestEndOfADriverInABranch(t *testing.T) {
	t.Parallel()
	a, run, _ := driverInABranch(t)
	if err := a.Ends.SessionEnded(t.Context(), "default", "e1", "m"); err != nil {
		t.Fatal(err)
	}
	if now := load(t, a, run); !now.Held() {
		t.Errorf("the run is %s, held by nobody", now.Status)
	}
	if err := a.Ends.SessionResumed(t.Context(), "default", "r1", "m"); err != nil {
		t.Fatal(err)
	}
	if now := load(t, a, run); now.Held() {
		t.Errorf("the run is %s, held by %v", now.Status, now.Holds)
	}
}

// S6.6: loading another workflow pauses the family of the driver, whatever branch of it
// the driver has taken.
func TestDriverInABranchPausesTheFamily(t *testing.T) {
	t.Parallel()
	a, run, child := driverInABranch(t)
	mustStart(t, a, agent, Start{Workflow: "locked", SessionID: "m"})
	if outer, inner := load(t, a, run).Status, load(t, a, child).Status; outer != workflow.Paused || inner != workflow.Paused {
		t.Errorf("%s and %s", outer, inner)
	}
}

// S6.6: what the driver's run waits for since it has taken the branch keeps it, too.
func TestDriverInABranchIsKeptByItsRun(t *testing.T) {
	t.Parallel()
	a, run, _ := driverInABranch(t)
	accepted(t, a, ports.Target{RunID: run, Branch: "y"}, "SUB", "", "")
	if got := loads(t, a, "m"); got != fault.EnforcementKept {
		t.Errorf("the driver: %q", got)
	}
}

// driverInABranch is a run whose session, m, has taken a branch of what another session
// has invoked; and that invoked run.
func driverInABranch(t *testing.T) (a *App, run, child string) {
	t.Helper()
	a = newApp(newStore(t))
	registerHubs(t, a)
	run = mustStart(t, a, agent, Start{Workflow: "hub", SessionID: "m"}).ID
	accepted(t, a, ports.Target{SessionID: "m"}, "GO", "", "")
	mustBind(t, a, run, "x", "m/2")
	child = accepted(t, a, ports.Target{SessionID: "m/2"}, "INN", "", "").Run.ID
	accepted(t, a, ports.Target{SessionID: "m/2"}, "GO", "", "")
	mustBind(t, a, child, "a", "m")
	return a, run, child
}
