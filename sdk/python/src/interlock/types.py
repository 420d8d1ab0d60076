"""The arguments and results of a client's methods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from .records import (
    Agent,
    ApprovalStatement,
    ApprovalStats,
    Attachment,
    AttachmentKind,
    Caller,
    Component,
    Cost,
    DecisionRecord,
    Definition,
    DefinitionKind,
    DefinitionSet,
    ExceptionScope,
    Execution,
    Freeze,
    Halt,
    HaltKind,
    HaltScope,
    HistoryEntry,
    Human,
    Identity,
    Lease,
    MissedTimes,
    OpenCall,
    Ping,
    PolicyException,
    Problem,
    QuestionCount,
    Refusal,
    Schedule,
    ScheduleCounts,
    ScheduleOutcome,
    ScheduleOverlap,
    ScheduleResult,
    ScheduleSpec,
    ScheduleStatus,
    SessionToken,
    SetChange,
    SetObject,
    SetShadow,
    ShadowedObject,
    SigningKey,
    Triggered,
    Turn,
    Usage,
)

__all__ = [
    "Agent", "Approval", "ApprovalKind", "ApprovalStatement", "ApprovalStats", "ApprovalStatus", "Attachment",
    "AttachmentKind", "Branch", "BranchStatus", "Caller", "Change", "Command", "Component", "Cost", "Decision",
    "DecisionCode", "DecisionRecord", "DecisionValue", "Definition", "DefinitionKind", "DefinitionSet", "Due",
    "DueKind", "Evidence", "ExceptionScope", "Execution", "Freeze", "GuardResult", "Halt", "HaltKind", "HaltScope",
    "HistoryEntry", "Hold", "HoldCause", "Human", "Identity", "Interrupted", "Jail", "Lease", "LegalEvent",
    "MissedTimes", "OpenCall", "Ping", "PolicyException", "Problem", "QuestionCount", "Refusal", "Report", "Result",
    "Run", "RunFreeze", "RunHalt", "RunStatus", "Schedule", "ScheduleCounts", "ScheduleOutcome", "ScheduleOverlap",
    "ScheduleResult", "ScheduleSpec", "ScheduleStatus", "Session", "SessionStatus", "SessionToken", "SetChange",
    "SetObject", "SetShadow", "Settlement", "ShadowedObject", "SigningKey", "State", "StateUpdate", "StopCause",
    "Stopped", "Triggered", "Turn", "Usage", "Vote",
]  # fmt: skip

# The words of the contracts. A server that is newer than this package may send others.

DecisionValue = Literal["ALLOW", "ASK", "DENY"]
DecisionCode = Literal[
    "", "TOOL_NOT_ALLOWED", "TOOL_DISALLOWED", "COMMAND_NOT_ALLOWED", "COMMAND_UNPARSABLE", "COMMAND_WRITES", "ENV_BLOCKED",
    "EDIT_TOO_LARGE", "TOO_MANY_FILES", "MAX_ITERATIONS", "CONTEXT_BUDGET", "RUN_NOT_ACTIVE", "INVALID_INPUT", "POLICY_DENIED",
    "RATE_LIMITED", "BUDGET_EXCEEDED", "EMAIL_DENIED", "APPROVAL_REQUIRED", "APPROVAL_PENDING", "POLICY_UNAVAILABLE",
    "COMMAND_UNKNOWN", "SELF_PROTECTED", "NOT_ENFORCED", "EFFECTS_UNKNOWN", "ACTS_ELSEWHERE", "SIGNALS_PROCESS", "CALLER_DENIED",
    "JAIL_REQUIRED", "CALL_UNCLEAR", "CALL_NOT_ALLOWED", "NARROWED", "HALTED", "UNGOVERNED",
]  # fmt: skip
RunStatus = Literal[
    "", "RUNNING", "WAITING", "AWAITING_APPROVAL", "PAUSED", "COMPLETED", "FAILED", "BLOCKED", "CANCELLED", "HELD"
]
BranchStatus = Literal["", "ACTIVE", "SUCCEEDED", "FAILED", "CANCELLED"]
SessionStatus = Literal["", "RUNNING", "FINISHED", "ENDED"]
StateUpdate = Literal["", "NONE", "PENDING", "COMPLETED", "FAILED", "SKIPPED"]
ApprovalStatus = Literal["", "PENDING", "GRANTED", "REJECTED", "EXPIRED", "CANCELLED", "USED", "STALE"]
ApprovalKind = Literal["", "TRANSITION", "TOOL_CALL", "PROCESS_STEP"]
DueKind = Literal["deadline", "fork", "after", "stale", "remind"]
StopCause = Literal["", "hold", "pause", "approval", "branches"]
HoldCause = Literal["", "operator", "session_end", "stale"]
Settlement = Literal["ok", "failed", "not_executed"]


@dataclass(frozen=True)
class LegalEvent:
    """One event that a state defines."""

    event: str
    targets: tuple[str, ...] = ()
    """All states that it may lead to, in definition order."""
    guards: tuple[str, ...] = ()
    """All guards that it may evaluate, in order."""
    requires_approval: bool = False
    frozen: bool = False
    """True while a freeze stops it (S25.12)."""


@dataclass(frozen=True)
class RunHalt:
    """Stops the work of a run until an operator lifts it (S23.41)."""

    id: str
    scope: str
    """In words, such as workflow "deploy"."""
    reason: str
    created_by: str
    created_at: datetime | None


@dataclass(frozen=True)
class RunFreeze:
    """Stops some transitions of a run until a time (S25.12)."""

    id: str
    reason: str
    created_by: str
    until: datetime | None


@dataclass(frozen=True)
class GuardResult:
    """The outcome of one guard (S2.3)."""

    name: str
    field: str
    op: str
    expected: Any
    """None when the operator takes no value."""
    actual: Any
    """None when the field is missing."""
    passed: bool


@dataclass(frozen=True)
class Jail:
    """The rules that the kernel enforces on an allowed command."""

    level: int
    """The least level that enforces the profile."""
    digest: str
    """Digest of the profile, sha256:..."""


@dataclass(frozen=True)
class Decision:
    """The answer to one tool call.

    It is `ALLOW` only for exactly the call that was asked about: no other answer becomes one.
    """

    decision: DecisionValue
    tool: str
    call_id: str
    """The additional data of the report."""
    run_id: str
    """The run that the call was judged by; empty where policies alone have judged it."""
    code: DecisionCode = ""
    """Why. Of an allowed call it is empty, or `NOT_ENFORCED` where no rule of a state has judged it."""
    message: str = ""
    """One sentence for the agent; of `NOT_ENFORCED` the reason: the run is paused by its agent or has ended, or there is none."""
    allowed_tools: tuple[str, ...] = ()
    tools_restricted: bool = False
    legal_events: tuple[LegalEvent, ...] = ()
    approval_id: str = ""
    state: str = ""
    branch: str = ""
    iterations: int = 0
    max_iterations: int = 0
    explanation: Mapping[str, Any] | None = None
    """With `explain`, the reasons of the decision and the changes that would alter it: the contract's Explanation, as JSON."""
    session_id: str = ""
    """The session that asked; a call without a run is reported by it."""
    dry_run: bool = False
    """Whether it is a dry run: then it admits no call."""
    jail: Jail | None = None
    """The jail of a command that `guard_command` has asked about."""

    @property
    def allowed(self) -> bool:
        """Whether the call may be made."""
        return self.decision == "ALLOW" and not self.dry_run

    def require(self) -> None:
        """Raises `Denied` or `AwaitingApproval` unless the call may be made."""
        from .errors import AwaitingApproval, Denied

        if self.decision == "ASK":
            raise AwaitingApproval(self.code, self.message, approval_id=self.approval_id, call_id=self.call_id)
        if self.decision == "ALLOW" and self.dry_run:
            raise Denied("DRY_RUN", "a dry run admits no call: ask without dry_run before it is made")
        if not self.allowed:
            raise Denied(
                self.code, self.message, allowed_tools=self.allowed_tools, tools_restricted=self.tools_restricted,
                legal_events=self.legal_events, call_id=self.call_id,
            )  # fmt: skip


