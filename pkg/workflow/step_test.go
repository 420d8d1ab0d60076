package workflow_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

const loop = `{"id": "loop", "initial": "a", "context": {"n": 1},
 "states": {"a": {"on": {"AGAIN": "a", "GO": "z"}}, "z": {"type": "final"}}}`

func started(t testing.TB, m *workflow.Machine) workflow.Run {
	t.Helper()
	out := m.Start(workflow.StartParams{ID: "run_1", SessionID: "ses_1", Workspace: "/repo", Owner: "ann"}, "ann", noon)
	if out.Rejection != nil {
		t.Fatal(out.Rejection.Message)
	}
	return out.Run
}

// TestStart: a run is pinned to its version and begins at version and entry 1.
func TestStart(t *testing.T) {
	t.Parallel()
	m := machine(t, loop)
	out := m.Start(workflow.StartParams{
		ID: "run_1", SessionID: "ses_1", Workspace: "/repo", Owner: "ann", Context: value(t, `{"n": 2}`),
	}, "bob", noon)
	run := out.Run
	if run.ID != "run_1" || run.SessionID != "ses_1" || run.Workspace != "/repo" || run.Owner != "ann" ||
		run.Workflow != "loop" || run.WorkflowVersion != 1 || run.State != "a" || run.Status != workflow.Running ||
		run.Entry != 1 || run.Version != 1 || run.TransitionCount != 0 || run.Held() ||
		!run.CreatedAt.Equal(noon) || !run.UpdatedAt.Equal(noon) || run.Context.String() != `{"n":2}` {
		t.Errorf("run = %+v", run)
	}
	e := out.Entry
	if e.Type != workflow.EventStarted || e.Actor != "bob" || e.From != "" || e.To != "a" || e.RunVersion != 1 ||
		e.WorkflowVersion != 1 || e.Status != workflow.Running || !e.Time.Equal(noon) || e.Data.String() != `{"n":2}` {
		t.Errorf("entry = %+v", e)
	}
	if !out.Changed || out.Rejection != nil {
		t.Errorf("changed %t, rejection %v", out.Changed, out.Rejection)
	}
}

// TestRejectionTeaches: S2.7, structured and in words.
func TestRejectionTeaches(t *testing.T) {
	t.Parallel()
	m := machine(t, loop)
	out := m.Step(new(started(t, m)), workflow.Fire{Event: "OG", Actor: "ann"}, noon)
	r := out.Rejection
	if r == nil || r.Code != workflow.RejectUnknownEvent || r.State != "a" || r.Status != workflow.Running {
		t.Fatalf("rejection = %+v", r)
	}
	if len(r.LegalEvents) != 2 || r.LegalEvents[0].Event != "AGAIN" || r.LegalEvents[1].Targets[0] != "z" {
		t.Errorf("legal events = %v", r.LegalEvents)
	}
	for _, part := range []string{`"OG"`, `"a"`, "AGAIN -> a", "GO -> z"} {
		if !strings.Contains(r.Message, part) {
			t.Errorf("message does not say %s: %s", part, r.Message)
		}
	}
	if !out.Entry.Time.Equal(noon) || out.Entry.Actor != "ann" || out.Entry.Type != "" {
		t.Errorf("entry = %+v", out.Entry)
	}
}

// TestNotRunning: S2.9, in every status.
func TestNotRunning(t *testing.T) {
	t.Parallel()
	m := machine(t, loop)
	for _, status := range []workflow.Status{
		workflow.Waiting, workflow.AwaitingApproval, workflow.Paused, workflow.Held,
		workflow.Completed, workflow.Failed, workflow.Blocked, workflow.Cancelled, "", "running",
	} {
		run := started(t, m)
		run.Status = status
		out := m.Step(&run, workflow.Fire{Event: "AGAIN"}, noon)
		if out.Rejection == nil || out.Rejection.Code != workflow.RejectRunNotRunning || out.Rejection.Status != status ||
			!strings.Contains(out.Rejection.Message, "is "+string(status)) {
			t.Errorf("%s: %+v", status, out.Rejection)
		}
	}
}

