"""A stand-in for Interlock in tests of your own program.

```python
pytest_plugins = ["interlock.testing"]  # in conftest.py


async def test_it(interlock_fake):
    interlock_fake.allow("Edit")
    async with interlock_fake.client() as client:
        await client.guard("Edit", {"file_path": "main.go"}, lambda: "edited")
    assert [call.tool for call in interlock_fake.calls] == ["Edit"]
    assert interlock_fake.reports[0].ok
```

The client above it is the real one: it refuses, repeats and reports as in production. The fake judges by the rules of the test
alone, and denies every other call. It has one run for every session, which accepts every event.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent import futures
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, get_args

import grpc
from google.protobuf import duration_pb2
from google.rpc import error_details_pb2, status_pb2

from . import _json
from ._async.client import Interlock
from ._gate import digest_of
from ._sync.client import Interlock as SyncInterlock
from .gen.approval.v1 import approval_pb2, approval_service_pb2, approval_service_pb2_grpc
from .gen.engine.v1 import run_pb2, run_service_pb2, run_service_pb2_grpc
from .gen.policy.v1 import decision_pb2, policy_enforcer_service_pb2, policy_enforcer_service_pb2_grpc
from .types import DecisionCode, DecisionValue

__all__ = ["Call", "Fake", "Reported"]

TOKEN = "the-token-of-the-fake"

_VARIABLES = (
    "INTERLOCK_SERVER", "INTERLOCK_TOKEN", "INTERLOCK_NAMESPACE", "INTERLOCK_CA", "INTERLOCK_INSECURE", "INTERLOCK_SESSION",
    "INTERLOCK_RUN", "WORKFLOW_STATE_ID",
)  # fmt: skip


@dataclass(frozen=True)
class Call:
    """A call that was judged. One that the client has sent again is one call."""

    tool: str
    args: Any
    decision: DecisionValue
    call_id: str
    session: str
    qualified_tool: str
    folder: str
    dry_run: bool
    jail_level: int = 0
    """The level of the jail that the client has for it."""


@dataclass(frozen=True)
class Reported:
    """The report of a call."""

    tool: str
    ok: bool
    call_id: str
    accounted: bool
    """Whether such a call was allowed."""
    output: bytes
    files_changed: tuple[str, ...]
    cost_usd: str
    outcome_unknown: bool
    not_executed: bool
    """Whether the client has said that it does not make the call."""
    background: str
    background_ended: str


@dataclass
class _Rule:
    tool: str
    decision: DecisionValue
    code: DecisionCode = ""
    message: str = ""

    def matches(self, tool: str) -> bool:
        return tool == self.tool or (self.tool.endswith("*") and tool.startswith(self.tool[:-1]))


@dataclass
class _Question:
    id: str
    key: tuple[str, str, str]
    status: int = approval_pb2.APPROVAL_STATUS_PENDING
    note: str = ""
    decided: threading.Event = field(default_factory=threading.Event)


class Fake:
    """A server on loopback that judges as a test says. It is a context manager; `interlock_fake` is one as a fixture of pytest."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        """The judged calls, in their order."""
        self.reports: list[Reported] = []
        """The reported calls, in their order; repeats are left out."""
        self.events: list[str] = []
        """Events of transitions, in their order."""
        self._rules: list[_Rule] = []
        self._answers: dict[str, policy_enforcer_service_pb2.CheckToolCallResponse] = {}
        self._questions: dict[str, _Question] = {}
        self._down = False
        self._jails = True
        self._over = threading.Event()
        self._lock = threading.RLock()
        self._server = grpc.server(futures.ThreadPoolExecutor(32, "interlock-fake"), interceptors=[_Down(self)])
        policy_enforcer_service_pb2_grpc.add_PolicyEnforcerServiceServicer_to_server(_Enforcer(self), self._server)  # type: ignore[abstract]
        approval_service_pb2_grpc.add_ApprovalServiceServicer_to_server(_Approvals(self), self._server)  # type: ignore[abstract]
        run_service_pb2_grpc.add_RunServiceServicer_to_server(_Runs(self), self._server)  # type: ignore[abstract]
        self.address = f"127.0.0.1:{self._server.add_insecure_port('127.0.0.1:0')}"
        """For `interlock.Interlock(fake.address)`."""
        self._server.start()

    # The rules of the test. Of several rules that match, the newest decides.

    def allow(self, tool: str) -> None:
        """Allows a tool; a name may end with * for all that begin so."""
        self._rule(_Rule(tool, "ALLOW"))

    def deny(self, tool: str, *, code: DecisionCode = "TOOL_NOT_ALLOWED", message: str = "") -> None:
        """Denies a tool."""
        if code not in get_args(DecisionCode) or not code:
            raise ValueError(f"{code!r} is no code of a decision; give one of interlock.DecisionCode, such as POLICY_DENIED")
        self._rule(_Rule(tool, "DENY", code, message or f"the fake denies {tool}"))

    def ask(self, tool: str) -> None:
        """Has humans asked about every call of a tool: `approve` and `reject` decide. An approval admits one call of the same
        arguments."""
        self._rule(_Rule(tool, "ASK"))

    def approve(self, approval_id: str = "", *, note: str = "") -> None:
        """Grants an approval; without an id the only one that waits."""
        self._decide(approval_id, approval_pb2.APPROVAL_STATUS_GRANTED, note)

    def reject(self, approval_id: str = "", *, note: str = "") -> None:
        """Rejects an approval; without an id the only one that waits."""
        self._decide(approval_id, approval_pb2.APPROVAL_STATUS_REJECTED, note)

    def no_jail(self) -> None:
        """Gives no jails from now on, as a server with --jail off."""
        self._jails = False

    def down(self) -> None:
        """Fails every request from now on, as a server that is away."""
        self._down = True

    def up(self) -> None:
        """Answers again."""
        self._down = False

    @property
    def approvals(self) -> list[str]:
        """Ids of the approvals that wait."""
        with self._lock:
            return [q.id for q in self._questions.values() if q.status == approval_pb2.APPROVAL_STATUS_PENDING]

    @property
    def open_calls(self) -> list[Call]:
        """Allowed calls that were not reported."""
        told = {report.call_id for report in self.reports}
        return [c for c in self.calls if c.decision == "ALLOW" and not c.dry_run and c.call_id not in told]

    # Clients

    def client(self, session: str = "fake", **settings: Any) -> Interlock:
        """A client of the fake; on a machine without a jail, unless `jail_level` gives it one."""
        return Interlock(self.address, **{"token": TOKEN, "session": session, "timeout": 5.0, "jail_level": 0, **settings})

    def sync_client(self, session: str = "fake", **settings: Any) -> SyncInterlock:
        """`client` for programs without an event loop."""
        return SyncInterlock(self.address, **{"token": TOKEN, "session": session, "timeout": 5.0, "jail_level": 0, **settings})

    @contextlib.contextmanager
    def environment(self) -> Iterator[None]:
        """Sets the environment for the time, so that `Interlock.from_env()` calls the fake."""
        before = {name: os.environ.pop(name, None) for name in _VARIABLES}
        os.environ.update({"INTERLOCK_SERVER": self.address, "INTERLOCK_TOKEN": TOKEN, "INTERLOCK_SESSION": "fake"})
        try:
            yield
        finally:
            for name, value in before.items():
                os.environ.pop(name, None)
                if value is not None:
                    os.environ[name] = value

    def close(self) -> None:
        """Ends the fake."""
        self._over.set()
        for question in list(self._questions.values()):
            question.decided.set()
        self._server.stop(None).wait()

    def __enter__(self) -> Fake:
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # The fake's service

    def _rule(self, rule: _Rule) -> None:
        with self._lock:
            self._rules.insert(0, rule)

    def _decide(self, approval_id: str, status: int, note: str) -> None:
        with self._lock:
            waiting = self.approvals
            if not approval_id and len(waiting) != 1:
                raise ValueError(f"{len(waiting)} approvals wait, not one: name one of {waiting}")
            found = self._questions.get(approval_id or waiting[0])
            if found is None or found.id not in waiting:
                raise ValueError(f"approval {approval_id!r} does not wait; those that do are {waiting}")
            found.status, found.note = status, note
            found.decided.set()

    def _judge(self, q: policy_enforcer_service_pb2.CheckToolCallRequest) -> policy_enforcer_service_pb2.CheckToolCallResponse:
        with self._lock:
            if q.call_id in self._answers and not q.dry_run:
                return self._answers[q.call_id]
            answer = self._answer(q)
            decided: Any = decision_pb2.Decision.Name(answer.decision).removeprefix("DECISION_")
            args = None
            with contextlib.suppress(ValueError):
                args = _json.loads(q.input or b"{}")
            self.calls.append(
                Call(
                    q.tool,
                    args,
                    decided,
                    q.call_id,
                    q.session_id or q.run_id,
                    q.qualified_tool,
                    q.folder,
                    q.dry_run,
                    q.jail_level,
                )
            )
            if not q.dry_run:
                self._answers[q.call_id] = answer
            return answer

    def _answer(self, q: policy_enforcer_service_pb2.CheckToolCallRequest) -> policy_enforcer_service_pb2.CheckToolCallResponse:
        rule = next((rule for rule in self._rules if rule.matches(q.tool)), None)
        if rule is None:
            message = f'no rule in the fake is for {q.tool!r}: say fake.allow("{q.tool}"), fake.deny or fake.ask'
            rule = _Rule(q.tool, "DENY", "TOOL_NOT_ALLOWED", message)
        answer = policy_enforcer_service_pb2.CheckToolCallResponse(
            call_id="" if q.dry_run else q.call_id, run_id=_RUN, state="fake", message=rule.message
        )
        decided, answer.approval_id = self._asked(q) if rule.decision == "ASK" else (rule, "")
        answer.decision = decision_pb2.Decision.Value("DECISION_" + decided.decision)
        if decided.code:
            answer.code = decision_pb2.DecisionCode.Value("DECISION_CODE_" + decided.code)
        answer.message = decided.message
        if decided.decision == "ALLOW" and q.jail_level and self._jails:
            answer.jail.level, answer.jail.digest = q.jail_level, "sha256:of-the-fake"
        return answer

    def _asked(self, q: policy_enforcer_service_pb2.CheckToolCallRequest) -> tuple[_Rule, str]:
        """The decision where humans are asked, and the approval."""
        key = (q.session_id or q.run_id, q.tool, digest_of(q.input))
        known = next((one for one in self._questions.values() if one.key == key and one.status in _OPEN), None)
        if q.dry_run:
            return _Rule(q.tool, "ASK", "APPROVAL_REQUIRED", "a human must approve this call first"), known.id if known else ""
        if known is None:
            known = _Question(f"apr_fake_{len(self._questions) + 1}", key)
            self._questions[known.id] = known
            return _Rule(q.tool, "ASK", "APPROVAL_REQUIRED", "a human must approve this call first"), known.id
        if known.status == approval_pb2.APPROVAL_STATUS_PENDING:
            return _Rule(q.tool, "ASK", "APPROVAL_PENDING", "a human has not decided yet"), known.id
        if known.status == approval_pb2.APPROVAL_STATUS_GRANTED:
            known.status = approval_pb2.APPROVAL_STATUS_USED
            return _Rule(q.tool, "ALLOW"), known.id
        note = f": {known.note}" if known.note else ""
        return _Rule(q.tool, "DENY", "POLICY_DENIED", f"a human has rejected this call{note}"), known.id

    def _report(self, r: policy_enforcer_service_pb2.ReportToolCallRequest) -> policy_enforcer_service_pb2.ReportToolCallResponse:
        with self._lock:
            answer = self._answers.get(r.call_id)
            accounted = answer is not None and answer.decision == decision_pb2.DECISION_ALLOW
            if r.not_executed and answer is None:  # a check that is still on its way is denied
                self._answers[r.call_id] = policy_enforcer_service_pb2.CheckToolCallResponse(
                    decision=decision_pb2.DECISION_DENY, call_id=r.call_id, run_id=_RUN, message="the call was given up"
                )
            if r.call_id not in {report.call_id for report in self.reports}:
                self.reports.append(
                    Reported(
                        r.tool, r.ok, r.call_id, accounted, r.output, tuple(r.files_changed), r.cost_usd, r.outcome_unknown,
                        r.not_executed, r.background, r.background_ended,
                    )
                )  # fmt: skip
            return policy_enforcer_service_pb2.ReportToolCallResponse(run=_run(r.session_id), accounted=accounted)


_RUN = "run_fake"
_OPEN = {
    approval_pb2.APPROVAL_STATUS_PENDING, approval_pb2.APPROVAL_STATUS_GRANTED, approval_pb2.APPROVAL_STATUS_REJECTED
}  # fmt: skip


def _run(session: str) -> run_pb2.Run:
    return run_pb2.Run(
        run_id=_RUN, workflow="fake", workflow_version=1, session_id=session, state="fake", status=run_pb2.RUN_STATUS_RUNNING,
        context=b"{}",
    )  # fmt: skip


class _Down(grpc.ServerInterceptor):
    """Fails requests while the fake is down. It says that trying again soon is of no use, so that tests do not wait."""

    def __init__(self, fake: Fake) -> None:
        self._fake = fake

    def intercept_service(self, continuation: Any, handler_call_details: grpc.HandlerCallDetails) -> Any:
        if not self._fake._down:
            return continuation(handler_call_details)
        status = status_pb2.Status(code=14, message="the fake is down")
        status.details.add().Pack(error_details_pb2.ErrorInfo(reason="UNAVAILABLE", domain="interlock"))
        status.details.add().Pack(error_details_pb2.RetryInfo(retry_delay=duration_pb2.Duration(seconds=3600)))

        def refuse(_: Any, context: grpc.ServicerContext) -> Any:
            context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
            context.abort(grpc.StatusCode.UNAVAILABLE, status.message)

        if handler_call_details.method.rpartition("/")[2].startswith("Watch"):
            return grpc.unary_stream_rpc_method_handler(refuse)
        return grpc.unary_unary_rpc_method_handler(refuse)


class _Enforcer(policy_enforcer_service_pb2_grpc.PolicyEnforcerServiceServicer):
    def __init__(self, fake: Fake) -> None:
        self._fake = fake

    def CheckToolCall(self, request: Any, context: Any) -> Any:
        return self._fake._judge(request)

    def ReportToolCall(self, request: Any, context: Any) -> Any:
        return self._fake._report(request)

    def ReportCost(self, request: Any, context: Any) -> Any:
        return policy_enforcer_service_pb2.ReportCostResponse(counted=len(request.costs), total_usd="0")


class _Approvals(approval_service_pb2_grpc.ApprovalServiceServicer):
    def __init__(self, fake: Fake) -> None:
        self._fake = fake

    def _approval(self, id: str, context: Any) -> approval_pb2.Approval:
        found = self._fake._questions.get(id)
        if found is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"the fake has no approval {id}")
            raise AssertionError
        word = approval_pb2.ApprovalStatus.Name(found.status).removeprefix("APPROVAL_STATUS_").lower()  # type: ignore[arg-type]
        votes = [approval_pb2.Vote(by="fake", note=found.note)] if found.note else []
        return approval_pb2.Approval(
            approval_id=found.id, status=found.status, kind=approval_pb2.APPROVAL_KIND_TOOL_CALL, votes=votes,  # type: ignore[arg-type]
            outcome=f"the approval is {word}", run_id=_RUN,
        )  # fmt: skip

    def GetApproval(self, request: Any, context: Any) -> Any:
        return approval_service_pb2.GetApprovalResponse(approval=self._approval(request.approval_id, context))

    def WatchApproval(self, request: Any, context: Any) -> Any:
        yield approval_service_pb2.WatchApprovalResponse(approval=self._approval(request.approval_id, context))
        question = self._fake._questions[request.approval_id]
        context.add_callback(question.decided.set)  # who waited has gone
        question.decided.wait()
        yield approval_service_pb2.WatchApprovalResponse(approval=self._approval(request.approval_id, context))


class _Runs(run_service_pb2_grpc.RunServiceServicer):
    def __init__(self, fake: Fake) -> None:
        self._fake = fake

    def StartRun(self, request: Any, context: Any) -> Any:
        return run_service_pb2.StartRunResponse(run=_run(request.session_id))

    def GetRun(self, request: Any, context: Any) -> Any:
        return run_service_pb2.GetRunResponse(run=_run(request.session_id))

    def TransitionRun(self, request: Any, context: Any) -> Any:
        self._fake.events.append(request.event)
        return run_service_pb2.TransitionRunResponse(accepted=True, run=_run(request.session_id))


with contextlib.suppress(ImportError):
    import pytest

    @pytest.fixture
    def interlock_fake() -> Iterator[Fake]:
        """A fake for one test, which `Interlock.from_env()` calls too."""
        with Fake() as fake, fake.environment():
            yield fake
