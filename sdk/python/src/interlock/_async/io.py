"""What an event loop does. `_sync/io.py` has the same for programs without one."""

from __future__ import annotations

import asyncio
import inspect
import time
import weakref
from collections.abc import Awaitable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from grpc import aio

from .. import _target

if TYPE_CHECKING:
    from .._sync.client import Interlock as Twin

T = TypeVar("T")
Channel = aio.Channel

_reports: set[asyncio.Task[Any]] = set()


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
        channel = self._made.pop(asyncio.get_running_loop(), None)
        if channel is not None:
            await channel.close()


async def sleep(seconds: float) -> None:
    await asyncio.sleep(seconds)


def now() -> float:
    return time.monotonic()


async def finish(value: Awaitable[T] | T) -> T:
    """What a function of the caller returned, awaited where it has to be."""
    if inspect.isawaitable(value):
        done: T = await value
        return done
    return value


async def shielded(work: Coroutine[Any, Any, T]) -> T:
    """Does a piece of work to its end, also when the caller is cancelled."""
    task = asyncio.ensure_future(work)
    _reports.add(task)
    task.add_done_callback(_done)
    return await asyncio.shield(task)


def _done(task: asyncio.Task[Any]) -> None:
    _reports.discard(task)
    if not task.cancelled():
        task.exception()  # somebody has seen it


def twin(settings: _target.Settings) -> Twin:
    """A client of the same settings for programs without an event loop."""
    from .._sync.client import Interlock

    return Interlock._of(settings)