// TestData: S2.6, and values that are not objects.
func TestData(t *testing.T) {
	t.Parallel()
	m := machine(t, loop)
	for data, want := range map[string]workflow.RejectionCode{
		``:                        "",
		`{}`:                      "",
		`{"a": {"_b": 1}}`:        "", // only top-level keys are the engine's
		`{"a_": 1, "a$": 1}`:      "",
		`{"": 1}`:                 "",
		`{"_": 1}`:                workflow.RejectReservedKey,
		`{"$": 1}`:                workflow.RejectReservedKey,
		`{"a": 1, "_pending": 1}`: workflow.RejectReservedKey,
		`{"__proto__": 1}`:        workflow.RejectReservedKey,
		`{"\u005fx": 1}`:          workflow.RejectReservedKey,
		`[]`:                      workflow.RejectInvalidData,
		`"x"`:                     workflow.RejectInvalidData,
		`1`:                       workflow.RejectInvalidData,
		`null`:                    workflow.RejectInvalidData,
	} {
		out := m.Step(new(started(t, m)), workflow.Fire{Event: "AGAIN", Data: value(t, data)}, noon)
		if got := codeOf(&out); got != want {
			t.Errorf("data %s: code %q, want %q", data, got, want)
		}
		out = m.Start(workflow.StartParams{ID: "r", Context: value(t, data)}, "a", noon)
		if got := codeOf(&out); got != want {
			t.Errorf("context %s: code %q, want %q", data, got, want)
		}
		if want != "" && (out.Changed || len(out.Events) != 0) {
			t.Errorf("context %s: a refused run is announced", data)
		}
	}
}

func codeOf(out *workflow.Result) workflow.RejectionCode {
	if out.Rejection == nil {
		return ""
	}
	return out.Rejection.Code
}

// TestContextStaysReadable: a context that could not be read back is refused,
// one of the largest size is not.
func TestContextStaysReadable(t *testing.T) {
	t.Parallel()
	m := machine(t, loop)
	run := started(t, m)
	frame := len(`{"n":1,"k":""}`)
	for text, want := range map[string]workflow.RejectionCode{
		strings.Repeat("x", workflow.MaxContextBytes-frame):            "",
		strings.Repeat("x", workflow.MaxContextBytes-frame+1):          workflow.RejectInvalidData,
		strings.Repeat("\x01", workflow.MaxContextBytes/6-frame):       "",
		strings.Repeat("\x01", workflow.MaxContextBytes/6):             workflow.RejectInvalidData,
		strings.Repeat("\u00e9", (workflow.MaxContextBytes-frame)/2):   "",
		strings.Repeat("\u00e9", (workflow.MaxContextBytes-frame)/2+1): workflow.RejectInvalidData,
	} {
		data := document.ObjectValue([]document.Member{{Name: "k", Value: document.StringValue(text)}})
		out := m.Step(&run, workflow.Fire{Event: "AGAIN", Data: data}, noon)
		if got := codeOf(&out); got != want {
			t.Errorf("%d bytes of %q...: code %q, want %q", len(text), text[:1], got, want)
		}
		if _, problem := document.Parse(out.Run.Context.AppendJSON(nil), document.Limits{}); problem != nil {
			t.Errorf("the context cannot be read back: %v", problem)
		}
	}
}

