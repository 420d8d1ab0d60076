"""What the methods of a client take and return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

__all__ = [
    "Approval", "Branch", "Change", "Decision", "GuardResult", "LegalEvent", "Result", "Run", "Session", "State", "Stopped",
]  # fmt: skip


@dataclass(frozen=True)
class LegalEvent:
    """One event that a state defines."""

    event: str
    targets: tuple[str, ...] = ()
    """All states that it may lead to, in definition order."""
    guards: tuple[str, ...] = ()
    """All guards that it may evaluate, in order."""
    requires_approval: bool = False


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
class Decision:
    """The answer to one tool call.

    It is `ALLOW` only for exactly the call that was asked about: no other answer becomes one.
    """

    decision: str
    """`ALLOW`, `ASK` or `DENY`."""
    tool: str
    call_id: str
    """What the result is reported with."""
    run_id: str
    code: str = ""
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

    @property
    def allowed(self) -> bool:
        """Whether the call may be made."""
        return self.decision == "ALLOW"

    def require(self) -> None:
        """Raises `Denied` or `AwaitingApproval` unless the call may be made."""
        from .errors import AwaitingApproval, Denied

        if self.decision == "ASK":
            raise AwaitingApproval(self.code, self.message, approval_id=self.approval_id, call_id=self.call_id)
        if not self.allowed:
            raise Denied(
                self.code, self.message, allowed_tools=self.allowed_tools, tools_restricted=self.tools_restricted,
                legal_events=self.legal_events, call_id=self.call_id,
            )  # fmt: skip


@dataclass
class Result:
    """The outcome of a tool call."""

    output: bytes | str = b""
    """What the tool answered. Its first 64 KiB are sent, and kept where the workflow says so (S6.4)."""
    value: Any = None
    """What the function returned, when that was not a Result."""
    bytes: int = 0
    """What it costs of the context budget (S3.7); the length of the output when 0."""
    files_changed: tuple[str, ...] | list[str] = ()
    """Files in addition to those that the input names; they can fire interrupts (S4.1)."""
    cost_usd: str = ""
    """Decimal US dollars, such as "0.02"; empty for none."""
    notice: str = ""
    """For the agent to read with the output: an interrupt that the call has fired, a budget that is nearly spent. It is set by
    `guard`."""


@dataclass(frozen=True)
class Branch:
    """One branch of a fork (S5.1)."""

    name: str
    status: str
    """`ACTIVE`, `SUCCEEDED`, `FAILED` or `CANCELLED`."""
    state: str
    session_id: str
    """The session that it was given to; empty for none."""


@dataclass(frozen=True)
class Evidence:
    """What Interlock has observed, and agents cannot claim (S14)."""

    name: str
    held: bool
    """Whether it counts now."""
    since: datetime | None
    """When it was observed; none while it is not held."""
    voided_by: str
    """What has voided it; empty for nothing."""
    missing: str
    """What is missing and how to get it; empty while it is held."""
    needs: str
    """What it takes."""


@dataclass(frozen=True)
class Run:
    """One instance of a workflow, as far as its agent must know it."""

    id: str
    workflow: str
    workflow_version: int
    status: str
    """UPPER_SNAKE, such as `RUNNING`, `PAUSED` by its agent, or `HELD` by an operator or the end of its session (S6.1)."""
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
    """What to set in the environment of tools (S3.4)."""
    blocked_env: tuple[str, ...]
    """What to remove from it."""
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
    """What the workflow wants Interlock to have observed, and whether it has."""
    resumed: bool = False
    """Whether `load` has continued a paused run."""
    note: str = ""
    """Why an accepted event has changed nothing; empty otherwise."""

    @property
    def ended(self) -> bool:
        """Whether the run continues no more."""
        return self.status in {"COMPLETED", "FAILED", "BLOCKED", "CANCELLED"}

    def allows(self, tool: str) -> bool:
        """Whether the lists of the state let a tool pass. Only a check decides: this is for what to offer to a model."""

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
    status: str
    """`RUNNING`, `FINISHED` or `ENDED`."""
    state_id: str
    """The state that it shares; empty for none."""
    state_update: str
    """How far it has got with its report: `NONE`, `PENDING`, `COMPLETED`, `FAILED` or `SKIPPED` (S11.1)."""
    open_children: int
    labels: Mapping[str, str]
    error: str
    created_at: datetime | None
    updated_at: datetime | None


@dataclass(frozen=True)
class Stopped:
    """The outcome of a session that was stopped."""

    session: Session
    prompt: str
    """What the agent must be told before it may stop, when it was stopped in place; empty when it may."""


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
    """What the pointers of a read name. What is not there is not in it."""


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
    """The state is gone; nothing follows, and of the rest only `state_id` is set."""


@dataclass(frozen=True)
class Approval:
    """A question to humans (S9.2)."""

    id: str
    status: str
    """`PENDING`, `GRANTED`, `REJECTED`, `EXPIRED`, `CANCELLED`, `USED` or `STALE`."""
    kind: str
    message: str
    reason: str
    """Why it was cancelled or became stale; empty otherwise."""
    note: str
    """What the humans said who decided; empty when they said nothing."""
    outcome: str
    """How it stands, in one sentence for the agent."""
    run_id: str
    by: str
    expires_at: datetime | None

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
