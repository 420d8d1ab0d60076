package jsonview

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// DecisionRecord is one decision as the log keeps it (S3, S7).
type DecisionRecord struct {
	Partition        string           `json:"partition" doc:"The root run, whose decisions are one hash chain."`
	Sequence         int64            `json:"sequence" doc:"The place in the partition, from 1."`
	Time             time.Time        `json:"time"`
	Principal        string           `json:"principal"`
	SessionID        string           `json:"session_id"`
	RunID            string           `json:"run_id"`
	RunVersion       int64            `json:"run_version"`
	Workflow         string           `json:"workflow"`
	WorkflowVersion  int64            `json:"workflow_version"`
	State            string           `json:"state"`
	Branch           string           `json:"branch,omitzero"`
	CallID           string           `json:"call_id"`
	Tool             string           `json:"tool"`
	Capability       string           `json:"capability"`
	Decision         string           `json:"decision" enum:"ALLOW,ASK,DENY"`
	Code             string           `json:"code,omitzero" doc:"Set unless allowed."`
	Message          string           `json:"message"`
	Rule             string           `json:"rule,omitzero" doc:"The deciding rule, such as: policy deploy-gate version 3, /ask/0. Absent when the state did."`
	Policy           string           `json:"policy,omitzero"`
	PolicyVersion    int64            `json:"policy_version,omitzero"`
	InputDigest      string           `json:"input_digest" doc:"Hex SHA-256 of the tool's name and input."`
	Input            jsontext.Value   `json:"input,omitzero" doc:"The input, masked; absent if the log does not keep it (S6.9)."`
	Facts            jsontext.Value   `json:"facts,omitzero" doc:"The values that conditions of rules have looked at, by pointer or facet, masked; absent for none."`
	BreakGlassGrant  string           `json:"break_glass_grant,omitzero" doc:"The grant that the call was made by, without contact; absent for none."`
	MadeAt           time.Time        `json:"made_at,omitzero" doc:"When such a call was made, by the clock of its client."`
	Exceptions       []string         `json:"exceptions,omitzero" doc:"Ids of the exceptions by which the call has passed rules of policies; absent for none."`
	EstimatedCostUSD string           `json:"estimated_cost_usd,omitzero"`
	ApprovalID       string           `json:"approval_id,omitzero"`
	LeaseID          string           `json:"lease_id,omitzero" doc:"The lease that admitted the call without a question."`
	Jail             *Jail            `json:"jail,omitzero" doc:"The jail that the command had to run in; absent for none."`
	Shadows          []ShadowDecision `json:"shadows,omitempty" doc:"The different decisions of shadows."`
	Identity         *Identity        `json:"identity,omitzero" doc:"Who made the call, as it was known then."`
	Hash             string           `json:"hash,omitzero" doc:"Hex SHA-256 over the hash before and this record; absent until it is sealed."`
}

// ShadowDecision is the decision of a shadow, where that differs.
type ShadowDecision struct {
	Policy         string `json:"policy,omitzero"`
	PolicyVersion  int64  `json:"policy_version,omitzero"`
	Workflow       string `json:"workflow,omitzero"`
	WorkflowDigest string `json:"workflow_digest,omitzero"`
	Decision       string `json:"decision" enum:"ALLOW,ASK,DENY"`
	Code           string `json:"code,omitzero"`
	Message        string `json:"message"`
}

// SimulatedChange is a recorded call that a candidate would decide otherwise.
type SimulatedChange struct {
	Recorded DecisionRecord `json:"recorded"`
	Decision string         `json:"decision" enum:"ALLOW,ASK,DENY"`
	Code     string         `json:"code,omitzero"`
	Message  string         `json:"message"`
}

// ChainReport is the result of verifying one hash chain.
type ChainReport struct {
	Partition string `json:"partition"`
	OK        bool   `json:"ok"`
	Sealed    int64  `json:"sealed" doc:"Records that are sealed."`
	Unsealed  int64  `json:"unsealed" doc:"Records that wait for their seal."`
	Head      string `json:"head" doc:"Hash of the last sealed record: keep it elsewhere, and a rewritten chain is found out too."`
	Sequence  int64  `json:"sequence,omitzero" doc:"Where the first problem is."`
	Problem   string `json:"problem,omitzero" doc:"The problem there."`
}

