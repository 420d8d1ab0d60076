"""The server's records, and the definitions that exist before agents work: the rest of `interlock.types`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .types import DecisionCode, DecisionValue, Run, RunStatus


@dataclass(frozen=True)
class Lease:
    """Approval of later calls that are like one that was approved."""

    id: str
    approval_id: str
    run_id: str
    session_id: str
    state: str
    policy: str
    capability: str
    pattern: str
    """The pattern of commands that it covers, or empty."""
    only: Any
    """The condition that calls must meet, or None."""
    calls_left: int
    expires_at: datetime | None
    granted_by: str


@dataclass(frozen=True)
class HistoryEntry:
    """One change of a run, or one tool result (S6.4)."""

    type: str
    """UPPER_SNAKE, such as `TRANSITIONED` or `TOOL_RESULT`."""
    version: int
    """The run's after the change."""
    time: datetime | None
    actor: str
    event: str
    source: str
    """The state that was left; empty where none was."""
    target: str
    """The state that was entered; empty where none was."""
    data: Any
    rationale: str
    status: RunStatus
    reason: str
    branch: str
    session_id: str
    approval_id: str
    call_id: str
    """The call's, of a tool result; the members that follow are of one too."""
    tool: str
    ok: bool
    output: bytes
    evidence: tuple[str, ...]


@dataclass(frozen=True)
class DecisionRecord:
    """One decision as the log keeps it."""

    partition: str
    """The root run, whose decisions are one hash chain."""
    sequence: int
    time: datetime | None
    principal: str
    session_id: str
    run_id: str
    workflow: str
    state: str
    call_id: str
    tool: str
    capability: str
    decision: DecisionValue
    code: DecisionCode
    message: str
    rule: str
    """The policy that has decided; empty when the state has."""
    approval_id: str
    explanation: Mapping[str, Any] | None = None
    """Where it was asked for: the Explanation of the contract, as JSON."""


@dataclass(frozen=True)
class OpenCall:
    """An allowed call whose outcome was not reported, where the workflow keeps account of effects (S16)."""

    call_id: str
    run_id: str
    tool: str
    what: str
    """A file or a command line, shortened and masked; may be empty."""
    made_by: str
    allowed_at: datetime | None
    due_at: datetime | None
    """When it becomes unknown, or has become so."""
    unknown: bool


@dataclass(frozen=True)
class Cost:
    """A cost of a session outside of the reports of calls (S15.1)."""

    id: str
    """Its subject, such as the id of a message: a source's cost with an id that the session had before does not count, unless
    it is a total."""
    usd: str
    """Decimal US dollars."""
    total: bool = False
    """Whether it is the total cost of the id until now."""


@dataclass(frozen=True)
class Problem:
    """One finding about a definition."""

    pointer: str
    code: str
    message: str


@dataclass(frozen=True)
class Definition:
    """One version of a workflow, a process, a policy or a schema."""

    name: str
    version: int
    digest: str
    definition: Any
    """The definition; None where an answer leaves it out."""
    created_by: str
    created_at: datetime | None
    created: bool = False
    """Whether registering it has made this version; False when it was the latest already."""
    warnings: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class Usage:
    """How much of a limit of a policy is spent."""

    capability: str
    measure: str
    scope: str
    subject: str
    used: int
    max: int
    resets_at: datetime | None


@dataclass(frozen=True)
class Turn:
    """Where a process stands: its question, and the answers to it (S8)."""

    run: Run
    question: str
    answers: tuple[str, ...]
    text: str
    initial_prompt: str
    """Only of the first turn."""


@dataclass(frozen=True)
class Component:
    """A component: values of agents, with a schema (S12)."""

    slug: str
    name: str
    description: str
    tags: tuple[str, ...]
    schema: Any
    initial_values: Any
    persistence: str
    """`NONE`, `SESSION` or `LONG_TERM`."""
    version: int


@dataclass(frozen=True)
class Execution:
    """One use of a component's values."""

    id: str
    slug: str
    values: Any
    version: int
    persistence: str
    session_id: str
    subject: str
    unset: tuple[str, ...]


@dataclass(frozen=True)
class Agent:
    """A template of sessions."""

    id: str
    name: str
    model_ref: str
    instructions: str
    tool_refs: tuple[str, ...]
    state_refs: tuple[str, ...]
    workflow: str
    policy: str
    enable_conversations: bool
    version: int


@dataclass(frozen=True)
class Ping:
    """A server that answers this client."""

    server: str
    """Its address."""
    namespace: str
    session: str
    run: Run | None
    """The run that judges the client's calls; None when there is none."""
    version: str = ""
    """The server's; empty where it does not say."""
    principal: str = ""
    """Whom the token is for; empty where the server does not say."""
