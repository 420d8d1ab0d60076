package rpc

import (
	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// shown returns an approval as the caller may show it: of a relay, which shows it to all who are in a
// chat, without secrets (S23.36).
func (s *Approvals) shown(by app.Caller, a *approvalv1.Approval) *approvalv1.Approval {
	if by.Principal.Role != auth.Relay {
		return a
	}
	a.Data, a.EditedData, a.EditPatch = s.Masks.Input(a.GetData()), s.Masks.Input(a.GetEditedData()), nil
	a.Message, a.Reason, a.Outcome = s.Masks.Text(a.GetMessage()), s.Masks.Text(a.GetReason()), s.Masks.Text(a.GetOutcome())
	for _, v := range a.GetVotes() {
		v.Note = s.Masks.Text(v.GetNote())
	}
	a.Facts, a.Command, a.Previous = nil, nil, nil
	return a
}
