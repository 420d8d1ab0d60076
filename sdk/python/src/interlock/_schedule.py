"""Schedules: messages of the contracts from and as the types of this package."""

from __future__ import annotations

from datetime import timezone
from typing import Any, cast

from . import _json
from ._words import time, word
from .gen.engine.v1 import schedule_pb2
from .types import (
    MissedTimes,
    Schedule,
    ScheduleCounts,
    ScheduleOutcome,
    ScheduleOverlap,
    ScheduleResult,
    ScheduleSpec,
    ScheduleStatus,
)


def message(s: ScheduleSpec) -> schedule_pb2.ScheduleSpec:
    """Returns the message of a definition. An unknown rule is a ValueError."""
    out = schedule_pb2.ScheduleSpec(
        name=s.name, workflow=s.workflow, workflow_version=s.workflow_version, cron=s.cron, zone=s.zone,
        missed=_value(schedule_pb2.MissedTimes, "MISSED_TIMES_", "missed", s.missed),
        overlap=_value(schedule_pb2.ScheduleOverlap, "SCHEDULE_OVERLAP_", "overlap", s.overlap),
        session_id=s.session_id, session_prefix=s.session_prefix, workspace=s.workspace,
        context=_json.encode("context", s.context), only=_json.encode("only", s.only),
    )  # fmt: skip
    if s.until is not None:
        out.until.FromDatetime(s.until.astimezone(timezone.utc))
    return out


def _value(enum: Any, prefix: str, what: str, given: str) -> Any:
    values = {name.removeprefix(prefix).lower(): value for name, value in enum.items() if value}
    if given not in values:
        raise ValueError(f"{what} must be one of {', '.join(values)}, not {given!r}")
    return values[given]


def spec(s: schedule_pb2.ScheduleSpec) -> ScheduleSpec:
    return ScheduleSpec(
        name=s.name,
        workflow=s.workflow,
        cron=s.cron,
        zone=s.zone,
        workflow_version=s.workflow_version,
        missed=cast("MissedTimes", word(schedule_pb2.MissedTimes, s.missed, "MISSED_TIMES_").lower()),
        overlap=cast("ScheduleOverlap", word(schedule_pb2.ScheduleOverlap, s.overlap, "SCHEDULE_OVERLAP_").lower()),
        session_id=s.session_id,
        session_prefix=s.session_prefix,
        context=_json.loads(s.context),
        workspace=s.workspace,
        until=time(s.until, s.HasField("until")),
        only=_json.loads(s.only),
    )


def schedule(s: schedule_pb2.Schedule) -> Schedule:
    n = s.counts
    return Schedule(
        spec=spec(s.spec),
        version=s.version,
        status=cast("ScheduleStatus", word(schedule_pb2.ScheduleStatus, s.status, "SCHEDULE_STATUS_").lower()),
        created_by=s.created_by,
        created_at=time(s.created_at, s.HasField("created_at")),
        updated_at=time(s.updated_at, s.HasField("updated_at")),
        next_at=time(s.next_at, s.HasField("next_at")),
        queued_at=time(s.queued_at, s.HasField("queued_at")),
        last=outcome(s.last) if s.HasField("last") else None,
        last_run_id=s.last_run_id,
        counts=ScheduleCounts(n.started, n.missed, n.skipped, n.refused),
    )


def outcome(o: schedule_pb2.ScheduleOutcome) -> ScheduleOutcome:
    return ScheduleOutcome(
        result=cast("ScheduleResult", word(schedule_pb2.ScheduleResult, o.result, "SCHEDULE_RESULT_").lower()),
        nominal_at=time(o.nominal_at, o.HasField("nominal_at")),
        at=time(o.at, o.HasField("at")),
        count=o.count,
        run_id=o.run_id,
        session_id=o.session_id,
        code=o.code,
        reason=o.reason,
    )
