"""Schedules: they start runs at times."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime, timezone

from .. import _schedule
from ..gen.engine.v1 import schedule_service_pb2, schedule_service_pb2_grpc
from ..types import Schedule, ScheduleSpec, Triggered
from .base import Base, Service, key_of

_SCHEDULE = Service("/interlock.engine.v1.ScheduleService/", schedule_service_pb2_grpc.ScheduleServiceStub)


class Schedules(Base):
    """Schedules."""

    async def create_schedule(self, spec: ScheduleSpec, *, paused: bool = False, timeout: float | None = None) -> Schedule:
        """Starts runs at times, as the operator who calls (S25.20). `NAME_TAKEN` when there is another schedule of that name."""
        request = schedule_service_pb2.CreateScheduleRequest(spec=_schedule.message(spec), paused=paused)
        return _schedule.schedule((await self._call(_SCHEDULE, "CreateSchedule", request, timeout)).schedule)

    async def get_schedule(self, name: str, *, version: int = 0, timeout: float | None = None) -> Schedule:
        """Returns a schedule; with a version, with the definition that it had then."""
        request = schedule_service_pb2.GetScheduleRequest(name=name, version=version)
        return _schedule.schedule((await self._call(_SCHEDULE, "GetSchedule", request, timeout)).schedule)

    async def list_schedules(self, *, timeout: float | None = None) -> AsyncIterator[Schedule]:
        """Yields the schedules, by name."""
        request = schedule_service_pb2.ListSchedulesRequest(page_size=1000)
        while True:
            page = await self._call(_SCHEDULE, "ListSchedules", request, timeout)
            for schedule in page.schedules:
                yield _schedule.schedule(schedule)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    async def update_schedule(self, spec: ScheduleSpec, *, expected_version: int = 0, timeout: float | None = None) -> Schedule:
        """Replaces the definition of a schedule from now on, for operators: its runs are started as the caller. With an expected
        version, a schedule that has changed since is a `VERSION_CONFLICT`."""
        request = schedule_service_pb2.UpdateScheduleRequest(spec=_schedule.message(spec), expected_version=expected_version)
        return _schedule.schedule((await self._call(_SCHEDULE, "UpdateSchedule", request, timeout)).schedule)

    async def pause_schedule(self, name: str, *, timeout: float | None = None) -> Schedule:
        """Keeps a schedule from starting runs, for operators."""
        request = schedule_service_pb2.PauseScheduleRequest(name=name)
        return _schedule.schedule((await self._call(_SCHEDULE, "PauseSchedule", request, timeout)).schedule)

    async def resume_schedule(self, name: str, *, timeout: float | None = None) -> Schedule:
        """Lets a paused schedule go on, for operators. Times that have passed were missed."""
        request = schedule_service_pb2.ResumeScheduleRequest(name=name)
        return _schedule.schedule((await self._call(_SCHEDULE, "ResumeSchedule", request, timeout)).schedule)

    async def trigger_schedule(self, name: str, *, idempotency_key: str = "", timeout: float | None = None) -> Triggered:
        """Starts a run of a schedule now, for operators, also of a paused one."""
        request = schedule_service_pb2.TriggerScheduleRequest(name=name, idempotency_key=key_of(idempotency_key))
        answer = await self._call(_SCHEDULE, "TriggerSchedule", request, timeout)
        return Triggered(answer.run_id, answer.session_id, _schedule.schedule(answer.schedule))

    async def delete_schedule(self, name: str, *, expected_version: int = 0, timeout: float | None = None) -> None:
        """Removes a schedule, for operators. The runs that it has started go on."""
        request = schedule_service_pb2.DeleteScheduleRequest(name=name, expected_version=expected_version)
        await self._call(_SCHEDULE, "DeleteSchedule", request, timeout)

    async def schedule_times(self, name: str, *, count: int = 5, timeout: float | None = None) -> Sequence[datetime]:
        """Returns the next times of a schedule, at most `count` and 100, in UTC."""
        request = schedule_service_pb2.ListScheduleTimesRequest(name=name, count=count)
        answer = await self._call(_SCHEDULE, "ListScheduleTimes", request, timeout)
        return tuple(at.ToDatetime(tzinfo=timezone.utc) for at in answer.times)
