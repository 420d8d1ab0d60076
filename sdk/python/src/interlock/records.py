"""The server's records, and the definitions that exist before agents work: the rest of `interlock.types`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from .types import DecisionCode, DecisionValue, Run, RunStatus


HaltKind = Literal["session", "workflow", "principal", "person", "human", "group", "agent", "namespace", "all"]
ScheduleStatus = Literal["", "active", "paused", "ended"]
MissedTimes = Literal["skip", "once", "all"]
ScheduleOverlap = Literal["skip", "queue", "allow"]
ScheduleResult = Literal["", "started", "missed", "skipped", "queued", "refused"]
DefinitionKind = Literal["workflow", "process", "policy", "schema", "component"]
AttachmentKind = Literal["workflow", "process", "session", "role", "principal", "human", "group", "agent", "everyone"]


@dataclass(frozen=True)
class Human:
    """The person on whose behalf a call is made, or a session works."""

    name: str
    """Unique among the people of the issuer."""
    issuer: str
    """Who vouches for it; empty for people of this deployment."""
    source: str
    """How far the facts are trusted: claimed, gateway, issuer or operator."""
    groups_known: bool
    """Whether `groups` has all groups of the person. Records of decisions have none."""
    groups: tuple[str, ...]
    attributes: Any
    authenticated_at: datetime | None
    expires_at: datetime | None
    """When the facts end; None for never."""


@dataclass(frozen=True)
class Caller:
    """A client as the server knows it."""

    principal: str
    role: str
    token: str
    """The kind of its token: static, session, oidc or person; empty without one."""
    token_id: str
    """Names the token and does not reveal it."""
    namespace: str
    """That of this call."""
    namespaces: tuple[str, ...]
    """Those that it may call in: "*" is every one."""
    session_id: str
    branch: str
    """The only branch of the session's run that it may act in; empty for any."""
    person: str
    """The person that it is; empty for none."""
    presence: str
    """How that person has shown to be there; empty for nothing."""
    relay: str
    """The program that has passed on the person's request; empty for none."""
    via: str
    expires_at: datetime | None
    """When its token ends; None where that is not known."""
    human: Human | None
    """On whose behalf it acts; None where that is not known."""
    agent: str
    """The agent that the session has started from; empty for none."""
    lineage: tuple[str, ...]
    """Names of the sessions above its own and of that, the root first."""
    may: str
    """What it may do, in a sentence."""


@dataclass(frozen=True)
class Identity:
    """Who made a call, and for whom, as the record of its decision keeps it."""

    principal: str
    role: str
    token: str
    """The kind of its token: static, session, oidc or person; empty without one."""
    via: str
    """How the call came: hook, mcp, rest, grpc, authzen or ext_authz; empty where no service vouches for that."""
    person: str
    """The person that the principal is; empty for none."""
    human: Human | None
    """On whose behalf the call was made; None where that is not known."""
    agent: str
    agent_version: int
    root_session: str
    """Name of the root of the session's tree."""
    lineage: tuple[str, ...]
    """Names of the sessions above the call's own and of that, the root first."""
    attributes: Mapping[str, str]
    """Those of the human that the deployment keeps in the log."""


@dataclass(frozen=True)
class SessionToken:
    """A token that is bound to a session (S22.20)."""

    id: str
    name: str
    """Name of the principal."""
    session: str
    """The only session that it may act in."""
    branch: str
    """The only branch of that session's run; empty for any."""
    only: Any
    """The entries that its calls must meet in addition to those of its session; None for none."""
    minted_by: str
    minted_with: str
    """The session token that it was minted with, and with which it ends; empty for none."""
    issued_at: datetime | None
    expires_at: datetime | None
    revoked_at: datetime | None
    revoked_by: str
    secret: str = field(default="", repr=False)
    """The token itself; only of one that was just minted."""


@dataclass(frozen=True)
class Refusal:
    """A caller that was refused before there was a decision."""

    time: datetime | None
    principal: str
    """Empty when it is not known."""
    role: str
    face: str
    """grpc, or http for REST, MCP, hooks and AuthZEN."""
    method: str
    reason: str
    """The code of the refusal, such as `UNAUTHENTICATED`."""
    session_id: str
    """The session of the credentials."""
    asked_session_id: str
    """The session that the call asked for, if that is another one."""
    asked_run_id: str
    asked_namespace: str
    source: str
    """The address that the call came from; empty when it is not known."""
    more: int
    """The refusals for the same reason since the one before."""


@dataclass(frozen=True)
class HaltScope:
    """The work that a halt stops."""

    kind: HaltKind
    name: str
    """Name or id; empty for a namespace and for `all`."""


