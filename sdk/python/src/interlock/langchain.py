"""Gates the tools of LangChain agents and of LangGraph.

```python
agent = create_agent(model, tools, middleware=[InterlockMiddleware(client)], checkpointer=checkpointer)
```

A refusal is the tool's message, with status "error". A call that a human must approve interrupts the graph, which needs a
checkpointer; resume it with `Command(resume=True)` when the approval is decided. Resuming is no approval: Interlock
decides again, about the arguments of that moment.

The tool node of `create_agent` makes every call in a task of its own, so that resuming one does not run the others again. A
`ToolNode` of your own that makes several calls in one task runs all of them again when one of them has interrupted it.

All tools of the process are guarded for as long as a middleware exists: a tool that is invoked without a decision of its own is judged
then, such as one of a subagent that was never given the middleware, of a `ToolNode`, or one that is invoked directly. What is invoked
with other arguments than those that were judged is refused.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextvars import ContextVar
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import ToolMessage
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tools import BaseTool
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest, ToolInvocationError
from langgraph.types import Command, interrupt

from . import _permit
from ._gate import Client, Gate, Verdict, joined

__all__ = ["InterlockMiddleware", "thread_id"]

ToolResult = ToolMessage | Command[Any]


def thread_id(config: Any) -> str:
    """The thread of a conversation, for `session`: every thread then has a run of its own."""
    thread = (config.get("configurable") or {}).get("thread_id")
    if not thread:
        raise LookupError("the call is of no thread: invoke the graph or the chain that makes it with a `thread_id`")
    return str(thread)


class InterlockMiddleware(AgentMiddleware[Any, Any, Any]):
    """Middleware of `create_agent`. Put it last, next to the tools, so that it judges the arguments that they get.

    Its methods `wrap_tool_call` and `awrap_tool_call` are also those of a `ToolNode` without an agent.
    """

    def __init__(
        self,
        client: Client,
        *,
        session: str | Callable[[Any], str] = "",
        tool_name: Callable[[str], str] | None = None,
        human: str | Callable[[Any], str] = "",
        only: Any = None,
        hide: bool = True,
        ungated: Collection[str] = (),
    ) -> None:
        """Makes the middleware.

        Args:
            client: A client, of either kind.
            session: The session of a conversation, or a function of the run's config that says it, such as `thread_id`. The
                client's own without it.
            tool_name: Interlock's name of a tool. The tools of MCP servers have the names that their adapter gives them.
            human: The own token of the person on whose behalf a conversation is, or a function that says it, of the same as
                that of `session`; that of the client without it.
            only: Entries that all calls of each session must meet: sessions are narrowed before their first call (S22.24).
            hide: Whether tools that are not legal in the state are kept from the model.
            ungated: Names of tools that the model's provider runs, so that they cannot be judged, and that may be used all the
                same.
        """
        super().__init__()
        self._gate = Gate(client, session=session, tool_name=tool_name, human=human, only=only)
        self._hide = hide
        self._ungated = frozenset(ungated)
        _adapters.add(self)

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Judges a call, runs and reports it."""
        call, config = request.tool_call, _config(request)
        verdict = self._gate.ask_sync(call["name"], call["args"], config)
        while verdict.waits:
            # Returns when the graph was resumed, perhaps without a decision.
            interrupt(_question(request, verdict))
            verdict = self._gate.ask_sync(call["name"], call["args"], config)
        if not verdict.allowed:
            return _refusal(request, verdict)
        permit = _permit.Permit(verdict, call["name"])
        with _adapters.inside(self):
            result, notice = _permit.perform_sync(self._gate, permit, lambda: handler(request), _succeeded, _output)
        noticed: ToolResult = _noticed(result, notice)
        return noticed

    async def awrap_tool_call(
        self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], Awaitable[ToolResult]]
    ) -> ToolResult:
        """Judges a call, runs and reports it."""
        call, config = request.tool_call, _config(request)
        verdict = await self._gate.ask(call["name"], call["args"], config)
        while verdict.waits:
            interrupt(_question(request, verdict))
            verdict = await self._gate.ask(call["name"], call["args"], config)
        if not verdict.allowed:
            return _refusal(request, verdict)
        permit = _permit.Permit(verdict, call["name"])
        with _adapters.inside(self):
            result, notice = await _permit.perform(self._gate, permit, lambda: handler(request), _succeeded, _output)
        noticed: ToolResult = _noticed(result, notice)
        return noticed

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Offers the model the tools that are legal in the state."""
        self._judgeable(request)
        if self._hide:
            offers = self._gate.offered_sync(get_config())
            request = request.override(tools=self._offered(request, offers))
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Offers the model the tools that are legal in the state."""
        self._judgeable(request)
        if self._hide:
            offers = await self._gate.offered(get_config())
            request = request.override(tools=self._offered(request, offers))
        return await handler(request)

    def _judgeable(self, request: ModelRequest[Any]) -> None:
        """Refuses tools that the model's provider runs."""
        for tool in request.tools:
            if _hosted(tool) and _name(tool) not in self._ungated:
                raise TypeError(
                    f"Interlock cannot judge the tool {_name(tool)!r}, which the model's provider runs, so it must not be offered; "
                    "name it in `ungated` if it may be used without"
                )

    def _offered(self, request: ModelRequest[Any], offers: Callable[[str], bool]) -> list[Any]:
        return [tool for tool in request.tools if _hosted(tool) or offers(_name(tool))]


