"""Gates the tools of CrewAI, by its hooks.

```python
with InterlockHooks(client):
    crew.kickoff()
```

While the hooks are registered, every tool call of every crew in the process is judged: tools of agents, of MCP servers, and the tools
by which agents delegate. A refusal is the tool's result. CrewAI cannot pause a call, so one that a human must approve is refused
with the approval's id, and the model can make it again; or with `wait`, the call waits for the humans.

CrewAI takes an exception of a hook for no opinion, and runs the tool. These hooks let none out but `HookAborted`. Register hooks that
change arguments before them: a call whose arguments were changed after the judgement is not made. A tool that is run without hooks,
such as by a tool or by an agent of another framework, is judged when it is run.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import json
import threading
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from types import TracebackType
from typing import Any

from crewai.hooks.dispatch import HookAborted, InterceptionPoint, register, unregister
from crewai.hooks.tool_hooks import ToolCallHookContext
from crewai.llms.base_llm import BaseLLM
from crewai.tools.base_tool import BaseTool
from crewai.tools.structured_tool import CrewStructuredTool
from crewai.tools.tool_failure import detect_tool_failure
from crewai.utilities.string_utils import sanitize_tool_name

from . import _permit
from ._gate import Client, Gate, Verdict, joined, text_of
from .errors import UNDECIDED, Denied

__all__ = ["InterlockHooks"]


class InterlockHooks:
    """The hooks. They are registered by `register` or as a context manager."""

    def __init__(
        self,
        client: Client,
        *,
        session: str | Callable[[Any], str] = "",
        tool_name: Callable[[str], str] | None = None,
        human: str | Callable[[Any], str] = "",
        only: Any = None,
        wait: float = 0.0,
    ) -> None:
        """Makes the hooks.

        Args:
            client: A client, of either kind. Hooks have no event loop, so that of `interlock.sync` saves a connection.
            session: The session of a conversation, or a function of the `ToolCallHookContext` that says it, such as
                `lambda context: context.crew.name`. The client's own without it.
            tool_name: Interlock's name of a tool. CrewAI writes names in lower case with _. The tools of MCP servers have their
                own names, without that of the server.
            human: The own token of the person on whose behalf a conversation is, or a function that says it, of the same as
                that of `session`; that of the client without it.
            only: Entries that all calls of each session must meet: sessions are narrowed before their first call (S22.24).
            wait: Seconds that a call waits for humans to approve it.
        """
        self._gate = Gate(client, session=session, tool_name=tool_name, human=human, only=only)
        self._wait = wait
        self._lock = threading.Lock()
        # By the arguments, which are the same object before and after a call; they are kept, so that no others have their id.
        self._calls: dict[int, tuple[Any, _permit.Permit, ToolCallHookContext | None]] = {}

    def register(self) -> None:
        """Registers the hooks for all crews of the process."""
        _adapters.add(self)
        register(InterceptionPoint.PRE_TOOL_CALL, self._before)
        register(InterceptionPoint.POST_TOOL_CALL, self._after)

    def unregister(self) -> None:
        """Removes the hooks: later calls are not judged."""
        _adapters.remove(self)
        unregister(InterceptionPoint.PRE_TOOL_CALL, self._before)
        unregister(InterceptionPoint.POST_TOOL_CALL, self._after)

    def __enter__(self) -> InterlockHooks:
        self.register()
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self.unregister()

    def _before(self, context: ToolCallHookContext) -> None:
        try:
            verdict = self._decide(context)
            permit = _permit.Permit(verdict, context.tool_name)
            with self._lock:
                self._calls[id(context.tool_input)] = (context.tool_input, permit, _conversation.get())
            if verdict.allowed:
                _permit.grant(permit)
                _adapters.enter(self)
                _conversation.set(context)
        except Exception as err:
            raise HookAborted(f"{UNDECIDED}: the call was not made: {err}", source="interlock") from err
        if not verdict.allowed:
            raise HookAborted(verdict.text, source="interlock")

    def _decide(self, context: ToolCallHookContext) -> Verdict:
        until = time.monotonic() + self._wait
        while True:
            verdict = self._gate.ask_sync(_name(context), _permit.plain(_seen(context.tool, context.tool_input)), context)
            left = until - time.monotonic()
            if not verdict.waits or left <= 0:
                return verdict
            if not self._gate.wait_sync(verdict, left):
                return verdict

    def _after(self, context: ToolCallHookContext) -> str | None:
        with self._lock:
            _, permit, outer = self._calls.pop(id(context.tool_input), (None, None, None))
        if permit is None:
            return None
        _conversation.set(outer)
        verdict = permit.verdict
        if not verdict.allowed:
            return verdict.text
        _permit.withdraw()
        if not permit.used:  # something else has answered, such as the cache
            self._gate.settle_sync(verdict)
            return None
        raw = context.raw_tool_result
        failed = detect_tool_failure(raw) is not None or (isinstance(raw, str) and raw.startswith("Error executing tool: "))
        notice = self._gate.tell_sync(verdict, raw, ok=not failed)
        return joined(context.tool_result or text_of(raw), notice) if notice else None

    def run_sync(self, tool: Any, args: dict[str, Any], run: Callable[[], Any]) -> Any:
        """Judges a call that no hook has judged, and runs and reports it."""
        verdict = self._gate.ask_sync(tool.name, _permit.plain(args), _conversation.get())
        _require(verdict)
        return self._gate.perform_sync(verdict, run, _succeeded)[0]

    async def run(self, tool: Any, args: dict[str, Any], run: Callable[[], Awaitable[Any]]) -> Any:
        """`run_sync` in an event loop."""
        verdict = await self._gate.ask(tool.name, _permit.plain(args), _conversation.get())
        _require(verdict)
        return (await self._gate.perform(verdict, run, _succeeded))[0]


_adapters: _permit.Adapters[InterlockHooks] = _permit.Adapters()
_running: ContextVar[Any] = ContextVar("interlock_crewai_running", default=None)
_conversation: ContextVar[ToolCallHookContext | None] = ContextVar("interlock_conversation", default=None)


def _require(verdict: Verdict) -> None:
    if not verdict.allowed:
        raise Denied(verdict.text.partition(":")[0], verdict.text)


def _succeeded(result: Any) -> bool:
    return detect_tool_failure(result) is None


def _judged(tool: Any, args: dict[str, Any]) -> InterlockHooks | None:
    """Returns the hooks that judge a tool that is about to run; none where it was judged."""
    permit = _permit.current()
    if not _adapters:
        return None
    if permit is not None:
        if not permit.use(sanitize_tool_name(tool.name), _seen(tool, args)):
            raise Denied("INVALID_INPUT", _permit.CHANGED)
        return None
    hooks = _adapters.find()
    if hooks is None:
        raise Denied(UNDECIDED, _permit.SEVERAL)
    return hooks


def _seen(tool: Any, args: dict[str, Any]) -> dict[str, Any]:
    """The arguments that reach a tool: CrewAI leaves those out that its schema does not have."""
    schema = getattr(tool, "args_schema", None)
    if schema is None or schema.model_config.get("extra") == "allow" or not schema.model_fields:
        return args
    return {name: value for name, value in args.items() if name in schema.model_fields}


def _once(tool: Any, args: dict[str, Any], run: Callable[[], Any]) -> Any:
    """Runs a tool that was judged, or judges it."""
    if _running.get() is tool:  # by `super()`, of the call that is made
        return run()
    hooks = _judged(tool, args)
    before = _running.set(tool)
    try:
        return hooks.run_sync(tool, args, run) if hooks else run()
    finally:
        _running.reset(before)


async def _aonce(tool: Any, args: dict[str, Any], run: Callable[[], Awaitable[Any]]) -> Any:
    """`_once` in an event loop."""
    if _running.get() is tool:
        return await run()
    hooks = _judged(tool, args)
    before = _running.set(tool)
    try:
        return await (hooks.run(tool, args, run) if hooks else run())
    finally:
        _running.reset(before)


def _guarded(run: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(run)
    def guarded(self: Any, *args: Any, **given: Any) -> Any:
        return _once(self, _permit.frozen(_asked(self, args, given)), lambda: run(self, *args, **given))

    @functools.wraps(run)
    async def aguarded(self: Any, *args: Any, **given: Any) -> Any:
        return await _aonce(self, _permit.frozen(_asked(self, args, given)), lambda: run(self, *args, **given))

    return aguarded if inspect.iscoroutinefunction(run) else guarded


def _asked(tool: Any, args: tuple[Any, ...], given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a tool is run with."""
    if isinstance(tool, BaseTool):
        return {**given, "args": list(args)} if args else given
    return _parsed(args[0] if args else given["input"], {k: v for k, v in given.items() if k not in {"input", "config"}})


