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
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/clients"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// findLoaded returns the position of the caller, or the answer that no workflow is loaded.
func (t *runTools) findLoaded(ctx context.Context, c caller.Caller) (caller.Position, *sdk.CallToolResult) {
	if !c.Bound() {
		return caller.Position{}, reply.Answer(reply.NotBound().Message, map[string]any{"loaded": false, "code": reply.CodeNotBound})
	}
	at, err := caller.Locate(ctx, t.cfg.Runs, c)
	switch {
	case err != nil && reply.IsNotFound(err) && c.RunID == "":
		return at, reply.Answer(reply.NoWorkflow(c.SessionID, t.cfg.ToolPrefix).Message, map[string]any{"loaded": false, "code": reply.CodeNoWorkflow})
	case err != nil:
		return at, reply.Fault(err, "").Result()
	case at.Run == nil:
		return at, reply.Refusal{Code: "INTERNAL", Message: "the engine returned no run"}.Result()
	}
	t.cfg.Clients.NotifyRun(c, clients.ListingOf(at.Run))
	return at, nil
}

// findDriven returns the position of a caller that wants to change something, or the refusal.
func (t *runTools) findDriven(ctx context.Context, c caller.Caller) (caller.Position, *sdk.CallToolResult) {
	if !c.Bound() {
		return caller.Position{}, reply.NotBound().Result()
	}
	at, err := caller.Locate(ctx, t.cfg.Runs, c)
	switch {
	case err != nil && reply.IsNotFound(err) && c.RunID == "":
		return at, reply.NoWorkflow(c.SessionID, t.cfg.ToolPrefix).Result()
	case err != nil:
		return at, reply.Fault(err, "Not done").Result()
	}
	return at, nil
}

func (t *runTools) getState(ctx context.Context, c caller.Caller, _ arguments.Values) *sdk.CallToolResult {
	at, none := t.findLoaded(ctx, c)
	if none != nil {
		return none
	}
	return reply.Answer(t.describe(ctx, c, at.Run, at.Target), viewRun(at.Run))
}

// describe returns the text for an agent about its run, and about the jail of its command lines.
func (t *runTools) describe(ctx context.Context, c caller.Caller, run *enginev1.Run, asked string) string {
	text := brief.State(run, t.cfg.ToolPrefix)
	if jail := t.cfg.Jail(ctx, c, run, asked); jail != "" {
		text += "\n" + jail
	}
	return text
}

// getStatus reports the run that the caller drives, and of the one whose rules are in
// force when that is another.
func (t *runTools) getStatus(ctx context.Context, c caller.Caller, _ arguments.Values) *sdk.CallToolResult {
	at, none := t.findLoaded(ctx, c)
	if none != nil {
		return none
	}
	run := at.Run
	if at.Target != run.GetRunId() {
		res, err := t.cfg.Runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: at.Target})
		if err != nil {
			return reply.Fault(err, "").Result()
		}
		run = res.GetRun()
	}
	lines := []string{fmt.Sprintf("Run %s of %s version %d is %s in state %s, after %s and %s in this state. Context: %s",
		run.GetRunId(), run.GetWorkflow(), run.GetWorkflowVersion(), jsonview.StatusName(run.GetStatus()), run.GetState(),
		plural(run.GetTransitionCount(), "transition"), plural(run.GetUsage().GetIterations(), "tool call"), reply.Clip(string(run.GetContext()), 4096))}
	view := viewRun(run)
	if run.GetRunId() != at.Run.GetRunId() {
		active := viewRun(at.Run)
		view.ActiveRun = &active
		lines = append(lines, "It waits for a run that it invoked, whose rules are in force:", brief.State(at.Run, t.cfg.ToolPrefix))
	} else {
		lines = append(lines, brief.Asks(run, t.cfg.ToolPrefix)...)
		if note := brief.Note(run, t.cfg.ToolPrefix); note != "" {
			lines = append(lines, note)
		}
	}
	return reply.Answer(strings.Join(lines, "\n"), view)
}
