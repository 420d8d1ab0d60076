package authority_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// The table is about run R, which session s started, and which is in a fork whose branch
// x belongs to session b. Each dimension is spelled out, and the product of all of them
// has a verdict in testdata/table.
var (
	roles    = []authority.Role{authority.Agent, authority.Operator, authority.System}
	bindings = []string{
		"unbound", // a token without a binding
		"driver",  // bound to s, which drives R
		"branch",  // bound to b, which has branch x of R
		"child",   // bound to s/c, which drives no run
		"left",    // bound to s, which drives another run since
		"other",   // bound to o, which drives another run
	}
	enforcements = []string{
		"plain",   // R enforces while it runs
		"success", // R enforces until it has succeeded
		"always",  // R enforces always
		"process", // R is a process
		"inside",  // R was invoked by a run that enforces always
		"around",  // R waits, in branch y, for a run that enforces always
		"ended",   // R enforced always and has completed
		"done",    // R enforced until success and has completed
		"failed",  // R enforced until success and has failed
		"lax",     // R enforced while it ran and has failed
		"blocked", // R has ended BLOCKED
	}
	holds = [][]workflow.HoldCause{
		nil, {workflow.HoldOperator}, {workflow.HoldSessionEnd}, {workflow.HoldOperator, workflow.HoldSessionEnd},
	}
)

// sceneOf is the scene of one combination.
func sceneOf(op authority.Op, role authority.Role, binding, enforcement string, held []workflow.HoldCause) *authority.Scene {
	run := &workflow.Run{ID: "R", Workflow: "w", Owner: "amir", SessionID: "s", Status: workflow.Running}
	run.Fork = forkOf("x:b,y")
	r := authority.Node{Run: run, Enforcement: workflow.WhileRunning, Process: enforcement == "process"}
	switch enforcement {
	case "always", "ended":
		r.Enforcement = workflow.Always
	case "success", "done", "failed":
		r.Enforcement = workflow.UntilSuccess
	}
	other := &workflow.Run{ID: "O", Workflow: "o", Owner: "amir", SessionID: "o", Status: workflow.Running}
	s := &authority.Scene{Who: authority.Who{Role: role, Name: "amir"}, AboveKnown: true}
	switch enforcement {
	case "inside":
		run.Parent = &workflow.Parent{RunID: "P", Root: "P", Depth: 1}
		parent := &workflow.Run{ID: "P", Workflow: "p", SessionID: "s", Status: workflow.Waiting}
		parent.Child = &workflow.Invocation{RunID: "R"}
		s.Runs = append(s.Runs, authority.Node{Run: parent, Enforcement: workflow.Always})
	case "around":
		run.Fork.Branches[1].Child = &workflow.Invocation{RunID: "C"}
		child := &workflow.Run{ID: "C", Workflow: "c", SessionID: "s", Status: workflow.Running}
		child.Parent = &workflow.Parent{RunID: "R", Root: "R", Depth: 1}
		s.Runs = append(s.Runs, authority.Node{Run: child, Enforcement: workflow.Always})
	case "ended", "done":
		run.Status, run.Fork = workflow.Completed, nil
	case "failed", "lax":
		run.Status, run.Fork = workflow.Failed, nil
	case "blocked":
		run.Status, run.Fork = workflow.Blocked, nil
	}
	if binding == "left" {
		run.Status, other.SessionID = workflow.Paused, "s"
	}
	s.Runs = append(s.Runs, r)
	for _, n := range s.Runs { // a family is held as one
		if held == nil || n.Run.Status.Ended() {
			continue
		}
		n.Run.Status = workflow.Held
		for _, cause := range held {
			n.Run.Holds = append(n.Run.Holds, workflow.Hold{By: "olga", Cause: cause})
		}
	}
	s.Runs = append(s.Runs, authority.Node{Run: other, Enforcement: workflow.WhileRunning})
	s.Bindings = []authority.Binding{
		{Session: "s", RunID: "R"}, {Session: "b", RunID: "R", Branch: "x"}, {Session: "s/c"}, {Session: "o", RunID: "O"}, {Session: "z"},
	}
	if binding == "left" {
		s.Bindings[0] = authority.Binding{Session: "s", RunID: "O"}
	}
	if enforcement == "inside" && binding != "left" { // a session drives the outermost run
		s.Bindings[0].RunID = "P"
	}
	s.Who.Session = map[string]string{"driver": "s", "branch": "b", "child": "s/c", "left": "s", "other": "o"}[binding]
	s.Target = authority.Target{RunID: "R"}
	switch op {
	case authority.Start:
		s.Target = authority.Target{Session: sessionOr(s.Who.Session, "s")}
		s.Offer = &authority.Offer{Workflow: "free", Version: 1, Newest: 1}
	case authority.Take:
		s.Target.Session = sessionOr(s.Who.Session, "z")
	case authority.Bind:
		s.Target.Session, s.Target.Branch = sessionOr(s.Who.Session, "z"), "y"
	}
	return s
}