class _Refused(ToolInvocationError):
    """A tool that was started without permission has not run. The tool nodes of LangGraph give the model its message."""

    def __init__(self, tool: str, args: Any, text: str) -> None:
        Exception.__init__(self, text)
        self.message, self.tool_name, self.tool_kwargs, self.filtered_errors = text, tool, args, None


def _judge(adapter: InterlockMiddleware, tool: str, args: Any) -> Verdict:
    """Judges a call that no middleware has judged."""
    config, args = var_child_runnable_config.get(), _permit.plain(args)
    verdict = adapter._gate.ask_sync(tool, args, config or {})
    while verdict.waits and config:
        interrupt(_waiting(tool, args, verdict))
        verdict = adapter._gate.ask_sync(tool, args, config or {})
    if not verdict.allowed:
        raise _Refused(tool, args, verdict.text)
    return verdict


async def _ajudge(adapter: InterlockMiddleware, tool: str, args: Any) -> Verdict:
    """`_judge` in an event loop."""
    config, args = var_child_runnable_config.get(), _permit.plain(args)
    verdict = await adapter._gate.ask(tool, args, config or {})
    while verdict.waits and config:
        interrupt(_waiting(tool, args, verdict))
        verdict = await adapter._gate.ask(tool, args, config or {})
    if not verdict.allowed:
        raise _Refused(tool, args, verdict.text)
    return verdict


_adapters: _permit.Adapters[InterlockMiddleware] = _permit.Adapters()


_making: ContextVar[tuple[BaseTool, str, tuple[Any, ...]] | None] = ContextVar("interlock_langchain_making", default=None)
"""The tool of the call that is made, the digest of its arguments, and the methods that it came by."""


