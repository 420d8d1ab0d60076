"""States: documents that sessions share."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any

import grpc

from .. import _convert, _json, _retry
from ..errors import TRANSIENT, Fault, fault_of
from ..gen.state.v1 import state_service_pb2, state_service_pb2_grpc
from ..types import Change, State
from . import io
from .base import Base, Service, key_of

log = logging.getLogger("interlock")

_STATE = Service("/interlock.state.v1.StateService/", state_service_pb2_grpc.StateServiceStub)


class States(Base):
    """States."""

    async def create_state(self, schema: str, data: Any, *, idempotency_key: str = "", timeout: float | None = None) -> State:
        """Makes a state that conforms to a schema, for the client's session as the root of a tree: sessions created under it from
        then on share the state. The session is made when there is none of that name."""
        request = state_service_pb2.CreateStateRequest(
            schema_name=schema, data=_json.encode("data", data), session=self.session, idempotency_key=key_of(idempotency_key)
        )
        return _convert.state((await self._call(_STATE, "CreateState", request, timeout)).state)

    async def read_state(self, id: str = "", *pointers: str, timeout: float | None = None) -> State:
        """Returns a state, by default the session's, or only the parts that JSON Pointers (RFC 6901) name."""
        request = state_service_pb2.GetStateRequest(state_id=id or self._settings.state, session=self.session, pointers=pointers)
        answer = await self._call(_STATE, "GetState", request, timeout)
        return _convert.state(answer.state, {part.pointer: _json.loads(part.value) for part in answer.parts if part.found})

    async def patch_state(
        self, id: str = "", *ops: dict[str, Any], idempotency_key: str = "", timeout: float | None = None
    ) -> State:
        """Applies operations to a state, by default the session's: all or none, to the document at that time, so that of
        concurrent patches none is lost (S10.3). `interlock.patch` makes operations. The answer has no data. `PATCH_FAILED` when
        the operations do not apply, `SCHEMA_VIOLATION` when the result does not conform; the state is unchanged then."""
        return await self._write(
            state_service_pb2.UpdateStateRequest(state_id=id or self._settings.state, patch=_json.encode("patch", list(ops))),
            self._until(timeout),
            key_of(idempotency_key),
        )

    async def update_state(self, id: str, change: Callable[[Any], Any], *, timeout: float | None = None) -> State:
        """Reads a state, by default the session's, replaces it by the result of `change`, and starts again when another session
        was faster: `change` may be called several times, each time with the document as it is then. It returns the new document,
        or changes the one that it is given and returns None. Its exceptions end the update. Numbers that it does not touch stay
        as they were written.

        Lost races are tried again until time is up; then `VERSION_CONFLICT` is raised. If many sessions write at once,
        use `patch_state`, which no race can fail.
        """
        until = self._until(timeout)
        lost = 0
        while True:
            before = await self.read_state(id, timeout=max(until - io.now(), 0.001))
            document = before.data
            changed = await io.finish(change(document))
            document = document if changed is None else changed
            request = state_service_pb2.UpdateStateRequest(
                state_id=before.id, expected_version=before.version, data=_json.encode("state", document)
            )
            try:
                return dataclasses.replace(await self._write(request, until, key_of("")), data=document)
            except Fault as fault:
                wait = _retry.yielding(lost)
                if fault.reason != "VERSION_CONFLICT" or io.now() + wait > until:
                    raise
            await io.sleep(wait)
            lost += 1

    async def _write(self, request: state_service_pb2.UpdateStateRequest, until: float, key: str) -> State:
        request.session, request.idempotency_key = self.session, key
        return _convert.state((await self._call_until(_STATE, "UpdateState", request, until)).state)

    async def watch_state(self, id: str = "", after: int = -1) -> AsyncIterator[Change]:
        """Yields every change of a state, by default the session's, after a version, then those that come; after -1 only those
        that come. Versions are in order and none is twice. One is missing only where the server keeps no such old ones. The state
        must be there and readable to begin with.

        It ends with the state's deletion or with an exception. A temporary failure is none: the watch continues.
        """
        # No part is asked for, so this answers which state it is and its version.
        state = await self.read_state(id, "/")
        last = state.version if after < 0 else after
        failures = 0
        while True:
            begun = io.now()
            try:
                stub = _STATE.stub(self.conn)
                request = state_service_pb2.WatchStateRequest(state_id=state.id, session=self.session, after_version=last)
                async for answer in stub.WatchState(request, metadata=self._metadata):
                    if answer.deleted:
                        yield Change(state.id, deleted=True)
                        return
                    if answer.change.version > last:
                        last = answer.change.version
                        yield _convert.change(state.id, answer.change)
                fault = Fault("UNAVAILABLE", "the stream has ended")
            except grpc.RpcError as err:
                fault = fault_of(err)
            if fault.reason == "NOT_FOUND":  # it was deleted in the meantime
                yield Change(state.id, deleted=True)
                return
            if fault.reason not in TRANSIENT:
                raise fault
            failures = 1 if io.now() - begun > _retry.STEADY else failures + 1
            log.info("a watch is opened again: %s: %s", state.id, fault)
            await io.sleep(_retry.delay(failures, fault.retry_after))
