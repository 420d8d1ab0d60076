# Made from _async/calls.py by tools/python/unasync. DO NOT EDIT.
"""Tool calls: decisions, reports, and records of them."""

from __future__ import annotations

import dataclasses
import functools
import logging
import os
from collections.abc import Iterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from .. import _command, _convert, _glass, _ids, _json, _retry
from .._outcome import result_of
from ..errors import TRANSIENT, ConfigurationError, Denied, Fault, ReportError, Unavailable, fault_of, mended
from ..gen.policy.v1 import (
    decision_service_pb2,
    decision_service_pb2_grpc,
    policy_enforcer_service_pb2,
    policy_enforcer_service_pb2_grpc,
)
from ..types import Command, Cost, Decision, DecisionRecord, OpenCall, Report, Result, Settlement
from . import io
from .base import Service, no_session
from .runs import Runs
from .stream import Stream, is_stream

log = logging.getLogger("interlock")

_POLICY = Service("/interlock.policy.v1.PolicyEnforcerService/", policy_enforcer_service_pb2_grpc.PolicyEnforcerServiceStub)
_DECISIONS = Service("/interlock.policy.v1.DecisionService/", decision_service_pb2_grpc.DecisionServiceStub)


class Calls(Runs):
    """Tool calls."""

    def guard(
        self,
        tool: str,
        args: Mapping[str, Any] | bytes | None,
        run: Callable[[], Any],
        *,
        folder: str | os.PathLike[str] = "",
        qualified_tool: str = "",
        estimated_cost: str = "",
        call_id: str = "",
        timeout: float | None = None,
    ) -> Result:
        """Puts a tool call before the gate, runs it when it is allowed, and reports the outcome.

        `run` returns a `Result`, or anything else, which is then the `value` of one. A process of `subprocess` whose status is not 0
        has failed, and one that still runs continues in the background. When it has not run, the error is a `Denied`
        or an `AwaitingApproval`. Otherwise it is its own. A report that failed is a `ReportError`, which has the result: the tool
        has run, so do not run it again.

        A call is reported as failed when `run` raises, and the exception continues; when the report of that fails too, it is
        logged, and a note of the exception. A call is reported also when its caller is cancelled or its time is over; then its
        outcome is unknown. A caller that is cancelled before it has the decision has not run the call: it is reported as not
        executed, in the background. With a call id of the caller's, that id is used up then.

        A generator, or another iterator, is the `value` as a `Stream`: the call is decided before its first item, and reported when
        it has ended. One that is closed early is reported as failed, with an unknown outcome. Its `notice` is there at the end.
        """
        question = self._question(tool, args, folder, qualified_tool, estimated_cost, call_id)
        decision = self._settled(question, call_id, timeout)
        decision.require()
        try:
            value = io.finish(run())
            inner = io.finish(value.value) if isinstance(value, Result) else value
        except BaseException as err:
            self._failed(decision, err)
            raise
        if is_stream(inner):
            stream = Stream(inner, decision, self._streamed, self.abandon, lambda: self._withdraw_at_the_end(decision))
            return dataclasses.replace(value, value=stream) if isinstance(value, Result) else Result(value=stream)
        result, ok = result_of(dataclasses.replace(value, value=inner) if isinstance(value, Result) else value)
        try:
            report = self.report(decision, result, ok=ok)
        except ReportError as lost:
            lost.result = result
            raise
        return dataclasses.replace(result, notice=report.notice, report=report)

    def guard_items(
        self,
        tool: str,
        args: Mapping[str, Any] | bytes | None,
        run: Callable[[], Any],
        *,
        folder: str | os.PathLike[str] = "",
        qualified_tool: str = "",
        estimated_cost: str = "",
        call_id: str = "",
        timeout: float | None = None,
    ) -> Iterator[Any]:
        """Yields the items of a generator that `guard` guards. The call is decided when the first is asked for."""
        result = self.guard(
            tool, args, run, folder=folder, qualified_tool=qualified_tool, estimated_cost=estimated_cost, call_id=call_id,
            timeout=timeout,
        )  # fmt: skip
        with result.value as stream:
            for item in stream:
                yield item

    def _streamed(self, decision: Decision, result: Result, err: BaseException | None) -> Report | None:
        """Reports a stream that has ended, with an exception or without."""
        if err is not None:
            self._failed(decision, err, result)
            return None
        return self.report(decision, result)

    def _failed(self, decision: Decision, err: BaseException, result: Result | None = None) -> None:
        """Reports a call that has raised an exception."""
        failed = dataclasses.replace(result or Result(), outcome_unknown=io.interrupted(err))
        try:
            self.report(decision, failed, ok=False)
        except ReportError as lost:
            log.warning("the failure of a tool call was not reported: %s: %s", decision.tool, lost)
            note: Callable[[str], None] | None = getattr(err, "add_note", None)  # from Python 3.11 on
            if note:
                note(str(lost))

    def guard_command(
        self,
        command: str | Sequence[str],
        *,
        tool: str = "Bash",
        required: bool = False,
        folder: str | os.PathLike[str] = "",
        qualified_tool: str = "",
        estimated_cost: str = "",
        call_id: str = "",
        timeout: float | None = None,
    ) -> Command:
        """Puts a command line of bash, or the words of one, before the gate as a call of the shell, and returns the command to execute:
        in a jail of this machine, where it has one and the server gives one.

        It raises as `guard` does, and with `required` a `Denied` of the code JAIL_REQUIRED where there is no jail. Report the outcome
        with `report`; a command that is not executed is abandoned with `abandon`.
        """
        line, settings = _command.line_of(command), self._settings
        level = settings.jail_level
        if level is None:
            level = io.aside(lambda: _command.probed(settings.jail_program))
        if required and not level:
            raise Denied(
                "JAIL_REQUIRED",
                "the command was not run: this machine has no jail; `interlock jail probe` names the missing part",
            )
        question = self._question(tool, {"command": line}, folder, qualified_tool, estimated_cost, call_id)
        question.jail_level = level
        decision = self._settled(question, call_id, timeout, jailed=required)
        decision.require()
        if required and decision.jail is None:
            self.abandon(decision)
            message = "the command was not run: the server gives no jail; its --jail may be off"
            raise Denied("JAIL_REQUIRED", message, call_id=decision.call_id)
        return _command.command_of(line, decision, settings.jail_program)

    def check(
        self,
        tool: str,
        args: Mapping[str, Any] | bytes | None = None,
        *,
        folder: str | os.PathLike[str] = "",
        qualified_tool: str = "",
        estimated_cost: str = "",
        explain: bool = False,
        dry_run: bool = False,
        call_id: str = "",
        timeout: float | None = None,
    ) -> Decision:
        """Gets the decision on a call. A call that is allowed must be reported with `report`; `guard` does both.

        Without a decision it raises `Unavailable`, with arguments that are no JSON `Denied`, and where trying again cannot help
        `ConfigurationError`. When the answer is lost, or the caller is cancelled, the call may have been allowed: it is reported as
        not executed, in the background. With a call id of the caller's that is left to the caller.

        Args:
            tool: Name of the tool.
            args: Its arguments.
            folder: The folder that the call is made in, as an absolute path: a command outside of the run's workspace is no evidence.
            qualified_tool: The full name of the tool, `mcp__SERVER__TOOL`, where `tool` is a part of it.
            estimated_cost: Decimal US dollars, such as "0.02".
            explain: Adds the reasons of the decision, and the changes that would alter it.
            dry_run: Decides without effects: the call must not be made because of this decision.
            call_id: The caller's id of the call makes the check repeatable while the run has not changed.
            timeout: Seconds that the question is put for.
        """
        question = self._question(tool, args, folder, qualified_tool, estimated_cost, call_id)
        question.explain, question.dry_run = explain, dry_run
        if call_id or dry_run:
            return self._ask(question, call_id, self._until(timeout))
        return self._settled(question, "", timeout)

    def _question(
        self,
        tool: str,
        args: Mapping[str, Any] | bytes | None,
        folder: str | os.PathLike[str],
        qualified_tool: str,
        estimated_cost: str,
        call_id: str,
    ) -> policy_enforcer_service_pb2.CheckToolCallRequest:
        try:
            body = _json.encode("input", args if args is None or isinstance(args, bytes) else dict(args))
        except ValueError as err:
            raise Denied("INVALID_INPUT", str(err), call_id=call_id) from err
        run, session = self._driven()
        return policy_enforcer_service_pb2.CheckToolCallRequest(
            run_id=run, session_id=session, tool=tool, qualified_tool=qualified_tool, input=body,
            folder=os.fspath(folder),
            estimated_cost_usd=estimated_cost, call_id=call_id,
        )  # fmt: skip

    def _settled(
        self,
        question: policy_enforcer_service_pb2.CheckToolCallRequest,
        call_id: str,
        timeout: float | None,
        *,
        jailed: bool = False,
    ) -> Decision:
        """Puts a question. A call that may have been allowed without that its caller knows is withdrawn. One that must be jailed
        passes by no break-glass grant."""
        try:
            return self._ask(question, call_id, self._until(timeout), jailed=jailed)
        except BaseException as err:
            if _may_be_allowed(err):
                io.background(lambda: self._withdraw(question), lambda: self._withdraw_at_the_end(question))
            raise

    def _ask(
        self, question: policy_enforcer_service_pb2.CheckToolCallRequest, call_id: str, until: float, *, jailed: bool = False
    ) -> Decision:
        asked = 1
        while True:
            question.call_id = call_id or _ids.call_id()
            try:
                answer = self._call_until(_POLICY, "CheckToolCall", question, until)
                decision = _convert.decision(question, answer)
                self._keep_refusal(question, decision)
                return decision
            except Unavailable:
                raise
            except Exception as err:
                fault = fault_of(err)
            passed = None if jailed else self._through_glass(question, fault)
            if passed is not None:
                return passed
            # The run has moved on since a decision whose answer was lost, or faster than it could be followed. The tool has not
            # run, so it is a new question.
            again = fault.reason in {"IDEMPOTENCY_MISMATCH", "VERSION_CONFLICT"} and not call_id
            if fault.reason == "IDEMPOTENCY_MISMATCH" and again:  # the decision whose answer was lost may be an ALLOW
                lost = policy_enforcer_service_pb2.CheckToolCallRequest()
                lost.CopyFrom(question)
                io.background(functools.partial(self._withdraw, lost), functools.partial(self._withdraw_at_the_end, lost))
            wait = _retry.delay(asked, 0)
            if not again or asked == _retry.MOST_ASKED or io.now() + wait > until:
                raise self._undecided(question.call_id, fault) from fault
            io.sleep(wait)
            asked += 1

    def _through_glass(self, question: policy_enforcer_service_pb2.CheckToolCallRequest, fault: Fault) -> Decision | None:
        """Allows a call by the break-glass grant where no connection could be made. It is written down before."""
        granted = self._settings.break_glass
        if granted is None or question.dry_run or not _glass.unreachable(fault):
            return None

        def use() -> str:
            glass = _glass.Glass(granted, self._settings.namespace)
            glass.use(_glass_call(question))
            return glass.id

        try:
            grant = io.aside(use)
        except Exception as err:
            message = f"the call was not made: {fault.message}; {err}"
            raise Unavailable(message, call_id=question.call_id) from fault
        return Decision(
            "ALLOW", question.tool, question.call_id, question.run_id, _glass.UNGOVERNED,
            f"the server cannot be reached: break-glass grant {grant} lets the call pass, and it is written down",
            session_id=question.session_id,
        )  # fmt: skip

    def _keep_refusal(self, question: policy_enforcer_service_pb2.CheckToolCallRequest, decision: Decision) -> None:
        """Writes down that the server has refused a call, so that no grant lets it pass later."""
        granted = self._settings.break_glass
        if granted is None or question.dry_run or decision.decision == "ALLOW":
            return
        try:
            io.aside(lambda: _glass.Glass(granted, self._settings.namespace).deny(_glass_call(question)))
        except Exception as err:
            log.warning("a refused call was not written into the spool of the break-glass grant: %s: %s", question.tool, err)

    def _undecided(self, call_id: str, fault: Fault) -> Denied:
        message = "the call was not made: " + fault.message
        how = mended(fault, token=bool(self._settings.token), driven=any(self._driven()))
        if how:
            return ConfigurationError(fault.reason, f"{message}; {how}", call_id=call_id)
        return Unavailable(message, call_id=call_id)

    def abandon(self, decision: Decision) -> None:
        """Says that an allowed call was not made and will not be, so that no report of it is due any more. `report` is for calls
        that were made."""
        if decision.allowed and decision.code != _glass.UNGOVERNED:
            io.shielded(self._withdraw(decision))  # type: ignore[func-returns-value, unused-ignore]

    def _withdraw(self, call: Decision | policy_enforcer_service_pb2.CheckToolCallRequest) -> None:
        """Reports a call that is or may be allowed as not executed."""
        request = policy_enforcer_service_pb2.ReportToolCallRequest(
            run_id=call.run_id, session_id="" if call.run_id else call.session_id, call_id=call.call_id, tool=call.tool,
            not_executed=True,
        )  # fmt: skip
        if not request.run_id and not request.session_id:
            return
        try:
            self._call_until(_POLICY, "ReportToolCall", request, io.now() + _retry.WITHDRAW)
        except Fault as lost:
            log.warning("a call that was not made was not reported: %s: %s", call.tool, lost)

    def _withdraw_at_the_end(self, call: Decision | policy_enforcer_service_pb2.CheckToolCallRequest) -> None:
        """`_withdraw` where the event loop of the program ends."""
        if self._channel is None and getattr(call, "code", "") != _glass.UNGOVERNED:
            io.end_with(self._settings, call)

    def report(self, decision: Decision, result: Result | None = None, *, ok: bool = True) -> Report:
        """Reports the outcome of an allowed call, and returns the consequences. The agent must receive the notice.

        It is said also when the caller is cancelled. A `ReportError` means that it was not accepted.
        """
        return io.shielded(self._report(decision, result or Result(), ok))

    def _report(self, decision: Decision, result: Result, ok: bool) -> Report:
        if decision.code == _glass.UNGOVERNED:
            return Report(accounted=False, interrupt=None, warning="", evidence=(), run=None, notice="")
        try:
            output = result.output.encode() if isinstance(result.output, str) else result.output
            # It names the run that was decided on: the session may drive another one by now.
            request = policy_enforcer_service_pb2.ReportToolCallRequest(
                run_id=decision.run_id, session_id="" if decision.run_id else decision.session_id or self.session,
                call_id=decision.call_id, tool=decision.tool, ok=ok, files_changed=result.files_changed,
                result_bytes=result.bytes or len(output), cost_usd=result.cost_usd, output=output[: _retry.MOST_OUTPUT],
                outcome_unknown=result.outcome_unknown, background=result.background, background_ended=result.background_ended,
            )  # fmt: skip
            answer = self._call_until(_POLICY, "ReportToolCall", request, io.now() + _retry.REPORT)
            return _convert.report(answer)
        except Exception as err:
            raise ReportError(decision.call_id, fault_of(err)) from err

    def report_cost(self, source: str, *costs: Cost, timeout: float | None = None) -> str:
        """Counts a cost of the client's session outside of the reports of calls, such as the tokens of its agent's model, and
        returns the total by its largest source: decimal US dollars (S15.1). The source says who knows it, in lower
        case. A repeated cost with the same id counts once."""
        if not self.session:
            raise no_session("reporting costs")
        request = policy_enforcer_service_pb2.ReportCostRequest(
            session_id=self.session, source=source,
            costs=[policy_enforcer_service_pb2.Cost(id=cost.id, cost_usd=cost.usd, total=cost.total) for cost in costs],
        )  # fmt: skip
        total: str = (self._call(_POLICY, "ReportCost", request, timeout)).total_usd
        return total

    def list_open_calls(self, run_id: str = "", *, timeout: float | None = None) -> Sequence[OpenCall]:
        """Returns the allowed calls whose outcome was not reported, of a run and of those that it has invoked, oldest first,
        where its workflow keeps account of effects (S16); by default of the run that judges the client's calls."""
        request = policy_enforcer_service_pb2.ListOpenCallsRequest(run_id=run_id or self._run_id(timeout))
        return tuple(map(_convert.open_call, (self._call(_POLICY, "ListOpenCalls", request, timeout)).calls))

    def settle_call(
        self, call_id: str, outcome: Settlement, *, run_id: str = "", note: str = "", timeout: float | None = None
    ) -> OpenCall:
        """Records how an open call has ended, for operators and approvers: an agent's own word does not settle it (S16.4)."""
        request = policy_enforcer_service_pb2.SettleToolCallRequest(
            run_id=run_id or self._run_id(timeout), call_id=call_id, outcome=outcome, note=note
        )
        return _convert.open_call((self._call(_POLICY, "SettleToolCall", request, timeout)).call)

    def list_decisions(self, filter: str = "", *, timeout: float | None = None) -> Iterator[DecisionRecord]:
        """Yields the decisions of the log, newest first, for operators, approvers and observers. The filter has key=value terms
        joined by " AND ": run_id, session_id, tool, decision, not_decision, code, workflow, policy, principal, since, before,
        shadowed."""
        page = ""
        while True:
            request = decision_service_pb2.ListDecisionsRequest(page_size=1000, page_token=page, filter=filter)
            answer = self._call(_DECISIONS, "ListDecisions", request, timeout)
            for record in answer.decisions:
                yield _convert.decision_record(record)
            page = answer.next_page_token
            if not page:
                return

    def explain_decision(self, call_id: str, *, run_id: str = "", timeout: float | None = None) -> DecisionRecord:
        """Returns the decision on a call with its reasons, computed again from the record, for operators,
        approvers and observers. The run is by default the client's; a call without a run is found by the client's session."""
        run, session = (run_id, "") if run_id else self._driven()
        request = decision_service_pb2.GetDecisionRequest(run_id=run, session_id=session, call_id=call_id, explain=True)
        if session:
            found = self._run_or_none(timeout)
            if found is not None:
                request.run_id = found.id
        answer = self._call(_DECISIONS, "GetDecision", request, timeout)
        return dataclasses.replace(
            _convert.decision_record(answer.decision), explanation=_convert.explanation(answer.explanation)
        )


def _may_be_allowed(err: BaseException) -> bool:
    """Whether a call may have been allowed though its caller has no decision: it has gone away, or the answer was lost or could not
    be read."""
    if isinstance(err, Unavailable):
        return err.__cause__ is None or (isinstance(err.__cause__, Fault) and err.__cause__.reason in TRANSIENT | {"INTERNAL"})
    return not isinstance(err, Exception)


def _glass_call(question: policy_enforcer_service_pb2.CheckToolCallRequest) -> _glass.GlassCall:
    """A call as the spool has it."""
    return _glass.GlassCall(question.qualified_tool or question.tool, question.input, question.session_id, question.run_id)
