"""The client for programs without an event loop: every method of `interlock.Interlock`, without `await`."""

from ._sync.client import Interlock

__all__ = ["Interlock"]
