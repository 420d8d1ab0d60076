package owntools

import (
	"context"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/arguments"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
)

func (t *runTools) loadWorkflow(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	switch {
	case c.RunID != "":
		return reply.Refusal{Code: reply.CodeNotBound, Message: fmt.Sprintf(
			"This connection is bound to the run %s. Connect with a session, /mcp?session=NAME, to load workflows.", c.RunID)}.Result()
	case c.SessionID == "":
		return reply.NotBound().Result()
	}
	branch := args.Text("branch")
	switch {
	case branch != "" && (args.Integer("version") > 0 || args.Flag("resume")):
		return reply.Refusal{Code: reply.CodeInvalidArgument, Message: "a branch belongs to a running workflow: leave out version and resume"}.Result()
	case branch != "":
		return t.bindBranch(ctx, c, args)
	case args.Text("run_id") != "":
		return reply.Refusal{Code: reply.CodeInvalidArgument, Message: `the argument "run_id" requires "branch"; leave it out to start or resume a run`}.Result()
	}
	return t.startRun(ctx, c, args)
}

func (t *runTools) startRun(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	res, err := t.cfg.Runs.StartRun(ctx, &enginev1.StartRunRequest{
		Workflow: args.Text("name"), WorkflowVersion: args.Integer("version"), SessionId: c.SessionID,
		Workspace: c.Workspace, Resume: args.Flag("resume"), IdempotencyKey: newCallID(),
	})
	if err != nil {
		r := reply.Fault(err, "Not loaded")
		if reply.IsNotFound(err) {
			r.Next = t.cfg.ToolPrefix + "list_workflows names those that are registered."
		}
		return r.Result()
	}
	run := res.GetRun()
	t.cfg.Clients.NotifyMoved(c, run.GetRunId())
	lead := "Loaded " + run.GetWorkflow() + "."
	switch {
	case res.GetResumed():
		lead = "Resumed " + run.GetWorkflow() + "."
	case args.Flag("resume"):
		lead = "There was no paused run of " + run.GetWorkflow() + ", so a new one was started."
	}
	if run.GetWorkflowMeta().GetProcess() && t.cfg.Processes != nil {
		return t.answerBegun(ctx, c, lead, res.GetResumed())
	}
	return reply.Answer(lead+"\n"+t.describe(ctx, c, run, run.GetRunId()), map[string]any{"resumed": res.GetResumed(), "run": viewRun(run)})
}

// answerBegun returns the answer to a process that was started or resumed: its question, after
// the initial prompt when it is the first (S8.5).
func (t *runTools) answerBegun(ctx context.Context, c caller.Caller, lead string, resumed bool) *sdk.CallToolResult {
	res, err := t.answerQuestion(ctx, c, "", "")
	if err != nil {
		return reply.Answer(lead+" It is a process; its question could not be read: call "+t.cfg.ToolPrefix+"process_step.", map[string]any{"resumed": resumed})
	}
	return reply.Answer(lead+" It is a process.\n"+t.turnText(res), map[string]any{
		"resumed": resumed, "run": viewRun(res.GetRun()), "turn": viewTurn(res), "initial_prompt": res.GetTurn().GetInitialPrompt(),
	})
}

// bindBranch gives a branch of a run's fork to the caller's session (S5.3).
func (t *runTools) bindBranch(ctx context.Context, c caller.Caller, args arguments.Values) *sdk.CallToolResult {
	req := &enginev1.BindBranchRequest{
		RunId: args.Text("run_id"), Workflow: args.Text("name"), Branch: args.Text("branch"), SessionId: c.SessionID,
	}
	if req.RunId == "" {
		req.RunId = t.findForkedAbove(ctx, c, args)
	}
	res, err := t.cfg.Runs.BindBranch(ctx, req)
	if err != nil {
		return reply.Fault(err, "Not loaded").Result()
	}
	run := res.GetRun()
	t.cfg.Clients.NotifyMoved(c, req.GetRunId(), run.GetRunId())
	return reply.Answer(fmt.Sprintf("This session now works in the branch %s of %s: its events and calls are judged there alone.\n%s",
		req.GetBranch(), req.GetWorkflow(), brief.State(run, t.cfg.ToolPrefix)),
		map[string]any{"branch": req.GetBranch(), "run": viewRun(run)})
}

// findForkedAbove returns the run of a workflow, in branches, that the session drives or the
// one that it is a subagent's of. Otherwise it is empty, and the engine looks among all
// runs of the caller, which may be several.
func (t *runTools) findForkedAbove(ctx context.Context, c caller.Caller, args arguments.Values) string {
	sessions := []string{c.SessionID}
	if agent := args.Text(agentParam.Name); agent != "" {
		sessions = append(sessions, strings.TrimSuffix(c.SessionID, "/"+agent))
	}
	for _, session := range sessions {
		at, err := caller.Locate(ctx, t.cfg.Runs, caller.Caller{Identity: caller.Identity{Binding: caller.Binding{SessionID: session}}})
		if err != nil {
			continue
		}
		run := at.Run
		if at.Target != run.GetRunId() && !forkedRunOf(run, args.Text("name")) {
			// The branch that others work in may have invoked the run that was seen.
			res, err := t.cfg.Runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: at.Target})
			if err != nil {
				continue
			}
			run = res.GetRun()
		}
		if forkedRunOf(run, args.Text("name")) {
			return run.GetRunId()
		}
	}
	return ""
}

