package sdk

import (
	"context"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// LoadOptions of Load. The zero value starts a run of the latest version.
type LoadOptions struct {
	// Version of the workflow; 0 for the latest.
	Version int64
	// Context is merged over the workflow's: a JSON object or a value that encodes to
	// one.
	Context any
	// Workspace is the root that file patterns are relative to.
	Workspace string
	// Resume continues the session's newest paused run of the workflow instead, when
	// there is one (S6.2): see Run.Resumed.
	Resume bool
	// Branch gives the session that branch of a run in a fork instead (S5.3): of
	// RunID, or else of the caller's only run of the workflow with such a branch.
	Branch, RunID string
}

// Load starts a run of a workflow for the client's session, which drives it from
// then on; another run that it drove is paused (S6.6). Without a session, calls of
// the run are made by ForRun(run.ID).
func (g *runGroup) Load(ctx context.Context, workflow string, opts LoadOptions, change ...ChangeOption) (*Run, error) {
	if g.run != "" {
		return nil, fault.New(fault.InvalidRequest, "this client is bound to run %s; load workflows with a client for a session", g.run)
	}
	if opts.Branch != "" {
		return g.bind(ctx, workflow, opts)
	}
	data, err := encode("context", opts.Context)
	if err != nil {
		return nil, err
	}
	resp, err := retry(ctx, g.runs.StartRun, &enginev1.StartRunRequest{
		Workflow: workflow, WorkflowVersion: opts.Version, SessionId: g.session, Context: data,
		Workspace: opts.Workspace, Resume: opts.Resume, IdempotencyKey: keyOf(change),
	})
	if err != nil {
		return nil, err
	}
	run := runOf(resp.GetRun())
	run.Resumed = resp.GetResumed()
	return run, nil
}

func (g *runGroup) bind(ctx context.Context, workflow string, opts LoadOptions) (*Run, error) {
	if g.session == "" {
		return nil, errNoSession("working in a branch")
	}
	resp, err := retry(ctx, g.runs.BindBranch, &enginev1.BindBranchRequest{
		RunId: opts.RunID, Workflow: workflow, Branch: opts.Branch, SessionId: g.session,
	})
	if err != nil {
		return nil, err
	}
	return runOf(resp.GetRun()), nil
}

// GetRun returns the run whose rules are in force: the client's, or the innermost of
// those that it has invoked and waits for. NOT_FOUND when the session drives none.
func (g *runGroup) GetRun(ctx context.Context) (*Run, error) {
	run, session := g.driven()
	resp, err := retry(ctx, g.runs.GetRun, &enginev1.GetRunRequest{RunId: run, SessionId: session, Active: true})
	if err != nil {
		return nil, err
	}
	return runOf(resp.GetRun()), nil
}

// Transition asks to move on and returns the run whose rules are in force then. data, a
// JSON object or a value that encodes to one, merges into the context after the
// transition (S2.3); nil is none. Its "rationale" goes into the history.
//
// A refusal is a [*RejectedError]. A transition that was parked until a human
// approves is an [*ApprovalRequiredError], with the run as it waits (S9.1).
func (g *runGroup) Transition(ctx context.Context, event string, data any, opts ...ChangeOption) (*Run, error) {
	body, err := encode("data", data)
	if err != nil {
		return nil, err
	}
	run, session := g.driven()
	resp, err := retry(ctx, g.runs.TransitionRun, &enginev1.TransitionRunRequest{
		RunId: run, SessionId: session, Event: event, Data: body, IdempotencyKey: keyOf(opts),
	})
	if err != nil {
		return nil, err
	}
	return moved(resp)
}

// moved reads the answer to an event.
func moved(resp *enginev1.TransitionRunResponse) (*Run, error) {
	run := runOf(resp.GetRun())
	run.Note = resp.GetNote()
	parked := !resp.GetAccepted() || resp.GetRun().GetStatus() == enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL
	switch r := resp.GetRejection(); {
	case resp.GetApprovalId() != "" && r == nil && parked:
		return run, &ApprovalRequiredError{
			Code: CodeApprovalRequired, Message: "a human must approve this transition first", ApprovalID: resp.GetApprovalId(),
		}
	case resp.GetAccepted():
		return run, nil
	default:
		return nil, rejected(r)
	}
}

func rejected(r *enginev1.Rejection) *RejectedError {
	return &RejectedError{
		Code: RejectionCode(word(r.GetCode(), "REJECTION_CODE_")), Message: r.GetMessage(), Guards: guardResults(r.GetGuards()),
		LegalEvents: legalEvents(r.GetLegalEvents()), State: r.GetState(), Status: RunStatus(word(r.GetStatus(), "RUN_STATUS_")),
	}
}

func guardResults(guards []*enginev1.GuardResult) []GuardResult {
	out := make([]GuardResult, len(guards))
	for i, g := range guards {
		out[i] = GuardResult{
			Name: g.GetName(), Field: g.GetField(), Op: strings.ToLower(word(g.GetOperator(), "GUARD_OPERATOR_")),
			Expected: g.GetExpected(), Actual: g.GetActual(), Passed: g.GetPassed(),
			Code: g.GetCode(), Message: g.GetMessage(),
		}
	}
	return out
}

// StartProcess starts a run of a process for the client's session; version 0 is the latest (S8).
func (g *runGroup) StartProcess(ctx context.Context, process string, version int64, opts ...ChangeOption) (*Run, *enginev1.Turn, error) {
	resp, err := retry(ctx, g.processes.StartProcess, &enginev1.StartProcessRequest{
		Process: process, Version: version, SessionId: g.session, IdempotencyKey: keyOf(opts),
	})
	if err != nil {
		return nil, nil, err
	}
	return runOf(resp.GetRun()), resp.GetTurn(), nil
}

// AnswerQuestion answers the question of the client's process, and returns the next one. A refusal
// is a [*RejectedError]; an answer that waits for a human an [*ApprovalRequiredError].
func (g *runGroup) AnswerQuestion(ctx context.Context, answer, note string, opts ...ChangeOption) (*Run, *enginev1.Turn, error) {
	run, session := g.driven()
	resp, err := retry(ctx, g.processes.AnswerQuestion, &enginev1.AnswerQuestionRequest{
		RunId: run, SessionId: session, Answer: answer, Note: note, IdempotencyKey: keyOf(opts),
	})
	switch {
	case err != nil:
		return nil, nil, err
	case resp.GetRejection() != nil:
		return nil, resp.GetTurn(), rejected(resp.GetRejection())
	case resp.GetApprovalId() != "" && resp.GetRun().GetStatus() == enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL:
		return runOf(resp.GetRun()), resp.GetTurn(), &ApprovalRequiredError{
			Code: CodeApprovalRequired, Message: "a human must approve this answer first", ApprovalID: resp.GetApprovalId(),
		}
	default:
		return runOf(resp.GetRun()), resp.GetTurn(), nil
	}
}

// GetQuestion returns the present question of the client's process.
func (g *runGroup) GetQuestion(ctx context.Context) (*Run, *enginev1.Turn, error) {
	return g.AnswerQuestion(ctx, "", "")
}
