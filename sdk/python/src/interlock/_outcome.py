"""How a tool has ended, by the value that its function returned."""

from __future__ import annotations

import asyncio
import dataclasses
import subprocess
from typing import Any

from . import _json
from .types import Result


def result_of(value: Any) -> tuple[Result, bool]:
    """The result of a call whose function returned this, and whether it has succeeded: a program says that by its status. One that
    still runs has an unknown outcome, and continues in the background."""
    result = value if isinstance(value, Result) else Result(output=output_of(value), value=value)
    status = _status(result.value)
    if status is _NONE:
        return result, True
    if status is None:
        left = result.background or f"process {getattr(result.value, 'pid', '?')}"
        return dataclasses.replace(result, outcome_unknown=True, background=left), True
    return result, status == 0


_NONE = object()
"""The status of a value that is not a program."""


def _status(value: Any) -> Any:
    if isinstance(value, subprocess.Popen):
        return value.poll()
    if isinstance(value, (subprocess.CompletedProcess, asyncio.subprocess.Process)):
        return value.returncode
    return _NONE


def output_of(value: Any) -> bytes | str:
    """A tool's return value, as the agent reads it."""
    if value is None or isinstance(value, (bytes, str)):
        return value or b""
    if isinstance(value, subprocess.CompletedProcess):
        return b"".join(_bytes(part) for part in (value.stdout, value.stderr))
    if _status(value) is not _NONE:
        return b""
    try:
        return _json.dumps(value)
    except (TypeError, ValueError):
        return str(value)


def _bytes(part: Any) -> bytes:
    return part.encode(errors="replace") if isinstance(part, str) else part or b""


_MCP_UNKNOWN = {408, -32000, -32001}
"""Codes of an MCP request that was out of time, or whose connection was closed."""


def interrupted(err: BaseException) -> bool:
    """Whether an exception says that a tool was left before its end, so that its outcome is unknown. A framework makes an error of its
    own of a time-out, which is then the cause or the context of that."""
    one: BaseException | None = err
    for _ in range(20):
        if one is None:
            return False
        if not isinstance(one, Exception) or getattr(getattr(one, "error", None), "code", None) in _MCP_UNKNOWN:
            return True  # cancelled, interrupted by the user, closed
        if any("Timeout" in kind.__name__ or kind.__name__ == "CancelledError" for kind in type(one).__mro__):
            return True
        one = one.__cause__ or one.__context__
    return True
