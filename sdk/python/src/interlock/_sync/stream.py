# Made from _async/stream.py by tools/python/unasync. DO NOT EDIT.
"""Tools whose results come one by one."""

from __future__ import annotations

from collections.abc import Iterator, Awaitable, Callable
from typing import Any

from .. import _json, _retry
from ..types import Decision, Report, Result
from . import io

Abandon = Callable[[Decision], None]
Ended = Callable[[Decision, Result, "BaseException | None"], "Report | None"]


def is_stream(value: Any) -> bool:
    """Whether a tool that returned this has yet to do its work."""
    return io.lazy(value)


class Stream:
    """The items of a guarded tool. The call is reported when they have ended, as failed with an unknown outcome when they are left
    early, and as not executed when the first was never asked for."""

    def __init__(self, items: Any, decision: Decision, ended: Ended, abandon: Abandon, at_the_end: Callable[[], None]) -> None:
        self._items = items
        self._decision = decision
        self._ended = ended
        self._abandon = abandon
        self._at_the_end = at_the_end
        self._over = False
        self._made: Any = self._run()
        self._begun = False
        self.report: Report | None = None
        """The consequences of the report; None before the end, and when the tool has failed."""

    @property
    def notice(self) -> str:
        """For the agent to read with the output, at the end."""
        return self.report.notice if self.report else ""

    def __iter__(self) -> Stream:
        return self

    def __next__(self) -> Any:
        self._begun = True
        return self._made.__next__()

    def close(self) -> None:
        """Ends the tool early. One that has not begun does not run, and its call is reported as not executed."""
        begun, self._begun = self._begun, True
        self._made.close()
        if not begun:
            io.close_items(self._items)
            self._unused()

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def __del__(self) -> None:
        if not self._begun:
            io.background(self._unused, self._at_the_end)

    def _run(self) -> Iterator[Any]:
        kept = _Kept()
        try:
            for item in io.items(self._items):
                kept.add(item)
                yield item
        except BaseException as err:
            io.close_items(self._items)
            self._end(kept, err)
            raise
        self._end(kept, None)

    def _unused(self) -> None:
        if not self._over:
            self._over = True
            self._abandon(self._decision)

    def _end(self, kept: _Kept, err: BaseException | None) -> None:
        if not self._over:
            self._over = True
            self.report = self._ended(self._decision, kept.result(), err)


class _Kept:
    """The reported part of the output: its size, and its beginning."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._kept = 0
        self._bytes = 0

    def add(self, item: Any) -> None:
        part = _bytes(item)
        self._bytes += len(part)
        if self._kept < _retry.MOST_OUTPUT:
            self._parts.append(part[: _retry.MOST_OUTPUT])
            self._kept += len(part)

    def result(self) -> Result:
        return Result(output=b"".join(self._parts)[: _retry.MOST_OUTPUT], bytes=self._bytes)


def _bytes(item: Any) -> bytes:
    """An item as the agent reads it: a text as it is, anything else as JSON on a line of its own."""
    if isinstance(item, bytes):
        return item
    if isinstance(item, str):
        return item.encode(errors="replace")
    try:
        return (_json.dumps(item) + "\n").encode(errors="replace")
    except (TypeError, ValueError):
        return f"{item}\n".encode(errors="replace")
