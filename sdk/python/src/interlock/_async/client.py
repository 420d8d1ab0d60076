"""The client."""

from __future__ import annotations

import copy
import dataclasses
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any

import grpc

from .. import _convert, _ids, _json, _retry, _target, _tracing
from ..errors import TRANSIENT, Denied, Fault, NotPermitted, ReportError, Unavailable, fault_of
from ..gen.approval.v1 import approval_pb2, approval_service_pb2, approval_service_pb2_grpc
from ..gen.engine.v1 import run_service_pb2, run_service_pb2_grpc
from ..gen.policy.v1 import policy_enforcer_service_pb2, policy_enforcer_service_pb2_grpc
from ..gen.state.v1 import session_pb2, session_service_pb2, session_service_pb2_grpc, state_service_pb2, state_service_pb2_grpc
from ..types import Approval, Change, Decision, Result, Run, Session, State, Stopped
from . import io

if TYPE_CHECKING:
    from .._sync.client import Interlock as Twin

log = logging.getLogger("interlock")


class Interlock:
    """Calls Interlock for one session or run.

    It decides nothing. Whatever keeps it from an answer is a refusal: a tool runs after an ALLOW and never otherwise. What it
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
        tls: _target.TLS | None = None,
        insecure: bool = False,
        timeout: float = 30.0,
        tracer_provider: Any = None,
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
            run: The run to be judged by, instead of whatever the session drives.
            state: The state that is meant wherever a state's id is left empty; by default the session's.
            tls: Files of TLS; `TLS()` uses the system's CAs.
            insecure: Allows another machine without TLS, where the network itself is trusted. The token then travels in the clear.
            timeout: Seconds that a call is tried for.
            tracer_provider: Makes spans of OpenTelemetry; there are none without it.
            channel: A connection of the caller's, which stays open. Server, TLS and insecure are its business.
        """
        settings = _target.Settings(
            server=server, token=token, namespace=namespace, session=session, run=run, state=state, tls=tls, insecure=insecure,
            timeout=timeout, tracer_provider=tracer_provider,
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
        """Makes a client of what the environment says, under the names that the command line reads: INTERLOCK_SERVER,
        INTERLOCK_TOKEN, INTERLOCK_NAMESPACE, INTERLOCK_CA, INTERLOCK_INSECURE, INTERLOCK_SESSION, INTERLOCK_RUN and
        WORKFLOW_STATE_ID."""
        return cls._of(dataclasses.replace(_target.settings_of(), timeout=timeout, tracer_provider=tracer_provider))

    async def close(self) -> None:
        """Closes the connection, for the clients that share it too."""
        await self._channels.close()

    async def __aenter__(self) -> Interlock:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        await self.close()

    @property
    def conn(self) -> io.Channel:
        """The connection, for calls that have no method here: the contracts are in `interlock.gen`. `metadata` goes with them."""
        return self._channels.get()

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What every call brings: the token and the namespace."""
        return self._metadata

    @property
    def session(self) -> str:
        """The session that acts; empty for none."""
        return self._settings.session

    @property
    def run(self) -> str:
        """The run that calls are judged by; empty for the session's."""
        return self._settings.run

    def for_session(self, session: str) -> Interlock:
        """A client for another session on the same connection. It is bound to no run and no state but the session's."""
        return self._with(session=session, run="", state="")

    def for_run(self, run: str) -> Interlock:
        """A client on the same connection that is judged by one run."""
        return self._with(run=run)

    def twin(self) -> Twin:
        """A client of the same settings for programs without an event loop, and back. It has a connection of its own."""
        if self._channel is not None:
            raise ValueError("a client over a channel of yours has no twin")
        return io.twin(self._settings)

    def _with(self, **changes: str) -> Interlock:
        other = copy.copy(self)
        other._settings = dataclasses.replace(self._settings, **changes)  # type: ignore[arg-type]
        return other

    def _driven(self) -> tuple[str, str]:
        """What calls are judged by: the run when there is one, else the session."""
        return (self._settings.run, "") if self._settings.run else ("", self._settings.session)

    def _until(self, timeout: float | None) -> float:
        return io.now() + (self._settings.timeout if timeout is None else timeout)

    async def _retry(self, method: str, call: Any, request: Any, until: float) -> Any:
        """Calls an RPC until it is answered, is refused, or time is up. The request is the same each time, its key included."""
        failures = 0
        while True:
            begun = io.now()
            attempt = min(_retry.ATTEMPT, max(until - begun, 0.001))
            try:
                with _tracing.span(self._settings.tracer_provider, method, self._metadata) as metadata:
                    return await call(request, timeout=attempt, metadata=metadata)
            except Exception as err:
                fault = _late(fault_of(err), io.now() - begun, attempt)
            failures += 1
            wait = _retry.delay(failures, fault.retry_after)
            if fault.reason not in TRANSIENT or io.now() + wait > until:
                raise fault
            await io.sleep(wait)

    # Tool calls

    async def guard(
        self,
        tool: str,
        args: Mapping[str, Any] | bytes | None,
        run: Callable[[], Awaitable[Any] | Any],
        *,
        timeout: float | None = None,
    ) -> Result:
        """Puts a tool call before the gate, runs it when it is allowed, and reports the outcome.

        `run` returns a `Result`, or anything else, which is then the `value` of one. When it has not run, the error is a `Denied`
        or an `AwaitingApproval`. Otherwise it is its own. A report that failed is a `ReportError`, which has the result: the tool
        has run, so do not run it again.

        A call is reported as failed when `run` raises, and the exception continues; when the report of that fails too, it is
        logged, and a note of the exception. A call is reported also when its caller is cancelled.
        """
        decision = await self.check(tool, args, timeout=timeout)
        decision.require()
        try:
            value = await io.finish(run())
        except BaseException as err:
            try:
                await self.report(decision, ok=False)
            except ReportError as lost:
                log.warning("the failure of a tool call was not reported: %s: %s", tool, lost)
                note: Callable[[str], None] | None = getattr(err, "add_note", None)  # from Python 3.11 on
                if note:
                    note(str(lost))
            raise
        result = value if isinstance(value, Result) else Result(output=_output(value), value=value)
        try:
            notice = await self.report(decision, result)
        except ReportError as lost:
            lost.result = result
            raise
        return dataclasses.replace(result, notice=notice)

    async def check(
        self,
        tool: str,
        args: Mapping[str, Any] | bytes | None = None,
        *,
        call_id: str = "",
        qualified_tool: str = "",
        estimated_cost_usd: str = "",
        dry_run: bool = False,
        timeout: float | None = None,
    ) -> Decision:
        """Gets the decision on a call. A call that is allowed must be reported with `report`; `guard` does both.

        Without a decision it raises `Unavailable`, and with arguments that are no JSON `Denied`. A call id of the caller's makes
        the check repeatable while the run has not changed.
        """
        try:
            body = _json.encode("input", args if args is None or isinstance(args, bytes) else dict(args))
        except ValueError as err:
            raise Denied("INVALID_INPUT", str(err), call_id=call_id) from err
        run, session = self._driven()
        until = self._until(timeout)
        asked = 1
        while True:
            number = call_id or _ids.call_id()
            request = policy_enforcer_service_pb2.CheckToolCallRequest(
                run_id=run, session_id=session, tool=tool, qualified_tool=qualified_tool, input=body, call_id=number,
                estimated_cost_usd=estimated_cost_usd, dry_run=dry_run,
            )  # fmt: skip
            try:
                stub = policy_enforcer_service_pb2_grpc.PolicyEnforcerServiceStub(self.conn)
                answer = await self._retry(_POLICY + "CheckToolCall", stub.CheckToolCall, request, until)
                return _convert.decision(tool, number, answer, dry_run=dry_run)
            except Unavailable:
                raise
            except Exception as err:
                fault = fault_of(err)
            # The run has moved on since a decision whose answer was lost, or faster than it could be followed. The tool has not
            # run, so it is a new question.
            again = fault.reason in {"IDEMPOTENCY_MISMATCH", "VERSION_CONFLICT"} and not call_id
            wait = _retry.delay(asked, 0)
            if not again or asked == _retry.MOST_ASKED or io.now() + wait > until:
                message = "the call was not made: " + fault.message
                if fault.reason in {"UNAUTHENTICATED", "PERMISSION_DENIED"}:
                    raise NotPermitted(fault.reason, message, call_id=number) from fault
                raise Unavailable(message, call_id=number) from fault
            await io.sleep(wait)
            asked += 1

    async def report(self, decision: Decision, result: Result | None = None, *, ok: bool = True) -> str:
        """Says the outcome of a call that was allowed, and returns what the agent should be told with it; often nothing.

        It is said also when the caller is cancelled. A `ReportError` means that it was not accepted.
        """
        return await io.shielded(self._report(decision, result or Result(), ok))

    async def _report(self, decision: Decision, result: Result, ok: bool) -> str:
        try:
            output = result.output.encode() if isinstance(result.output, str) else result.output
            # It names the run that was decided on: the session may drive another one by now.
            request = policy_enforcer_service_pb2.ReportToolCallRequest(
                run_id=decision.run_id, call_id=decision.call_id, tool=decision.tool, ok=ok, files_changed=result.files_changed,
                result_bytes=result.bytes or len(output), cost_usd=result.cost_usd, output=output[: _retry.MOST_OUTPUT],
            )  # fmt: skip
            stub = policy_enforcer_service_pb2_grpc.PolicyEnforcerServiceStub(self.conn)
            answer = await self._retry(_POLICY + "ReportToolCall", stub.ReportToolCall, request, io.now() + _retry.REPORT)
            return _convert.notice(answer)
        except Exception as err:
            raise ReportError(decision.call_id, fault_of(err)) from err

    async def wait_approval(self, approval_id: str, *, timeout: float | None = None) -> Approval:
        """Waits until humans have decided an approval, however long that takes, and returns it. After `timeout` seconds it raises
        a `Fault` with `DEADLINE_EXCEEDED`. Then make exactly the same call again: if it was granted, it is allowed once."""
        until = None if timeout is None else io.now() + timeout
        request = approval_service_pb2.WatchApprovalRequest(approval_id=approval_id)
        failures = 0
        while True:
            begun = io.now()
            try:
                stub = approval_service_pb2_grpc.ApprovalServiceStub(self.conn)
                left = None if until is None else max(until - begun, 0.001)
                async for answer in stub.WatchApproval(request, timeout=left, metadata=self._metadata):
                    if answer.approval.status not in (0, approval_pb2.APPROVAL_STATUS_PENDING):
                        return _convert.approval(answer.approval)
                fault = Fault("UNAVAILABLE", "the stream has ended")
            except grpc.RpcError as err:
                fault = fault_of(err)
            failures = 1 if io.now() - begun > _retry.STEADY else failures + 1
            wait = _retry.delay(failures, fault.retry_after)
            if until is not None and io.now() + wait > until:
                raise Fault("DEADLINE_EXCEEDED", f"approval {approval_id} is not decided yet") from fault
            if fault.reason not in TRANSIENT:
                raise fault
            await io.sleep(wait)

    # Runs

    async def load(
        self,
        workflow: str,
        *,
        version: int = 0,
        context: Mapping[str, Any] | bytes | None = None,
        workspace: str = "",
        resume: bool = False,
        branch: str = "",
        run_id: str = "",
        timeout: float | None = None,
    ) -> Run:
        """Starts a run of a workflow for the client's session, which drives it from then on; another run that it drove is paused
        (S6.6). Without a session, calls of the run are made by `for_run(run.id)`.

        Args:
            workflow: Name of the workflow.
            version: Version of the workflow; 0 for the latest.
            context: Merged over the workflow's.
            workspace: The root that file patterns are relative to.
            resume: Continues the session's newest paused run of the workflow instead, when there is one (S6.2).
            branch: Gives the session that branch of a run in a fork instead (S5.3): of `run_id`, or else of the caller's only run
                of the workflow with such a branch.
            run_id: See `branch`.
            timeout: Seconds that the call is tried for.
        """
        if self._settings.run:
            raise Fault(
                "INVALID_REQUEST", f"this client is bound to run {self._settings.run}; load workflows with a client for a session"
            )
        stub = run_service_pb2_grpc.RunServiceStub(self.conn)
        if branch:
            if not self.session:
                raise _no_session("working in a branch")
            binding = run_service_pb2.BindBranchRequest(run_id=run_id, workflow=workflow, branch=branch, session_id=self.session)
            answer = await self._retry(_RUN + "BindBranch", stub.BindBranch, binding, self._until(timeout))
            return _convert.run(answer.run)
        request = run_service_pb2.StartRunRequest(
            workflow=workflow, workflow_version=version, session_id=self.session,
            context=_json.encode("context", dict(context) if isinstance(context, Mapping) else context), workspace=workspace,
            resume=resume, idempotency_key=_ids.idempotency_key(),
        )  # fmt: skip
        answer = await self._retry(_RUN + "StartRun", stub.StartRun, request, self._until(timeout))
        return _convert.run(answer.run, resumed=answer.resumed)

    async def get(self, *, timeout: float | None = None) -> Run:
        """Returns the run whose rules are in force: the client's, or the innermost of those that it has invoked and waits for.
        `NOT_FOUND` when the session drives none."""
        run, session = self._driven()
        stub = run_service_pb2_grpc.RunServiceStub(self.conn)
        request = run_service_pb2.GetRunRequest(run_id=run, session_id=session, active=True)
        return _convert.run((await self._retry(_RUN + "GetRun", stub.GetRun, request, self._until(timeout))).run)

    async def transition(self, event: str, data: Mapping[str, Any] | bytes | None = None, *, timeout: float | None = None) -> Run:
        """Asks to move on and returns the run whose rules are in force then. The data merges into the context after the
        transition (S2.3); its "rationale" goes into the history.

        A refusal is a `Rejected`. A transition that was parked until a human approves is an `AwaitingApproval`, with the run as
        it waits (S9.1).
        """
        run, session = self._driven()
        body = _json.encode("data", dict(data) if isinstance(data, Mapping) else data)
        request = run_service_pb2.TransitionRunRequest(
            run_id=run, session_id=session, event=event, data=body, idempotency_key=_ids.idempotency_key()
        )
        stub = run_service_pb2_grpc.RunServiceStub(self.conn)
        return _convert.moved(await self._retry(_RUN + "TransitionRun", stub.TransitionRun, request, self._until(timeout)))

    # States

    async def create_state(self, schema: str, data: Any, *, timeout: float | None = None) -> State:
        """Makes a state that conforms to a schema, for the client's session as the root of a tree: sessions created under it from
        then on share the state. The session is made when there is none of that name."""
        request = state_service_pb2.CreateStateRequest(
            schema_name=schema, data=_json.encode("data", data), session=self.session, idempotency_key=_ids.idempotency_key()
        )
        stub = state_service_pb2_grpc.StateServiceStub(self.conn)
        return _convert.state((await self._retry(_STATE + "CreateState", stub.CreateState, request, self._until(timeout))).state)

    async def read_state(self, id: str = "", *pointers: str, timeout: float | None = None) -> State:
        """Returns a state, by default the session's, or only the parts that JSON Pointers (RFC 6901) name."""
        request = state_service_pb2.GetStateRequest(state_id=id or self._settings.state, session=self.session, pointers=pointers)
        stub = state_service_pb2_grpc.StateServiceStub(self.conn)
        answer = await self._retry(_STATE + "GetState", stub.GetState, request, self._until(timeout))
        return _convert.state(answer.state, {part.pointer: _json.loads(part.value) for part in answer.parts if part.found})

    async def patch(self, id: str = "", *ops: dict[str, Any], timeout: float | None = None) -> State:
        """Applies operations to a state, by default the session's: all or none, to what the document is then, so that of
        concurrent patches none is lost (S10.3). `interlock.patch` makes operations. The answer has no data. `PATCH_FAILED` when
        the operations do not apply, `SCHEMA_VIOLATION` when the result does not conform; nothing has changed then."""
        return await self._write(
            state_service_pb2.UpdateStateRequest(state_id=id or self._settings.state, patch=_json.encode("patch", list(ops))),
            self._until(timeout),
        )

    async def update(self, id: str, change: Callable[[Any], Any], *, timeout: float | None = None) -> State:
        """Reads a state, by default the session's, replaces it by what `change` makes of it, and starts again when somebody else
        was faster: `change` may be called several times, each time with the document as it is then. It returns the new document,
        or changes the one that it is given and returns None. Its exceptions end the update. Numbers that it does not touch stay
        as they were written.

        Lost races are tried again until time is up; then `VERSION_CONFLICT` is raised. What many write at once is better done
        with `patch`, which no race can fail.
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
                return dataclasses.replace(await self._write(request, until), data=document)
            except Fault as fault:
                wait = _retry.yielding(lost)
                if fault.reason != "VERSION_CONFLICT" or io.now() + wait > until:
                    raise
            await io.sleep(wait)
            lost += 1

    async def _write(self, request: state_service_pb2.UpdateStateRequest, until: float) -> State:
        request.session, request.idempotency_key = self.session, _ids.idempotency_key()
        stub = state_service_pb2_grpc.StateServiceStub(self.conn)
        return _convert.state((await self._retry(_STATE + "UpdateState", stub.UpdateState, request, until)).state)

    async def watch(self, id: str = "", after: int = -1) -> AsyncIterator[Change]:
        """Yields every change of a state, by default the session's, after a version, then those that come; after -1 only those
        that come. Versions are in order and none is twice. One is missing only where the server keeps no such old ones. The state
        must be there and readable to begin with.

        It ends with the state's deletion or with an exception. What passes by itself is none: it continues from the last version.
        """
        # No part is asked for, so this answers which state it is and its version.
        state = await self.read_state(id, "/")
        last = state.version if after < 0 else after
        failures = 0
        while True:
            begun = io.now()
            try:
                stub = state_service_pb2_grpc.StateServiceStub(self.conn)
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

    # Sessions

    async def create_session(
        self,
        name: str = "",
        *,
        id: str = "",
        parent: str = "",
        skip_state_update: bool = False,
        accept_early_update: bool = False,
        labels: Mapping[str, str] | None = None,
        prompt: str = "",
        state_ref: str = "",
        subject: str = "",
        timeout: float | None = None,
    ) -> Session:
        """Makes a session. The same request again answers the same session, so give it a name to find it again.

        Args:
            name: At random when it is empty.
            id: Chosen by the server when it is empty.
            parent: By id or name; the session shares its state. Empty for a root. An agent creates sessions below its own.
            skip_state_update: It need not update that state before it is done.
            accept_early_update: What it updates during its own work is enough (S11.2).
            labels: Labels that a runner must have to take its tasks.
            prompt: When it is not empty, a runner starts the session's agent with it.
            state_ref: The component that its executions begin and end with.
            subject: The subject whose long-term values it uses (S12).
            timeout: Seconds that the call is tried for.
        """
        if not id and not name:
            # A repeat must find the session that the first try made.
            name = "session-" + _ids.idempotency_key()
        request = session_service_pb2.CreateSessionRequest(
            session_id=id, name=name, parent=parent, accept_early_update=accept_early_update, labels=labels, state_ref=state_ref,
            subject=subject, prompt=prompt, session=self.session,
            state_update=session_pb2.STATE_UPDATE_SKIP if skip_state_update else session_pb2.STATE_UPDATE_UNSPECIFIED,
        )  # fmt: skip
        stub = session_service_pb2_grpc.SessionServiceStub(self.conn)
        answer = await self._retry(_SESSION + "CreateSession", stub.CreateSession, request, self._until(timeout))
        return _convert.session(answer.session)

    async def stop(self, *, in_place: bool = False, end: bool = False, error: str = "", timeout: float | None = None) -> Stopped:
        """Says that the agent of the client's session has stopped. One that must update the state of its tree and has not is
        asked to; then its parent is called back (S11.2).

        Args:
            in_place: The caller continues with the agent itself, see the prompt of the answer.
            end: Ends the session whatever is outstanding.
            error: Why the agent failed; empty when it did not.
            timeout: Seconds that the call is tried for.
        """
        if not self.session:
            raise _no_session("stopping")
        request = session_service_pb2.StopSessionRequest(
            session_id=self.session, session=self.session, idempotency_key=_ids.idempotency_key(), in_place=in_place, end=end,
            error=error if len(error) <= 4096 else error[:4093] + "...",
        )  # fmt: skip
        stub = session_service_pb2_grpc.SessionServiceStub(self.conn)
        answer = await self._retry(_SESSION + "StopSession", stub.StopSession, request, self._until(timeout))
        return Stopped(_convert.session(answer.session), answer.prompt)


_POLICY = "/interlock.policy.v1.PolicyEnforcerService/"
_RUN = "/interlock.engine.v1.RunService/"
_STATE = "/interlock.state.v1.StateService/"
_SESSION = "/interlock.state.v1.SessionService/"


def _late(fault: Fault, took: float, attempt: float) -> Fault:
    """A server that was told the deadline may be the first to notice that it has passed, and then it cancels the call."""
    if fault.reason != "CANCELLED" or took < attempt * 0.9:
        return fault
    late = Fault("DEADLINE_EXCEEDED", "the deadline passed before there was an answer", retry_after=fault.retry_after)
    late.__cause__ = fault.__cause__
    return late


def _no_session(what: str) -> Fault:
    return Fault("SESSION_REQUIRED", f"{what} requires a session: give the client one, or use for_session")


def _output(value: Any) -> bytes | str:
    """What a tool returned, as the agent reads it."""
    if value is None or isinstance(value, (bytes, str)):
        return value or b""
    try:
        return _json.dumps(value)
    except (TypeError, ValueError):
        return str(value)
