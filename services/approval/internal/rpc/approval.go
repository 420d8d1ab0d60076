package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

const (
	statusPrefix = "APPROVAL_STATUS_"
	kindPrefix   = "APPROVAL_KIND_"
)

// The core's words in the contract's.
var (
	statuses = protomap.Enums[consent.Status, approvalv1.ApprovalStatus](approvalv1.ApprovalStatus_value, statusPrefix)
	kinds    = protomap.LowerEnums[consent.Kind, approvalv1.ApprovalKind](approvalv1.ApprovalKind_value, kindPrefix)
	roles    = protomap.LowerEnums[string, approvalv1.ApproverRole](approvalv1.ApproverRole_value, "APPROVER_ROLE_")
)

func approvalProto(r *app.Record) *approvalv1.Approval {
	out := &approvalv1.Approval{
		ApprovalId: r.ID, Kind: kinds[r.Action.Kind], Status: statuses[r.Standing()],
		Subject: r.Action.Subject.AppendJSON(nil), Editable: r.Editable, Digest: r.Digest,
		Asker:   &approvalv1.Asker{Principal: r.Asker.Principal, Person: r.Asker.Person, SessionId: r.Asker.SessionID, RootSessionId: r.Asker.RootSession},
		Message: r.Message, Terms: protomap.ApprovalTerms(r.Terms), Escalated: r.Escalated, Reason: r.Reason, By: r.By,
		CreatedAt: timestamppb.New(r.CreatedAt), ExpiresAt: timestamppb.New(r.ExpiresAt), DecidedAt: stamp(r.DecidedAt), UsedAt: stamp(r.UsedAt),
		UsedBy: r.UsedBy, RunId: r.RunID, Version: r.Version, Outcome: r.Outcome(), Why: whyProto(r.Because()),
	}
	if !r.Status.Final() && !r.EscalatesAt.IsZero() {
		out.EscalatesAt, out.EscalatesTo = stamp(r.EscalatesAt), protomap.ApprovalTerms(r.Terms).GetEscalateTo()
	}
	if data := r.Action.Data; !data.IsZero() {
		out.Data = data.AppendJSON(nil)
	}
	if r.Edit != nil {
		out.EditedData, out.EditPatch, out.EditedBy = r.Edit.Data.AppendJSON(nil), r.Diff().AppendJSON(nil), r.Edit.By
	}
	for _, v := range r.Votes {
		out.Votes = append(out.Votes, &approvalv1.Vote{
			By: v.Name, Role: roles[v.Role], Approve: v.Approve, Note: v.Note, Time: timestamppb.New(v.At),
			Person: v.Person, Principal: v.Principal, Relay: v.Relay, Identity: v.Identity, Signature: signedProto(v.Signed),
		})
	}
	return out
}

// seen returns an approval as the caller sees it.
func (s *Approvals) seen(ctx context.Context, by app.Caller, r *app.Record) *approvalv1.Approval {
	out := approvalProto(r)
	out.NobodyCanAnswer = s.App.Unanswerable(ctx, r)
	may, why := s.App.MayDecide(by, r)
	out.You = &approvalv1.Viewer{MayDecide: may, Reason: why}
	return out
}

// detailed adds the details that help a person to decide.
func detailed(out *approvalv1.Approval, r *app.Record, d app.Details) {
	out.Facts = r.Facts
	out.Command = protomap.CommandLine(d.Command)
	if u := d.Unlocks; u != nil {
		out.Unlocks = &approvalv1.Unlocks{State: u.State, ToolsRestricted: u.ToolsRestricted, AllowedTools: u.AllowedTools, Instructions: u.Instructions}
	}
	if p := d.Previous; p != nil {
		out.Previous = &approvalv1.PreviousApproval{ApprovalId: p.ID, DecidedAt: stamp(p.DecidedAt), DecidedBy: p.DecidedBy()}
		if data := p.Bound().Data; !data.IsZero() {
			out.Previous.Data = data.AppendJSON(nil)
		}
	}
}

func whyOf(w *approvalv1.Why) app.Why {
	return app.Why{
		Policy: w.GetPolicy(), PolicyVersion: w.GetPolicyVersion(), Rule: w.GetRule(),
		State: w.GetState(), Workflow: w.GetWorkflow(), WorkflowVersion: w.GetWorkflowVersion(), Entry: w.GetEntry(),
	}
}

// whyProto returns nil when the cause is unknown.
func whyProto(w app.Why) *approvalv1.Why {
	if w == (app.Why{}) {
		return nil
	}
	return &approvalv1.Why{
		Policy: w.Policy, PolicyVersion: w.PolicyVersion, Rule: w.Rule, State: w.State, Workflow: w.Workflow, WorkflowVersion: w.WorkflowVersion,
		Entry: w.Entry,
	}
}

func stamp(t time.Time) *timestamppb.Timestamp {
	if t.IsZero() {
		return nil
	}
	return timestamppb.New(t)
}
