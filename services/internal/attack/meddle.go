package attack

import (
	"cmp"
	"time"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/attack"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
)

// decide lets a caller vote, or make requests between services.
func (p *player) decide(conn grpc.ClientConnInterface, s *attack.Step, a *ack) (string, error) {
	service, id := approvalv1.NewApprovalServiceClient(conn), p.approval(s.Approval)
	known, _ := approvalv1.NewApprovalServiceClient(p.honest(attack.Operator)).GetApproval(p.ctx, &approvalv1.GetApprovalRequest{ApprovalId: id})
	before := known.GetApproval()
	switch s.Do {
	case attack.Settle:
		resp, err := peerv1.NewRunPeerServiceClient(conn).SettleApproval(p.ctx, &peerv1.SettleApprovalRequest{RunId: p.id(1), ApprovalId: id})
		p.unasked(s, err)
		return word(resp.GetRun().GetStatus().String()), err
	case attack.Consume:
		resp, err := peerv1.NewApprovalPeerServiceClient(conn).ConsumeApproval(p.ctx, &peerv1.ConsumeApprovalRequest{ApprovalId: id, Digest: before.GetDigest(), UsedBy: "attack"})
		p.unasked(s, err)
		return word(resp.GetApproval().GetStatus().String()), err
	case attack.Void:
		resp, err := peerv1.NewApprovalPeerServiceClient(conn).VoidApproval(p.ctx, &peerv1.VoidApprovalRequest{ApprovalId: id, Reason: "attack"})
		p.unasked(s, err)
		return word(resp.GetApproval().GetStatus().String()), err
	}
	resp, err := service.DecideApproval(p.ctx, &approvalv1.DecideApprovalRequest{
		ApprovalId: id, Approve: !s.Reject, EditedData: bytesOf(s, s.Data), Digest: before.GetDigest(),
	})
	if err != nil {
		return "", err
	}
	a.granted = resp.GetApproval()
	p.pending[id] = a.granted.GetStatus() == approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING
	who := people[s.As]
	may, why := approvalOf(before).MayDecide(consent.Approver{Name: who.Name, Role: string(who.Role), SessionID: who.Session}, p.clock.Now())
	if !may && !p.dead() {
		p.found = append(p.found, Finding{Kind: Escape, Class: "a vote without effect", Step: s.String(), What: "a vote was taken that does not count: " + why})
	}
	return word(a.granted.GetStatus().String()), nil
}

// unasked notes that a caller has got a result that only services and operators may ask
// for.
func (p *player) unasked(s *attack.Step, err error) {
	role := people[s.As].Role
	if err == nil && role != auth.Operator && role != auth.Service && !p.dead() {
		p.found = append(p.found, Finding{Kind: Escape, Class: "rights", Step: s.String(), What: "only services and operators may ask for that"})
	}
}

// approvalOf returns an approval as package consent decides about it.
func approvalOf(a *approvalv1.Approval) *consent.Approval {
	out := &consent.Approval{
		ID: a.GetApprovalId(), Status: consent.Pending, ExpiresAt: a.GetExpiresAt().AsTime(), Escalated: a.GetEscalated(),
		Asker: consent.Asker{Principal: a.GetAsker().GetPrincipal(), SessionID: a.GetAsker().GetSessionId(), RootSession: a.GetAsker().GetRootSessionId()},
		Terms: consent.Terms{
			Required: int(a.GetTerms().GetRequired()), DenyThreshold: int(a.GetTerms().GetDenyThreshold()),
			Eligible:   consent.Approvers{Roles: a.GetTerms().GetEligible().GetRoles(), Names: a.GetTerms().GetEligible().GetNames()},
			Escalation: consent.Escalation{To: consent.Approvers{Roles: a.GetTerms().GetEscalateTo().GetRoles(), Names: a.GetTerms().GetEscalateTo().GetNames()}},
		},
	}
	if at := a.GetEscalatesAt(); at != nil {
		out.EscalatesAt = at.AsTime()
	}
	for _, v := range a.GetVotes() {
		out.Votes = append(out.Votes, consent.Vote{Name: v.GetBy(), Approve: v.GetApprove()})
	}
	if a.GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING {
		out.Status = consent.Granted
	}
	return out
}

// meddle acts on sessions, shared state, definitions and policies.
func (p *player) meddle(conn grpc.ClientConnInterface, s *attack.Step, a *ack) (string, error) {
	sessions := statev1.NewSessionServiceClient(conn)
	switch s.Do {
	case attack.Stop:
		_, err := sessions.StopSession(p.ctx, &statev1.StopSessionRequest{SessionId: cmp.Or(s.Session, "s1"), End: true, Error: "attack"})
		p.sweepAlive(err)
		return "", err
	case attack.Revive:
		_, err := sessions.ResumeSession(p.ctx, &statev1.ResumeSessionRequest{SessionId: cmp.Or(s.Session, "s1")})
		p.sweepAlive(err)
		return "", err
	case attack.Write:
		return p.write(conn, s, a)
	case attack.Register:
		text := `{"id":` + quoted(p.model.Main.Machine.Name()) + `,"initial":"any","states":{"any":{"on":{"END":"end"}},"end":{"type":"final"}}}`
		_, err := enginev1.NewWorkflowServiceClient(conn).RegisterWorkflow(p.ctx, &enginev1.RegisterWorkflowRequest{Definition: []byte(text)})
		p.denied(s, err)
		return "", err
	case attack.Policy:
		_, err := policyv1.NewPolicyServiceClient(conn).RegisterPolicy(p.ctx, &policyv1.RegisterPolicyRequest{
			Name: "guard", Definition: []byte(`{"name":"guard","role":"agent","allow":[{"capability":"*"}]}`),
		})
		p.denied(s, err)
		return "", err
	default:
		return "", fault.New(fault.InvalidRequest, "no step %q", s.Do)
	}
}

// denied notes that an agent has changed its own limits.
func (p *player) denied(s *attack.Step, err error) {
	if err == nil && people[s.As].Role != auth.Operator && !p.dead() {
		p.found = append(p.found, Finding{Kind: Escape, Class: "rights", Step: s.String(), What: "only operators may do that"})
	}
}

// sweepAlive carries out the consequences of the end of a session.
func (p *player) sweepAlive(err error) {
	if err == nil && !p.dead() {
		p.clock.advance(time.Second)
		p.sweep(p.ctx)
	}
}