@dataclass(frozen=True)
class Command:
    """A command line that may be executed once."""

    argv: tuple[str, ...]
    """The program and its arguments, to be executed as they are, in the folder that the call names. With a jail it is Interlock's
    program, which claims the call and runs its line in the jail. It finds the server as `interlock hook` does."""
    decision: Decision
    """For the `report` of the outcome. The witness of a jail determines the outcome of its command, not the report."""

    @property
    def jail(self) -> Jail | None:
        """The jail that the line runs in; None for no jail."""
        return self.decision.jail


@dataclass
class Result:
    """The outcome of a tool call."""

    output: bytes | str = b""
    """The tool's answer. Its first 64 KiB are sent, and kept where the workflow says so (S6.4)."""
    value: Any = None
    """The function's return value, when it was not a Result."""
    bytes: int = 0
    """Its part of the context budget (S3.7); the length of the output when 0."""
    files_changed: tuple[str, ...] | list[str] = ()
    """Files in addition to those that the input names; they can fire interrupts (S4.1)."""
    cost_usd: str = ""
    """Decimal US dollars, such as "0.02"; empty for none."""
    outcome_unknown: bool = False
    """Whether it is unknown how the call has ended, such as after a time-out: it is no evidence then, also with `ok`
    (S14.5)."""
    background: str = ""
    """The caller's name of a program that the call has left running in the background: the call stays open (S14.6)."""
    background_ended: str = ""
    """The name of such a program of an earlier call, where this result shows that it has ended."""
    notice: str = ""
    """For the agent to read with the output: an interrupt that the call has fired, a budget that is nearly spent. It is set by
    `guard`."""
    report: Report | None = None
    """The consequences of the report. Set by `guard`."""


