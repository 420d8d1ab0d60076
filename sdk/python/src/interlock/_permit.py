"""Permits of adapters: a tool that Interlock judges runs only with a permit for exactly its call.

An adapter judges a call where its framework lets it, and the tool runs elsewhere: other plugins come between, and agents that were
never given the adapter have the same tools. So the place where a tool runs asks for the permit of the call. A permit is used once,
and it is of one task: tasks that a tool starts have none of their own.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import threading
import weakref
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextvars import ContextVar
from typing import Any, Generic, TypeVar

from pydantic_core import to_jsonable_python

from ._async import io
from ._gate import Gate, Verdict, digest_of, freeze

A = TypeVar("A")
T = TypeVar("T")

CHANGED = (
    "INVALID_INPUT: the call was not made: its arguments or its tool were changed after Interlock had judged it. Let what changes "
    "calls run before Interlock's adapter."
)
"""Why a call does not run that is not the one that was judged."""


class Permit:
    """The permission to make one call, once."""

    def __init__(self, verdict: Verdict, tool: str) -> None:
        self.verdict = verdict
        self.tool = tool
        """The framework's name of the tool."""
        self._lock = threading.Lock()
        self._used = False

    @property
    def used(self) -> bool:
        """Whether the call was made."""
        return self._used

    def use(self, tool: str, args: Any) -> bool:
        """Uses the permit and returns True, where it is of this call and was not used yet."""
        with self._lock:
            if self._used or tool != self.tool or digest(args) != self.verdict.digest:
                return False
            self._used = self.verdict.use()
            return self._used


_permit: ContextVar[Permit | None] = ContextVar("interlock_permit", default=None)


def current() -> Permit | None:
    """Returns the permit of this task that is to be used; none where there is none, or where it was used."""
    permit = _permit.get()
    return None if permit is None or permit.used else permit


def grant(permit: Permit) -> None:
    """Gives this task a permit, in place of the one that it has."""
    _permit.set(permit)


def withdraw() -> None:
    """Takes this task's permit away."""
    _permit.set(None)


@contextlib.contextmanager
def granted(permit: Permit) -> Iterator[Permit]:
    """Gives this task a permit for a time."""
    before = _permit.set(permit)
    try:
        yield permit
    finally:
        _permit.reset(before)


def plain(args: Any) -> Any:
    """Returns arguments as JSON has them, for values of a framework's own types."""
    return to_jsonable_python(args)


def digest(args: Any) -> str:
    """Returns the digest of arguments, as verdicts have it."""
    return digest_of(freeze(plain(args))[1])


def frozen(args: A) -> A:
    """Returns a copy of arguments that no other code can change."""
    return copy.deepcopy(args)


async def perform(
    gate: Gate,
    permit: Permit,
    run: Callable[[], Awaitable[T]],
    ok: Callable[[T], bool] = lambda _: True,
    output: Callable[[T], Any] = lambda result: result,
) -> tuple[T, str]:
    """Runs a call by its permit, and reports it once, however it ends. A call that other code has answered
    was not made. It returns the result and the notice."""
    with granted(permit):
        try:
            result = await run()
        except BaseException as err:
            if permit.used:
                await gate.tell(permit.verdict, ok=False, unknown=io.interrupted(err))
            else:
                await gate.settle(permit.verdict)
            raise
    if not permit.used:
        await gate.settle(permit.verdict)
        return result, ""
    return result, await gate.tell(permit.verdict, output(result), ok=ok(result))


def perform_sync(
    gate: Gate,
    permit: Permit,
    run: Callable[[], T],
    ok: Callable[[T], bool] = lambda _: True,
    output: Callable[[T], Any] = lambda result: result,
) -> tuple[T, str]:
    """`perform` without an event loop."""
    with granted(permit):
        try:
            result = run()
        except BaseException as err:
            if permit.used:
                gate.tell_sync(permit.verdict, ok=False, unknown=io.interrupted(err))
            else:
                gate.settle_sync(permit.verdict)
            raise
    if not permit.used:
        gate.settle_sync(permit.verdict)
        return result, ""
    return result, gate.tell_sync(permit.verdict, output(result), ok=ok(result))


def guard(kind: type[Any], methods: Collection[str], guarded: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replaces methods of a class, and of all classes that are made of it: those that exist, and those to come."""
    own = vars(kind).get("__init_subclass__")

    def replace(one: type[Any]) -> None:
        for method in methods:
            run = vars(one).get(method)
            if inspect.isfunction(run):
                setattr(one, method, guarded(run))

    def made(cls: type[Any], **given: Any) -> None:
        if own is None:
            super(kind, cls).__init_subclass__(**given)  # type: ignore[misc]
        else:
            own.__func__(cls, **given)
        replace(cls)

    every = [kind]
    for one in every:
        replace(one)
        every.extend(sub for sub in one.__subclasses__() if sub not in every)
    kind.__init_subclass__ = classmethod(made)  # type: ignore[assignment]


class Adapters(Generic[A]):
    """The adapters of one framework in this process, for agents that were never given one."""

    def __init__(self) -> None:
        self._alive: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._here: ContextVar[A | None] = ContextVar("interlock_adapter", default=None)

    def add(self, adapter: A) -> None:
        """Has agents without an adapter judged by this one, for as long as it exists."""
        self._alive[id(adapter)] = adapter

    def remove(self, adapter: A) -> None:
        """Stops the judging by an adapter."""
        self._alive.pop(id(adapter), None)

    def __bool__(self) -> bool:
        return len(self._alive) > 0

    @contextlib.contextmanager
    def inside(self, adapter: A) -> Iterator[None]:
        """Has calls that this task starts judged by one adapter."""
        before = self._here.set(adapter)
        try:
            yield
        finally:
            self._here.reset(before)

    def enter(self, adapter: A) -> None:
        """Lets one adapter judge the later calls of this task."""
        self._here.set(adapter)

    def find(self) -> A | None:
        """Returns the adapter that judges this task: the one around it, or the only one there is. Of several, none: which of them
        is meant cannot be known, so no call may run."""
        here = self._here.get()
        if here is not None and id(here) in self._alive:
            return here
        alive: list[A] = list(self._alive.values())
        return alive[0] if len(alive) == 1 else None


SEVERAL = (
    "POLICY_UNAVAILABLE: the call was not made: it comes from an agent without Interlock's adapter, and the process has several "
    "adapters, so which of them judges it cannot be known. Give the agent the adapter that is meant."
)
"""Why a call of an agent without an adapter does not run."""


class Nowhere(Gate):
    """Decides for agents without an adapter where several could be meant: no call runs."""

    def __init__(self) -> None:
        super().__init__(None)  # type: ignore[arg-type]

    async def ask(self, tool: str, args: Any, context: Any = None, **_: Any) -> Verdict:
        return Verdict(tool, text=SEVERAL)

    def ask_sync(self, tool: str, args: Any, context: Any = None, **_: Any) -> Verdict:
        return Verdict(tool, text=SEVERAL)

    async def offered(self, context: Any = None) -> Callable[[str], bool]:
        return lambda tool: False
