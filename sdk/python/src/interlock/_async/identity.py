"""Who calls, who was refused, and what is halted or frozen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone

from .. import _who
from ..gen.identity.v1 import halt_pb2, halt_service_pb2, halt_service_pb2_grpc
from ..gen.policy.v1 import (
    decision_service_pb2,
    decision_service_pb2_grpc,
    policy_enforcer_service_pb2,
    policy_enforcer_service_pb2_grpc,
)
from ..types import Caller, Freeze, Halt, HaltKind, Refusal
from .base import Base, Service

_ENFORCER = Service("/interlock.policy.v1.PolicyEnforcerService/", policy_enforcer_service_pb2_grpc.PolicyEnforcerServiceStub)
_DECISIONS = Service("/interlock.policy.v1.DecisionService/", decision_service_pb2_grpc.DecisionServiceStub)
_HALT = Service("/interlock.identity.v1.HaltService/", halt_service_pb2_grpc.HaltServiceStub)


class Identities(Base):
    """Callers, halts and freezes."""

    async def who_am_i(self, *, timeout: float | None = None) -> Caller:
        """Returns who the caller is to the server, and on whose behalf it acts."""
        request = policy_enforcer_service_pb2.WhoAmIRequest(session_id=self.session)
        return _who.caller(await self._call(_ENFORCER, "WhoAmI", request, timeout))

    async def list_refusals(self, *, timeout: float | None = None) -> Sequence[Refusal]:
        """Returns the last callers that were refused before there was a decision, newest first, for operators, approvers and
        observers: at most 100 in a namespace."""
        request = decision_service_pb2.ListRefusalsRequest()
        return tuple(map(_who.refusal, (await self._call(_DECISIONS, "ListRefusals", request, timeout)).refusals))

    async def create_halt(self, kind: HaltKind, name: str = "", *, reason: str, timeout: float | None = None) -> Halt:
        """Stops all work in a scope, for operators: from the answer on no call, transition, start or new session passes there. A halt
        of the client's namespace, and of `all`, has no name (S23.40)."""
        scope = halt_pb2.HaltScope(kind=halt_pb2.HaltKind.Value("HALT_KIND_" + kind.upper()), name=name)
        request = halt_service_pb2.CreateHaltRequest(scope=scope, reason=reason)
        answer = await self._call(_HALT, "CreateHalt", request, timeout)
        return _who.halt(answer.halt, created=answer.created)

    async def lift_halt(self, id: str, *, reason: str, timeout: float | None = None) -> Halt:
        """Ends a halt, for operators."""
        request = halt_service_pb2.LiftHaltRequest(id=id, reason=reason)
        return _who.halt((await self._call(_HALT, "LiftHalt", request, timeout)).halt)

    async def list_halts(self, *, timeout: float | None = None) -> Sequence[Halt]:
        """Returns the halts that are in force in the namespace, those of everything first."""
        answer = await self._call(_HALT, "ListHalts", halt_service_pb2.ListHaltsRequest(), timeout)
        return tuple(map(_who.halt, answer.halts))

    async def create_freeze(self, workflow: str, *, until: datetime, reason: str, timeout: float | None = None) -> Freeze:
        """Freezes the workflows that a pattern names until a time, for operators: from the answer on the transitions that a freeze
        stops are refused (S25.12)."""
        request = halt_service_pb2.CreateFreezeRequest(workflow=workflow, reason=reason)
        request.until.FromDatetime(until.astimezone(timezone.utc))
        answer = await self._call(_HALT, "CreateFreeze", request, timeout)
        return _who.freeze(answer.freeze, created=answer.created)

    async def lift_freeze(self, id: str, *, reason: str, timeout: float | None = None) -> Freeze:
        """Ends a freeze before its time, for operators."""
        request = halt_service_pb2.LiftFreezeRequest(id=id, reason=reason)
        return _who.freeze((await self._call(_HALT, "LiftFreeze", request, timeout)).freeze)

    async def list_freezes(self, *, timeout: float | None = None) -> Sequence[Freeze]:
        """Returns the freezes that are in force in the namespace."""
        answer = await self._call(_HALT, "ListFreezes", halt_service_pb2.ListFreezesRequest(), timeout)
        return tuple(map(_who.freeze, answer.freezes))
