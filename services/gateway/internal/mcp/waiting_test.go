package mcp

import (
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
)

func park(run *enginev1.Run)   { run.Status = enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL }
func hold(run *enginev1.Run)   { run.Status = enginev1.RunStatus_RUN_STATUS_WAITING }
func resume(run *enginev1.Run) { run.Status = enginev1.RunStatus_RUN_STATUS_RUNNING }

// later is the answer to a call that has been made and may take its time.
func later(t *testing.T, session *sdk.ClientSession, tool, arguments string) <-chan *sdk.CallToolResult {
	t.Helper()
	done := make(chan *sdk.CallToolResult, 1)
	go func() { done <- call(t, session, tool, arguments) }()
	return done
}

func (p *plane) watched() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.watchers) > 0
}

// TestWait: it answers when a waiting run has changed (S5.4, S9.5), and at once
// when the run does not wait.
func TestWait(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		before func(*enginev1.Run)
		then   func(*enginev1.Run) // nil: the run does not wait
		want   []string
	}{
		{"running", func(*enginev1.Run) {}, nil, []string{"The run does not wait.", "Phase: testing. Tools: Read"}},
		{"held", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_HELD }, nil, []string{"The run does not wait.", "An operator holds it"}},
		{"ended", func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_CANCELLED }, nil, []string{"The run does not wait."}},
		{"a fork that has joined", func(r *enginev1.Run) { r.BranchOver = true }, nil, []string{"The run does not wait."}},
		{"an approval", park, resume, []string{"The run continues.", "Phase: testing. Tools: Read"}},
		{"branches", hold, resume, []string{"The run continues."}},
		{"several branches", hold, func(r *enginev1.Run) { r.TransitionCount++ }, []string{"Something has changed, and the run still waits.", "Tools: none."}},
		{"a cancellation", park, func(r *enginev1.Run) { r.Status = enginev1.RunStatus_RUN_STATUS_CANCELLED }, []string{"The run continues.", "CANCELLED"}},
		{
			"a branch that is over", func(r *enginev1.Run) { r.BranchOver, r.Fork = true, &enginev1.Fork{Event: "GO"} },
			func(r *enginev1.Run) { r.Fork = nil },
			[]string{"The run continues.", "Tools: none."},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.start("s1")
			session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
			p.change("run_1", row.before)
			answer := later(t, session, "wait", `{}`)
			if row.then != nil {
				eventually(t, "the run is watched", p.watched)
				select {
				case result := <-answer:
					t.Fatalf("it did not wait: %s", textOf(result))
				default:
				}
				p.change("run_1", row.then)
			}
			wantOK(t, <-answer, row.want...)
			if row.then == nil && p.watched() {
				t.Error("it waited")
			}
		})
	}
}

// TestWaitEnds: each wait ends, and its answer has the position of the run.
func TestWaitEnds(t *testing.T) {
	t.Parallel()
	p := newPlane()
	s := server(t, p, nil)
	session := overStdio(t, s, "2025-11-25", nil)
	wantOK(t, call(t, session, "wait", `{}`), "No workflow is loaded")
	p.start("s1")
	p.change("run_1", park)
	result := call(t, session, "wait", `{"timeout_seconds":1}`)
	wantOK(t, result, "No change yet; call wait again.", "It waits for a human")
	if !p.watched() {
		t.Error("it did not wait")
	}
	if waiting := result.StructuredContent.(map[string]any)["waiting"]; waiting != true {
		t.Errorf("waiting: %v", waiting)
	}
	wantRefused(t, call(t, session, "wait", `{"timeout_seconds":56}`), "INVALID_ARGUMENT", "must be at most 55")
	answer := later(t, session, "wait", `{"timeout_seconds":55}`)
	eventually(t, "the run is watched twice", func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		return len(p.watchers) == 2
	})
	s.Drain()
	wantOK(t, <-answer, "No change yet")
}

