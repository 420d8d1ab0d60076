"""Messages of the contracts as the types of this package, and back."""

from __future__ import annotations

from typing import Any, cast

from google.protobuf import json_format

from . import _json, _who
from ._words import time, word
from .errors import AwaitingApproval, Rejected, Unavailable
from .gen.approval.v1 import approval_pb2, approval_service_pb2
from .gen.engine.v1 import process_pb2, process_service_pb2, run_pb2, run_service_pb2
from .gen.policy.v1 import decision_pb2, explanation_pb2, policy_enforcer_service_pb2, policy_pb2
from .gen.state.v1 import agent_pb2, component_pb2, session_pb2, state_pb2
from .types import (
    Agent,
    Approval,
    ApprovalKind,
    ApprovalStats,
    ApprovalStatus,
    Branch,
    BranchStatus,
    Change,
    Component,
    Decision,
    DecisionCode,
    DecisionRecord,
    DecisionValue,
    Definition,
    Due,
    DueKind,
    Evidence,
    Execution,
    GuardResult,
    HistoryEntry,
    Hold,
    HoldCause,
    Interrupted,
    Jail,
    Lease,
    LegalEvent,
    OpenCall,
    Problem,
    QuestionCount,
    Report,
    Run,
    RunFreeze,
    RunHalt,
    RunStatus,
    Session,
    SessionStatus,
    State,
    StateUpdate,
    StopCause,
    Turn,
    Usage,
    Vote,
)


def legal_events(events: Any) -> tuple[LegalEvent, ...]:
    return tuple(LegalEvent(e.event, tuple(e.targets), tuple(e.guards), e.requires_approval, e.frozen) for e in events)


def decision(
    question: policy_enforcer_service_pb2.CheckToolCallRequest, r: policy_enforcer_service_pb2.CheckToolCallResponse
) -> Decision:
    """Reads a decision. Anything but ALLOW, ASK or DENY, or an ALLOW of another call, is an Unavailable."""
    known = {decision_pb2.DECISION_ALLOW: "ALLOW", decision_pb2.DECISION_ASK: "ASK", decision_pb2.DECISION_DENY: "DENY"}
    call_id = question.call_id
    if r.decision not in known:
        raise Unavailable(f"the call was not made: this version does not know the decision {r.decision}", call_id=call_id)
    if known[r.decision] == "ALLOW" and not question.dry_run and (r.call_id != call_id or (question.run_id and not r.run_id)):
        raise Unavailable("the call was not made: the response was for another call", call_id=call_id)
    if known[r.decision] == "ALLOW" and r.HasField("jail") and not question.jail_level:
        raise Unavailable(
            "the call was not made: the server demands a jail for it, which only guard_command has", call_id=call_id
        )
    return Decision(
        decision=cast("DecisionValue", known[r.decision]),
        tool=question.tool,
        call_id="" if question.dry_run else call_id,
        run_id=r.run_id,
        code=code(r.code),
        message=r.message,
        allowed_tools=tuple(r.allowed_tools),
        tools_restricted=r.tools_restricted,
        legal_events=legal_events(r.legal_events),
        approval_id=r.approval_id,
        state=r.state,
        branch=r.branch,
        iterations=r.iterations,
        max_iterations=r.max_iterations,
        explanation=explanation(r.explanation) if r.HasField("explanation") else None,
        session_id=question.session_id,
        dry_run=question.dry_run,
        jail=Jail(r.jail.level, r.jail.digest) if r.HasField("jail") else None,
    )


def code(value: int) -> DecisionCode:
    return cast("DecisionCode", word(decision_pb2.DecisionCode, value, "DECISION_CODE_"))


def explanation(r: explanation_pb2.Explanation) -> dict[str, Any]:
    return json_format.MessageToDict(r, preserving_proto_field_name=True)


def report(r: policy_enforcer_service_pb2.ReportToolCallResponse) -> Report:
    fired = r.interrupt
    return Report(
        accounted=r.accounted,
        interrupt=Interrupted(fired.name, getattr(fired, "from"), fired.to, fired.notice) if r.HasField("interrupt") else None,
        warning=r.warning,
        evidence=tuple(r.evidence),
        run=run(r.run) if r.run.run_id else None,
        notice="\n".join(text for text in (fired.notice, r.warning) if text),
    )


def decision_record(r: decision_pb2.DecisionRecord) -> DecisionRecord:
    return DecisionRecord(
        partition=r.partition,
        sequence=r.sequence,
        time=time(r.time, r.HasField("time")),
        principal=r.principal,
        session_id=r.session_id,
        run_id=r.run_id,
        workflow=r.workflow,
        state=r.state,
        call_id=r.call_id,
        tool=r.tool,
        capability=r.capability,
        decision=cast("DecisionValue", word(decision_pb2.Decision, r.decision, "DECISION_")),
        code=code(r.code),
        message=r.message,
        rule=r.rule,
        approval_id=r.approval_id,
        policy=r.policy,
        identity=_who.identity(r),
        exceptions=tuple(r.exceptions),
    )


