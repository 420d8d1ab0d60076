package toolcall

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/jail"
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
	CodeToolNotAllowed Code = "TOOL_NOT_ALLOWED"
	CodeToolDisallowed Code = "TOOL_DISALLOWED"
	// CodeCallNotAllowed: the state allows the tool, but not with these values (S21.10).
	CodeCallNotAllowed Code = "CALL_NOT_ALLOWED"
	// CodeNarrowed: the session, one above it or the token is narrowed to other calls (S22.24).
	CodeNarrowed          Code = "NARROWED"
	CodeCommandNotAllowed Code = "COMMAND_NOT_ALLOWED"
	CodeCommandUnparsable Code = "COMMAND_UNPARSABLE"
	CodeCommandWrites     Code = "COMMAND_WRITES"
	CodeCommandUnknown    Code = "COMMAND_UNKNOWN"
	CodeEnvBlocked        Code = "ENV_BLOCKED"
	// CodeActsElsewhere: a command acts on another machine or service in a state that only reads (R3).
	CodeActsElsewhere Code = "ACTS_ELSEWHERE"
	// CodeSignals: a command reaches processes that its line has not started (R5).
	CodeSignals Code = "SIGNALS_PROCESS"
	// CodeJailRequired: the command would run at a lower level than the state demands (S20.2).
	CodeJailRequired  Code = "JAIL_REQUIRED"
	CodeEditTooLarge  Code = "EDIT_TOO_LARGE"
	CodeTooManyFiles  Code = "TOO_MANY_FILES"
	CodeMaxIterations Code = "MAX_ITERATIONS"
	CodeContextBudget Code = "CONTEXT_BUDGET"
	CodeRunNotActive  Code = "RUN_NOT_ACTIVE"
	CodeInvalidInput  Code = "INVALID_INPUT"
	// CodeEffectsUnknown: it is not known how earlier calls have ended (S16).
	CodeEffectsUnknown Code = "EFFECTS_UNKNOWN"
	CodePolicyDenied   Code = "POLICY_DENIED"
	// CodeCallUnclear: it cannot be told whether a rule is about the call (S21.6).
	CodeCallUnclear       Code = "CALL_UNCLEAR"
	CodeRateLimited       Code = "RATE_LIMITED"
	CodeBudgetExceeded    Code = "BUDGET_EXCEEDED"
	CodeEmailDenied       Code = "EMAIL_DENIED"
	CodeApprovalRequired  Code = "APPROVAL_REQUIRED"
	CodeApprovalPending   Code = "APPROVAL_PENDING"
	CodePolicyUnavailable Code = "POLICY_UNAVAILABLE"
	CodeSelfProtected     Code = "SELF_PROTECTED"
	// CodeCallerDenied: who asks denies the call itself, such as a hook that is set up for another workflow (S13.12).
	CodeCallerDenied Code = "CALLER_DENIED"
	// CodeHalted: all work in the scope of the call is halted (S23.40).
	CodeHalted Code = "HALTED"
	// CodeNotEnforced is the code of a call that is allowed because no rule of a state judges
	// it now. Detail has the reason.
	CodeNotEnforced Code = "NOT_ENFORCED"
	// CodeUngoverned is the code of a call that was made without contact, by a break-glass grant: it was not decided (S23.52).
	CodeUngoverned Code = "UNGOVERNED"
)

// Verdict is a decision as data. The sentence for the agent is built only when
// it is asked for: see Message. The zero Verdict is not an answer, and not an
// allowance.
type Verdict struct {
	Decision Decision `json:"decision"`
	// Code is empty when the call is allowed, or else CodeNotEnforced.
	Code Code   `json:"code,omitempty"`
	Tool string `json:"tool,omitempty"`
	// Detail is the part of the sentence beyond the code.
	Detail string `json:"detail,omitempty"`
	// Counted is true when the call counts as an iteration of the entry: allowed,
	// judged by the state, and not one of Interlock's own tools (S3.2).
	Counted bool `json:"counted,omitempty"`

	// Paths are the files that a call of a tool that edits would change, as far as
	// its input names them: cleaned, relative to the run's workspace, each once.
	// Files outside of it have absolute names (S3.8, pathglob.Root).
	Paths []string `json:"paths,omitempty"`
	// EditLines is the size of that edit (S3.6).
	EditLines int64 `json:"edit_lines,omitempty"`
	// MaxFiles is the limit to count Paths against, with those of the entry so far
	// (Files.Add); 0 for none, or when there are no Paths.
	MaxFiles int64 `json:"max_files,omitempty"`
	// Files is how many were counted when that limit was reached.
	Files int64 `json:"files,omitempty"`
	// MaxIterations is the limit to count the call against; 0 for none.
	MaxIterations int64 `json:"max_iterations,omitempty"`
	// Iterations is how many calls were counted when the limit was reached.
	Iterations int64 `json:"iterations,omitempty"`
	// ContextBudget is how many bytes of results the entry may have before this
	// call (BudgetSpent); 0 for no limit.
	ContextBudget int64 `json:"context_budget,omitempty"`
	// Jail has the limits that the kernel must enforce on the command line of an allowed call of a
	// shell; nil for none.
	Jail *jail.Profile `json:"jail,omitempty"`
	// ContextSpent is how many it had when that budget was spent.
	ContextSpent int64 `json:"context_spent,omitempty"`
}

