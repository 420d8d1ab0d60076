package toolcall

import (
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Decision is the answer to a tool call.
type Decision string

// The decisions.
const (
	Allow Decision = "ALLOW"
	Ask   Decision = "ASK"
	Deny  Decision = "DENY"
)

// Code says why a call was not allowed, for programs.
type Code string

// The codes.
const (
	CodeToolNotAllowed    Code = "TOOL_NOT_ALLOWED"
	CodeToolDisallowed    Code = "TOOL_DISALLOWED"
	CodeCommandNotAllowed Code = "COMMAND_NOT_ALLOWED"
	CodeCommandUnparsable Code = "COMMAND_UNPARSABLE"
	CodeCommandWrites     Code = "COMMAND_WRITES"
	CodeEnvBlocked        Code = "ENV_BLOCKED"
	CodeEditTooLarge      Code = "EDIT_TOO_LARGE"
	CodeTooManyFiles      Code = "TOO_MANY_FILES"
	CodeMaxIterations     Code = "MAX_ITERATIONS"
	CodeContextBudget     Code = "CONTEXT_BUDGET"
	CodeRunNotActive      Code = "RUN_NOT_ACTIVE"
	CodeInvalidInput      Code = "INVALID_INPUT"
	CodePolicyDenied      Code = "POLICY_DENIED"
	CodeRateLimited       Code = "RATE_LIMITED"
	CodeBudgetExceeded    Code = "BUDGET_EXCEEDED"
	CodeEmailDenied       Code = "EMAIL_DENIED"
	CodeApprovalRequired  Code = "APPROVAL_REQUIRED"
	CodeApprovalPending   Code = "APPROVAL_PENDING"
	CodePolicyUnavailable Code = "POLICY_UNAVAILABLE"
)

// IterationsCounter names the counter of allowed calls in one entry of a state.
const IterationsCounter = "iterations"

// Verdict is a decision as data. The sentence for the agent is built only when
// it is asked for: see Message. The zero Verdict is not an answer, and not an
// allowance.
type Verdict struct {
	Decision Decision `json:"decision"`
	// Code is empty when the call is allowed.
	Code Code   `json:"code,omitempty"`
	Tool string `json:"tool,omitempty"`
	// Detail is what the sentence says beyond the code.
	Detail string `json:"detail,omitempty"`
	// Counted is true when the call counts as an iteration of the entry: allowed,
	// judged by the state, and not one of Interlock's own tools (S3.2).
	Counted bool `json:"counted,omitempty"`
	// MaxIterations is the limit to count it against; 0 for none.
	MaxIterations int64 `json:"max_iterations,omitempty"`
	// Iterations is how many calls were counted when the limit was reached.
	Iterations int64 `json:"iterations,omitempty"`
}

// Unavailable is the denial for when no decision can be made that is both
// current and durable.
func Unavailable() Verdict { return Verdict{Decision: Deny, Code: CodePolicyUnavailable} }

// IterationLimitReached is the denial of a call that would be one too many in
// this entry of the run's state, after n that were counted (S3.2).
func IterationLimitReached(m *workflow.Machine, run *workflow.Run, n int64) Verdict {
	v := Verdict{Decision: Deny, Code: CodeMaxIterations, Iterations: n}
	if m != nil && run != nil {
		v.MaxIterations = m.State(run.State).MaxIterations
	}
	return v
}

func deny(call Call, code Code, detail string) Verdict {
	return Verdict{Decision: Deny, Code: code, Tool: call.Tool, Detail: detail}
}
