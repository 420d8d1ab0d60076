"""The client."""

from __future__ import annotations

import dataclasses
from types import TracebackType
from typing import Any

from .. import _target
from .._glass import BreakGlass
from ..errors import ConfigurationError, Fault, mended
from ..gen.engine.v1 import workflow_service_pb2
from ..types import Ping, Run
from . import io
from .approvals import Approvals
from .calls import Calls
from .identity import Identities
from .registry import WORKFLOW, Registry
from .schedules import Schedules
from .sessions import Sessions
from .sets import Sets
from .states import States


class Interlock(Calls, Approvals, States, Sessions, Registry, Identities, Schedules, Sets):
    """Calls Interlock for one session or run.

    It makes no decisions. A failure to get an answer is a refusal: a tool runs after an ALLOW and never otherwise. What it
    repeats after a failure it repeats under the same idempotency key, so that it happens once.

    A call is tried for `timeout` seconds, 30 unless said otherwise; a watch continues until it is left. Failures of requests are
    a `Fault`.
    """

    def __init__(
        self,
        server: str = _target.DEFAULT_SERVER,
        *,
        token: str = "",
        namespace: str = "",
        session: str = "",
        run: str = "",
        state: str = "",
        human: str = "",
        tls: _target.TLS | None = None,
        insecure: bool = False,
        timeout: float = 30.0,
        tracer_provider: Any = None,
        jail_program: str = "interlock",
        jail_level: int | None = None,
        break_glass: BreakGlass | None = None,
        channel: io.Channel | None = None,
    ) -> None:
        """Makes a client, which connects when it is first used.

        Args:
            server: A gRPC address. Several replicas: `dns:///engine:7421`, or a list separated by commas. Without TLS, only
                loopback addresses and Unix sockets are called.
            token: The caller's token.
            namespace: Namespace of all calls; the default one when empty.
            session: The session that acts, by id or name: tool calls and events are judged by the run that it drives, and it
                shares the state of its tree.
            run: The run that judges the calls, instead of the one that the session drives.
            state: The state that is meant wherever a state's id is left empty; by default the session's.
            human: The own token of the person on whose behalf the caller acts, see `for_human`; empty for nobody.
            tls: Files of TLS; `TLS()` uses the system's CAs.
            insecure: Allows another machine without TLS, where the network itself is trusted. The token then travels in the clear.
            timeout: Seconds that a call is tried for.
            tracer_provider: Makes spans of OpenTelemetry; there are none without it.
            jail_program: Interlock's program, which runs the result of `guard_command`: a path, or a name in PATH.
            jail_level: The level of the jails, 0 for none to 3. Without it, the program is asked once for this machine's level.
            break_glass: A signed grant by which some calls pass while no connection can be made; without it, none does.
            channel: A connection of the caller's, which stays open. Server, TLS and insecure are its business.
        """
        settings = _target.Settings(
            server=server, token=token, namespace=namespace, session=session, run=run, state=state, tls=tls, insecure=insecure,
            timeout=timeout, tracer_provider=tracer_provider, jail_program=jail_program, jail_level=jail_level, human=human,
            break_glass=break_glass,
        )  # fmt: skip
        if channel is None:
            _target.check(settings)
        self._settings = settings
        self._channel = channel
        self._channels = io.Channels(settings, channel)
        self._metadata = _target.metadata(settings)

    @classmethod
    def _of(cls, settings: _target.Settings) -> Interlock:
        given = {field.name: getattr(settings, field.name) for field in dataclasses.fields(settings)}
        return cls(given.pop("server"), **given)

    @classmethod
    def from_env(cls, *, timeout: float = 30.0, tracer_provider: Any = None) -> Interlock:
        """Makes a client from the environment, by the names that the command line reads: INTERLOCK_SERVER,
        INTERLOCK_TOKEN, INTERLOCK_NAMESPACE, INTERLOCK_CA, INTERLOCK_INSECURE, INTERLOCK_SESSION, INTERLOCK_RUN,
        WORKFLOW_STATE_ID, INTERLOCK_BREAKGLASS, INTERLOCK_BREAKGLASS_KEY, INTERLOCK_BREAKGLASS_SPOOL and INTERLOCK_PRINCIPAL."""
        return cls._of(dataclasses.replace(_target.settings_of(), timeout=timeout, tracer_provider=tracer_provider))

    async def __aenter__(self) -> Interlock:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    async def ping(self, *, timeout: float | None = None) -> Ping:
        """Asks whether calls of this client can be answered, and says by whom and for whom. It decides and counts no call.

        A client that is set up wrong raises a `ConfigurationError` that says how to mend it: no token, an unknown one, an unknown
        session or run. A server that cannot be reached is a `Fault` that is `retriable`.
        """
        try:
            await self._call(WORKFLOW, "ListWorkflows", workflow_service_pb2.ListWorkflowsRequest(page_size=1), timeout)
            run = await self._judging(timeout)
        except Fault as fault:
            how = mended(fault, token=bool(self._settings.token), driven=True)
            if how:
                raise ConfigurationError(fault.reason, f"{fault.message}; {how}") from fault
            if fault.reason == "UNAVAILABLE":
                raise self._away(fault) from fault
            raise
        return Ping(self._settings.server, self._settings.namespace, self.session, run)

    async def _judging(self, timeout: float | None) -> Run | None:
        """The run that judges the client's calls; None for a session that is registered and drives none."""
        if not any(self._driven()):
            return None
        run = await self._run_or_none(timeout)
        if run is None and self._settings.run:
            raise Fault("NOT_FOUND", f"there is no run {self._settings.run} in this namespace")
        if run is None:
            await self.get_session(timeout=timeout)
        return run

    def _away(self, fault: Fault) -> Fault:
        """The fault of a server that does not answer, with the attempts."""
        tls = "with TLS" if self._settings.tls else "without TLS; a server with TLS needs tls=TLS(ca=...) or INTERLOCK_CA"
        return Fault(fault.reason, f"{fault.message} This was {self._settings.server}, {tls}", retry_after=fault.retry_after)