func TestForceState(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
	wantRefused(t, call(t, session, "force_state", `{"state":"deploying"}`), "DEBUG_DISABLED", "no meta.debug")
	p.mu.Lock()
	p.debug = true
	p.mu.Unlock()
	wantOK(t, call(t, session, "force_state", `{"state":"deploying","context":{"n":9007199254740993}}`),
		"Forced: the run has jumped from testing to deploying.", "Phase: deploying.")
	if got := string(p.runs["run_1"].GetContext()); got != `{"n":9007199254740993}` {
		t.Errorf("the context is %s", got)
	}
	wantRefused(t, call(t, session, "force_state", `{}`), "INVALID_ARGUMENT", `"state" (string)`)
}

// TestLeaveTheWholeRun: pause and deactivate act on the run that the session
// drives, not on the one that it waits for; get_status shows both.
func TestLeaveTheWholeRun(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	child := p.invoke("run_1").GetRunId()
	for _, binding := range []caller.Binding{{SessionID: "s1"}, {RunID: "run_1"}} {
		session := overStdio(t, server(t, p, func(c *Config) { c.Stdio.Binding = binding }), "2025-11-25", nil)
		wantOK(t, call(t, session, "get_state", `{}`), "Run: "+child+" of suite", "Child run: invoked by the run run_1")
		status := call(t, session, "get_status", `{}`)
		wantOK(t, status, "Run run_1 of deploy version 3 is WAITING",
			"It waits for a run that it invoked, whose rules are in force:\nPhase: testing.", "Run: "+child+" of suite")
		structured := status.StructuredContent.(map[string]any)
		active, _ := structured["active_run"].(map[string]any)
		if structured["run_id"] != "run_1" || active["run_id"] != child || active["iterations_left"] != 10.0 {
			t.Errorf("%+v: structured content: %v", binding, structured)
		}
		wantOK(t, call(t, session, "pause", `{}`), "Paused.", "Run: run_1 of deploy", `load_workflow(name="deploy", resume=true)`)
		if p.runs["run_1"].GetStatus() != enginev1.RunStatus_RUN_STATUS_PAUSED || p.runs[child].GetStatus() != enginev1.RunStatus_RUN_STATUS_RUNNING {
			t.Errorf("%+v: it was not run_1 that was paused", binding)
		}
		wantOK(t, call(t, session, "deactivate", `{}`), "Deactivated.", "CANCELLED")
		p.change("run_1", hold)
	}
}