// TestForeignRun: a run is never stepped by another version than its own, nor in
// a state that there is not.
func TestForeignRun(t *testing.T) {
	t.Parallel()
	m := machine(t, loop)
	for name, change := range map[string]func(*workflow.Run){
		"version":  func(r *workflow.Run) { r.WorkflowVersion = 2 },
		"workflow": func(r *workflow.Run) { r.Workflow = "other" },
		"state":    func(r *workflow.Run) { r.State = "gone" },
		"no state": func(r *workflow.Run) { r.State = "" },
	} {
		run := started(t, m)
		change(&run)
		out := m.Step(&run, workflow.Fire{Event: "AGAIN"}, noon)
		if out.Changed || codeOf(&out) != workflow.RejectUnsupported {
			t.Errorf("%s: changed %t, code %q", name, out.Changed, codeOf(&out))
		}
	}
	if out := m.Step(new(started(t, m)), nil, noon); codeOf(&out) != workflow.RejectUnsupported {
		t.Errorf("no command: %q", codeOf(&out))
	}
}

// TestReturnOutsideInterrupt: S4.2, however the run has come there.
func TestReturnOutsideInterrupt(t *testing.T) {
	t.Parallel()
	m := machine(t, `{"id": "i", "initial": "a",
	 "states": {
	  "a": {"on": {"GO": "z"}},
	  "h": {"on": {"BACK": "$return", "FAIL": "z"}},
	  "z": {"type": "final"}},
	 "interrupts": {"i": {"trigger": {"file_pattern": "*.js"}, "target": "h"}}}`)
	run := started(t, m)
	run.State = "h"
	out := m.Step(&run, workflow.Fire{Event: "BACK"}, noon)
	if out.Changed || codeOf(&out) != workflow.RejectReturnOutsideInterrupt {
		t.Errorf("changed %t, code %q", out.Changed, codeOf(&out))
	}
}

// TestUnresolvedIsNeverTaken: Compile cannot fail, so definitions that validation rules
// out must be harmless.
func TestUnresolvedIsNeverTaken(t *testing.T) {
	t.Parallel()
	def := &workflow.Definition{
		ID: "w", Initial: "a", Meta: workflow.Meta{ApprovalMode: "UI"},
		States: []workflow.State{{
			Name: "a", SafeNext: "gone",
			On: []workflow.Transition{
				{Event: "GONE", Branches: []workflow.Branch{{Target: "gone"}}},
				{Event: "EMPTY"},
				{Event: "APPROVED", Branches: []workflow.Branch{{Target: "a", RequiresApproval: true}}},
				{Event: "CALL", Invoke: &workflow.Invoke{Workflow: "loop", OnComplete: "gone"}},
				{Event: "FORK", Fork: &workflow.Fork{OnComplete: "a"}},
				{Event: "FORK_NOWHERE", Fork: &workflow.Fork{OnComplete: "a", Branches: []workflow.ForkBranch{{Name: "x", Initial: "gone", Terminal: "z"}}}},
				{Event: "FORK_TO_END", Fork: &workflow.Fork{OnComplete: "a", Branches: []workflow.ForkBranch{{Name: "x", Initial: "z", Terminal: "z"}}}},
				{Event: "JOIN_NOWHERE", Fork: &workflow.Fork{OnComplete: "gone", Branches: []workflow.ForkBranch{{Name: "x", Initial: "a", Terminal: "z"}}}},
			},
		}, {Name: "z", Final: true}},
	}
	m := workflow.Compile(def, 1)
	run := started(t, m)
	for _, event := range []string{
		"GONE", "EMPTY", "APPROVED", "CALL", "FORK", "FORK_NOWHERE", "FORK_TO_END", "JOIN_NOWHERE", "UNDEFINED", "",
	} {
		fire := workflow.Fire{Event: event, Child: machine(t, loop), ChildID: "run_2"}
		if out := m.Step(&run, fire, noon); out.Rejection == nil || out.Changed {
			t.Errorf("%q was taken", event)
		}
	}
	def.Initial = "nowhere"
	if out := workflow.Compile(def, 1).Start(workflow.StartParams{ID: "r"}, "a", noon); out.Rejection == nil || out.Changed {
		t.Error("a run began nowhere")
	}
}

