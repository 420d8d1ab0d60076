package rpc

import (
	"context"
	"crypto/sha256"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/signature"
	"github.com/interlock-run/interlock/services/approval/internal/app"
)

// GetApprovalStatement implements ApprovalService.
func (s *Approvals) GetApprovalStatement(ctx context.Context, req *approvalv1.GetApprovalStatementRequest) (*approvalv1.GetApprovalStatementResponse, error) {
	w := app.Wish{Approve: req.GetApprove(), Note: req.GetNote(), Edited: req.GetEditedData(), Lease: leaseTerms(req.GetLease())}
	for _, item := range req.GetItems() {
		w.Items = append(w.Items, app.BatchItem{ID: item.GetApprovalId(), Digest: item.GetDigest()})
	}
	st, err := s.App.Statement(ctx, caller(ctx), w)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(st.Text)
	out := &approvalv1.GetApprovalStatementResponse{
		Statement: st.Text, Digest: sum[:], Shown: st.Shown(req.GetNote()), Presence: st.Presence, RpId: st.RPID, ExpiresAt: timestamppb.New(st.Expires),
	}
	for _, key := range st.Keys {
		shown := &approvalv1.SigningKey{SshPublicKey: key.SSH, Label: key.Label}
		if key.Passkey != nil {
			shown.CredentialId = key.Passkey.ID
		}
		out.Keys = append(out.Keys, shown)
	}
	return out, nil
}

// signatureOf returns the signature of a vote, nil for none.
func signatureOf(s *approvalv1.DecisionSignature) *app.Signature {
	if s == nil {
		return nil
	}
	out := &app.Signature{Statement: s.GetStatement(), SSH: s.GetSsh()}
	if p := s.GetPasskey(); p != nil {
		out.Passkey = &signature.Assertion{
			CredentialID: p.GetCredentialId(), AuthenticatorData: p.GetAuthenticatorData(), ClientDataJSON: p.GetClientDataJson(), Signature: p.GetSignature(),
		}
	}
	return out
}

// signedProto returns the signature of a vote, nil for none.
func signedProto(s *consent.Signed) *approvalv1.VoteSignature {
	if s == nil {
		return nil
	}
	out := &approvalv1.VoteSignature{
		Signature:        &approvalv1.DecisionSignature{Statement: s.Statement, Ssh: s.SSH},
		PasskeyPublicKey: s.PasskeyKey, SshPublicKey: strings.TrimSpace(s.SSHKey), RpId: s.RPID, Origins: s.Origins, Present: s.Present,
	}
	if p := s.Passkey; p != nil {
		out.Signature.Passkey = &approvalv1.PasskeyAssertion{
			CredentialId: p.CredentialID, AuthenticatorData: p.AuthenticatorData, ClientDataJson: p.ClientDataJSON, Signature: p.Signature,
		}
	}
	return out
}
