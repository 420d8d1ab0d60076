package jsonview

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
)

// Lease admits calls like one that was approved, without another question (S9.6).
type Lease struct {
	LeaseID       string         `json:"lease_id"`
	ApprovalID    string         `json:"approval_id" doc:"The approval that it was given with."`
	RunID         string         `json:"run_id"`
	SessionID     string         `json:"session_id"`
	State         string         `json:"state" doc:"The state that it admits calls in."`
	Policy        string         `json:"policy"`
	PolicyVersion int64          `json:"policy_version"`
	Rule          string         `json:"rule" doc:"The rule that asks: a JSON Pointer into the policy."`
	Capability    string         `json:"capability" doc:"The capability that calls must have."`
	Pattern       string         `json:"pattern,omitzero" doc:"The pattern that their commands must match."`
	Only          jsontext.Value `json:"only,omitzero" doc:"The condition that they must meet. What it does not name stays as in the call that was asked about."`
	CallsLeft     int64          `json:"calls_left"`
	ExpiresAt     time.Time      `json:"expires_at"`
	GrantedBy     string         `json:"granted_by"`
	GrantedAt     time.Time      `json:"granted_at"`
}

// LeaseOf returns the JSON of a lease.
func LeaseOf(l *approvalv1.Lease) Lease {
	return Lease{
		LeaseID: l.GetLeaseId(), ApprovalID: l.GetApprovalId(), RunID: l.GetRunId(), SessionID: l.GetSessionId(), State: l.GetState(),
		Policy: l.GetPolicy(), PolicyVersion: l.GetPolicyVersion(), Rule: l.GetRule(), Capability: l.GetCapability(), Pattern: l.GetPattern(), Only: rawOf(l.GetOnly()),
		CallsLeft: l.GetCallsLeft(), ExpiresAt: Time(l.GetExpiresAt()), GrantedBy: l.GetGrantedBy(), GrantedAt: Time(l.GetGrantedAt()),
	}
}