// TestTransitionTells: the answer has the effects of an event in addition to the new state.
func TestTransitionTells(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
	var child *enginev1.Run
	p.onTransition = func(run *enginev1.Run, event string) *enginev1.TransitionRunResponse {
		switch event {
		case "TEST": // starts a child
			child = p.startLocked("suite", "")
			child.ParentRunId = run.GetRunId()
			run.Child, run.Status = &enginev1.Invocation{RunId: child.GetRunId(), Workflow: "suite", Event: event}, enginev1.RunStatus_RUN_STATUS_WAITING
			return &enginev1.TransitionRunResponse{Accepted: true, Run: clone(child)}
		case "DONE": // ends it
			parent := p.runs["run_1"]
			parent.Child = nil
			resume(parent)
			p.enterState(parent, "deploying")
			return &enginev1.TransitionRunResponse{Accepted: true, Run: clone(parent)}
		case "BUILD":
			run.Fork = &enginev1.Fork{Event: "BUILD", State: "deploying", OnComplete: "complete", Current: "lint", Branches: []*enginev1.ForkBranch{
				{Name: "lint", Status: enginev1.BranchStatus_BRANCH_STATUS_ACTIVE, State: "lint_run", Terminal: "lint_done"},
			}}
			run.Branch, run.State = "lint", "lint_run"
			return &enginev1.TransitionRunResponse{Accepted: true, Run: clone(run)}
		case "LINTED":
			run.Fork, run.Branch = nil, ""
			p.enterState(run, "complete")
			return &enginev1.TransitionRunResponse{Accepted: true, Run: clone(run)}
		case "BRANCH_DONE:lint":
			return &enginev1.TransitionRunResponse{Accepted: true, Run: clone(run), Note: "branch lint is complete, and its fork has joined."}
		}
		return nil
	}
	fire := func(event string, want ...string) map[string]any {
		t.Helper()
		result := call(t, session, "transition", `{"event":"`+event+`"}`)
		wantOK(t, result, append(want, "Accepted: "+event+".\n")...)
		return result.StructuredContent.(map[string]any)
	}
	fire("TEST", "A child run has started: run_2 of suite. Its rules are in force until it ends.\nPhase: testing.")
	fire("DONE", "The child run run_2 of suite has ended; the run run_1 of deploy continues.\nPhase: deploying.")
	fire("BUILD", "The run is now in 1 branch.\nPhase: lint_run.", "Branch: lint. Reaching lint_done completes it.")
	fire("LINTED", "The branch lint has ended.\nThe fork of BUILD has joined: the run is in complete.\n")
	noted := fire("BRANCH_DONE:lint", "No change: branch lint is complete, and its fork has joined.\nPhase: complete.")
	if note := noted["note"]; note != "branch lint is complete, and its fork has joined." {
		t.Errorf("note: %v", note)
	}
	wantRefused(t, call(t, session, "transition", `{"event":"NOPE"}`), "UNKNOWN_EVENT")
}

// TestLoadBranch: a session takes over a branch; the run that it drives, or whose
// subagent it is, comes before those of others (S5.3).
func TestLoadBranch(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	p.start("s2")
	session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
	for _, row := range []struct{ Values, want string }{
		{`{"name":"deploy","branch":"lint","version":2}`, "leave out version and resume"},
		{`{"name":"deploy","branch":"lint","resume":true}`, "leave out version and resume"},
		{`{"name":"deploy","run_id":"run_1"}`, `"run_id" requires "branch"`},
		{`{"name":"deploy","branch":1}`, `"branch" must be a string`},
	} {
		wantRefused(t, call(t, session, "load_workflow", row.Values), "INVALID_ARGUMENT", row.want)
	}
	bound := func(want *enginev1.BindBranchRequest) {
		t.Helper()
		p.mu.Lock()
		defer p.mu.Unlock()
		got := p.binds[len(p.binds)-1]
		if got.GetRunId() != want.GetRunId() || got.GetWorkflow() != want.GetWorkflow() || got.GetBranch() != want.GetBranch() || got.GetSessionId() != want.GetSessionId() {
			t.Errorf("asked %v, want %v", got, want)
		}
	}
	// No run near is in branches, so the engine looks for one.
	wantRefused(t, call(t, session, "load_workflow", `{"name":"deploy","branch":"lint"}`), "NOT_FOUND", "open branch")
	bound(&enginev1.BindBranchRequest{Workflow: "deploy", Branch: "lint", SessionId: "s1"})
	wantOK(t, call(t, session, "load_workflow", `{"name":"deploy","branch":"types","run_id":"run_2"}`),
		"This session now works in the branch types of deploy", "Branch: types.")
	bound(&enginev1.BindBranchRequest{RunId: "run_2", Workflow: "deploy", Branch: "types", SessionId: "s1"})
	// The session's own run is.
	p.drives["s1"], p.bound["s1"] = "run_1", ""
	p.change("run_1", func(r *enginev1.Run) { r.Fork = &enginev1.Fork{Event: "GO"} })
	wantOK(t, call(t, session, "load_workflow", `{"name":"deploy","branch":"lint"}`))
	bound(&enginev1.BindBranchRequest{RunId: "run_1", Workflow: "deploy", Branch: "lint", SessionId: "s1"})
	wantRefused(t, call(t, session, "load_workflow", `{"name":"other","branch":"lint"}`), "NOT_FOUND")
	bound(&enginev1.BindBranchRequest{Workflow: "other", Branch: "lint", SessionId: "s1"})
	// So it is when the branch that others work in has invoked a run.
	p.bound["s1"] = ""
	p.invoke("run_1")
	wantOK(t, call(t, session, "load_workflow", `{"name":"deploy","branch":"lint"}`))
	bound(&enginev1.BindBranchRequest{RunId: "run_1", Workflow: "deploy", Branch: "lint", SessionId: "s1"})
}

