package workflow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// checkApproved: where approvals park, a transition that needs one is taken only by the
// grant of exactly that; and a parked lane is left only by a decision, a jump, or the end
// of its lane (S9.1).
func checkApproved(m *workflow.Machine, before *workflow.Run, cmd workflow.Command, out *workflow.Result) error {
	e := &out.Entry
	if m.Meta().ApprovalMode != "ui" {
		if len(out.Run.Approvals()) > 0 {
			return fmt.Errorf("%v are asked for, and approvals are advisory", out.Run.Approvals())
		}
		return nil
	}
	grant, granted := cmd.(workflow.Grant)
	asked, pending := before.Asking(grant.ApprovalID)
	switch {
	case granted && (!pending || before.Held()):
		return fmt.Errorf("%s is granted, and nothing is parked by it", grant.ApprovalID)
	case granted && e.Type == workflow.EventTransitioned && (asked.Approval.Event != e.Event || asked.Branch != e.Branch || asked.Approval.To != e.To):
		return fmt.Errorf("%s of %s is granted, and %s is taken: %+v", grant.ApprovalID, asked.Approval.Event, e.Event, e)
	case e.Type == workflow.EventTransitioned && !granted && needsApproval(m, e):
		return fmt.Errorf("%s is taken by %T without approval", e.Event, cmd)
	}
	for _, was := range before.Lanes() {
		is := out.Run.At(was.Branch)
		if !was.Approval.Pending() || is.Approval.Pending() && is.Approval.ID == was.Approval.ID {
			continue
		}
		settled := e.ApprovalID == was.Approval.ID && e.Branch == was.Branch
		if _, forced := cmd.(workflow.Force); !settled && !forced && !out.Run.Status.Ended() && len(e.Joins) == 0 {
			return fmt.Errorf("%s is no longer parked, by %T: %+v", was.Approval.ID, cmd, e)
		}
	}
	return nil
}

func needsApproval(m *workflow.Machine, e *workflow.HistoryEntry) bool {
	for _, legal := range m.LegalEvents(e.From) {
		if legal.Event == e.Event {
			return legal.RequiresApproval
		}
	}
	return false
}

// TestNobodyGetsBehindAnApproval: in random workflows no sequence of acts of agents and
// operators reaches a state that only approvals lead to; with decisions by humans it is
// reached (S9.1).
func TestNobodyGetsBehindAnApproval(t *testing.T) {
	t.Parallel()
	behind := 0
	randtest.Check(t, func(t *rapid.T) {
		pick := drawn(t)
		src, open := guardedWalk(pick)
		def, problems := workflow.Parse([]byte(src))
		if def == nil {
			t.Fatalf("%s: %v", src, problems)
		}
		m := workflow.Compile(def, 1)
		run := m.Start(workflow.StartParams{ID: "run_1", SessionID: "ses_1", Owner: "ann"}, "ann", noon).Run
		for i := range 40 {
			var cmd workflow.Command
			switch pick(8) {
			case 0:
				cmd = workflow.Pause{Hold: pick.hold()}
			case 1, 2:
				cmd = workflow.Resume{Lifts: pick.lifts()}
			case 3:
				cmd = workflow.Grant{ApprovalID: fmt.Sprintf("apr_%d", 100+pick(40))}
			case 4:
				cmd = workflow.Divert{Interrupt: "i", Files: []string{"x.js"}}
			case 5:
				if ids := run.Approvals(); len(ids) > 0 {
					cmd = workflow.Reject{ApprovalID: ids[0]}
					break
				}
				fallthrough
			default:
				cmd = workflow.Fire{Event: fmt.Sprint("E", pick(3)), ApprovalID: fmt.Sprintf("apr_%d", i)}
			}
			run = m.Step(&run, cmd, noon).Run
			if !open[run.State] {
				t.Fatalf("%s is reached without a human, by %T\n%s", run.State, cmd, src)
			}
		}
		if ids := run.Approvals(); len(ids) > 0 && !run.Held() {
			asked, _ := run.Asking(ids[0])
			to := asked.Approval.To
			if run = m.Step(&run, workflow.Grant{ApprovalID: ids[0]}, noon).Run; run.State != to {
				t.Fatalf("a grant leads to %s, not %s", run.State, to)
			}
			if !open[run.State] {
				behind++
			}
		}
	})
	if behind == 0 {
		t.Error("the walks are too tame: nothing was ever behind an approval")
	}
}

