"""Messages of the contracts about callers and what they may do, as the types of this package."""

from __future__ import annotations

from typing import Any, cast

from . import _json
from ._words import time, word
from .gen.approval.v1 import approval_service_pb2
from .gen.identity.v1 import halt_pb2
from .gen.policy.v1 import decision_pb2, decision_service_pb2, exception_pb2, policy_enforcer_service_pb2
from .gen.state.v1 import session_pb2
from .types import (
    ApprovalStatement,
    Caller,
    ExceptionScope,
    Freeze,
    Halt,
    HaltKind,
    HaltScope,
    Human,
    Identity,
    PolicyException,
    Refusal,
    SessionToken,
    SigningKey,
)


def human(of: Any) -> Human | None:
    """The human of a message that has one; None where that is not known."""
    if not of.HasField("human"):
        return None
    h: decision_pb2.Human = of.human
    return Human(
        name=h.name,
        issuer=h.issuer,
        source=h.source,
        groups_known=h.groups_known,
        groups=tuple(h.groups),
        attributes=_json.loads(h.attributes),
        authenticated_at=time(h.authenticated_at, h.HasField("authenticated_at")),
        expires_at=time(h.expires, h.HasField("expires")),
    )


def caller(r: policy_enforcer_service_pb2.WhoAmIResponse) -> Caller:
    return Caller(
        principal=r.principal,
        role=r.role,
        token=r.token,
        token_id=r.token_id,
        namespace=r.namespace,
        namespaces=tuple(r.namespaces),
        session_id=r.session_id,
        branch=r.branch,
        person=r.person,
        presence=r.presence,
        relay=r.relay,
        via=r.via,
        expires_at=time(r.expires, r.HasField("expires")),
        human=human(r),
        agent=r.agent,
        lineage=tuple(r.lineage),
        may=r.may,
    )


def identity(r: decision_pb2.DecisionRecord) -> Identity | None:
    if not r.HasField("identity"):
        return None
    i = r.identity
    return Identity(
        principal=i.principal,
        role=i.role,
        token=i.token,
        via=i.via,
        person=i.person,
        human=human(i),
        agent=i.agent,
        agent_version=i.agent_version,
        root_session=i.root_session,
        lineage=tuple(i.lineage),
        attributes=dict(i.attributes),
    )


def session_token(t: session_pb2.SessionToken, secret: str = "") -> SessionToken:
    return SessionToken(
        id=t.token_id,
        name=t.name,
        session=t.session,
        branch=t.branch,
        only=_json.loads(t.only),
        minted_by=t.minted_by,
        minted_with=t.minted_with,
        issued_at=time(t.issued_at, t.HasField("issued_at")),
        expires_at=time(t.expires_at, t.HasField("expires_at")),
        revoked_at=time(t.revoked_at, t.HasField("revoked_at")),
        revoked_by=t.revoked_by,
        secret=secret,
    )


def refusal(r: decision_service_pb2.Refusal) -> Refusal:
    of = r.refused
    return Refusal(
        time=time(r.time, r.HasField("time")),
        principal=r.principal,
        role=of.role,
        face=of.face,
        method=of.method,
        reason=of.reason,
        session_id=of.session_id,
        asked_session_id=of.asked_session_id,
        asked_run_id=of.asked_run_id,
        asked_namespace=of.asked_namespace,
        source=getattr(of, "from"),
        more=of.more,
    )


def halt(h: halt_pb2.Halt, *, created: bool = False) -> Halt:
    kind = word(halt_pb2.HaltKind, h.scope.kind, "HALT_KIND_").lower()
    return Halt(
        id=h.id,
        scope=HaltScope(cast("HaltKind", kind), h.scope.name),
        namespace=h.namespace,
        reason=h.reason,
        created_by=h.created_by,
        created_at=time(h.created_at, h.HasField("created_at")),
        by_root=h.by_root,
        created=created,
    )


def freeze(f: halt_pb2.Freeze, *, created: bool = False) -> Freeze:
    return Freeze(
        id=f.id,
        workflow=f.workflow,
        namespace=f.namespace,
        reason=f.reason,
        created_by=f.created_by,
        created_at=time(f.created_at, f.HasField("created_at")),
        until=time(f.until, f.HasField("until")),
        by_root=f.by_root,
        created=created,
    )


def policy_exception(e: exception_pb2.Exception) -> PolicyException:
    of = e.scope
    return PolicyException(
        id=e.exception_id,
        policy=e.policy,
        rule=e.rule,
        scope=ExceptionScope(of.principal, of.human, of.group, of.session_id, _json.loads(of.when)),
        until=time(e.until, e.HasField("until")),
        reason=e.reason,
        created_by=e.created_by,
        created_at=time(e.created_at, e.HasField("created_at")),
        pending=e.pending,
        confirmed_by=e.confirmed_by,
    )


def approval_statement(r: approval_service_pb2.GetApprovalStatementResponse) -> ApprovalStatement:
    return ApprovalStatement(
        statement=r.statement,
        digest=r.digest,
        shown=r.shown,
        presence=r.presence,
        rp_id=r.rp_id,
        keys=tuple(SigningKey(k.credential_id, k.ssh_public_key) for k in r.keys),
        expires_at=time(r.expires_at, r.HasField("expires_at")),
    )
