# Made from _async/runs.py by tools/python/unasync. DO NOT EDIT.
"""Runs."""

from __future__ import annotations

from collections.abc import Iterator, Callable, Mapping
from datetime import timedelta
from typing import Any

from .. import _convert
from ..errors import Fault
from ..gen.engine.v1 import run_pb2, run_service_pb2, run_service_pb2_grpc
from ..types import HistoryEntry, Run
from .base import Base, Service, body_of, key_of, no_session

_RUN = Service("/interlock.engine.v1.RunService/", run_service_pb2_grpc.RunServiceStub)


class Runs(Base):
    """Runs."""

    def load(
        self,
        workflow: str,
        *,
        version: int = 0,
        context: Mapping[str, Any] | bytes | None = None,
        workspace: str = "",
        resume: bool = False,
        branch: str = "",
        run_id: str = "",
        idempotency_key: str = "",
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
            idempotency_key: The caller's, so that a repeat after a restart starts no second run; a new one without it.
            timeout: Seconds that the call is tried for.
        """
        if self._settings.run:
            raise Fault(
                "INVALID_REQUEST", f"this client is bound to run {self._settings.run}; load workflows with a client for a session"
            )
        if branch:
            if not self.session:
                raise no_session("working in a branch")
            binding = run_service_pb2.BindBranchRequest(run_id=run_id, workflow=workflow, branch=branch, session_id=self.session)
            return _convert.run((self._call(_RUN, "BindBranch", binding, timeout)).run)
        request = run_service_pb2.StartRunRequest(
            workflow=workflow, workflow_version=version, session_id=self.session,
            context=body_of("context", context), workspace=workspace, resume=resume, idempotency_key=key_of(idempotency_key),
        )  # fmt: skip
        answer = self._call(_RUN, "StartRun", request, timeout)
        return _convert.run(answer.run, resumed=answer.resumed)

    def get_run(self, run_id: str = "", *, timeout: float | None = None) -> Run:
        """Returns the run whose rules are in force: the client's, or the innermost of those that it has invoked and waits for.
        `NOT_FOUND` when the session drives none. With an id it is that run."""
        run, session = self._driven()
        request = run_service_pb2.GetRunRequest(run_id=run_id or run, session_id="" if run_id else session, active=not run_id)
        return _convert.run((self._call(_RUN, "GetRun", request, timeout)).run)

    def transition(
        self,
        event: str,
        data: Mapping[str, Any] | bytes | None = None,
        *,
        expected_version: int = 0,
        idempotency_key: str = "",
        timeout: float | None = None,
    ) -> Run:
        """Asks to move on and returns the run whose rules are in force then. The data merges into the context after the
        transition (S2.3); its "rationale" goes into the history.

        A refusal is a `Rejected`. A transition that was parked until a human approves is an `AwaitingApproval`, with the run as
        it waits (S9.1). With an expected version, a run that has changed since is a `VERSION_CONFLICT`.
        """
        run, session = self._driven()
        request = run_service_pb2.TransitionRunRequest(
            run_id=run, session_id=session, event=event, data=body_of("data", data), expected_version=expected_version,
            idempotency_key=key_of(idempotency_key),
        )  # fmt: skip
        return _convert.moved(self._call(_RUN, "TransitionRun", request, timeout))

    def wait_run(
        self, run_id: str = "", until: Callable[[Run], bool] | None = None, *, timeout: float | None = None
    ) -> Run:
        """Waits until a run, by default the client's, is as `until` wants it, or has ended, and returns it. After `timeout` seconds it
        raises a `Fault` with `DEADLINE_EXCEEDED`."""
        for run in self.watch_run(run_id, timeout=timeout):
            if run.ended or (until is not None and until(run)):
                return run
        raise Fault("INTERNAL", "the stream has ended before the run")

    def watch_run(self, run_id: str = "", *, timeout: float | None = None) -> Iterator[Run]:
        """Yields a run, by default the client's, as it is now and after every change until it has ended."""
        request = run_service_pb2.WatchRunRequest(run_id=run_id or self._run_id(None), view=run_pb2.RUN_VIEW_FULL)
        for answer in self._stream(_RUN, "WatchRun", request, timeout):
            if answer is not None:
                run = _convert.run(answer.run)
                yield run
                if run.ended:
                    return

    def get_run_history(
        self, run_id: str = "", *, after_version: int = 0, after_result: int = 0, timeout: float | None = None
    ) -> Iterator[HistoryEntry]:
        """Yields the changes and the tool results of a run, by default the client's, oldest first (S6.4)."""
        request = run_service_pb2.GetRunHistoryRequest(
            run_id=run_id or self._run_id(timeout), after_version=after_version, after_result=after_result, page_size=1000
        )
        while True:
            page = self._call(_RUN, "GetRunHistory", request, timeout)
            for entry in page.entries:
                yield _convert.history_entry(entry)
            if not page.next_after_version and not page.next_after_result:
                return
            request.after_version, request.after_result = page.next_after_version, page.next_after_result

    def list_runs(self, filter: str = "", *, stale_for: float = 0, timeout: float | None = None) -> Iterator[Run]:
        """Yields the runs that the caller may see, newest first. The filter has key=value terms joined by " AND ": status, workflow,
        session_id, text, not_status, not_workflow, updated_after, updated_before. With `stale_for` it yields active runs that have
        made no progress for so many seconds, at least 1, the most silent first, at most 1000."""
        request = run_service_pb2.ListRunsRequest(page_size=1000, filter=filter)
        if stale_for:
            request.stale_for.FromTimedelta(timedelta(seconds=stale_for))
        while True:
            page = self._call(_RUN, "ListRuns", request, timeout)
            for run in page.runs:
                yield _convert.run(run)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    def pause_run(
        self, run_id: str = "", *, reason: str = "", idempotency_key: str = "", timeout: float | None = None
    ) -> Run:
        """Stops a run, by default the client's, until it is resumed (S6.2): an operator holds it, and an agent pauses it where it
        may."""
        request = run_service_pb2.PauseRunRequest(
            run_id=run_id or self._run_id(timeout), reason=reason, idempotency_key=key_of(idempotency_key)
        )
        return _convert.run((self._call(_RUN, "PauseRun", request, timeout)).run)

    def resume_run(self, run_id: str = "", *, idempotency_key: str = "", timeout: float | None = None) -> Run:
        """Lifts the holds that the caller may lift, and continues the run, by default the client's, when none is left (S6.2)."""
        request = run_service_pb2.ResumeRunRequest(
            run_id=run_id or self._run_id(timeout), idempotency_key=key_of(idempotency_key)
        )
        return _convert.run((self._call(_RUN, "ResumeRun", request, timeout)).run)

    def cancel_run(
        self, run_id: str = "", *, reason: str = "", idempotency_key: str = "", timeout: float | None = None
    ) -> Run:
        """Ends a run, by default the client's, and the runs that it has invoked."""
        request = run_service_pb2.CancelRunRequest(
            run_id=run_id or self._run_id(timeout), reason=reason, idempotency_key=key_of(idempotency_key)
        )
        return _convert.run((self._call(_RUN, "CancelRun", request, timeout)).run)

    def force_state(
        self,
        run_id: str,
        state: str,
        context: Mapping[str, Any] | bytes | None = None,
        *,
        idempotency_key: str = "",
        timeout: float | None = None,
    ) -> Run:
        """Sets any state of a run whose workflow has `meta.debug` (S6.3). The context is merged over the run's. A refusal is a
        `Rejected`."""
        request = run_service_pb2.ForceStateRequest(
            run_id=run_id, state=state, context=body_of("context", context), idempotency_key=key_of(idempotency_key)
        )
        answer = self._call(_RUN, "ForceState", request, timeout)
        if not answer.accepted:
            raise _convert.rejected(answer.rejection)
        return _convert.run(answer.run)

    def _run_id(self, timeout: float | None) -> str:
        """The id of the client's run: the one that its session drives, unless it is bound to one."""
        return self._settings.run or (self.get_run(timeout=timeout)).id

    def _run_or_none(self, timeout: float | None) -> Run | None:
        try:
            return self.get_run(timeout=timeout)
        except Fault as fault:
            if fault.reason != "NOT_FOUND":
                raise
            return None
