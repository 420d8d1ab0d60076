package rpc

import (
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// branchStatuses are the core's words in the contract's.
var branchStatuses = protomap.Enums[workflow.BranchStatus, enginev1.BranchStatus](enginev1.BranchStatus_value, "BRANCH_STATUS_")

func (s *Runs) runProto(v *app.View) *enginev1.Run {
	run, at, state := v.Run, &v.At, v.State()
	meta := v.Machine.Meta()
	out := &enginev1.Run{
		RunId: run.ID, Workflow: run.Workflow, WorkflowVersion: run.WorkflowVersion,
		Status: statuses[at.Status], State: at.State, Context: at.Context.AppendJSON(nil),
		Iterations: v.Iterations, TransitionCount: run.TransitionCount, Version: run.Version,
		SessionId: run.SessionID, Workspace: run.Workspace, Entry: at.Entry, Held: run.Held(),
		ToolsRestricted: state.ToolsRestricted, AllowedTools: state.AllowedTools,
		DisallowedTools: state.DisallowedTools, Instructions: state.Instructions,
		MaxIterations: state.MaxIterations, LegalEvents: s.legal.Of(state),
		CreatedAt: timestamppb.New(run.CreatedAt), UpdatedAt: timestamppb.New(run.UpdatedAt),
		Branch: at.Branch, BranchOver: at.Over, Fork: forkProto(v.Machine, run.State, run.Fork),
		MaxEditLines: state.MaxEditLines, MaxFilesPerState: state.MaxFilesPerState,
		ContextBudgetBytes: state.ContextBudgetBytes, ContextBytes: v.ContextBytes, FilesChanged: v.FilesChanged,
		BlockedEnv: state.BlockedEnv, CommandsRestricted: state.CommandsRestricted, AllowedCommands: state.AllowedCommands,
		Debug: meta.Debug, CaptureOutput: meta.CaptureOutput, RootRunId: run.Root(),
		AlwaysEnforced: meta.AlwaysEnforce,
		Process:        v.Process != nil, Policies: meta.Policies,
		ApprovalWaitSeconds: int64(meta.ApprovalWait / time.Second),
		SupersededBy:        v.SupersededBy,
	}
	for _, e := range state.EnvOverrides {
		out.EnvOverrides = append(out.EnvOverrides, &enginev1.EnvVar{Name: e.Name, Value: e.Value})
	}
	if at.Interrupt != nil {
		out.Interrupt = &enginev1.Interruption{Name: at.Interrupt.Name, ReturnTo: at.Interrupt.ReturnTo}
	}
	if at.Child != nil {
		out.Child = &enginev1.Invocation{RunId: at.Child.RunID, Workflow: at.Child.Workflow, Event: at.Child.Event}
	}
	out.Approval = approvalProto(at.Approval)
	if run.Parent != nil {
		out.ParentRunId = run.Parent.RunID
	}
	if at.Over {
		closeBranch(out, run)
	}
	return out
}

// approvalProto is what waits for humans, or what became of the last that did.
func approvalProto(a *workflow.Approval) *enginev1.RunApproval {
	if a == nil {
		return nil
	}
	return &enginev1.RunApproval{
		ApprovalId: a.ID, Event: a.Event, To: a.To, Message: a.Message, AskedBy: a.Actor, Since: timestamppb.New(a.Since),
		Pending: a.Pending(), Outcome: string(a.Outcome), Note: a.Note, DecidedBy: a.DecidedBy,
	}
}

// closeBranch shows a branch that has ended: nothing is allowed in it. Of one
// whose fork has joined, the run's own state is shown.
func closeBranch(out *enginev1.Run, run *workflow.Run) {
	out.ToolsRestricted, out.AllowedTools, out.LegalEvents, out.Instructions, out.Approval = true, nil, nil, "", nil
	if out.State == "" {
		out.State = run.State
	}
}

func forkProto(m *workflow.Machine, state string, f *workflow.ForkProgress) *enginev1.Fork {
	if f == nil {
		return nil
	}
	out := &enginev1.Fork{Event: f.Event, State: state, Current: f.Current}
	def := m.State(state).Fork(f.Event)
	if def != nil {
		out.Join, out.OnComplete, out.OnFail = def.Join, def.OnComplete, def.OnFail
	}
	for i := range f.Branches {
		b := &f.Branches[i]
		branch := &enginev1.ForkBranch{
			Name: b.Name, Status: branchStatuses[b.Status], State: b.State, SessionId: b.SessionID,
			Fork: forkProto(m, b.State, b.Fork),
		}
		if def != nil && i < len(def.Branches) {
			branch.Terminal = def.Branches[i].Terminal
		}
		out.Branches = append(out.Branches, branch)
	}
	return out
}