// TestOutcomes: S2.9, a final state ends the run by its outcome.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	m := machine(t, `{"id": "o", "initial": "a",
	 "states": {
	  "a": {"on": {"DONE": "done", "FAIL": "failed", "GIVE_UP": "gave_up", "FINE": "error"}},
	  "done": {"type": "final"}, "failed": {"type": "final"},
	  "gave_up": {"type": "final", "outcome": "failure"}, "error": {"type": "final", "outcome": "success"}}}`)
	for event, want := range map[string]workflow.Status{
		"DONE": workflow.Completed, "FAIL": workflow.Failed, "GIVE_UP": workflow.Failed, "FINE": workflow.Completed,
	} {
		out := m.Step(new(started(t, m)), workflow.Fire{Event: event}, noon)
		if out.Run.Status != want || out.Entry.Status != want || !out.Run.Status.Ended() {
			t.Errorf("%s: %s", event, out.Run.Status)
		}
		announced := map[workflow.Status]string{workflow.Completed: workflow.EventCompleted, workflow.Failed: workflow.EventFailed}
		if len(out.Events) != 2 || out.Events[0].Type != workflow.EventTransitioned || out.Events[1].Type != announced[want] {
			t.Errorf("%s: events %+v", event, out.Events)
		}
	}
}

// TestParkedRuns: S6.2. A waiting run, for others or for humans, can be paused, so that
// an operator can hold it, and cancelled.
func TestParkedRuns(t *testing.T) {
	t.Parallel()
	m := machine(t, loop)
	for _, status := range []workflow.Status{workflow.Waiting, workflow.AwaitingApproval} {
		run := started(t, m)
		run.Status = status
		if out := m.Step(&run, workflow.Pause{Hold: workflow.HoldOperator}, noon); out.Run.Status != workflow.Held || !out.Run.Held() {
			t.Errorf("pause of %s: %q", status, codeOf(&out))
		}
		if out := m.Step(&run, workflow.Resume{}, noon); out.Changed || codeOf(&out) != workflow.RejectRunNotPaused {
			t.Errorf("resume of %s: %q", status, codeOf(&out))
		}
		if out := m.Step(&run, workflow.Cancel{}, noon); out.Run.Status != workflow.Cancelled {
			t.Errorf("cancel of %s: %s", status, out.Run.Status)
		}
	}
}

// TestLegalEvents: in definition order, with everything that they may lead to.
func TestLegalEvents(t *testing.T) {
	t.Parallel()
	m := machine(t, `{"id": "l", "initial": "a",
	 "states": {
	  "a": {"instructions": "look", "max_iterations": 3, "on": {
	    "Z": "z",
	    "B": [{"target": "b", "guards": ["g", "h"]}, {"target": "b", "guard": "g"}, {"target": "z"}],
	    "A": {"target": "z", "guard": "h", "requires_approval": true},
	    "I": {"invoke": "w", "on_complete": "b", "on_fail": "z"}}},
	  "b": {"on": {"Z": "z"}},
	  "z": {"type": "final"}},
	 "guards": {"g": {"field": "f", "op": "exists"}, "h": {"field": "f", "op": "exists"}}}`)
	var got []string
	for _, e := range m.LegalEvents("a") {
		got = append(got, e.String())
	}
	want := []string{
		"Z -> z",
		"B -> b or z (guarded by g, h)",
		"A -> z (guarded by h; requires approval)",
		"I -> b or z",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(m.LegalEvents("z")) != 0 || len(m.LegalEvents("unknown")) != 0 {
		t.Error("events where there are none")
	}
	if s := m.State("a"); s.Instructions != "look" || s.MaxIterations != 3 || !s.Known() {
		t.Errorf("state a = %+v", s.State)
	}
	if s := m.State("unknown"); s == nil || s.Known() || s.Tool("Read") != workflow.ToolNotListed {
		t.Error("an unknown state allows something")
	}
}