def open_call(c: policy_enforcer_service_pb2.OpenCall) -> OpenCall:
    return OpenCall(
        call_id=c.call_id,
        run_id=c.run_id,
        tool=c.tool,
        what=c.what,
        made_by=c.made_by,
        allowed_at=time(c.allowed_at, c.HasField("allowed_at")),
        due_at=time(c.due_at, c.HasField("due_at")),
        unknown=c.unknown,
    )


def run(r: run_pb2.Run, *, resumed: bool = False, note: str = "") -> Run:
    rules = r.rules
    return Run(
        id=r.run_id,
        workflow=r.workflow,
        workflow_version=r.workflow_version,
        status=run_status(r.status),
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
            Branch(b.name, cast("BranchStatus", word(run_pb2.BranchStatus, b.status, "BRANCH_STATUS_")), b.state, b.session_id)
            for b in r.fork.branches
        ),
        interrupt=r.interrupt.name,
        return_to=r.interrupt.return_to,
        parent_id=r.parent_run_id,
        created_at=time(r.created_at, r.HasField("created_at")),
        updated_at=time(r.updated_at, r.HasField("updated_at")),
        evidence=tuple(
            Evidence(e.name, e.held, time(e.since, e.HasField("since")), e.voided_by, e.missing, e.needs, e.tree)
            for e in r.evidence
        ),
        schedule=r.schedule,
        arrived_at=time(r.arrived_at, r.HasField("arrived_at")),
        deadline=time(r.deadline, r.HasField("deadline")),
        last_activity=time(r.last_activity, r.HasField("last_activity")),
        dues=tuple(due(d) for d in r.dues),
        holds=tuple(
            Hold(
                h.by,
                cast("HoldCause", word(run_pb2.HoldCause, h.cause, "HOLD_CAUSE_").lower()),
                h.reason,
                time(h.since, h.HasField("since")),
            )
            for h in r.holds
        ),
        resumed=resumed,
        note=note,
        freeze=RunFreeze(
            r.freeze.freeze_id, r.freeze.reason, r.freeze.created_by, time(r.freeze.until, r.freeze.HasField("until"))
        )
        if r.HasField("freeze")
        else None,
        halt=RunHalt(
            r.halt.halt_id,
            r.halt.scope,
            r.halt.reason,
            r.halt.created_by,
            time(r.halt.created_at, r.halt.HasField("created_at")),
        )
        if r.HasField("halt")
        else None,
    )


def due(d: run_pb2.Due) -> Due:
    return Due(
        kind=cast("DueKind", d.kind),
        event=d.event,
        branch=d.branch,
        after_seconds=d.after.ToTimedelta().total_seconds(),
        at=time(d.at, d.HasField("at")),
        stopped_by=cast("StopCause", d.stopped_by),
        left_seconds=d.left.ToTimedelta().total_seconds(),
        blocked=d.blocked,
        targets=tuple(d.targets),
        holds=d.holds,
    )


def approval_stats(r: approval_service_pb2.GetApprovalStatsResponse) -> ApprovalStats:
    return ApprovalStats(
        questions=tuple(
            QuestionCount(q.what, q.asked_by, q.asked, q.granted, q.rejected, q.expired, q.quick, q.hint) for q in r.questions
        ),
        complete=r.complete,
    )


def run_status(value: int) -> RunStatus:
    return cast("RunStatus", word(run_pb2.RunStatus, value, "RUN_STATUS_"))


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
    raise rejected(r.rejection)


def answered(r: process_service_pb2.AnswerQuestionResponse) -> None:
    """Reads whether an answer to a question was accepted."""
    if r.approval_id and not r.HasField("rejection"):
        raise AwaitingApproval(
            "APPROVAL_REQUIRED", "a human must approve this answer first", approval_id=r.approval_id, run=run(r.run)
        )
    if not r.accepted:
        raise rejected(r.rejection)


def rejected(no: run_pb2.Rejection) -> Rejected:
    return Rejected(
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
        status=run_status(no.status),
    )  # fmt: skip


def history_entry(e: run_pb2.HistoryEntry) -> HistoryEntry:
    result = e.tool_result
    return HistoryEntry(
        type=word(run_pb2.HistoryType, e.type, "HISTORY_TYPE_"),
        version=e.run_version,
        time=time(e.time, e.HasField("time")),
        actor=e.actor,
        event=e.event,
        source=getattr(e, "from"),
        target=e.to,
        data=_json.loads(e.data),
        rationale=e.rationale,
        status=run_status(e.status),
        reason=e.reason,
        branch=e.branch,
        session_id=e.session_id,
        approval_id=e.approval_id,
        call_id=result.call_id,
        tool=result.tool,
        ok=result.ok,
        output=result.output,
        evidence=tuple(result.evidence),
    )