@dataclass(frozen=True)
class Halt:
    """Stops all work in its scope, from the answer to its creation until it is lifted (S23.40)."""

    id: str
    scope: HaltScope
    namespace: str
    """Empty for a halt of the whole deployment."""
    reason: str
    created_by: str
    created_at: datetime | None
    by_root: bool
    """Whether only the role root may lift it."""
    created: bool = False
    """Of one that was just made: whether the caller had not made the same before."""


@dataclass(frozen=True)
class Freeze:
    """Stops some transitions of workflows until a time (S25.12)."""

    id: str
    workflow: str
    """A name of workflows, in which * stands for any text."""
    namespace: str
    reason: str
    created_by: str
    created_at: datetime | None
    until: datetime | None
    """When it ends by itself."""
    by_root: bool
    """Whether only the role root may lift it."""
    created: bool = False
    """Of one that was just made: whether the caller had not made the same before."""


@dataclass(frozen=True)
class ScheduleSpec:
    """The definition of a schedule: its workflow and its times (S25.20)."""

    name: str
    """Unique: 1 to 128 of a-z, 0-9 and -."""
    workflow: str
    """Name of the workflow or process."""
    cron: str
    """Five fields, such as "0 7 * * mon-fri", or a word such as `@daily`."""
    zone: str = "UTC"
    """Zone of the IANA database in which the times are, such as Europe/Berlin."""
    workflow_version: int = 0
    """0 for the latest at each start."""
    missed: MissedTimes = "skip"
    """Rule for missed times: no run, one run for all, or a run of each of the last 100 (S25.23)."""
    overlap: ScheduleOverlap = "skip"
    """Rule for a time during the last run: no run, one time waits, or runs overlap (S25.24)."""
    session_id: str = ""
    """The session of every run; empty for a new session of each."""
    session_prefix: str = ""
    """Begins the names of new sessions; empty for the name of the schedule."""
    context: Any = None
    """A JSON object that is merged over the workflow's context; None for none."""
    workspace: str = ""
    """The root that file patterns are relative to; empty for none."""
    until: datetime | None = None
    """There are no times after it; None for no end."""
    only: Any = None
    """Entries that all calls of each new session must meet: a list, as a session has them; None for none."""


@dataclass(frozen=True)
class ScheduleOutcome:
    """The outcome of a time of a schedule."""

    result: ScheduleResult
    nominal_at: datetime | None
    """The time; of several that were missed, the last."""
    at: datetime | None
    """When it was handled."""
    count: int
    """How many times this is about: more than one only of missed ones."""
    run_id: str
    """The run that was started, or that has not ended; empty for none."""
    session_id: str
    """The session of the run that was started."""
    code: str
    """Code of a refusal, such as `HALTED`; empty for none."""
    reason: str
    """Why no run was started; empty for a start."""


@dataclass(frozen=True)
class ScheduleCounts:
    """The times of a schedule by their outcome."""

    started: int
    missed: int
    skipped: int
    refused: int


@dataclass(frozen=True)
class Schedule:
    """Starts runs of a workflow or process at times (S25.20)."""

    spec: ScheduleSpec
    version: int
    """Counts the changes by people, from 1."""
    status: ScheduleStatus
    created_by: str
    """Who has put it: its runs are started as this principal."""
    created_at: datetime | None
    updated_at: datetime | None
    next_at: datetime | None
    """The next time at which it starts a run; None for none."""
    queued_at: datetime | None
    """The time that waits for the end of the last run; None for none."""
    last: ScheduleOutcome | None
    """Outcome of the last time; None before the first one."""
    last_run_id: str
    """The run that it started last; empty for none."""
    counts: ScheduleCounts


@dataclass(frozen=True)
class Triggered:
    """The run that `trigger_schedule` has started."""

    run_id: str
    session_id: str
    schedule: Schedule


@dataclass(frozen=True)
class Attachment:
    """A subject of a policy."""

    kind: AttachmentKind
    id: str = ""
    """Its name; of a session its id or name. Empty for everyone."""


@dataclass(frozen=True)
class SetChange:
    """The change that an application makes to one object of a set."""

    kind: DefinitionKind
    name: str
    version: int = 0
    """The version to make live; 0 to retire a workflow or process, or to delete a policy."""
    expected_version: int = 0
    """The version that is live, as you have seen it; 0 for none."""
    take: bool = False
    """Change it although another set owns it, or although it was changed since."""
    attachments: tuple[Attachment, ...] | None = None
    """Attachments that replace those of the policy; None to leave them alone."""
    expected_attachments: tuple[Attachment, ...] = ()
    """The attachments that it has, as you have seen them."""


