"""Functions of an event loop. `_sync/io.py` has the same for programs without one."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import inspect
import io
import time
import weakref
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from grpc import aio

from .. import _target
from .._outcome import interrupted as interrupted

if TYPE_CHECKING:
    from .._sync.client import Interlock as Twin

T = TypeVar("T")
Channel = aio.Channel

_reports: set[asyncio.Task[Any]] = set()
"""Work that goes on although its caller does not wait any more."""
_keepers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = weakref.WeakKeyDictionary()


class Channels:
    """Connections of one server: one for each event loop, because a connection belongs to its loop."""

    def __init__(self, settings: _target.Settings, given: Channel | None) -> None:
        self._settings = settings
        self._given = given
        self._made: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Channel] = weakref.WeakKeyDictionary()

    def get(self) -> Channel:
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        channel = self._made.get(loop)
        if channel is None:
            target, options = _target.target(self._settings), _target.options(self._settings)
            if self._settings.tls is None:
                channel = aio.insecure_channel(target, options=options)
            else:
                channel = aio.secure_channel(target, _target.credentials(self._settings.tls), options=options)
            self._made[loop] = channel
        return channel

    async def close(self) -> None:
        await rest()
        channel = self._made.pop(asyncio.get_running_loop(), None)
        if channel is not None:
            await channel.close()


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


def now() -> float:
    return time.monotonic()


async def aside(work: Callable[[], T]) -> T:
    """Does a piece of work that blocks."""
    return await asyncio.to_thread(work)


async def finish(value: Any) -> Any:
    """The result of a function of the caller, awaited as often as it has to be."""
    while True:
        if inspect.isawaitable(value):
            value = await value
        elif isinstance(value, concurrent.futures.Future):
            value = await asyncio.wrap_future(value)
        else:
            return value


async def shielded(work: Coroutine[Any, Any, T]) -> T:
    """Does a piece of work to its end, also when the caller is cancelled."""
    return await asyncio.shield(_begin(work))


def background(work: Callable[[], Coroutine[Any, Any, None]], otherwise: Callable[[], None]) -> None:
    """Does a piece of work whose caller does not wait for it. The event loop ends when it is done. Where that has cancelled it
    before, and without an event loop, the other piece is done instead, which needs none."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        otherwise()
        return
    _keep()
    task = _begin(work())
    task.add_done_callback(lambda task: otherwise() if task.cancelled() else None)


def _keep() -> None:
    """Has the event loop wait for open reports before it ends: it closes its asynchronous generators then."""
    loop = asyncio.get_running_loop()
    if loop in _keepers:
        return

    async def keeper() -> AsyncIterator[None]:
        try:
            yield
        finally:
            await rest()

    _keepers[loop] = begun = keeper()
    with contextlib.suppress(StopIteration):
        begun.__anext__().send(None)  # type: ignore[attr-defined]


async def rest() -> None:
    """Waits for open reports of this event loop; each of them is bounded."""
    loop, this = asyncio.get_running_loop(), asyncio.current_task()
    while left := [task for task in _reports if task.get_loop() is loop and task is not this]:
        await asyncio.wait(left)


def _begin(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    task = asyncio.ensure_future(work)
    _reports.add(task)
    task.add_done_callback(_done)
    return task


def _done(task: asyncio.Task[Any]) -> None:
    _reports.discard(task)
    if not task.cancelled():
        task.exception()  # its exception was seen


def lazy(value: Any) -> bool:
    """Whether a value is made while it is read."""
    return isinstance(value, (Iterator, AsyncIterator)) and not isinstance(value, io.IOBase)


async def items(source: Any) -> AsyncIterator[Any]:
    """The items of either kind of iterator."""
    if isinstance(source, AsyncIterator):
        async for item in source:
            yield item
    else:
        for item in source:
            yield item


async def close_items(source: Any) -> None:
    """Closes an iterator that was left before its end."""
    if hasattr(source, "aclose"):
        await source.aclose()
    elif hasattr(source, "close"):
        source.close()


def end_with(settings: _target.Settings, call: Any) -> None:
    """Reports a call that was not made, without an event loop."""
    with twin(settings) as client:
        client._withdraw(call)


def twin(settings: _target.Settings) -> Twin:
    """A client of the same settings for programs without an event loop."""
    from .._sync.client import Interlock

    return Interlock._of(settings)
