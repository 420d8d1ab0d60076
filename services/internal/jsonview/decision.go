package jsonview

import (
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Decision is the decision on a tool call.
type Decision struct {
	Decision string `json:"decision" enum:"ALLOW,ASK,DENY"`
	Code     string `json:"code,omitzero" doc:"Set unless allowed."`
	Message  string `json:"message" doc:"The refusal, its reason, and the allowed acts."`
	// AllowedTools is nil when the state does not restrict tools.
	AllowedTools *[]string    `json:"allowed_tools" doc:"null when the state does not restrict tools."`
	LegalEvents  []LegalEvent `json:"legal_events"`
	ApprovalID   string       `json:"approval_id,omitzero"`
	CallID       string       `json:"call_id"`
	RunVersion   int64        `json:"run_version" doc:"Version of the run that was decided on."`
	Branch       string       `json:"branch,omitzero" doc:"The branch that was decided in."`
	Jail         *Jail        `json:"jail,omitzero" doc:"The jail that the command must run in; absent when it needs none."`
	Explanation  *Explanation `json:"explanation,omitzero" doc:"Why, when that was asked for: as things were before the call was counted."`
}

// Jail describes the limits that the kernel enforces on a command that is allowed.
type Jail struct {
	Level  int32  `json:"level" doc:"The least level that enforces its profile, 1 to 3."`
	Digest string `json:"digest,omitzero" doc:"Digest of the profile, sha256:...; absent for a command that was denied."`
}

// jailOf returns the JSON of a jail; nil for none.
func jailOf(level int32, digest string) *Jail {
	if level == 0 {
		return nil
	}
	return &Jail{Level: level, Digest: digest}
}

// DecisionOf returns the JSON of a decision.
func DecisionOf(resp *policyv1.CheckToolCallResponse) Decision {
	return Decision{
		Decision: decisionName(resp.GetDecision()), Code: codeName(resp.GetCode()), Message: resp.GetMessage(),
		AllowedTools: ListOf(resp.GetToolsRestricted(), resp.GetAllowedTools()),
		LegalEvents:  LegalEvents(resp.GetLegalEvents()), ApprovalID: resp.GetApprovalId(),
		CallID: resp.GetCallId(), RunVersion: resp.GetRunVersion(), Branch: resp.GetBranch(),
		Jail:        jailOf(resp.GetJail().GetLevel(), resp.GetJail().GetDigest()),
		Explanation: ExplanationOf(resp.GetExplanation()),
	}
}

// Undecided returns the denial of a call that has not been decided, because a service
// could not be reached. The same call may be asked about again.
func Undecided(callID, why string) Decision {
	return Decision{
		Decision: "DENY", Code: string(fault.Unavailable), CallID: callID, LegalEvents: []LegalEvent{},
		Message: "No decision could be made, so the call is denied: " + why + ". Try again later.",
	}
}

// Interrupted reports an interrupt that has fired (S4).
type Interrupted struct {
	Name   string `json:"name"`
	From   string `json:"from" doc:"The state that was left; $return leads back to it."`
	To     string `json:"to" doc:"The state of the handler."`
	Notice string `json:"notice" doc:"For the agent, with the tool's result: begins with [INTERLOCK INTERRUPT]."`
}

// InterruptedOf returns the JSON of an interrupt that has fired; nil for none.
func InterruptedOf(i *policyv1.Interrupted) *Interrupted {
	if i == nil {
		return nil
	}
	return &Interrupted{Name: i.GetName(), From: i.GetFrom(), To: i.GetTo(), Notice: i.GetNotice()}
}