@dataclass(frozen=True)
class Interrupted:
    """An interrupt that a tool call has fired (S4)."""

    name: str
    source: str
    """The state that was left."""
    target: str
    """The state of the handler."""
    notice: str


@dataclass(frozen=True)
class Report:
    """The consequences of the outcome of a tool call."""

    accounted: bool
    """False when no such call was allowed (S3.9)."""
    interrupt: Interrupted | None
    warning: str
    """For the agent, such as that its context budget is nearly spent; often empty."""
    evidence: tuple[str, ...]
    """Names of the evidence that the report has given (S14)."""
    run: Run | None
    """The run as it stands now; None where the call was judged by no run."""
    notice: str
    """For the agent to read with the output: the notice of the interrupt, then the warning; often empty."""


@dataclass(frozen=True)
class Branch:
    """One branch of a fork (S5.1)."""

    name: str
    status: BranchStatus
    state: str
    session_id: str
    """The session that it was given to; empty for none."""


@dataclass(frozen=True)
class Evidence:
    """Facts that Interlock has observed, and that agents cannot claim (S14)."""

    name: str
    held: bool
    """Whether it counts now."""
    since: datetime | None
    """When it was observed; none while it is not held."""
    voided_by: str
    """The cause that has voided it; empty for none."""
    missing: str
    """The missing step; empty while it is satisfied."""
    needs: str
    """Its arguments."""
    tree: str = ""
    """Digest of the files that it was witnessed on; empty when it is not bound to them."""


@dataclass(frozen=True)
class Due:
    """One thing that time brings about in a run, and when (S25)."""

    kind: DueKind
    event: str
    """That of the transition, such as $after:2h; empty for a reminder."""
    branch: str
    """Empty outside of forks."""
    after_seconds: float
    """The time on the clock at which it is due: of a deadline since the run began, of a silence since the last progress."""
    at: datetime | None
    """When it is due, if no clock stands still before; None while its clock stands still."""
    stopped_by: StopCause
    """Why its clock stands still; empty while the clock runs (S25.2)."""
    left_seconds: float
    """The time that is left on a clock that stands still."""
    blocked: bool
    """Whether it was due, and no guard let it through: it is tried again."""
    targets: tuple[str, ...]
    """The states that it may lead to, in definition order."""
    holds: bool
    """Whether the run is held after this silence."""


@dataclass(frozen=True)
class Hold:
    """A cause that keeps a run `HELD` until it is lifted (S6.2)."""

    by: str
    """Name of the principal that holds it."""
    cause: HoldCause
    reason: str
    since: datetime | None


@dataclass(frozen=True)
class Run:
    """One instance of a workflow, as far as its agent must know it."""

    id: str
    workflow: str
    workflow_version: int
    status: RunStatus
    """`PAUSED` is by its agent, `HELD` by an operator or the end of its session (S6.1)."""
    state: str
    context: Any
    version: int
    """Bumped by every change."""
    transition_count: int
    session_id: str
    workspace: str
    instructions: str
    legal_events: tuple[LegalEvent, ...]
    tools_restricted: bool
    """False when the state lets all tools pass."""
    allowed_tools: tuple[str, ...]
    disallowed_tools: tuple[str, ...]
    iterations: int
    """The allowed tool calls in this entry of the state."""
    max_iterations: int
    """0 for no limit."""
    env_overrides: Mapping[str, str]
    """Variables to set in the environment of tools (S3.4)."""
    blocked_env: tuple[str, ...]
    """Variables to remove from it."""
    branch: str
    """The branch that the state is of; empty outside of forks."""
    branches: tuple[Branch, ...]
    interrupt: str
    """The interrupt whose handler is at work; empty for none."""
    return_to: str
    """The state that `$return` leads to (S4.2)."""
    parent_id: str
    """The run that invoked this one; empty for none."""
    created_at: datetime | None
    updated_at: datetime | None
    evidence: tuple[Evidence, ...] = ()
    """The evidence that the workflow asks for, with its status."""
    schedule: str = ""
    """The schedule that has started the run; empty for none."""
    arrived_at: datetime | None = None
    """When the run came to its state from another one: the clock of the state counts from there (S25.1)."""
    deadline: datetime | None = None
    """The latest time at which the run ends (S25.8); None for never."""
    last_activity: datetime | None = None
    """When the run made progress last, to the second; None of a run that is not active, and in the answers of changes."""
    dues: tuple[Due, ...] = ()
    """What time will bring about, the soonest first, as things stand now; those whose clock stands still are last."""
    holds: tuple[Hold, ...] = ()
    """The causes of a run that is `HELD` (S6.2)."""
    resumed: bool = False
    """Whether `load` has continued a paused run."""
    note: str = ""
    """Why an accepted event had no effect; empty otherwise."""
    freeze: RunFreeze | None = None
    """The freeze that the run is under; `legal_events` say what it stops."""
    halt: RunHalt | None = None
    """The halt that stops its work; None for none."""

    @property
    def ended(self) -> bool:
        """Whether the run continues no more."""
        return self.status in {"COMPLETED", "FAILED", "BLOCKED", "CANCELLED"}

    def allows(self, tool: str) -> bool:
        """Whether the lists of the state let a tool pass. Only a check decides: this is for the offer to a model."""

        def listed(names: tuple[str, ...]) -> bool:
            return any(tool == name or (name.endswith("*") and tool.startswith(name[:-1])) for name in names)

        return not listed(self.disallowed_tools) and (not self.tools_restricted or listed(self.allowed_tools))