// guardedWalk writes a random workflow some of whose transitions need approval, and
// returns which of its states are reached without any.
func guardedWalk(pick pick) (src string, open map[string]bool) {
	const count = 6
	free := map[string][]string{"h": {}}
	var states []string
	for i := range count {
		name := fmt.Sprint("s", i)
		var events []string
		for e := range 3 {
			to := fmt.Sprint("s", pick(count+1))
			if pick(2) == 0 {
				events = append(events, fmt.Sprintf(`"E%d": {"target": %q, "requires_approval": true}`, e, to))
			} else {
				events = append(events, fmt.Sprintf(`"E%d": %q`, e, to))
				free[name] = append(free[name], to)
			}
		}
		states = append(states, fmt.Sprintf(`%q: {"on": {%s}}`, name, strings.Join(events, ", ")))
	}
	states = append(states, `"h": {"on": {"E0": "$return"}}`, fmt.Sprintf(`"s%d": {"type": "final"}`, count))
	open = map[string]bool{"s0": true, "h": true}
	for todo := []string{"s0"}; len(todo) > 0; todo = todo[1:] {
		for _, to := range free[todo[0]] {
			if !open[to] {
				open[to] = true
				todo = append(todo, to)
			}
		}
	}
	return `{"id": "walk", "initial": "s0", "meta": {"approval_mode": "ui"},
	 "interrupts": {"i": {"trigger": {"file_pattern": "*.js"}, "target": "h"}},
	 "states": {` + strings.Join(states, ",\n") + "}}", open
}

const shipped = `{"id": "ship", "initial": "a", "meta": {"approval_mode": "ui"},
 "states": {"a": {"on": {"SHIP": {"target": "z", "guard": "ready", "requires_approval": true}}}, "z": {"type": "final"}},
 "guards": {"ready": {"field": "ready", "op": "eq", "value": true}}}`

func parked(t *testing.T, m *workflow.Machine) workflow.Run {
	t.Helper()
	run := m.Start(workflow.StartParams{ID: "run_1", Owner: "ann", Context: value(t, `{"ready": true}`)}, "ann", noon).Run
	out := m.Step(&run, workflow.Fire{Event: "SHIP", Data: value(t, `{"build": 7}`), ApprovalID: "apr_1", Actor: "ann"}, noon)
	if out.Run.Status != workflow.AwaitingApproval {
		t.Fatalf("%+v", out)
	}
	return out.Run
}

// TestStale: S9.1. A grant fires only if its guards pass on the context of then, and
// where it was asked to lead; else it is stale, and the run continues.
func TestStale(t *testing.T) {
	t.Parallel()
	m := machine(t, shipped)
	for name, change := range map[string]func(*workflow.Run){
		"a guard":    func(r *workflow.Run) { r.Context = value(t, `{"ready": false}`) },
		"the target": func(r *workflow.Run) { a := *r.Approval; a.To = "y"; r.Approval = &a },
		"the event":  func(r *workflow.Run) { a := *r.Approval; a.Event = "GONE"; r.Approval = &a },
	} {
		run := parked(t, m)
		change(&run)
		out := m.Step(&run, workflow.Grant{ApprovalID: "apr_1", Actor: "alice"}, noon)
		a := out.Run.Approval
		if out.Run.Status != workflow.Running || out.Run.State != "a" || out.Entry.Type != workflow.EventStale || out.Run.TransitionCount != 0 ||
			a == nil || a.Outcome != workflow.ApprovalStale || a.Note == "" || !a.Data.IsZero() || len(out.Run.Approvals()) > 0 {
			t.Errorf("%s: %+v, approval %+v", name, out.Entry, a)
		}
		if name == "a guard" && (len(out.Entry.Guards) != 1 || out.Entry.Guards[0].Passed || strings.Contains(a.Note, "false")) {
			t.Errorf("guards %+v, note %q", out.Entry.Guards, a.Note)
		}
	}
}