def _parsed(given: Any, more: dict[str, Any]) -> dict[str, Any]:
    if isinstance(given, str):
        given = json.loads(given)
    return {**given, **more}


_permit.guard(BaseTool, ("run", "arun"), _guarded)
_permit.guard(CrewStructuredTool, ("invoke", "ainvoke"), _guarded)


@dataclasses.dataclass(frozen=True)
class _Function:
    """A function that a language model calls by itself, as a tool."""

    name: str
    run: Callable[..., Any]

    def __call__(self, **args: Any) -> Any:
        try:
            return _once(self, _permit.frozen(args), lambda: self.run(**args))
        except Denied as denied:  # CrewAI keeps the texts of exceptions from the program
            return denied.message


def _guarded_functions(handle: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a language model call the functions of `LLM.call(available_functions=...)` only after a decision."""
    signature = inspect.signature(handle)

    @functools.wraps(handle)
    def guarded(*args: Any, **given: Any) -> Any:
        bound = signature.bind(*args, **given)
        functions = bound.arguments.get("available_functions") or {}
        judged = {name: run if _judges(run) else _Function(name, run) for name, run in functions.items()}
        bound.arguments["available_functions"] = judged or bound.arguments.get("available_functions")
        return handle(*bound.args, **bound.kwargs)

    return guarded


def _judges(function: Any) -> bool:
    """Whether a function is one that judges itself: that of a tool, or one that was given before."""
    return isinstance(function, _Function) or isinstance(getattr(function, "__self__", None), (BaseTool, CrewStructuredTool))


# Each language model of CrewAI runs the functions that it was given by one of these.
_permit.guard(BaseLLM, ("_handle_tool_execution", "_handle_tool_call"), _guarded_functions)


def _name(context: ToolCallHookContext) -> str:
    """The name of the tool that is called. CrewAI makes names of the tools of MCP servers of the server's command or address."""
    tool: Any = context.tool
    for one in (tool, getattr(tool, "_original_tool", None)):
        name = getattr(one, "original_tool_name", None)
        if isinstance(name, str) and name:
            return name
    return context.tool_name
