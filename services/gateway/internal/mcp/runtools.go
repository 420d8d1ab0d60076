package mcp

import (
	"context"
	"fmt"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// ownTimeout bounds an own tool.
const ownTimeout = 30 * time.Second

// currentRun is the run that the caller works on. ctx must be outgoing.
func (s *Server) currentRun(ctx context.Context, c caller) (*enginev1.Run, error) {
	res, err := s.cfg.Runs.Get(ctx, &enginev1.RunServiceGetRequest{RunId: c.RunID, SessionId: sessionOf(c)})
	if err != nil {
		return nil, err
	}
	return res.GetRun(), nil
}

// sessionOf is the session to name in a request: none beside a run's id.
func sessionOf(c caller) string {
	if c.RunID != "" {
		return ""
	}
	return c.SessionID
}

func (s *Server) getState(ctx context.Context, c caller, _ arguments) *sdk.CallToolResult {
	run, none := s.loaded(ctx, c)
	if none != nil {
		return none
	}
	return answer(brief.State(run, s.cfg.ToolPrefix), viewRun(run))
}

func (s *Server) getStatus(ctx context.Context, c caller, _ arguments) *sdk.CallToolResult {
	run, none := s.loaded(ctx, c)
	if none != nil {
		return none
	}
	text := fmt.Sprintf("Run %s of %s version %d is %s in state %s, after %s and %s in this state. Context: %s",
		run.GetRunId(), run.GetWorkflow(), run.GetWorkflowVersion(), brief.Status(run.GetStatus()), run.GetState(),
		plural(int(run.GetTransitionCount()), "transition"), plural(int(run.GetIterations()), "tool call"),
		clip(string(validJSON(run.GetContext())), 4096))
	if note := brief.Note(run, s.cfg.ToolPrefix); note != "" {
		text += "\n" + note
	}
	return answer(text, viewRun(run))
}

// loaded is the caller's run, or the answer that there is none.
func (s *Server) loaded(ctx context.Context, c caller) (*enginev1.Run, *sdk.CallToolResult) {
	if !c.Bound() {
		return nil, answer(s.notBound().Message, map[string]any{"loaded": false, "code": codeNotBound})
	}
	run, err := s.currentRun(ctx, c)
	switch {
	case err != nil && isNotFound(err) && c.RunID == "":
		return nil, answer(s.noWorkflow(c).Message, map[string]any{"loaded": false, "code": codeNoWorkflow})
	case err != nil:
		return nil, refuseFault(err, "").result()
	case run == nil:
		return nil, refusal{Code: "INTERNAL", Message: "the engine answered without a run"}.result()
	}
	return run, nil
}

func (s *Server) noWorkflow(c caller) refusal {
	return refusal{Code: codeNoWorkflow, Message: fmt.Sprintf(
		"No workflow is loaded for session %q. %[2]slist_workflows names them; begin with %[2]sload_workflow(name=...).",
		c.SessionID, s.cfg.ToolPrefix)}
}

func (s *Server) notBound() refusal {
	return refusal{Code: codeNotBound, Message: "This connection belongs to no session, so no workflow can be loaded on it. " +
		"Connect to /mcp?session=NAME (a name of your choice), or to /mcp?run=ID for a run that exists, or send the header " + SessionHeader + "."}
}

func (s *Server) transition(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	if !c.Bound() {
		return s.notBound().result()
	}
	data, err := transitionData(args)
	if err != nil {
		return refusal{Code: codeInvalidArgument, Message: err.Error()}.result()
	}
	key, err := mint()
	if err != nil {
		return refuseFault(err, "").result()
	}
	res, err := s.cfg.Runs.Transition(ctx, &enginev1.TransitionRequest{
		RunId: c.RunID, SessionId: sessionOf(c), Event: args.str("event"), Data: data, IdempotencyKey: key,
	})
	if err != nil {
		if isNotFound(err) && c.RunID == "" {
			return s.noWorkflow(c).result()
		}
		return refuseFault(err, "Not done").result()
	}
	run := res.GetRun()
	s.sessions.moved(c, run.GetRunId(), run.GetState(), res.GetAccepted())
	switch {
	case res.GetRejection() != nil || !res.GetAccepted() && res.GetApprovalId() == "":
		return refuseRejection(res.GetRejection(), run).result()
	case res.GetApprovalId() != "" && !res.GetAccepted():
		return answer(fmt.Sprintf("Parked: a human must approve %q first (approval %s). The state has not changed.\n%s",
			args.str("event"), res.GetApprovalId(), brief.State(run, s.cfg.ToolPrefix)),
			map[string]any{"accepted": false, "approval_id": res.GetApprovalId(), "run": viewRun(run)})
	}
	structured := map[string]any{"accepted": true, "run": viewRun(run)}
	if res.GetApprovalId() != "" {
		structured["approval_id"] = res.GetApprovalId()
	}
	return answer("Accepted: "+args.str("event")+".\n"+brief.State(run, s.cfg.ToolPrefix), structured)
}

// transitionData is the data argument with the rationale in it (S2.8), as JSON.
func transitionData(args arguments) ([]byte, error) {
	data, ok := args.value("data")
	rationale, given := args.value("rationale")
	if given {
		if inside, twice := data.Get("rationale"); twice && !document.Equal(inside, rationale) {
			return nil, fmt.Errorf("the arguments %q and %q differ; give the rationale once", "rationale", "data.rationale")
		}
		if !ok {
			data = document.ObjectValue(nil)
		}
		data, ok = document.MergeTop(data, document.ObjectValue([]document.Member{{Name: "rationale", Value: rationale}})), true
	}
	if !ok {
		return nil, nil
	}
	return data.AppendJSON(nil), nil
}

func (s *Server) loadWorkflow(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	switch {
	case c.RunID != "":
		return refusal{Code: codeNotBound, Message: fmt.Sprintf(
			"This connection is bound to the run %s. Connect with a session, /mcp?session=NAME, to load workflows.", c.RunID)}.result()
	case c.SessionID == "":
		return s.notBound().result()
	}
	key, err := mint()
	if err != nil {
		return refuseFault(err, "").result()
	}
	res, err := s.cfg.Runs.Start(ctx, &enginev1.StartRequest{
		Workflow: args.str("name"), WorkflowVersion: args.integer("version"), SessionId: c.SessionID,
		Workspace: c.Workspace, Resume: args.flag("resume"), IdempotencyKey: key,
	})
	if err != nil {
		r := refuseFault(err, "Not loaded")
		if isNotFound(err) {
			r.next = s.cfg.ToolPrefix + "list_workflows names those that are registered."
		}
		return r.result()
	}
	run := res.GetRun()
	s.sessions.moved(c, run.GetRunId(), run.GetState(), true)
	lead := "Loaded " + run.GetWorkflow() + "."
	switch {
	case res.GetResumed():
		lead = "Resumed " + run.GetWorkflow() + "."
	case args.flag("resume"):
		lead = "There was no paused run of " + run.GetWorkflow() + ", so a fresh one was started."
	}
	return answer(lead+"\n"+brief.State(run, s.cfg.ToolPrefix), map[string]any{"resumed": res.GetResumed(), "run": viewRun(run)})
}

func (s *Server) pause(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	return s.leave(ctx, c, func(runID, key string) (*enginev1.Run, error) {
		res, err := s.cfg.Runs.Pause(ctx, &enginev1.PauseRequest{RunId: runID, Reason: args.str("reason"), IdempotencyKey: key})
		return res.GetRun(), err
	}, "Paused")
}

func (s *Server) deactivate(ctx context.Context, c caller, args arguments) *sdk.CallToolResult {
	return s.leave(ctx, c, func(runID, key string) (*enginev1.Run, error) {
		res, err := s.cfg.Runs.Cancel(ctx, &enginev1.CancelRequest{RunId: runID, Reason: args.str("reason"), IdempotencyKey: key})
		return res.GetRun(), err
	}, "Deactivated")
}

// leave ends or pauses the caller's run. The engine refuses it where enforcement
// is always on (S6.6).
func (s *Server) leave(ctx context.Context, c caller, do func(runID, key string) (*enginev1.Run, error), done string) *sdk.CallToolResult {
	if !c.Bound() {
		return s.notBound().result()
	}
	runID := c.RunID
	if runID == "" {
		run, err := s.currentRun(ctx, c)
		switch {
		case err != nil && isNotFound(err):
			return s.noWorkflow(c).result()
		case err != nil:
			return refuseFault(err, "Not done").result()
		}
		runID = run.GetRunId()
	}
	key, err := mint()
	if err != nil {
		return refuseFault(err, "").result()
	}
	run, err := do(runID, key)
	if err != nil {
		return refuseFault(err, "Not done").result()
	}
	s.sessions.moved(c, run.GetRunId(), run.GetState(), true)
	return answer(done+".\n"+brief.State(run, s.cfg.ToolPrefix), viewRun(run))
}