def turn(r: run_pb2.Run, t: process_pb2.Turn) -> Turn:
    return Turn(run(r), t.question, tuple(t.answers), t.text, t.initial_prompt)


def session(s: session_pb2.Session) -> Session:
    return Session(
        id=s.session_id,
        name=s.name,
        parent_id=s.parent_session_id,
        root_id=s.root_session_id,
        status=cast("SessionStatus", word(session_pb2.SessionStatus, s.status, "SESSION_STATUS_")),
        state_id=s.workflow_state_id,
        state_update=cast("StateUpdate", word(session_pb2.StateUpdateStatus, s.state_update_status, "STATE_UPDATE_STATUS_")),
        open_children=s.open_children,
        labels=dict(s.labels),
        error=s.error,
        created_at=time(s.created_at, s.HasField("created_at")),
        updated_at=time(s.updated_at, s.HasField("updated_at")),
        agent=s.agent,
        only=_json.loads(s.only),
        human=_who.human(s),
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
        status=cast("ApprovalStatus", word(approval_pb2.ApprovalStatus, a.status, "APPROVAL_STATUS_")),
        kind=cast("ApprovalKind", word(approval_pb2.ApprovalKind, a.kind, "APPROVAL_KIND_")),
        message=a.message,
        reason=a.reason,
        note="; ".join(vote.note for vote in a.votes if vote.note),
        outcome=a.outcome,
        run_id=a.run_id,
        by=a.by,
        expires_at=time(a.expires_at, a.HasField("expires_at")),
        session_id=a.asker.session_id,
        subject=_json.loads(a.subject),
        data=_json.loads(a.edited_data or a.data),
        editable=a.editable,
        digest=a.digest,
        votes=tuple(Vote(v.by, v.approve, v.note, time(v.time, v.HasField("time"))) for v in a.votes),
        created_at=time(a.created_at, a.HasField("created_at")),
        decided_at=time(a.decided_at, a.HasField("decided_at")),
        used_by=a.used_by,
        may_decide=a.you.may_decide,
        principal=a.asker.principal,
    )


def lease(a: approval_pb2.Lease) -> Lease:
    return Lease(
        id=a.lease_id,
        approval_id=a.approval_id,
        run_id=a.run_id,
        session_id=a.session_id,
        state=a.state,
        policy=a.policy,
        capability=a.capability,
        pattern=a.pattern,
        only=_json.loads(a.only),
        calls_left=a.calls_left,
        expires_at=time(a.expires_at, a.HasField("expires_at")),
        granted_by=a.granted_by,
    )


def definition(d: Any, text: bytes, *, created: bool = False, warnings: Any = ()) -> Definition:
    """A version of a workflow, a process, a policy or a schema."""
    return Definition(
        name=d.name,
        version=d.version,
        digest=d.digest,
        definition=_json.loads(text),
        created_by=d.created_by,
        created_at=time(d.created_at, d.HasField("created_at")),
        created=created,
        warnings=tuple(Problem(w.pointer, w.code, w.message) for w in warnings),
    )


def usage(u: policy_pb2.Usage) -> Usage:
    return Usage(
        capability=u.capability,
        measure=word(policy_pb2.Measure, u.measure, "MEASURE_"),
        scope=word(policy_pb2.LimitScope, u.scope, "LIMIT_SCOPE_"),
        subject=u.subject,
        used=u.used,
        max=u.max,
        resets_at=time(u.resets_at, u.HasField("resets_at")),
    )


def component(c: component_pb2.Component) -> Component:
    return Component(
        slug=c.slug,
        name=c.name,
        description=c.description,
        tags=tuple(c.tags),
        schema=_json.loads(c.schema_definition),
        initial_values=_json.loads(c.initial_values),
        persistence=word(component_pb2.Persistence, c.persistence, "PERSISTENCE_"),
        version=c.version,
    )


def execution(e: component_pb2.Execution) -> Execution:
    return Execution(
        id=e.execution_id,
        slug=e.slug,
        values=_json.loads(e.values),
        version=e.version,
        persistence=word(component_pb2.Persistence, e.persistence, "PERSISTENCE_"),
        session_id=e.session_id,
        subject=e.subject,
        unset=tuple(e.unset),
    )


def agent(a: agent_pb2.Agent) -> Agent:
    spec = a.spec
    return Agent(
        id=a.agent_id,
        name=spec.name,
        model_ref=spec.model_ref,
        instructions=spec.instructions,
        tool_refs=tuple(spec.tool_refs),
        state_refs=tuple(spec.state_refs),
        workflow=spec.workflow,
        policy=spec.policy,
        enable_conversations=spec.enable_conversations,
        version=a.version,
    )
