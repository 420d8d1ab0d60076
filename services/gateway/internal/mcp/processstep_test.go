package mcp

import (
	"strings"
	"testing"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// TestProcess walks an agent through a process, in every protocol (S8.1, S8.4,
// S8.5).
func TestProcess(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			session := overStdio(t, server(t, p, nil), version, nil)
			wantRefused(t, call(t, session, "process_step", `{}`), "NO_WORKFLOW", "load_workflow")
			begun := call(t, session, "load_workflow", `{"name":"deploy-gate"}`)
			wantOK(t, begun, "Loaded deploy-gate. It is a process.\nWalk through the checklist.\n[env] Is the environment right?")
			if structured := begun.StructuredContent.(map[string]any); structured["initial_prompt"] != deployGate.prompt {
				t.Errorf("structured content: %v", structured)
			}
			for _, tool := range []string{"get_state", "get_status"} {
				state := call(t, session, tool, `{}`)
				wantOK(t, state, "Question: Is the environment right?\nAnswers: \"no\", \"yes\". Give one with process_step(answer=...).")
				structured := state.StructuredContent.(map[string]any)
				if structured["question"] != "Is the environment right?" || len(structured["answers"].([]any)) != 2 {
					t.Errorf("%s: structured content: %v", tool, structured)
				}
			}
			// Without an answer it is asked again, and the run does not move.
			again := call(t, session, "process_step", `{}`)
			wantOK(t, again, "[env] Is the environment right?")
			if structured := again.StructuredContent.(map[string]any); structured["accepted"] != true || structured["state"] != "env" {
				t.Errorf("structured content: %v", structured)
			}
			refused := call(t, session, "process_step", `{"answer":"Yes"}`)
			wantRefused(t, refused, "UNKNOWN_EVENT", "Yes is not an answer", "Question: Is the environment right?\nValid answers: \"no\", \"yes\".")
			if answers := refused.StructuredContent.(map[string]any)["answers"].([]any); len(answers) != 2 {
				t.Errorf("answers: %v", answers)
			}
			wantRefused(t, call(t, session, "process_step", `{"answer":"`+strings.Repeat("x", 257)+`"}`), "INVALID_ARGUMENT", "longer than 256")
			wantRefused(t, call(t, session, "process_step", `{"note":"`+strings.Repeat("x", 8193)+`"}`), "INVALID_ARGUMENT", "longer than 8192")
			wantOK(t, call(t, session, "process_step", `{"answer":"yes","note":"checked \u202e twice"}`), "[load] Is it safe to shift traffic?")
			p.mu.Lock()
			last := p.answers[len(p.answers)-1]
			p.mu.Unlock()
			if last.GetNote() != "checked \u202e twice" || last.GetSessionId() != "s1" || last.GetRunId() != "" || last.GetIdempotencyKey() == "" {
				t.Errorf("asked %v", last)
			}
			done := call(t, session, "process_step", `{"answer":"yes"}`)
			wantOK(t, done, "[$completed]")
			if structured := done.StructuredContent.(map[string]any); structured["status"] != "COMPLETED" || len(structured["answers"].([]any)) != 0 {
				t.Errorf("structured content: %v", structured)
			}
		})
	}
}

// TestProcessBlocks: an agent that may not continue gets a text that says so (S8.2).
func TestProcessBlocks(t *testing.T) {
	t.Parallel()
	p := newPlane()
	session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
	wantOK(t, call(t, session, "load_workflow", `{"name":"deploy-gate"}`))
	wantOK(t, call(t, session, "process_step", `{"answer":"no"}`))
	wantOK(t, call(t, session, "get_state", `{}`), "Tools: none.", "BLOCKED. It is blocked, and this session cannot continue")
}

