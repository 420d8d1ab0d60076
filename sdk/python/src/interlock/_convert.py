"""Messages of the contracts as the types of this package, and back."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from . import _json
from .errors import AwaitingApproval, Rejected, Unavailable
from .gen.approval.v1 import approval_pb2
from .gen.engine.v1 import run_pb2, run_service_pb2
from .gen.policy.v1 import decision_pb2, policy_enforcer_service_pb2
from .gen.state.v1 import session_pb2, state_pb2
from .types import Approval, Branch, Change, Decision, Evidence, GuardResult, LegalEvent, Run, Session, State


def word(enum: Any, value: int, prefix: str) -> str:
    """A value of an enum without its prefix, empty for unspecified; a number for one that this version does not know."""
    if value == 0:
        return ""
    try:
        return str(enum.Name(value)).removeprefix(prefix)
    except ValueError:
        return str(value)


def time(stamp: Timestamp, there: bool) -> datetime | None:
    return stamp.ToDatetime(tzinfo=timezone.utc) if there else None


def legal_events(events: Any) -> tuple[LegalEvent, ...]:
    return tuple(LegalEvent(e.event, tuple(e.targets), tuple(e.guards), e.requires_approval) for e in events)


def decision(tool: str, call_id: str, r: policy_enforcer_service_pb2.CheckToolCallResponse, *, dry_run: bool = False) -> Decision:
    """Reads a decision. Anything but ALLOW, ASK or DENY, or an ALLOW of another call, is an Unavailable."""
    known = {decision_pb2.DECISION_ALLOW: "ALLOW", decision_pb2.DECISION_ASK: "ASK", decision_pb2.DECISION_DENY: "DENY"}
    if r.decision not in known:
        raise Unavailable(f"the call was not made: this version does not know the decision {r.decision}", call_id=call_id)
    if known[r.decision] == "ALLOW" and not dry_run and (r.call_id != call_id or not r.run_id):
        raise Unavailable("the call was not made: the response was for another call", call_id=call_id)
    return Decision(
        decision=known[r.decision],
        tool=tool,
        call_id=call_id,
        run_id=r.run_id,
        code=word(decision_pb2.DecisionCode, r.code, "DECISION_CODE_"),
        message=r.message,
        allowed_tools=tuple(r.allowed_tools),
        tools_restricted=r.tools_restricted,
        legal_events=legal_events(r.legal_events),
        approval_id=r.approval_id,
        state=r.state,
        branch=r.branch,
        iterations=r.iterations,
        max_iterations=r.max_iterations,
    )


def notice(r: policy_enforcer_service_pb2.ReportToolCallResponse) -> str:
    return "\n".join(text for text in (r.interrupt.notice, r.warning) if text)


def run(r: run_pb2.Run, *, resumed: bool = False, note: str = "") -> Run:
    rules = r.rules
    return Run(
        id=r.run_id,
        workflow=r.workflow,
        workflow_version=r.workflow_version,
        status=word(run_pb2.RunStatus, r.status, "RUN_STATUS_"),
        state=r.state,
        context=_json.loads(r.context),
        version=r.version,
        transition_count=r.transition_count,
        session_id=r.session_id,
        workspace=r.workspace,
        instructions=rules.instructions,
        legal_events=legal_events(rules.legal_events),
        tools_restricted=rules.tools_restricted,
        allowed_tools=tuple(rules.allowed_tools),
        disallowed_tools=tuple(rules.disallowed_tools),
        iterations=r.usage.iterations,
        max_iterations=rules.max_iterations,
        env_overrides={v.name: v.value for v in rules.env_overrides},
        blocked_env=tuple(rules.blocked_env),
        branch=r.branch,
        branches=tuple(
            Branch(b.name, word(run_pb2.BranchStatus, b.status, "BRANCH_STATUS_"), b.state, b.session_id) for b in r.fork.branches
        ),
        interrupt=r.interrupt.name,
        return_to=r.interrupt.return_to,
        parent_id=r.parent_run_id,
        created_at=time(r.created_at, r.HasField("created_at")),
        updated_at=time(r.updated_at, r.HasField("updated_at")),
        evidence=tuple(
            Evidence(e.name, e.held, time(e.since, e.HasField("since")), e.voided_by, e.missing, e.needs) for e in r.evidence
        ),
        resumed=resumed,
        note=note,
    )


def moved(r: run_service_pb2.TransitionRunResponse) -> Run:
    """Reads the answer to an event."""
    at = run(r.run, note=r.note)
    parked = not r.accepted or r.run.status == run_pb2.RUN_STATUS_AWAITING_APPROVAL
    if r.approval_id and not r.HasField("rejection") and parked:
        raise AwaitingApproval(
            "APPROVAL_REQUIRED", "a human must approve this transition first", approval_id=r.approval_id, run=at
        )
    if r.accepted:
        return at
    no = r.rejection
    raise Rejected(
        word(run_pb2.RejectionCode, no.code, "REJECTION_CODE_"),
        no.message,
        guards=tuple(
            GuardResult(
                g.name, g.field, word(run_pb2.GuardOperator, g.operator, "GUARD_OPERATOR_").lower(),
                _json.loads(g.expected), _json.loads(g.actual), g.passed,
            )
            for g in no.guards
        ),
        legal_events=legal_events(no.legal_events),
        state=no.state,
        status=word(run_pb2.RunStatus, no.status, "RUN_STATUS_"),
    )  # fmt: skip


def session(s: session_pb2.Session) -> Session:
    return Session(
        id=s.session_id,
        name=s.name,
        parent_id=s.parent_session_id,
        root_id=s.root_session_id,
        status=word(session_pb2.SessionStatus, s.status, "SESSION_STATUS_"),
        state_id=s.workflow_state_id,
        state_update=word(session_pb2.StateUpdateStatus, s.state_update_status, "STATE_UPDATE_STATUS_"),
        open_children=s.open_children,
        labels=dict(s.labels),
        error=s.error,
        created_at=time(s.created_at, s.HasField("created_at")),
        updated_at=time(s.updated_at, s.HasField("updated_at")),
    )


def state(s: state_pb2.State, parts: dict[str, Any] | None = None) -> State:
    return State(
        id=s.state_id,
        schema_name=s.schema_name,
        schema_version=s.schema_version,
        root_session_id=s.root_session_id,
        root_session_name=s.root_session_name,
        version=s.version,
        data=_json.loads(s.data),
        updated_by=s.updated_by,
        created_at=time(s.created_at, s.HasField("created_at")),
        updated_at=time(s.updated_at, s.HasField("updated_at")),
        parts=parts or {},
    )


def change(state_id: str, v: state_pb2.StateVersion) -> Change:
    return Change(
        state_id=state_id,
        version=v.version,
        time=time(v.time, v.HasField("time")),
        session_id=v.session_id,
        session_name=v.session_name,
        actor=v.actor,
        type=word(state_pb2.StateChangeType, v.type, "STATE_CHANGE_TYPE_").lower(),
        patch=_json.loads(v.patch),
        schema_version=v.schema_version,
    )


def approval(a: approval_pb2.Approval) -> Approval:
    return Approval(
        id=a.approval_id,
        status=word(approval_pb2.ApprovalStatus, a.status, "APPROVAL_STATUS_"),
        kind=word(approval_pb2.ApprovalKind, a.kind, "APPROVAL_KIND_"),
        message=a.message,
        reason=a.reason,
        note="; ".join(vote.note for vote in a.votes if vote.note),
        outcome=a.outcome,
        run_id=a.run_id,
        by=a.by,
        expires_at=time(a.expires_at, a.HasField("expires_at")),
    )
