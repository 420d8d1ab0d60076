"""Functions of a program without an event loop. `_async/io.py` has the same for those with one."""

from __future__ import annotations

import concurrent.futures
import inspect
import io
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import grpc

from .. import _target
from .._outcome import interrupted as interrupted

if TYPE_CHECKING:
    from .._async.client import Interlock as Twin

T = TypeVar("T")
Channel = grpc.Channel

_works: set[threading.Thread] = set()
"""Work that goes on although its caller does not wait for it."""


class Channels:
    """The connection of one server, which all threads share."""

    def __init__(self, settings: _target.Settings, given: Channel | None) -> None:
        self._settings = settings
        self._given = given
        self._made: Channel | None = None
        self._lock = threading.Lock()

    def get(self) -> Channel:
        if self._given is not None:
            return self._given
        with self._lock:
            if self._made is None:
                target, options = _target.target(self._settings), _target.options(self._settings)
                if self._settings.tls is None:
                    self._made = grpc.insecure_channel(target, options=options)
                else:
                    self._made = grpc.secure_channel(target, _target.credentials(self._settings.tls), options=options)
            return self._made

    def close(self) -> None:
        rest()
        with self._lock:
            if self._made is not None:
                self._made.close()
            self._made = None


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def now() -> float:
    return time.monotonic()


def aside(work: Callable[[], T]) -> T:
    """Does a piece of work that blocks."""
    return work()


def finish(value: Any) -> Any:
    """The result of a function of the caller, when it is there."""
    while isinstance(value, concurrent.futures.Future):
        value = value.result()
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise _asynchronous()
    if isinstance(value, AsyncIterator):
        raise _asynchronous()
    return value


def _asynchronous() -> TypeError:
    return TypeError("the function of a tool is asynchronous: use interlock.Interlock instead of interlock.sync.Interlock")


def shielded(done: T) -> T:
    """A piece of work that has come to its end."""
    return done


def background(work: Callable[[], None], otherwise: Callable[[], None]) -> None:
    """Does a piece of work whose caller does not wait for it."""
    thread = threading.Thread(target=work, name="interlock", daemon=True)
    _works.add(thread)
    thread.start()


def rest() -> None:
    """Waits for the work that goes on; each part is bounded."""
    for thread in list(_works):
        if thread is not threading.current_thread():
            thread.join()
            _works.discard(thread)


def lazy(value: Any) -> bool:
    """Whether a value is made while it is read."""
    return isinstance(value, Iterator) and not isinstance(value, io.IOBase)


def items(source: Any) -> Iterator[Any]:
    """The items of an iterator."""
    yield from source


def close_items(source: Any) -> None:
    """Closes an iterator that was left before its end."""
    if hasattr(source, "close"):
        source.close()


def end_with(settings: _target.Settings, call: Any) -> None:
    """Has no effect: the work needs no event loop."""


def twin(settings: _target.Settings) -> Twin:
    """A client of the same settings for programs with an event loop."""
    from .._async.client import Interlock

    return Interlock._of(settings)