@dataclass(frozen=True)
class SetObject:
    """An object that a set owns, as it was applied."""

    kind: DefinitionKind
    name: str
    version: int
    """The version that the set has made live."""
    digest: str
    """Hex SHA-256 of its canonical definition."""
    owns_attachments: bool
    """Whether the set also owns the attachments of the policy."""


@dataclass(frozen=True)
class ShadowedObject:
    """The change of one object that waits as a shadow."""

    kind: DefinitionKind
    name: str
    version: int
    """The version that waits; 0 for an object that is to be removed."""
    digest: str
    """Hex SHA-256 of its canonical definition; empty for an object that is to be removed."""
    live_version: int
    """The version that was live when the shadow began; 0 for none."""
    attachments: tuple[Attachment, ...] | None
    """The attachments that the policy gets; None if they do not change."""
    judged: bool
    """Whether calls are judged by the version next to the live rules."""


@dataclass(frozen=True)
class SetShadow:
    """The changes of a set that are judged next to the live versions before they are applied (S26.9)."""

    started_at: datetime | None
    until: datetime | None
    """The first moment at which it can be applied."""
    started_by: str
    repo: str
    commit: str
    objects: tuple[ShadowedObject, ...]


@dataclass(frozen=True)
class DefinitionSet:
    """The record of the definitions that one folder of files owns (S26.4)."""

    name: str
    version: int
    """How often it was applied, and its changes made shadows."""
    objects: tuple[SetObject, ...]
    repo: str
    """Where its files are from; may be empty."""
    commit: str
    applied_at: datetime | None
    """When it was applied last; None when it never was."""
    applied_by: str
    serial: int
    """The serial of the bundle that was applied last; 0 when it was not signed."""
    bundle_digest: str
    shadow: SetShadow | None


@dataclass(frozen=True)
class ExceptionScope:
    """Whose calls pass a rule, and which: all members that are set must fit."""

    principal: str = ""
    human: str = ""
    group: str = ""
    session: str = ""
    """Name of a session, with all below it."""
    when: Any = None
    """A condition on the call; None for every call."""


@dataclass(frozen=True)
class PolicyException:
    """Lets some calls pass a rule of a policy for a time (S22.13)."""

    id: str
    policy: str
    rule: str
    """JSON Pointer into the policy, such as "/deny/1"."""
    scope: ExceptionScope
    until: datetime | None
    reason: str
    created_by: str
    created_at: datetime | None
    pending: bool
    """Whether a second operator has to confirm it: it does not count until then."""
    confirmed_by: str


@dataclass(frozen=True)
class SigningKey:
    """A key of a person that can sign votes."""

    credential_id: bytes
    """Of a passkey; empty for an SSH key."""
    ssh_public_key: str
    """A line of an authorized_keys file; empty for a passkey."""


@dataclass(frozen=True)
class ApprovalStatement:
    """The statement of a vote, for the caller's person to sign."""

    statement: bytes
    """Canonical JSON."""
    digest: bytes
    """Its SHA-256: the challenge of a passkey."""
    shown: str
    """The text for the person: who decides on which action."""
    presence: bool
    """Whether the terms demand a signature that shows that the person is there."""
    rp_id: str
    """The relying party of passkeys; empty where there is none."""
    keys: tuple[SigningKey, ...]
    expires_at: datetime | None
    """When a vote with it is no longer accepted."""


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
    """The rule that has decided; empty when the state has."""
    approval_id: str
    explanation: Mapping[str, Any] | None = None
    """Where it was asked for: the Explanation of the contract, as JSON."""
    policy: str = ""
    """Name of the policy that has decided; empty when the state has."""
    identity: Identity | None = None
    """Who made the call, as it was known then; it stays when sessions, agents and people are gone."""
    exceptions: tuple[str, ...] = ()
    """Ids of the exceptions by which the call has passed rules of policies."""


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
class QuestionCount:
    """How often people were asked one question, and their answers."""

    what: str
    """The request, in a line."""
    asked_by: str
    """The policy and its rule, or `workflow`."""
    asked: int
    granted: int
    rejected: int
    expired: int
    quick: int
    """Granted within three seconds."""
    hint: str
    """A way to spare people the question; empty unless they hardly ever reject."""


@dataclass(frozen=True)
class ApprovalStats:
    """The questions that people were asked."""

    questions: tuple[QuestionCount, ...]
    """The most frequent first."""
    complete: bool
    """Whether all approvals were counted; else only the newest 10,000."""


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
