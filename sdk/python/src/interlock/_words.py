"""Enums and times of the contracts."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp


def word(enum: Any, value: int, prefix: str) -> str:
    """A value of an enum without its prefix, empty for unspecified; a number for one that this version does not know."""
    if value == 0:
        return ""
    try:
        return str(enum.Name(value)).removeprefix(prefix)
    except ValueError:
        return str(value)


def time(stamp: Timestamp, there: bool) -> datetime | None:
    return stamp.ToDatetime(tzinfo=timezone.utc) if there else None