// TestAsked: a question to humans is about one transition of one version of one run, and
// it stays the same as long as it is parked (S9.2).
func TestAsked(t *testing.T) {
	t.Parallel()
	m := machine(t, shipped)
	run := parked(t, m)
	at, found := run.Asking("apr_1")
	asked := at.Asked(consent.Transition)
	want := `{"run_id":"run_1","run_version":2,"workflow":"ship","workflow_version":1,"branch":"","state":"a","event":"SHIP","to":"z"}`
	if !found || asked.Kind != consent.Transition || asked.Subject.String() != want || asked.Data.String() != `{"build":7}` {
		t.Errorf("asked is %+v", asked)
	}
	later := steps(t, m, run, workflow.Pause{}, workflow.Resume{}).Run
	again, _ := later.Asking("apr_1")
	if again.Asked(consent.Transition).Digest() != asked.Digest() {
		t.Error("a pause makes it another action")
	}
	other := m.Step(new(m.Step(&run, workflow.Reject{ApprovalID: "apr_1"}, noon).Run),
		workflow.Fire{Event: "SHIP", Data: value(t, `{"build": 7}`), ApprovalID: "apr_2", Actor: "ann"}, noon).Run
	if second, found := other.Asking("apr_2"); !found || second.Asked(consent.Transition).Digest() == asked.Digest() {
		t.Error("asked again it is the same action")
	}
	if _, found := other.Asking("apr_1"); found || !slices.Equal(other.Approvals(), []string{"apr_2"}) {
		t.Errorf("approvals %v", other.Approvals())
	}
}

// TestCheckData: approvers learn of data that cannot be merged before they decide (S2.6).
func TestCheckData(t *testing.T) {
	t.Parallel()
	for text, ok := range map[string]bool{`{}`: true, `{"a": 1}`: true, `{"_a": 1}`: false, `[]`: false} {
		if why := workflow.CheckData(value(t, text)); (why == "") != ok {
			t.Errorf("%s: %q", text, why)
		}
	}
}

// TestParkedDataTakesRoom: data that waits in the branches is part of the run's record,
// however many of them wait.
func TestParkedDataTakesRoom(t *testing.T) {
	t.Parallel()
	const branches = 12
	var fork, states []string
	for i := range branches {
		fork = append(fork, fmt.Sprintf(`"b%d": {"initial": "i%d", "terminal": "t%d"}`, i, i, i))
		states = append(states, fmt.Sprintf(`"i%d": {"on": {"GO": {"target": "t%d", "requires_approval": true}}}, "t%d": {"type": "final"}`, i, i, i))
	}
	m := machine(t, `{"id": "wide", "initial": "a", "meta": {"approval_mode": "ui"}, "states": {
	 "a": {"on": {"FORK": {"fork": {"branches": {`+strings.Join(fork, ",")+`}, "on_complete": "z"}}}}, `+strings.Join(states, ",")+`,
	 "z": {"type": "final"}}}`)
	run := steps(t, m, started(t, m), workflow.Fire{Event: "FORK"}).Run
	data := document.ObjectValue([]document.Member{{Name: "k", Value: document.StringValue(strings.Repeat("x", workflow.MaxContextBytes-100))}})
	waiting := 0
	for i := range branches {
		out := m.Step(&run, workflow.Fire{Event: "GO", Branch: fmt.Sprint("b", i), Data: data, ApprovalID: fmt.Sprint("apr_", i)}, noon)
		if run = out.Run; out.Changed {
			waiting++
		} else if codeOf(&out) != workflow.RejectInvalidData {
			t.Fatalf("branch %d: %+v", i, out.Rejection)
		}
	}
	if waiting != workflow.MaxRunBytes/workflow.MaxContextBytes {
		t.Errorf("%d branches wait with %d bytes each, the limit is %d", waiting, workflow.MaxContextBytes, workflow.MaxRunBytes)
	}
}