@dataclass(frozen=True)
class Session:
    """One agent's conversation (S11)."""

    id: str
    name: str
    """Unique in the namespace."""
    parent_id: str
    """Empty for a root."""
    root_id: str
    status: SessionStatus
    state_id: str
    """The state that it shares; empty for none."""
    state_update: StateUpdate
    """How far it has got with its report (S11.1)."""
    open_children: int
    labels: Mapping[str, str]
    error: str
    created_at: datetime | None
    updated_at: datetime | None
    agent: str = ""
    """The agent that it has started from; empty for none."""
    only: Any = None
    """The entries that all calls of it and of those below it must meet; None for none (S22.24)."""
    human: Human | None = None
    """On whose behalf it works, and so do those below it; None where that is not known."""


@dataclass(frozen=True)
class Stopped:
    """The outcome of a session that was stopped."""

    session: Session
    prompt: str
    """The message to the agent before it may stop, when it was stopped in place; empty when it may."""


@dataclass(frozen=True)
class State:
    """A shared document, or a part of one (S10)."""

    id: str
    schema_name: str
    schema_version: int
    root_session_id: str
    root_session_name: str
    version: int
    """Bumped by every change."""
    data: Any
    """The document; None where an answer leaves it out."""
    updated_by: str
    created_at: datetime | None
    updated_at: datetime | None
    parts: Mapping[str, Any] = field(default_factory=dict)
    """The values that the pointers of a read name. Missing values are left out."""


@dataclass(frozen=True)
class Change:
    """One version of a state."""

    state_id: str
    version: int = 0
    time: datetime | None = None
    session_id: str = ""
    session_name: str = ""
    actor: str = ""
    type: str = ""
    """`created`, `updated` or `migrated`."""
    patch: Any = None
    """A JSON Patch (RFC 6902) from the version before."""
    schema_version: int = 0
    deleted: bool = False
    """The state is gone; no change follows, and of the rest only `state_id` is set."""


@dataclass(frozen=True)
class Vote:
    """The decision of one human."""

    by: str
    approve: bool
    note: str
    time: datetime | None


@dataclass(frozen=True)
class Approval:
    """A question to humans (S9.2)."""

    id: str
    status: ApprovalStatus
    kind: ApprovalKind
    message: str
    reason: str
    """Why it was cancelled or became stale; empty otherwise."""
    note: str
    """The notes of the humans who decided; empty without any."""
    outcome: str
    """How it stands, in one sentence for the agent."""
    run_id: str
    by: str
    expires_at: datetime | None
    session_id: str = ""
    """The session that asks."""
    subject: Any = None
    """The exact request."""
    data: Any = None
    """The data of the request, as edited by approvers."""
    editable: bool = False
    digest: str = ""
    """Of the request that approvers see; `decide_approval` takes it."""
    votes: tuple[Vote, ...] = ()
    created_at: datetime | None = None
    decided_at: datetime | None = None
    used_by: str = ""
    may_decide: bool = False
    """Whether the caller may decide it."""
    principal: str = ""
    """Who asks."""

    @property
    def pending(self) -> bool:
        """Whether it waits for humans."""
        return self.status == "PENDING"

    @property
    def granted(self) -> bool:
        """Whether humans have approved, whether or not that was used since."""
        return self.status in {"GRANTED", "USED"}

    @property
    def rejected(self) -> bool:
        """Whether humans have refused."""
        return self.status == "REJECTED"