// TestSubagents: who a call of an own tool acts for when the agent's hook has named
// a subagent.
func TestSubagents(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	p.change("run_1", func(r *enginev1.Run) { r.Fork = &enginev1.Fork{Event: "GO"} })
	s := server(t, p, nil)
	session := overStdio(t, s, "2025-11-25", nil)
	// One without a branch of its own acts for the session.
	wantOK(t, call(t, session, "get_state", `{"agent":"a1"}`), "Run: run_1 ")
	wantOK(t, call(t, session, "load_workflow", `{"name":"deploy","branch":"lint","agent":"a1"}`), "Branch: lint.")
	if p.drives["s1/a1"] != "run_1" || p.bound["s1/a1"] != "lint" || p.bound["s1"] != "" {
		t.Errorf("drives %v, bound %v", p.drives, p.bound)
	}
	// From then on it acts in its branch, in every tool that acts on a session.
	for _, tool := range []string{"get_state", "get_status", "wait"} {
		wantOK(t, call(t, session, tool, `{"agent":"a1"}`))
	}
	wantOK(t, call(t, session, "get_state", `{"agent":"a1"}`), "Branch: lint.")
	if text := textOf(call(t, session, "get_state", `{}`)); strings.Contains(text, "Branch: lint.") {
		t.Errorf("the session itself is in the branch:\n%s", text)
	}
	asked := ""
	p.mu.Lock()
	p.onTransition = func(run *enginev1.Run, event string) *enginev1.TransitionRunResponse {
		asked = event
		return nil
	}
	p.mu.Unlock()
	wantOK(t, call(t, session, "transition", `{"event":"TESTED","agent":"a1"}`))
	if asked != "TESTED" {
		t.Error("the event got lost")
	}
	// Its own run is not the session's.
	wantOK(t, call(t, session, "load_workflow", `{"name":"deploy","agent":"a1"}`), "Loaded deploy.")
	if p.drives["s1/a1"] != "run_2" || p.drives["s1"] != "run_1" {
		t.Errorf("drives %v", p.drives)
	}
	wantRefused(t, call(t, session, "get_state", `{"agent":"`+strings.Repeat("x", 300)+`"}`), "INVALID_ARGUMENT", "at most 256")
	wantRefused(t, call(t, session, "get_state", `{"agent":"a\nb"}`), "INVALID_ARGUMENT", "printable")
	wantRefused(t, call(t, session, "list_workflows", `{"agent":"a1"}`), "INVALID_ARGUMENT", "it takes none")
	// Where the session of a subagent cannot be looked up, the call does not act as another
	// session.
	p.mu.Lock()
	p.failGet = "s1/a1"
	p.mu.Unlock()
	wantRefused(t, call(t, session, "transition", `{"event":"FAIL","agent":"a1"}`), "UNAVAILABLE")
	if state := p.runs["run_1"].GetState(); state != "testing" {
		t.Errorf("the session's run is in %s", state)
	}
	// A connection that is bound to a run has no subagents.
	byRun := overStdio(t, server(t, p, func(c *Config) { c.Stdio.Binding = caller.Binding{RunID: "run_1"} }), "2025-11-25", nil)
	wantOK(t, call(t, byRun, "get_state", `{"agent":"a1"}`), "Run: run_1 ")
}
