package sdk

import (
	"encoding/json"
	"errors"

	"github.com/interlock-run/interlock/pkg/fault"
)

// ErrNotRun is wrapped by the error of a task whose agent has not run at all: the
// task is given to another runner, and counts as no attempt (S11.5).
var ErrNotRun = errors.New("the agent has not run")

// ErrClaimLost is the cause of the end of a task's context when its claim is lost: the
// task already belongs to another runner, so further work of the agent is done twice.
var ErrClaimLost = errors.New("the claim on the task is lost")

// Reason returns the reason of the fault that err is or wraps, such as
// fault.VersionConflict, and empty when there is none: no error, an answer such as a
// [*DeniedError], or an error of the caller's own.
func Reason(err error) fault.Reason {
	var f *fault.Error
	if errors.As(err, &f) && f != nil {
		return f.Reason
	}
	return ""
}

// Retriable reports whether the same call, put again unchanged, can succeed: the server was not
// reachable or busy, or another caller was faster. It is false for refusals, for mistakes of the
// configuration, and for an error of the caller's own.
func Retriable(err error) bool {
	switch reason := Reason(err); reason {
	case fault.VersionConflict, fault.Locked:
		return true
	default:
		return transient(reason)
	}
}

// DeniedError says that a tool may not be called, or that no decision could be
// had. The tool has not run.
type DeniedError struct {
	Code Code
	// Message is one sentence for the agent: the refused act, the reason, and the allowed
	// acts.
	Message string
	// AllowedTools are those of the state, where it restricts them.
	AllowedTools    []string
	ToolsRestricted bool
	LegalEvents     []LegalEvent
	CallID          string
	// Err is why there is no decision; nil when there is one.
	Err error
}

// Error returns the denial in one line.
func (e *DeniedError) Error() string { return "denied (" + string(e.Code) + "): " + e.Message }

// Unwrap returns the error that kept the decision from being made.
func (e *DeniedError) Unwrap() error { return e.Err }

// ConfigurationError says that the client is not set up to ask: its token is missing, unknown or
// does not permit the call, or its run or session is not known. It is a [*DeniedError] too
// ([errors.As]), so the tool does not run. Trying again does not help; the message says how to
// mend it.
type ConfigurationError struct{ DeniedError }

// Error returns the mistake in one line.
func (e *ConfigurationError) Error() string {
	return "configuration (" + string(e.Code) + "): " + e.Message
}

// As makes the error a denial.
func (e *ConfigurationError) As(target any) bool {
	denied, ok := target.(**DeniedError)
	if ok {
		*denied = &e.DeniedError
	}
	return ok
}

// ApprovalRequiredError says that a human must approve first. The tool has not
// run, the transition has not been made.
type ApprovalRequiredError struct {
	// Code is CodeApprovalRequired or CodeApprovalPending.
	Code       Code
	Message    string
	ApprovalID string
	// CallID is the tool call's; empty for a transition.
	CallID string
}

// Error returns the request in one line.
func (e *ApprovalRequiredError) Error() string {
	return "approval required (" + e.ApprovalID + "): " + e.Message
}

// RejectedError says that a transition was refused and which events would be legal
// (S2.7). The run has not changed.
type RejectedError struct {
	Code RejectionCode
	// Message is one sentence for the agent.
	Message string
	// Guards are those that failed.
	Guards      []GuardResult
	LegalEvents []LegalEvent
	// State and Status are the run's.
	State  string
	Status RunStatus
}

// Error returns the rejection in one line.
func (e *RejectedError) Error() string { return "rejected (" + string(e.Code) + "): " + e.Message }

// GuardResult is the outcome of one guard (S2.3).
type GuardResult struct {
	Name, Field, Op string
	// Expected is nil when the operator takes no value, Actual when the field is
	// missing.
	Expected, Actual json.RawMessage
	Passed           bool
	// Code is "EVIDENCE_MISSING" or "CLAIMED" where no comparison failed, and Message
	// describes the requirement and the observations (S14).
	Code, Message string
}

// ReportError says that the outcome of a tool call could not be reported: an interrupt
// that it should fire has not fired, or its state is unknown. The tool has run.
type ReportError struct {
	CallID string
	Err    error
}

// Error describes which call.
func (e *ReportError) Error() string {
	return "the result of call " + e.CallID + " could not be reported: " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *ReportError) Unwrap() error { return e.Err }
