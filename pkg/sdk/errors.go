package sdk

import (
	"encoding/json"
	"errors"

	"github.com/interlock-run/interlock/pkg/fault"
)

// ErrNotRun is wrapped by the error of a task whose agent has not run at all: the
// task is given to another runner, and counts as no attempt (S11.5).
var ErrNotRun = errors.New("the agent has not run")

// ErrLeaseLost is the cause of the end of a task's context when its lease is lost:
// the task already belongs to another runner, so what the agent continues to do is done
// twice.
var ErrLeaseLost = errors.New("the lease on the task is lost")

// Reason is the reason of the fault that err is or wraps, such as
// fault.VersionConflict, and empty when there is none: no error, an answer such as
// a [*DeniedError], or an error of the caller's own.
func Reason(err error) fault.Reason {
	var f *fault.Error
	if errors.As(err, &f) && f != nil {
		return f.Reason
	}
	return ""
}

// CodeUndecided is the code of a denial when no decision could be had (S7.2).
const CodeUndecided = "POLICY_UNAVAILABLE"

// DeniedError says that a tool may not be called, or that no decision could be
// had. The tool has not run.
type DeniedError struct {
	// Code is UPPER_SNAKE, such as "TOOL_NOT_ALLOWED".
	Code string
	// Message is one sentence for the agent: what was refused, why, and what is
	// allowed.
	Message string
	// AllowedTools are those of the state, where it restricts them.
	AllowedTools    []string
	ToolsRestricted bool
	LegalEvents     []LegalEvent
	CallID          string
	// Err is why there is no decision; nil when there is one.
	Err error
}

// Error is the denial in one line.
func (e *DeniedError) Error() string { return "denied (" + e.Code + "): " + e.Message }

// Unwrap gives what kept the decision from being made.
func (e *DeniedError) Unwrap() error { return e.Err }

// ApprovalRequiredError says that a human must approve first. The tool has not
// run, the transition has not been made.
type ApprovalRequiredError struct {
	// Code is "APPROVAL_REQUIRED" or "APPROVAL_PENDING".
	Code       string
	Message    string
	ApprovalID string
	// CallID is the tool call's; empty for a transition.
	CallID string
}

// Error is the request in one line.
func (e *ApprovalRequiredError) Error() string {
	return "approval required (" + e.ApprovalID + "): " + e.Message
}

// RejectedError says that a transition was refused and what would be legal (S2.7).
// Nothing has changed.
type RejectedError struct {
	// Code is UPPER_SNAKE, such as "GUARD_FAILED".
	Code string
	// Message is one sentence for the agent.
	Message string
	// Guards are those that failed.
	Guards      []GuardResult
	LegalEvents []LegalEvent
	// State and Status are the run's.
	State, Status string
}

// Error is the rejection in one line.
func (e *RejectedError) Error() string { return "rejected (" + e.Code + "): " + e.Message }

// GuardResult is the outcome of one guard (S2.3).
type GuardResult struct {
	Name, Field, Op string
	// Expected is nil when the operator takes no value, Actual when the field is
	// missing.
	Expected, Actual json.RawMessage
	Passed           bool
	// Code is "EVIDENCE_MISSING" or "CLAIMED" where no comparison failed, and Message
	// says what it takes and what was found (S14).
	Code, Message string
}

// ReportError says that the outcome of a tool call could not be reported: an
// interrupt that it should fire has not fired, or nobody knows. The tool has run.
type ReportError struct {
	CallID string
	Err    error
}

// Error says which call.
func (e *ReportError) Error() string {
	return "the result of call " + e.CallID + " could not be reported: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *ReportError) Unwrap() error { return e.Err }