// Asks reports before an event is fired whether it may need an approval, and its caller
// learns why no one is asked.
func TestAsks(t *testing.T) {
	t.Parallel()
	m := machine(t, shipped)
	for place, want := range map[[2]string]bool{
		{"a", "SHIP"}: true, {"a", "ship"}: false, {"z", "SHIP"}: false, {"nowhere", "SHIP"}: false,
	} {
		if got := m.Asks(place[0], place[1]); got != want {
			t.Errorf("%v asks: %t", place, got)
		}
	}
	if machine(t, strings.Replace(shipped, `"ui"`, `"none"`, 1)).Asks("a", "SHIP") {
		t.Error("an advisory approval asks")
	}
	run := m.Start(workflow.StartParams{ID: "run_1", Owner: "ann", Context: value(t, `{"ready": true}`)}, "ann", noon).Run
	out := m.Step(&run, workflow.Fire{Event: "SHIP", Unasked: "only you may approve", Actor: "ann"}, noon)
	if out.Changed || out.Rejection == nil || !strings.Contains(out.Rejection.Message, `(approval_mode "ui"), and only you may approve.`) {
		t.Errorf("unasked: %+v", out.Rejection)
	}
}

// A grant for another action than the one that is parked is stale, not rejected.
func TestRejectAsStale(t *testing.T) {
	t.Parallel()
	m := machine(t, shipped)
	run := m.Start(workflow.StartParams{ID: "run_1", Owner: "ann", Context: value(t, `{"ready": true}`)}, "ann", noon).Run
	run = m.Step(&run, workflow.Fire{Event: "SHIP", ApprovalID: "apr_1", Actor: "ann"}, noon).Run
	out := m.Step(&run, workflow.Reject{ApprovalID: "apr_1", Outcome: workflow.ApprovalStale, Note: "another action", Actor: "interlock"}, noon)
	a := out.Run.Approval
	if out.Entry.Type != workflow.EventStale || out.Run.Status != workflow.Running || a == nil || a.Outcome != workflow.ApprovalStale || a.Note != "another action" {
		t.Errorf("%+v with %+v", out.Entry, a)
	}
}

// A branch is worked on by its own session, or by that of the lane that forked.
func TestSessionIn(t *testing.T) {
	t.Parallel()
	branch := func(name, session string, inner ...workflow.BranchProgress) workflow.BranchProgress {
		b := workflow.BranchProgress{Name: name, Status: workflow.BranchActive, SessionID: session}
		if len(inner) > 0 {
			b.Fork = &workflow.ForkProgress{Branches: inner, Current: inner[0].Name}
		}
		return b
	}
	run := workflow.Run{SessionID: "s", Lane: workflow.Lane{Fork: &workflow.ForkProgress{Current: "lint", Branches: []workflow.BranchProgress{
		branch("lint", ""), branch("test", "s2", branch("unit", ""), branch("e2e", "s3")),
	}}}}
	for name, want := range map[string]string{
		"": "s", "lint": "s", "test": "s2", "test/unit": "s2", "test/e2e": "s3", "e2e": "s3", "nope": "", "test/": "",
	} {
		if got := run.SessionIn(name); got != want {
			t.Errorf("%q in branch %q, want %q", got, name, want)
		}
	}
	if got := (&workflow.Run{SessionID: "s"}).SessionIn(""); got != "s" {
		t.Errorf("%q outside of forks", got)
	}
}

// TestPoliciesOfAWorkflow reads meta.policy in both forms (S7).
func TestPoliciesOfAWorkflow(t *testing.T) {
	t.Parallel()
	for policy, want := range map[string][]string{`"guard"`: {"guard"}, `["b", "a"]`: {"b", "a"}, `[]`: {}} {
		m := machine(t, strings.Replace(shipped, `"approval_mode"`, `"policy": `+policy+`, "approval_mode"`, 1))
		if got := m.Meta().Policies; !slices.Equal(got, want) {
			t.Errorf("%s names %q", policy, got)
		}
	}
	if got := machine(t, shipped).Meta().Policies; got != nil {
		t.Errorf("none are named, and there are %q", got)
	}
}