func sessionOr(session, other string) string {
	if session == "" {
		return other
	}
	return session
}

// TestTable holds the verdict on every combination of operation, role, binding,
// enforcement and holds to testdata/table, where each line has the verdicts for no hold,
// an operator's, a session end's and both. An operation without lines fails.
func TestTable(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	for _, op := range authority.Ops() {
		for _, role := range roles {
			for _, binding := range bindings {
				for _, enforcement := range enforcements {
					fmt.Fprintf(&out, "%s %s %s %s:", op, role, binding, enforcement)
					for _, held := range holds {
						s := sceneOf(op, role, binding, enforcement, held)
						verdict, allowed := decide(s, op)
						verdict, _, _ = strings.Cut(verdict, ": ")
						if allowed {
							verdict = "allowed"
						}
						out.WriteString(" " + verdict)
						invariants(t, s, op, binding, enforcement, held, allowed)
					}
					out.WriteString("\n")
				}
			}
		}
	}
	const file = "testdata/table"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) == out.String() {
		return
	}
	had := strings.Split(string(want), "\n")
	for i, line := range strings.Split(out.String(), "\n") {
		if i >= len(had) || had[i] != line {
			t.Fatalf("line %d of %s is not what is decided, which is\n%s\n(go test ./pkg/authority -run Table -update writes it; review the difference)",
				i+1, file, line)
		}
	}
	t.Fatalf("%s has lines of operations that there are not", file)
}

// invariants must hold of every verdict, regardless of the table.
func invariants(t *testing.T, s *authority.Scene, op authority.Op, binding, enforcement string, held []workflow.HoldCause, allowed bool) {
	t.Helper()
	about := fmt.Sprintf("%s by %s, %s, %s, held by %v", op, s.Who.Role, binding, enforcement, held)
	agent := s.Who.Role == authority.Agent
	over := slices.Contains([]string{"ended", "done", "failed", "lax", "blocked"}, enforcement)
	stays := enforcement == "ended" || enforcement == "failed" || enforcement == "blocked"
	kept := enforcement == "success" || enforcement == "always" || enforcement == "process" || enforcement == "inside" || enforcement == "around"
	switch op {
	case authority.Pause, authority.Cancel, authority.Force:
		if agent && allowed && !over && (kept || held != nil) {
			t.Errorf("%s: an agent leaves what keeps it", about)
		}
	case authority.Start:
		if agent && allowed && binding == "driver" && (stays || kept || held != nil && !over) {
			t.Errorf("%s: an agent leaves what keeps it", about)
		}
	case authority.Resume:
		if agent && allowed && held != nil && !over {
			t.Errorf("%s: an agent lifts a hold", about)
		}
	case authority.Settle, authority.EndSession, authority.LiftEnd, authority.Elapse:
		if allowed && s.Who.Role != authority.System {
			t.Errorf("%s: it is Interlock's own to do", about)
		}
		return
	}
	if !agent && s.Who.Session == "" && !allowed {
		t.Errorf("%s: an operator is refused", about)
	}
	foreign := binding == "other" || binding == "child" && op != authority.Bind
	follows := op == authority.Interrupt || op == authority.Take || op == authority.Start
	if foreign && allowed && !follows {
		t.Errorf("%s: a token acts outside of its session", about)
	}
}

// TestRulesAreWhole: an operation without a rule is refused, and Ops lists
// every one that has a rule.
func TestRulesAreWhole(t *testing.T) {
	t.Parallel()
	for _, role := range roles {
		s := sceneOf("no such operation", role, "unbound", "plain", nil)
		if verdict, allowed := decide(s, "no such operation"); allowed {
			t.Errorf("%s: %s", role, verdict)
		}
	}
	for _, op := range authority.Ops() {
		s := sceneOf(op, authority.System, "unbound", "plain", nil)
		if verdict, allowed := decide(s, op); !allowed {
			t.Errorf("%s has no rule: %s", op, verdict)
		}
	}
	if listed := authority.RuledOps(); listed != len(authority.Ops()) {
		t.Errorf("%d operations have rules, and Ops lists %d", listed, len(authority.Ops()))
	}
}