def _guarded(run: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a tool run only judged calls."""

    @functools.wraps(run)
    def guarded(self: BaseTool, *args: Any, **given: Any) -> Any:
        asked = _asked(self, args, given)
        if _within(self, asked, run):
            with _made(self, asked, run):
                return run(self, *args, **given)
        adapter = None if _entered(self, asked) else _judging_adapter(self, asked)
        if adapter is None:
            with _made(self, asked, run):
                return run(self, *args, **given)
        verdict = _judge(adapter, self.name, asked)
        with _made(self, asked, run):
            return _noticed(*adapter._gate.perform_sync(verdict, lambda: run(self, *args, **given), _succeeded, _output))

    @functools.wraps(run)
    async def aguarded(self: BaseTool, *args: Any, **given: Any) -> Any:
        asked = _asked(self, args, given)
        if _within(self, asked, run):
            with _made(self, asked, run):
                return await run(self, *args, **given)
        adapter = None if _entered(self, asked) else _judging_adapter(self, asked)
        if adapter is None:
            with _made(self, asked, run):
                return await run(self, *args, **given)
        verdict = await _ajudge(adapter, self.name, asked)
        with _made(self, asked, run):
            return _noticed(*await adapter._gate.perform(verdict, lambda: run(self, *args, **given), _succeeded, _output))

    return aguarded if inspect.iscoroutinefunction(run) else guarded


def _within(tool: BaseTool, args: Any, run: Callable[..., Any]) -> bool:
    """Whether a method is called by another one of the tool, on the way of the call that is made. The tool's own function that calls
    the tool again makes another call: that begins anew."""
    making = _making.get()
    if making is None or _permit.current() is not None:
        return False
    of, digest, came = making
    onward = run.__name__.endswith("run") or came[-1].__name__.endswith("invoke")
    return onward and run not in came and of is tool and digest == _permit.digest(args)


def _entered(tool: BaseTool, args: Any) -> bool:
    """Uses the permit of this call; False where the call is yet to be judged."""
    permit = _permit.current()
    if permit is not None and not permit.use(tool.name, args):
        raise _Refused(tool.name, args, _permit.CHANGED)
    return permit is not None


def _judging_adapter(tool: BaseTool, args: Any) -> InterlockMiddleware | None:
    adapter = _adapters.find() if _adapters else None
    if _adapters and adapter is None:
        raise _Refused(tool.name, args, _permit.SEVERAL)
    return adapter


@contextlib.contextmanager
def _made(tool: BaseTool, args: Any, run: Callable[..., Any]) -> Iterator[None]:
    """Has the other methods of a tool make the call that was judged."""
    before = _making.get()
    came = before[2] if before is not None and _within(tool, args, run) else ()
    _making.set((tool, _permit.digest(args), (*came, run)))
    try:
        yield
    finally:
        _making.set(before)


def _asked(tool: BaseTool, args: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """The arguments of a call, without those that the graph gives."""
    value = args[0] if args else given.get("input", given.get("tool_input"))
    if isinstance(value, dict) and value.get("type") == "tool_call":
        value = value["args"]
    return tool._filter_injected_args(value) if isinstance(value, dict) else {"input": value}


_permit.guard(BaseTool, ("invoke", "ainvoke", "run", "arun"), _guarded)


def _hosted(tool: Any) -> bool:
    """Whether a tool is one that the model's provider runs."""
    return isinstance(tool, dict) and "type" in tool and tool["type"] not in {"function", "custom"} and "input_schema" not in tool


def _config(request: ToolCallRequest) -> Any:
    return getattr(request.runtime, "config", None) or {}


def _name(tool: Any) -> str:
    if isinstance(tool, dict):  # a tool of the model's provider
        function = tool.get("function")
        return str(tool.get("name") or (function or {}).get("name") or tool.get("type") or "")
    return str(tool.name)


def _waiting(tool: str, args: Any, verdict: Verdict) -> dict[str, Any]:
    """The text of an interrupt about a call that waits."""
    return {
        "type": "interlock_approval",
        "approval_id": verdict.approval_id,
        "tool": tool,
        "args": args,
        "message": verdict.text,
    }


def _question(request: ToolCallRequest, verdict: Verdict) -> dict[str, Any]:
    call = request.tool_call
    return {**_waiting(call["name"], call["args"], verdict), "tool_call_id": call["id"]}


def _refusal(request: ToolCallRequest, verdict: Verdict) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(content=verdict.text, name=call["name"], tool_call_id=call["id"], status="error")


def _succeeded(result: Any) -> bool:
    """Whether a result is that of a call that has succeeded. One of a command says its status beside the text."""
    if isinstance(result, Command):
        messages = result.update.get("messages") if isinstance(result.update, dict) else None
        return all(_succeeded(message) for message in messages or [] if isinstance(message, ToolMessage))
    if not isinstance(result, ToolMessage):
        return True
    status = result.artifact.get("exit_code") if isinstance(result.artifact, dict) else None
    return result.status != "error" and not status


def _output(result: Any) -> Any:
    if isinstance(result, ToolMessage):
        return result.content
    return result.update if isinstance(result, Command) else result


def _noticed(result: Any, notice: str) -> Any:
    if not notice:
        return result
    if isinstance(result, ToolMessage):
        return _with(result, notice)
    if isinstance(result, str):
        return joined(result, notice)
    if isinstance(result, Command) and isinstance(result.update, dict):
        messages = list(result.update.get("messages") or [])
        for i in reversed(range(len(messages))):
            if isinstance(messages[i], ToolMessage):
                messages[i] = _with(messages[i], notice)
                result.update["messages"] = messages
                break
    return result


def _with(message: ToolMessage, notice: str) -> ToolMessage:
    if isinstance(message.content, str):
        return message.model_copy(update={"content": joined(message.content, notice)})
    return message.model_copy(update={"content": [*message.content, {"type": "text", "text": notice}]})
