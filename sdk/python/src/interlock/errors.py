"""Failures and refusals.

A denied tool call and a rejected transition are answers. A [Fault][interlock.errors.Fault] is a failure of a request, with a
reason that programs can act on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .types import GuardResult, LegalEvent, Result, Run

__all__ = [
    "UNDECIDED", "AwaitingApproval", "ConfigurationError", "Denied", "Fault", "InterlockError", "Rejected", "ReportError",
    "Unavailable", "Violation", "mended", "reason",
]  # fmt: skip

UNDECIDED = "POLICY_UNAVAILABLE"
"""The code of a denial when there is no decision (S7.2)."""


class InterlockError(Exception):
    """The base of all errors of this package."""

    @property
    def retriable(self) -> bool:
        """Whether the same request may succeed when it is made again, without anything else having changed."""
        return False


@dataclass(frozen=True)
class Violation:
    """One thing that is wrong with a request."""

    pointer: str
    """A JSON Pointer (RFC 6901) into the document, or the path of a field of the request."""
    code: str
    """UPPER_SNAKE and stable."""
    message: str


class Fault(InterlockError):
    """A request that failed or was refused.

    After `UNAVAILABLE`, `COMMIT_UNCERTAIN`, `DEADLINE_EXCEEDED` and `CANCELLED` a change may or may not have been made.
    """

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        violations: tuple[Violation, ...] = (),
        metadata: dict[str, str] | None = None,
        retry_after: float = 0.0,
    ) -> None:
        super().__init__(reason, message)
        self.reason = reason
        """UPPER_SNAKE and stable, such as `VERSION_CONFLICT`."""
        self.message = message
        """One sentence that says how to fix it."""
        self.violations = violations
        self.metadata = metadata or {}
        self.retry_after = retry_after
        """Seconds until the same request may succeed; 0 for not known."""

    @property
    def retriable(self) -> bool:
        return self.reason in TRANSIENT or self.reason == "VERSION_CONFLICT" or self.retry_after > 0

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


class Denied(InterlockError):
    """A tool may not be called. It has not run."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        allowed_tools: tuple[str, ...] = (),
        tools_restricted: bool = False,
        legal_events: tuple[LegalEvent, ...] = (),
        call_id: str = "",
    ) -> None:
        super().__init__(code, message)
        self.code = code
        """UPPER_SNAKE, such as `TOOL_NOT_ALLOWED`."""
        self.message = message
        """One sentence for the agent: the refused act, the reason, and the allowed acts."""
        self.allowed_tools = allowed_tools
        """Those of the state, where it restricts them."""
        self.tools_restricted = tools_restricted
        self.legal_events = legal_events
        self.call_id = call_id

    def __str__(self) -> str:
        return f"denied ({self.code}): {self.message}"


class Unavailable(Denied):
    """There is no decision on a tool call, so it has not run. `__cause__` is why."""

    def __init__(self, message: str, *, call_id: str = "") -> None:
        super().__init__(UNDECIDED, message, call_id=call_id)

    @property
    def retriable(self) -> bool:
        return isinstance(self.__cause__, Fault) and self.__cause__.retriable


class ConfigurationError(Denied, ValueError):
    """The client is not set up to ask for a decision, so no call has run: trying again does not help. The message says how to
    mend it. `code` is the reason of the fault, such as `UNAUTHENTICATED`; `__cause__` is the fault."""


class AwaitingApproval(InterlockError):
    """A human must approve first. The tool has not run, the transition has not been made."""

    def __init__(self, code: str, message: str, *, approval_id: str, call_id: str = "", run: Run | None = None) -> None:
        super().__init__(code, message)
        self.code = code
        """`APPROVAL_REQUIRED` or `APPROVAL_PENDING`."""
        self.message = message
        self.approval_id = approval_id
        self.call_id = call_id
        """The tool call's; empty for a transition."""
        self.run = run
        """The run as it waits, for a transition."""

    def __str__(self) -> str:
        return f"approval required ({self.approval_id}): {self.message}"


class Rejected(InterlockError):
    """A transition was refused; the run is unchanged (S2.7)."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        guards: tuple[GuardResult, ...] = (),
        legal_events: tuple[LegalEvent, ...] = (),
        state: str = "",
        status: str = "",
    ) -> None:
        super().__init__(code, message)
        self.code = code
        """UPPER_SNAKE, such as `GUARD_FAILED`."""
        self.message = message
        """One sentence for the agent."""
        self.guards = guards
        """Those that failed."""
        self.legal_events = legal_events
        self.state = state
        self.status = status

    def __str__(self) -> str:
        return f"rejected ({self.code}): {self.message}"


class ReportError(InterlockError):
    """The outcome of a tool call could not be reported. The tool has run: do not run it again."""

    def __init__(self, call_id: str, fault: Fault, *, result: Result | None = None) -> None:
        super().__init__(call_id, fault)
        self.call_id = call_id
        self.fault = fault
        """Why the report was not accepted."""
        self.result = result
        """The tool's return value; None when `report` was called without `guard`."""

    @property
    def retriable(self) -> bool:
        """Whether the report may be accepted when it is made again. The tool must not run again."""
        return self.fault.retriable

    def __str__(self) -> str:
        return f"the result of call {self.call_id} could not be reported: {self.fault}"


