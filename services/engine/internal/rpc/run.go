package rpc

import (
	"context"
	"slices"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/app"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// The core's words in the contract's.
var (
	branchStatuses = protomap.Enums[workflow.BranchStatus, enginev1.BranchStatus](enginev1.BranchStatus_value, "BRANCH_STATUS_")
	outcomes       = protomap.Enums[workflow.ApprovalOutcome, enginev1.ApprovalOutcome](enginev1.ApprovalOutcome_value, "APPROVAL_OUTCOME_")
	holdCauses     = protomap.LowerEnums[workflow.HoldCause, enginev1.HoldCause](enginev1.HoldCause_value, "HOLD_CAUSE_")
	joins          = protomap.LowerEnums[string, enginev1.JoinMode](enginev1.JoinMode_value, "JOIN_MODE_")
	operators      = protomap.LowerEnums[string, enginev1.GuardOperator](enginev1.GuardOperator_value, "GUARD_OPERATOR_")
)

// runProto returns a run in the FULL view, without its usage, for a change, whose entry
// of the state is new.
func (s *Runs) runProto(v *app.View) *enginev1.Run {
	out := s.basicProto(v)
	out.Context, out.Rules = v.At.Context.AppendJSON(nil), s.rulesProto(v.State())
	out.Freeze, out.Rules.LegalEvents = freezeProto(v.Freeze), frozenEvents(v, v.At.State, out.GetRules().GetLegalEvents())
	out.Halt = haltProto(v.Halt)
	out.Evidence = evidenceProto(v.Evidence)
	out.Dues = duesProto(v)
	if v.At.Over {
		closeBranch(out, v.Run)
	}
	return out
}

// haltProto returns the halt that stops a run, or nil.
func haltProto(h *halts.Halt) *enginev1.RunHalt {
	if h == nil {
		return nil
	}
	return &enginev1.RunHalt{HaltId: h.ID, Scope: h.String(), Reason: h.Reason, CreatedBy: h.By, CreatedAt: timestamppb.New(h.At)}
}

// freezeProto returns the freeze that a run is under, or nil.
func freezeProto(f *workflow.Freeze) *enginev1.RunFreeze {
	if f == nil {
		return nil
	}
	return &enginev1.RunFreeze{FreezeId: f.ID, Reason: f.Reason, CreatedBy: f.By, Until: timestamppb.New(f.Until)}
}

// frozenEvents returns the events of a state, with those marked that a freeze stops.
func frozenEvents(v *app.View, state string, events []*enginev1.LegalEvent) []*enginev1.LegalEvent {
	if v.Freeze == nil {
		return events
	}
	out := slices.Clone(events)
	for i, e := range out {
		if v.Frozen(state, e.GetEvent()) {
			out[i] = &enginev1.LegalEvent{
				Event: e.GetEvent(), Targets: e.GetTargets(), Guards: e.GetGuards(), RequiresApproval: e.GetRequiresApproval(), Frozen: true,
			}
		}
	}
	return out
}

// duesProto returns what time will bring about in the lane that a run is seen from, and in the run as a whole.
func duesProto(v *app.View) []*enginev1.Due {
	var out []*enginev1.Due
	dues := append(v.Machine.Dues(v.Run), v.Silences...)
	slices.SortStableFunc(dues, func(a, b workflow.Due) int { return a.At.Compare(b.At) })
	for i := range dues {
		due := dueProto(&dues[i])
		due.At = timestamppb.New(dues[i].At)
		out = append(out, due)
	}
	for _, d := range v.Machine.StoppedDues(v.Run) {
		due := dueProto(&d.Due)
		due.StoppedBy, due.Left = string(d.By), durationpb.New(d.Left)
		out = append(out, due)
	}
	return out
}

func dueProto(d *workflow.Due) *enginev1.Due {
	return &enginev1.Due{
		Kind: string(d.Kind), Event: d.Event, Branch: d.Branch, Blocked: d.Blocked, Targets: d.Targets, After: durationpb.New(d.After), Holds: d.Holds,
	}
}

// read returns a run in the view that a request asks for, or else in the other.
func (s *Runs) read(ctx context.Context, v *app.View, asked, otherwise enginev1.RunView) (*enginev1.Run, error) {
	if asked == enginev1.RunView_RUN_VIEW_UNSPECIFIED {
		asked = otherwise
	}
	if asked == enginev1.RunView_RUN_VIEW_BASIC {
		out := s.basicProto(v)
		if v.At.Over {
			closeBranch(out, v.Run)
		}
		return out, nil
	}
	used, err := s.app.Views.Usage(ctx, rpc.Namespace(ctx), v)
	if err != nil {
		return nil, err
	}
	out := s.runProto(v)
	out.Usage = usageProto(used)
	return out, nil
}

func usageProto(u app.Usage) *enginev1.Usage {
	return &enginev1.Usage{Iterations: u.Iterations, ContextBytes: u.ContextBytes, FilesChanged: u.FilesChanged}
}

// basicProto returns a run in the BASIC view.
func (s *Runs) basicProto(v *app.View) *enginev1.Run {
	run, at := v.Run, &v.At
	out := &enginev1.Run{
		RunId: run.ID, Workflow: run.Workflow, WorkflowVersion: run.WorkflowVersion,
		SessionId: run.SessionID, Workspace: run.Workspace, WorkspaceClaimed: run.Claimed, RootRunId: run.Root(),
		CreatedAt: timestamppb.New(run.CreatedAt), UpdatedAt: timestamppb.New(run.UpdatedAt), Version: run.Version,

		Status: statuses[at.Status], State: at.State, Entry: at.Entry, TransitionCount: run.TransitionCount,
		Branch: at.Branch, BranchOver: at.Over, Fork: forkProto(v.Machine, run.State, run.Fork),
		Approval: approvalProto(at.Approval), SupersededBy: v.SupersededBy, WorkflowMeta: metaProto(v), Schedule: run.Schedule,
	}
	for _, h := range run.Holds {
		out.Holds = append(out.Holds, &enginev1.Hold{
			By: h.By, Cause: holdCauses[h.Cause], Reason: h.Reason, Since: timestamppb.New(h.Since),
		})
	}
	if run.Parent != nil {
		out.ParentRunId = run.Parent.RunID
	}
	if at.Interrupt != nil {
		out.Interrupt = &enginev1.Interruption{Name: at.Interrupt.Name, ReturnTo: at.Interrupt.ReturnTo}
	}
	if !at.Clock.Since.IsZero() {
		out.ArrivedAt = timestamppb.New(at.Clock.Since)
	}
	if !run.Deadline.IsZero() {
		out.Deadline = timestamppb.New(run.Deadline)
	}
	if !v.LastActivity.IsZero() {
		out.LastActivity = timestamppb.New(v.LastActivity)
	}
	if at.Child != nil {
		out.Child = &enginev1.Invocation{RunId: at.Child.RunID, Workflow: at.Child.Workflow, Event: at.Child.Event}
	}
	return out
}

// rulesProto returns the rules of a state.
func (s *Runs) rulesProto(state *workflow.StateView) *enginev1.StateRules {
	out := &enginev1.StateRules{
		Instructions: state.Instructions, LegalEvents: s.legal.Of(state),
		ToolsRestricted: state.ToolsRestricted, AllowedTools: state.AllowedTools, DisallowedTools: state.DisallowedTools,
		CommandsRestricted: state.CommandsRestricted, AllowedCommands: state.AllowedCommands, BlockedEnv: state.BlockedEnv,
		MaxIterations: state.MaxIterations, MaxEditLines: state.MaxEditLines, MaxFilesPerState: state.MaxFilesPerState,
		ContextBudgetBytes: state.ContextBudgetBytes, Model: state.Model, ThinkingLevel: state.ThinkingLevel,
	}
	for _, e := range state.EnvOverrides {
		out.EnvOverrides = append(out.EnvOverrides, &enginev1.EnvVar{Name: e.Name, Value: e.Value})
	}
	return out
}

// metaProto returns the rules of a workflow for all of its states.
func metaProto(v *app.View) *enginev1.WorkflowMeta {
	meta := v.Machine.Meta()
	out := &enginev1.WorkflowMeta{
		Process: v.Process != nil, Debug: meta.Debug, CaptureOutput: meta.CaptureOutput,
		Enforcement: meta.Enforcement.String(), Policies: meta.Policies, OutputTools: v.Machine.ReadsOutput(),
	}
	if meta.ApprovalWait > 0 {
		out.ApprovalWait = durationpb.New(meta.ApprovalWait)
	}
	return out
}

// evidenceProto returns how the evidence of a run stands.
func evidenceProto(standings []evidence.Status) []*enginev1.Evidence {
	var out []*enginev1.Evidence
	for _, s := range standings {
		e := &enginev1.Evidence{Name: s.Name, Held: s.Held, VoidedBy: s.VoidedBy, Missing: s.Missing, Needs: s.Needs, Tree: s.Tree}
		if !s.Since.IsZero() {
			e.Since = timestamppb.New(s.Since)
		}
		out = append(out, e)
	}
	return out
}

// approvalProto returns the approval that waits for humans, or the last one that did.
func approvalProto(a *workflow.Approval) *enginev1.RunApproval {
	if a == nil {
		return nil
	}
	return &enginev1.RunApproval{
		ApprovalId: a.ID, Event: a.Event, To: a.To, Message: a.Message, AskedBy: a.Actor, Since: timestamppb.New(a.Since),
		Pending: a.Pending(), Outcome: outcomes[a.Outcome], Note: a.Note, DecidedBy: a.DecidedBy,
	}
}

// closeBranch shows a branch that has ended: it allows no operation. Of one whose fork
// has joined, the run's own state is shown.
func closeBranch(out *enginev1.Run, run *workflow.Run) {
	out.Approval = nil
	if rules := out.GetRules(); rules != nil {
		rules.ToolsRestricted, rules.AllowedTools, rules.LegalEvents, rules.Instructions = true, nil, nil, ""
	}
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
		out.Join, out.OnComplete, out.OnFail = joins[def.Join], def.OnComplete, def.OnFail
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