// Unavailable returns the denial for when no decision can be made that is both current
// and durable.
func Unavailable() Verdict { return Verdict{Decision: Deny, Code: CodePolicyUnavailable} }

// IterationLimitReached returns the denial of a call that would be one too many in this
// entry of the run's state, after n that were counted (S3.2).
func IterationLimitReached(m *workflow.Machine, at *workflow.View, n int64) Verdict {
	v := Verdict{Decision: Deny, Code: CodeMaxIterations, Iterations: n}
	if m != nil && at != nil {
		v.MaxIterations = m.State(at.State).MaxIterations
	}
	return v
}

// FileLimitReached returns the denial of an edit that would change more files than this
// entry of the run's state has left, next to those counted (S3.6). added are the new ones
// that Files.Add returned.
func FileLimitReached(m *workflow.Machine, at *workflow.View, counted Files, added []string) Verdict {
	v := Verdict{
		Decision: Deny, Code: CodeTooManyFiles, Paths: added,
		Files: int64(len(counted)), Detail: quoteNames(counted),
	}
	if m != nil && at != nil {
		v.MaxFiles = m.State(at.State).MaxFilesPerState
	}
	return v
}

// FilesUnknown returns the denial of an edit of further files where a command of this entry has changed files that are not known:
// they count as all that may be changed (S3.6).
func FilesUnknown(m *workflow.Machine, at *workflow.View, added []string) Verdict {
	v := FileLimitReached(m, at, nil, added)
	v.Files = v.MaxFiles
	v.Detail = filesUnknown
	return v
}

// filesUnknown is the Detail of FilesUnknown.
const filesUnknown = "the files that a command has changed are not known, and count as all of these"

// ContextBudgetSpent returns the denial of a call in an entry whose results have n bytes
// already, which is all that they may have (S3.7).
func ContextBudgetSpent(m *workflow.Machine, at *workflow.View, n int64) Verdict {
	v := Verdict{Decision: Deny, Code: CodeContextBudget, ContextSpent: n}
	if m != nil && at != nil {
		v.ContextBudget = m.State(at.State).ContextBudgetBytes
	}
	return v
}

// The reasons of CodeNotEnforced.
const (
	PausedByAgent = "run paused by agent"
	HasEnded      = "run has ended"
	NoRun         = "no run"
	// Observed: the set-up of the agent's workspace records calls and enforces no rule of a state.
	Observed = "observed"
)

// NotEnforced allows a call that no rule of a state judges, for a reason.
func NotEnforced(tool, reason string) Verdict {
	return Verdict{Decision: Allow, Code: CodeNotEnforced, Tool: tool, Detail: reason}
}

func deny(call Call, code Code, detail string) Verdict {
	return Verdict{Decision: Deny, Code: code, Tool: call.Tool, Detail: detail}
}

// BudgetSpent reports that results of spent bytes leave no room for a further
// call (S3.7). A budget of 0 is none.
func BudgetSpent(spent, budget int64) bool { return budget > 0 && spent >= budget }

// BudgetWarning returns the warning in a result from 90 % of the budget on, or empty.
func BudgetWarning(spent, budget int64) string {
	switch {
	case BudgetSpent(spent, budget):
		return fmt.Sprintf("The budget of %d bytes of tool results in this state is spent: the next call is denied. Move on with an event.", budget)
	case budget > 0 && budget-spent <= budget/10:
		return fmt.Sprintf("%d of the %d bytes of tool results that this state may have are spent. Read less, or move on with an event.",
			spent, budget)
	default:
		return ""
	}
}

// TooManyOpen returns the denial of a call with an effect while too many others wait for
// their reports (S16.1).
func TooManyOpen(most int) Verdict {
	return Verdict{
		Decision: Deny, Code: CodeEffectsUnknown,
		Detail: fmt.Sprintf("%d calls of the run are not reported; report them, or have them settled with `interlock call settle`", most),
	}
}
