"""The base of all calls of a client: its settings, its connection, and its repeats."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc

from .. import _ids, _json, _retry, _target, _tracing
from ..errors import TRANSIENT, Fault, fault_of
from . import io

if TYPE_CHECKING:
    from typing_extensions import Self

    from .._sync.client import Interlock as Twin


class Service(NamedTuple):
    """A service of the contracts."""

    path: str
    stub: Any


class Base:
    """A client without its calls."""

    _settings: _target.Settings
    _channel: io.Channel | None
    _channels: io.Channels
    _metadata: tuple[tuple[str, str], ...]

    async def close(self) -> None:
        """Closes the connection, for the clients that share it too, when the reports that are under way have been made."""
        await self._channels.close()

    @property
    def conn(self) -> io.Channel:
        """The connection, for calls that have no method here: the contracts are in `interlock.gen`. `metadata` goes with them."""
        return self._channels.get()

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of every call: the token, the namespace, and the token of the person on whose behalf it is made."""
        return self._metadata

    @property
    def session(self) -> str:
        """The session that acts; empty for none."""
        return self._settings.session

    @property
    def run(self) -> str:
        """The run that calls are judged by; empty for the session's."""
        return self._settings.run

    def for_session(self, session: str) -> Self:
        """A client for another session on the same connection. It is bound to no run and no state but the session's."""
        return self._with(session=session, run="", state="")

    def for_run(self, run: str) -> Self:
        """A client on the same connection that is judged by one run."""
        return self._with(run=run)

    def for_human(self, token: str) -> Self:
        """A client on the same connection that acts on behalf of a person: calls are judged, and recorded, as made for that person,
        and sessions that it creates work for them. The token is the person's own, of the deployment's OpenID Connect issuer or of
        `interlock login`; empty for nobody."""
        return self._with(human=token)

    def twin(self) -> Twin:
        """A client of the same settings for programs without an event loop, and back. It has a connection of its own."""
        if self._channel is not None:
            raise ValueError("a client over a channel of yours has no twin")
        return io.twin(self._settings)

    def _with(self, **changes: str) -> Self:
        other = copy.copy(self)
        other._settings = dataclasses.replace(self._settings, **changes)  # type: ignore[arg-type]
        other._metadata = _target.metadata(other._settings)
        return other

    def _driven(self) -> tuple[str, str]:
        """The run or session that judges the calls: the run if there is one, else the session."""
        return (self._settings.run, "") if self._settings.run else ("", self._settings.session)

    def _until(self, timeout: float | None) -> float:
        return io.now() + (self._settings.timeout if timeout is None else timeout)

    async def _call(self, service: Service, name: str, request: Any, timeout: float | None = None) -> Any:
        """Calls an RPC, for `timeout` seconds or as long as the client says."""
        return await self._call_until(service, name, request, self._until(timeout))

    async def _call_until(self, service: Service, name: str, request: Any, until: float) -> Any:
        """Calls an RPC until it is answered, is refused, or time is up. The request is the same each time, its key included."""
        failures = 0
        while True:
            begun = io.now()
            attempt = min(_retry.ATTEMPT, max(until - begun, 0.001))
            try:
                call = getattr(service.stub(self.conn), name)
                with _tracing.span(self._settings.tracer_provider, service.path + name, self._metadata) as metadata:
                    return await call(request, timeout=attempt, metadata=metadata)
            except Exception as err:
                fault = _late(fault_of(err), io.now() - begun, attempt)
            failures += 1
            wait = _retry.delay(failures, fault.retry_after)
            if fault.reason not in TRANSIENT or io.now() + wait > until:
                raise fault
            await io.sleep(wait)

    async def _stream(self, service: Service, name: str, request: Any, timeout: float | None = None) -> AsyncIterator[Any]:
        """Yields the messages of a stream, and None whenever it was opened again. Without a time-out it continues until it is
        left or refused; at its end it raises a `Fault` with `DEADLINE_EXCEEDED`."""
        until = None if timeout is None else io.now() + timeout
        failures = 0
        while True:
            begun = io.now()
            try:
                call = getattr(service.stub(self.conn), name)
                left = None if until is None else max(until - begun, 0.001)
                async for answer in call(request, timeout=left, metadata=self._metadata):
                    yield answer
                fault = Fault("UNAVAILABLE", "the stream has ended")
            except grpc.RpcError as err:
                fault = fault_of(err)
            failures = 1 if io.now() - begun > _retry.STEADY else failures + 1
            wait = _retry.delay(failures, fault.retry_after)
            if until is not None and io.now() + wait > until:
                raise Fault("DEADLINE_EXCEEDED", "the time is up") from fault
            if fault.reason not in TRANSIENT:
                raise fault
            await io.sleep(wait)
            yield None


def key_of(given: str) -> str:
    """The idempotency key of a change: the caller's, or a new one."""
    return given or _ids.idempotency_key()


def body_of(what: str, value: Mapping[str, Any] | bytes | str | None) -> bytes:
    """A document: its JSON as a text, or the value."""
    return value.encode() if isinstance(value, str) else _json.encode(what, dict(value) if isinstance(value, Mapping) else value)


def no_session(what: str) -> Fault:
    return Fault("SESSION_REQUIRED", f"{what} requires a session: give the client one, or use for_session")


def _late(fault: Fault, took: float, attempt: float) -> Fault:
    """A server knows the deadline and may be the first to notice that it has passed, and then it cancels the call."""
    if fault.reason != "CANCELLED" or took < attempt * 0.9:
        return fault
    late = Fault("DEADLINE_EXCEEDED", "the deadline passed before there was an answer", retry_after=fault.retry_after)
    late.__cause__ = fault.__cause__
    return late
