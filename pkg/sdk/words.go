package sdk

// Verdict is the decision on a tool call. A verdict that this version does not know is a denial.
type Verdict string

// Verdicts.
const (
	Allow Verdict = "ALLOW"
	Ask   Verdict = "ASK"
	Deny  Verdict = "DENY"
)

// Code is why a tool call was not allowed, or which rules did not judge it. A server can send
// codes that this version does not know.
type Code string

// Codes of decisions.
const (
	CodeToolNotAllowed    Code = "TOOL_NOT_ALLOWED"
	CodeToolDisallowed    Code = "TOOL_DISALLOWED"
	CodeCommandNotAllowed Code = "COMMAND_NOT_ALLOWED"
	CodeCommandUnparsable Code = "COMMAND_UNPARSABLE"
	CodeCommandWrites     Code = "COMMAND_WRITES"
	CodeCommandUnknown    Code = "COMMAND_UNKNOWN"
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
	// CodePolicyUnavailable is also the code of a denial when no decision could be had (S7.2).
	CodePolicyUnavailable Code = "POLICY_UNAVAILABLE"
	CodeSelfProtected     Code = "SELF_PROTECTED"
	CodeNotEnforced       Code = "NOT_ENFORCED"
	CodeEffectsUnknown    Code = "EFFECTS_UNKNOWN"
	CodeActsElsewhere     Code = "ACTS_ELSEWHERE"
	CodeSignalsProcess    Code = "SIGNALS_PROCESS"
	CodeCallerDenied      Code = "CALLER_DENIED"
	CodeJailRequired      Code = "JAIL_REQUIRED"
	CodeCallUnclear       Code = "CALL_UNCLEAR"
	CodeCallNotAllowed    Code = "CALL_NOT_ALLOWED"
	CodeNarrowed          Code = "NARROWED"
	CodeHalted            Code = "HALTED"
	CodeUngoverned        Code = "UNGOVERNED"
)

// RejectionCode is why an event was rejected (S2.7).
type RejectionCode string

// Codes of rejections.
const (
	RejectedUnknownEvent           RejectionCode = "UNKNOWN_EVENT"
	RejectedGuardFailed            RejectionCode = "GUARD_FAILED"
	RejectedNoBranchMatched        RejectionCode = "NO_BRANCH_MATCHED"
	RejectedRunNotRunning          RejectionCode = "RUN_NOT_RUNNING"
	RejectedApprovalPending        RejectionCode = "APPROVAL_PENDING"
	RejectedReturnOutsideInterrupt RejectionCode = "RETURN_OUTSIDE_INTERRUPT"
	RejectedBranchNotDone          RejectionCode = "BRANCH_NOT_DONE"
	RejectedUnknownBranch          RejectionCode = "UNKNOWN_BRANCH"
	RejectedUnknownWorkflow        RejectionCode = "UNKNOWN_WORKFLOW"
	RejectedInvokeTooDeep          RejectionCode = "INVOKE_TOO_DEEP"
	RejectedReservedKey            RejectionCode = "RESERVED_KEY"
	RejectedDebugDisabled          RejectionCode = "DEBUG_DISABLED"
	RejectedUnsupported            RejectionCode = "UNSUPPORTED"
	RejectedInvalidData            RejectionCode = "INVALID_DATA"
	RejectedRunNotPaused           RejectionCode = "RUN_NOT_PAUSED"
	RejectedNotParked              RejectionCode = "NOT_PARKED"
	RejectedNoImage                RejectionCode = "NO_IMAGE"
	RejectedTooEarly               RejectionCode = "TOO_EARLY"
	RejectedOutsideWindow          RejectionCode = "OUTSIDE_WINDOW"
	RejectedFrozen                 RejectionCode = "FROZEN"
	RejectedNotDue                 RejectionCode = "NOT_DUE"
)

// RunStatus is the status of a run (S6.1).
type RunStatus string

// Statuses of runs.
const (
	RunRunning          RunStatus = "RUNNING"
	RunWaiting          RunStatus = "WAITING"
	RunAwaitingApproval RunStatus = "AWAITING_APPROVAL"
	RunPaused           RunStatus = "PAUSED"
	RunHeld             RunStatus = "HELD"
	RunCompleted        RunStatus = "COMPLETED"
	RunFailed           RunStatus = "FAILED"
	RunBlocked          RunStatus = "BLOCKED"
	RunCancelled        RunStatus = "CANCELLED"
)

// Ended reports whether a run of this status continues no more.
func (s RunStatus) Ended() bool {
	switch s {
	case RunCompleted, RunFailed, RunBlocked, RunCancelled:
		return true
	default:
		return false
	}
}

// BranchStatus is the status of a branch of a fork.
type BranchStatus string

// Statuses of branches.
const (
	BranchActive    BranchStatus = "ACTIVE"
	BranchSucceeded BranchStatus = "SUCCEEDED"
	BranchFailed    BranchStatus = "FAILED"
	BranchCancelled BranchStatus = "CANCELLED"
)

// ApprovalStatus is the status of an approval (S9).
type ApprovalStatus string

// Statuses of approvals.
const (
	ApprovalPending   ApprovalStatus = "PENDING"
	ApprovalGranted   ApprovalStatus = "GRANTED"
	ApprovalRejected  ApprovalStatus = "REJECTED"
	ApprovalExpired   ApprovalStatus = "EXPIRED"
	ApprovalCancelled ApprovalStatus = "CANCELLED"
	ApprovalUsed      ApprovalStatus = "USED"
	ApprovalStale     ApprovalStatus = "STALE"
)

// ApprovalKind is the subject of an approval.
type ApprovalKind string

// Kinds of approvals.
const (
	ApprovalOfTransition  ApprovalKind = "TRANSITION"
	ApprovalOfToolCall    ApprovalKind = "TOOL_CALL"
	ApprovalOfProcessStep ApprovalKind = "PROCESS_STEP"
)

// SessionStatus is the status of a session.
type SessionStatus string

// Statuses of sessions.
const (
	SessionRunning  SessionStatus = "RUNNING"
	SessionFinished SessionStatus = "FINISHED"
	SessionEnded    SessionStatus = "ENDED"
)

// UpdateStatus is how far a session has got with its report in the shared state (S11.1).
type UpdateStatus string

// Statuses of reports in the shared state.
const (
	UpdateNone      UpdateStatus = "NONE"
	UpdatePending   UpdateStatus = "PENDING"
	UpdateCompleted UpdateStatus = "COMPLETED"
	UpdateFailed    UpdateStatus = "FAILED"
	UpdateSkipped   UpdateStatus = "SKIPPED"
)

// TaskKind is the work that a task asks of a runner.
type TaskKind string

// Kinds of tasks.
const (
	TaskStart       TaskKind = "START"
	TaskStateUpdate TaskKind = "STATE_UPDATE"
	TaskCallback    TaskKind = "CALLBACK"
	TaskResume      TaskKind = "RESUME"
)

// Outcome is how an open call has ended (S16.4).
type Outcome string

// Outcomes of open calls.
const (
	OutcomeOK          Outcome = "ok"
	OutcomeFailed      Outcome = "failed"
	OutcomeNotExecuted Outcome = "not_executed"
)