func forkedRunOf(run *enginev1.Run, workflow string) bool {
	return run.GetWorkflow() == workflow && run.GetFork() != nil
}

const (
	workflowPage = 200
	// maxWorkflowsListed bounds the answer of list_workflows.
	maxWorkflowsListed = 1000
)

type workflowView struct {
	Name    string `json:"name"`
	Version int64  `json:"version"`
	Digest  string `json:"digest,omitzero"`
	// Process is whether it asks questions (S8).
	Process bool `json:"process,omitzero"`
}

func (t *runTools) listWorkflows(ctx context.Context, _ caller.Caller, _ arguments.Values) *sdk.CallToolResult {
	views, more, err := t.someWorkflows(ctx)
	if err != nil {
		return reply.Fault(err, "").Result()
	}
	if t.cfg.Processes != nil && !more {
		if views, more, err = t.someProcesses(ctx, views); err != nil {
			return reply.Fault(err, "").Result()
		}
	}
	return reply.Answer(t.workflowsText(views, more), map[string]any{"workflows": views, "truncated": more})
}

func (t *runTools) someWorkflows(ctx context.Context) (views []workflowView, more bool, err error) {
	views = []workflowView{}
	for token := ""; ; {
		res, err := t.cfg.Workflows.ListWorkflows(ctx, &enginev1.ListWorkflowsRequest{PageSize: workflowPage, PageToken: token})
		if err != nil {
			return nil, false, err
		}
		for _, w := range res.GetWorkflows() {
			views = append(views, workflowView{Name: w.GetName(), Version: w.GetVersion(), Digest: w.GetDigest()})
		}
		if token = res.GetNextPageToken(); token == "" || len(views) >= maxWorkflowsListed {
			return views, token != "", nil
		}
	}
}

func (t *runTools) someProcesses(ctx context.Context, views []workflowView) (all []workflowView, more bool, err error) {
	for token := ""; ; {
		res, err := t.cfg.Processes.ListProcesses(ctx, &enginev1.ListProcessesRequest{PageSize: workflowPage, PageToken: token})
		if err != nil {
			return nil, false, err
		}
		for _, p := range res.GetProcesses() {
			views = append(views, workflowView{Name: p.GetName(), Version: p.GetVersion(), Digest: p.GetDigest(), Process: true})
		}
		if token = res.GetNextPageToken(); token == "" || len(views) >= maxWorkflowsListed {
			return views, token != "", nil
		}
	}
}

func (t *runTools) workflowsText(views []workflowView, more bool) string {
	if len(views) == 0 {
		return "No workflow is registered. Register one with " + t.cfg.ToolPrefix + "create_workflow."
	}
	lines := make([]string, 0, len(views)+1)
	for _, v := range views {
		what := ""
		if v.Process {
			what = ", a process"
		}
		lines = append(lines, fmt.Sprintf("%s (version %d%s)", v.Name, v.Version, what))
	}
	if more {
		lines = append(lines, fmt.Sprintf("There are more than these %d.", len(views)))
	}
	return strings.Join(lines, "\n")
}

func (t *runTools) createWorkflow(ctx context.Context, _ caller.Caller, args arguments.Values) *sdk.CallToolResult {
	res, err := t.cfg.Workflows.RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{
		Definition: args.JSON("definition"), IdempotencyKey: newCallID(),
	})
	if err != nil {
		return reply.Fault(err, "Not registered").Result()
	}
	w := res.GetWorkflow()
	lines := []string{fmt.Sprintf("Registered %s version %d. Load it with %sload_workflow(name=%q).",
		w.GetName(), w.GetVersion(), t.cfg.ToolPrefix, w.GetName())}
	if !res.GetCreated() {
		lines[0] = fmt.Sprintf("This definition is already registered as %s version %d.", w.GetName(), w.GetVersion())
	}
	warnings := []reply.ProblemView{}
	for _, p := range res.GetWarnings() {
		warnings = append(warnings, reply.ProblemView{Pointer: p.GetPointer(), Code: p.GetCode(), Message: p.GetMessage()})
		lines = append(lines, "Warning: "+p.GetPointer()+": "+p.GetCode()+": "+p.GetMessage())
	}
	return reply.Answer(strings.Join(lines, "\n"), map[string]any{
		"name": w.GetName(), "version": w.GetVersion(), "digest": w.GetDigest(), "created": res.GetCreated(), "warnings": warnings,
	})
}