// TestProcessParks: where people review an answer the agent learns how to wait, and
// no answer is accepted until they have (S8.3, S9.5).
func TestProcessParks(t *testing.T) {
	t.Parallel()
	p := newPlane()
	session := overStdio(t, server(t, p, func(c *Config) { c.PublicURL, c.ToolPrefix = "https://gate.example/", "x_" }), "2025-11-25", nil)
	wantOK(t, call(t, session, "x_load_workflow", `{"name":"deploy-gate"}`))
	wantOK(t, call(t, session, "x_process_step", `{"answer":"yes"}`))
	parked := call(t, session, "x_process_step", `{"answer":"ask"}`)
	wantOK(t, parked, "A person with the role approver decides it", "at https://gate.example/ui/approvals/apr_1;", "x_wait_approval waits for that.")
	if id := parked.StructuredContent.(map[string]any)["approval_id"]; id != "apr_1" {
		t.Errorf("approval_id: %v", id)
	}
	for _, tool := range []string{"x_get_state", "x_get_status"} {
		state := call(t, session, tool, `{}`)
		wantOK(t, state, `Approval: apr_1 for "ask" -> $completed is pending, asked for by "agent", with the message "really?".`,
			"no answer is accepted. x_wait_approval returns when that is decided.")
		if strings.Contains(textOf(state), "Answers:") {
			t.Errorf("answers are offered that are not taken:\n%s", textOf(state))
		}
	}
	refused := call(t, session, "x_process_step", `{"answer":"yes"}`)
	wantRefused(t, refused, "UNKNOWN_EVENT")
	if id := refused.StructuredContent.(map[string]any)["approval_id"]; id != "apr_1" {
		t.Errorf("approval_id of the refusal: %v", id)
	}
	wantOK(t, call(t, session, "x_process_step", `{}`), "x_wait_approval waits for that.")
	// No matter who decides, the waiting agent hears of it and of the state it leads to.
	answer := later(t, session, "x_wait_approval", `{}`)
	eventually(t, "it waits", func() bool { return p.waited() == 1 })
	p.change("run_1", func(r *enginev1.Run) {
		r.Approval = nil
		r.Status = enginev1.RunStatus_RUN_STATUS_RUNNING
		p.ask(r, "$completed")
	})
	p.decide("apr_1", approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED, `approval apr_1 was granted by "alice"`)
	wantOK(t, <-answer, `Approval apr_1 was granted by "alice".`, "Phase: $completed.", "COMPLETED")
}

// TestProcessRefusals: workflows have no questions, and failures are in the text.
func TestProcessRefusals(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
	wantRefused(t, call(t, session, "process_step", `{"answer":"yes"}`), "FAILED_PRECONDITION", "is not a process")
	without := overStdio(t, server(t, p, func(c *Config) { c.Processes = nil }), "2025-11-25", nil)
	wantRefused(t, call(t, without, "process_step", `{}`), "UNAVAILABLE", "not connected to an engine with processes")
	wantOK(t, call(t, without, "list_workflows", `{}`), "deploy (version 3)\nreview (version 1)")
	if text := textOf(call(t, without, "list_workflows", `{}`)); strings.Contains(text, "process") {
		t.Errorf("processes are listed:\n%s", text)
	}
	listed := call(t, session, "list_workflows", `{}`).StructuredContent.(map[string]any)["workflows"].([]any)
	for _, w := range listed {
		view := w.(map[string]any)
		if want := view["name"] == deployGate.name || view["name"] == "standup"; (view["process"] == true) != want {
			t.Errorf("%v", view)
		}
	}
	if len(listed) != 4 {
		t.Errorf("listed %v", listed)
	}
}

// TestProcessOfSubagent: a subagent that drives a process of its own answers it.
func TestProcessOfSubagent(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
	wantOK(t, call(t, session, "load_workflow", `{"name":"deploy-gate","branch":"","agent":"a1"}`))
	p.mu.Lock()
	p.drives["s1/a1"] = p.drives["s1"]
	p.drives["s1"] = "run_1"
	p.mu.Unlock()
	wantOK(t, call(t, session, "process_step", `{"answer":"yes","agent":"a1"}`), "[load]")
	wantRefused(t, call(t, session, "process_step", `{"answer":"yes"}`), "FAILED_PRECONDITION")
	if got := jsonview.StatusName(p.runs["run_1"].GetStatus()); got != "RUNNING" {
		t.Errorf("the session's own run is %s", got)
	}
}