// DecisionRecordOf returns the JSON of a record.
func DecisionRecordOf(r *policyv1.DecisionRecord) DecisionRecord {
	out := DecisionRecord{
		Partition: r.GetPartition(), Sequence: r.GetSequence(), Time: Time(r.GetTime()), Principal: r.GetPrincipal(),
		SessionID: r.GetSessionId(), RunID: r.GetRunId(), RunVersion: r.GetRunVersion(), Workflow: r.GetWorkflow(),
		WorkflowVersion: r.GetWorkflowVersion(), State: r.GetState(), Branch: r.GetBranch(), CallID: r.GetCallId(), Tool: r.GetTool(),
		Capability: r.GetCapability(), Decision: decisionName(r.GetDecision()), Code: codeName(r.GetCode()), Message: r.GetMessage(),
		Rule: r.GetRule(), Policy: r.GetPolicy(), PolicyVersion: r.GetPolicyVersion(), InputDigest: r.GetInputDigest(),
		Input: rawOf(r.GetInput()), EstimatedCostUSD: r.GetEstimatedCostUsd(), ApprovalID: r.GetApprovalId(), LeaseID: r.GetLeaseId(), Hash: r.GetHash(),
		Jail: jailOf(r.GetJailLevel(), r.GetJailDigest()), Facts: rawOf(r.GetFacts()), Identity: IdentityOf(r.GetIdentity()), Exceptions: r.GetExceptions(), BreakGlassGrant: r.GetBreakGlassGrant(), MadeAt: Time(r.GetMadeAt()),
	}
	for _, s := range r.GetShadows() {
		out.Shadows = append(out.Shadows, ShadowDecision{
			Policy: s.GetPolicy(), PolicyVersion: s.GetPolicyVersion(), Workflow: s.GetWorkflow(), WorkflowDigest: s.GetWorkflowDigest(),
			Decision: decisionName(s.GetDecision()), Code: codeName(s.GetCode()), Message: s.GetMessage(),
		})
	}
	return out
}

// SimulatedChangeOf returns the JSON of a changed decision.
func SimulatedChangeOf(c *policyv1.SimulatedChange) SimulatedChange {
	return SimulatedChange{
		Recorded: DecisionRecordOf(c.GetRecorded()), Decision: decisionName(c.GetDecision()),
		Code: codeName(c.GetCode()), Message: c.GetMessage(),
	}
}

// Refusal is a caller that was refused before there was a decision.
type Refusal struct {
	Time           time.Time `json:"time"`
	Principal      string    `json:"principal" doc:"Empty when it is not known."`
	Role           string    `json:"role,omitzero"`
	SessionID      string    `json:"session_id,omitzero" doc:"The session that its token is bound to."`
	Face           string    `json:"face" doc:"grpc, or http for REST, MCP, hooks and AuthZEN."`
	Method         string    `json:"method"`
	Reason         string    `json:"reason" doc:"A code, such as UNAUTHENTICATED."`
	AskedSessionID string    `json:"asked_session_id,omitzero" doc:"The session that the call named."`
	AskedRunID     string    `json:"asked_run_id,omitzero" doc:"The run that the call named."`
	AskedNamespace string    `json:"asked_namespace,omitzero" doc:"The namespace that the call named, if it is not this one."`
	From           string    `json:"from,omitzero" doc:"The address that the call came from."`
	More           int64     `json:"more,omitzero" doc:"How many more of this principal were refused for this reason since the one before."`
}

// RefusalOf returns the JSON of a refusal.
func RefusalOf(r *policyv1.Refusal) Refusal {
	why := r.GetRefused()
	return Refusal{
		Time: Time(r.GetTime()), Principal: r.GetPrincipal(), Role: why.GetRole(), SessionID: why.GetSessionId(), Face: why.GetFace(), Method: why.GetMethod(),
		Reason: why.GetReason(), AskedSessionID: why.GetAskedSessionId(), AskedRunID: why.GetAskedRunId(), AskedNamespace: why.GetAskedNamespace(),
		From: why.GetFrom(), More: why.GetMore(),
	}
}

// ChainReportOf returns the JSON of a report.
func ChainReportOf(c *policyv1.ChainReport) ChainReport {
	return ChainReport{
		Partition: c.GetPartition(), OK: c.GetOk(), Sealed: c.GetSealed(), Unsealed: c.GetUnsealed(),
		Head: c.GetHead(), Sequence: c.GetSequence(), Problem: c.GetProblem(),
	}
}

const decisionPrefix = "DECISION_"

// Decisions returns the names of all decisions, in the contract's order.
func Decisions() []string { return protomap.Names(policyv1.Decision_name, decisionPrefix) }

// decisionName returns a decision without its contract prefix. One that this build does
// not know is a denial: it must not look like a yes.
func decisionName(d policyv1.Decision) string {
	switch d {
	case policyv1.Decision_DECISION_ALLOW, policyv1.Decision_DECISION_ASK:
		return strings.TrimPrefix(d.String(), decisionPrefix)
	default:
		return "DENY"
	}
}

// codeName returns a code without its contract prefix; empty for none.
func codeName(c policyv1.DecisionCode) string {
	if c == policyv1.DecisionCode_DECISION_CODE_UNSPECIFIED {
		return ""
	}
	return strings.TrimPrefix(c.String(), "DECISION_CODE_")
}