def reason(err: BaseException | None) -> str:
    """The reason of the fault that an error is or was caused by, such as `VERSION_CONFLICT`; empty for none."""
    for one in _causes(err):
        if isinstance(one, Fault):
            return one.reason
    return ""


def _causes(err: BaseException | None) -> Iterator[BaseException]:
    while err is not None:
        yield err
        err = err.fault if isinstance(err, ReportError) else err.__cause__


@dataclass
class _Details:
    """The contents of the details of a status."""

    reason: str = ""
    metadata: dict[str, str] = field(default_factory=dict)
    violations: list[Violation] = field(default_factory=list)
    retry_after: float = 0.0


def mended(fault: Fault, *, token: bool, driven: bool) -> str:
    """How to mend the settings of a client that has such a fault when it asks for a decision; empty when they are not its cause."""
    if fault.reason == "UNAUTHENTICATED":
        return "give the client a token of this server, by token= or INTERLOCK_TOKEN" + ("" if token else "; it has none")
    if fault.reason == "PERMISSION_DENIED":
        return (
            "give the client a token that may do this, by token= or INTERLOCK_TOKEN, or the session or run that its token is for"
        )
    session_or_run = "by session= or INTERLOCK_SESSION, run= or INTERLOCK_RUN"
    if not driven and fault.reason in {"INVALID_REQUEST", "SESSION_REQUIRED"}:
        return "name a session or a run, " + session_or_run
    if driven and fault.reason == "NOT_FOUND":
        return "load a workflow or start a run for the session, or name another one, " + session_or_run
    return ""


TRANSIENT = frozenset({"UNAVAILABLE", "COMMIT_UNCERTAIN", "DEADLINE_EXCEEDED", "CANCELLED"})
"""Reasons of failures that may not repeat, whether or not the request was carried out."""

_BY_CODE = {
    "INVALID_ARGUMENT": "INVALID_REQUEST", "OUT_OF_RANGE": "INVALID_REQUEST", "NOT_FOUND": "NOT_FOUND",
    "ALREADY_EXISTS": "NAME_TAKEN", "ABORTED": "VERSION_CONFLICT", "FAILED_PRECONDITION": "FAILED_PRECONDITION",
    "RESOURCE_EXHAUSTED": "LIMIT_REACHED", "UNAUTHENTICATED": "UNAUTHENTICATED", "PERMISSION_DENIED": "PERMISSION_DENIED",
    "UNAVAILABLE": "UNAVAILABLE", "DEADLINE_EXCEEDED": "DEADLINE_EXCEEDED", "CANCELLED": "CANCELLED",
    "UNIMPLEMENTED": "UNIMPLEMENTED",
}  # fmt: skip


def fault_of(err: BaseException) -> Fault:
    """The fault that an error of gRPC stands for; any other error is `INTERNAL`."""
    if isinstance(err, Fault):
        return err
    code = getattr(getattr(err, "code", lambda: None)(), "name", "")
    if not code:
        fault = Fault("INTERNAL", f"the call failed in this program: {type(err).__name__}: {err}")
        fault.__cause__ = err
        return fault
    details = _details(err)
    message = str(getattr(err, "details", lambda: "")() or "")
    named = details.reason or _BY_CODE.get(code, "INTERNAL")
    if not details.reason:
        if named == "UNAVAILABLE":
            # A transport's own words name addresses of the inside.
            message = "the server cannot be reached: is it running, and is this the address of its gRPC services?"
            details.retry_after = details.retry_after or 1.0
        elif named == "LIMIT_REACHED" and "message larger than max" in message:
            named, message = "TOO_LARGE", "the message is larger than is accepted; send less"
        elif named == "INTERNAL":
            message = "internal error; the server's log has the cause"
    fault = Fault(
        named, message, violations=tuple(details.violations), metadata=details.metadata, retry_after=details.retry_after
    )
    fault.__cause__ = err
    return fault


def _details(err: Any) -> _Details:
    from google.protobuf.message import DecodeError
    from google.rpc import error_details_pb2, status_pb2

    found = _Details()
    for key, value in err.trailing_metadata() or ():
        if key != "grpc-status-details-bin":
            continue
        try:
            details = status_pb2.Status.FromString(value).details
            for one in details:
                info, bad, retry = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest(), error_details_pb2.RetryInfo()
                if one.Unpack(info) and info.domain == "interlock":
                    found.reason, found.metadata = info.reason, dict(info.metadata)
                elif one.Unpack(bad):
                    found.violations += [Violation(v.field, v.reason, v.description) for v in bad.field_violations]
                elif one.Unpack(retry):
                    found.retry_after = max(retry.retry_delay.ToTimedelta().total_seconds(), 0.0)
        except DecodeError:
            continue  # something else's details
    return found
