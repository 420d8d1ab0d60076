"""What a program without an event loop does. `_async/io.py` has the same for those with one."""

from __future__ import annotations

import inspect
import threading
import time
from typing import TYPE_CHECKING, TypeVar

import grpc

from .. import _target

if TYPE_CHECKING:
    from .._async.client import Interlock as Twin

T = TypeVar("T")
Channel = grpc.Channel


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
        with self._lock:
            if self._made is not None:
                self._made.close()
            self._made = None


def sleep(seconds: float) -> None:
    time.sleep(seconds)


def now() -> float:
    return time.monotonic()


def finish(value: T) -> T:
    """What a function of the caller returned."""
    if inspect.isawaitable(value):
        if inspect.iscoroutine(value):
            value.close()
        raise TypeError("the function of a tool is asynchronous: use interlock.Interlock instead of interlock.sync.Interlock")
    return value


def shielded(done: T) -> T:
    """A piece of work that has come to its end."""
    return done


def twin(settings: _target.Settings) -> Twin:
    """A client of the same settings for programs with an event loop."""
    from .._async.client import Interlock

    return Interlock._of(settings)
