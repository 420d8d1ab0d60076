"""Gates the tools of Microsoft's Agent Framework.

```python
agent = Agent(client=chat, tools=tools, middleware=interlock_middleware(client))
```

A refusal is the tool's result. A call that a human must approve ends the run with an approval request in `user_input_requests`; when
the approval is decided, run the agent again, in the same session, with `request.to_function_approval_response(True)`. That
approval admits no call: Interlock decides again, about the arguments of that moment.

Put the middleware last: a call whose arguments another middleware has changed after the judgement is not made. Agents without the
middleware, such as one that a tool or a workflow runs, are judged too, for as long as the process has one middleware. Hosted tools,
which the model's provider runs, cannot be judged: an agent with one is refused unless `ungated` names it.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextvars import ContextVar
from typing import Any

from agent_framework import (
    ChatContext,
    ChatMiddleware,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    MiddlewareTermination,
)

from . import _permit
from ._gate import Client, Gate, joined

__all__ = ["InterlockChatMiddleware", "InterlockFunctionMiddleware", "interlock_middleware"]


def interlock_middleware(
    client: Client,
    *,
    session: str | Callable[[Any], str] = "",
    tool_name: Callable[[str], str] | None = None,
    human: str | Callable[[Any], str] = "",
    only: Any = None,
    hide: bool = True,
    ungated: Collection[str] = (),
) -> list[FunctionMiddleware | ChatMiddleware]:
    """The middleware of an agent.

    Args:
        client: A client, of either kind.
        session: The session of a conversation, or a function of the middleware's context that says it, such as
            `lambda context: context.session.session_id`. The client's own without it.
        tool_name: Interlock's name of a tool. The tools of MCP servers have their own names, without that of the server.
        human: The own token of the person on whose behalf a conversation is, or a function that says it, of the same as
            that of `session`; that of the client without it.
        only: Entries that all calls of each session must meet: sessions are narrowed before their first call (S22.24).
        hide: Whether tools that are not legal in the state are kept from the model.
        ungated: Names of hosted tools, or their types, that may be used though they cannot be judged.
    """
    gate = Gate(client, session=session, tool_name=tool_name, human=human, only=only)
    return [InterlockFunctionMiddleware(gate), InterlockChatMiddleware(gate, hide=hide, ungated=ungated)]


class InterlockFunctionMiddleware(FunctionMiddleware):
    """Judges every call of a function tool, and reports it."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        _adapters.add(self)

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Judges one call."""
        verdict = await self._gate.ask(context.function.name, _mapping(context.arguments), context)
        if verdict.waits:
            context.result = _question(context, verdict.approval_id, verdict.text)
            raise MiddlewareTermination("a human must approve the call")
        if not verdict.allowed:
            context.result = verdict.text
            return
        permit = _permit.Permit(verdict, context.function.name)

        async def run() -> MiddlewareTermination | None:
            try:
                await call_next()
            except MiddlewareTermination as end:  # by a middleware that has its result
                return end
            return None

        outer = _conversation.set(_conversation.get() or context)
        try:
            with _adapters.inside(self):
                ended, notice = await _permit.perform(
                    self._gate, permit, run, lambda _: _succeeded(context.result), lambda _: _texts(context.result)
                )
        finally:
            _conversation.reset(outer)
        if notice:
            context.result = _noticed(context.result, notice)
        if ended is not None:
            raise ended


class InterlockChatMiddleware(ChatMiddleware):
    """Offers the model the tools that are legal in the state, and refuses those that cannot be judged."""

    def __init__(self, gate: Gate, *, hide: bool = True, ungated: Collection[str] = ()) -> None:
        self._gate = gate
        self._hide = hide
        self._ungated = frozenset(ungated)

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Changes the offer of one request."""
        options: Any = context.options
        tools = (options or {}).get("tools") or []
        for tool in tools:
            if not isinstance(tool, FunctionTool) and not self._ungated & _names(tool):
                raise TypeError(
                    f"Interlock cannot judge the tool {min(_names(tool))!r}, which the model's provider runs, so it must not be "
                    "offered; name it in `ungated` if it may be used without"
                )
        if tools and self._hide:
            offers = await self._gate.offered(context)
            legal = [tool for tool in tools if not isinstance(tool, FunctionTool) or offers(tool.name)]
            context.options = {**options, "tools": legal}
        await call_next()


_adapters: _permit.Adapters[InterlockFunctionMiddleware] = _permit.Adapters()
_running: ContextVar[FunctionTool | None] = ContextVar("interlock_agent_framework_running", default=None)
_conversation: ContextVar[FunctionInvocationContext | None] = ContextVar("interlock_conversation", default=None)


def _guarded(invoke: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    """Lets functions run only judged calls."""

    @functools.wraps(invoke)
    async def run(
        self: FunctionTool, *, arguments: Any = None, context: FunctionInvocationContext | None = None, **given: Any
    ) -> Any:
        permit = _permit.current()
        inside = permit is None and _running.get() is self  # by `super()`, of the call that is made
        if inside or not _adapters or self.declaration_only:
            return await invoke(self, arguments=arguments, context=context, **given)
        if arguments is None and context is not None:
            arguments = context.arguments
        if arguments is None:
            known = set(self.parameters().get("properties", {}))
            arguments = {name: given.pop(name) for name in list(given) if name in known}
        arguments = _permit.frozen(arguments)

        async def made() -> Any:
            before = _running.set(self)
            try:
                return await invoke(self, arguments=arguments, context=context, **given)
            finally:
                _running.reset(before)

        def refused(text: str) -> Any:
            return text if given.get("skip_parsing") else [Content.from_text(text)]

        if permit is not None:
            if not permit.use(self.name, _mapping(arguments)):
                return refused(_permit.CHANGED)
            return await made()
        adapter = _adapters.find()
        if adapter is None:
            return refused(_permit.SEVERAL)
        verdict = await adapter._gate.ask(self.name, _mapping(arguments), _conversation.get() or context)
        if not verdict.allowed:
            return refused(verdict.text)
        result, notice = await adapter._gate.perform(verdict, made, _succeeded, _texts)
        return _noticed(result, notice) if notice else result

    return run


_permit.guard(FunctionTool, ("invoke",), _guarded)


def _mapping(arguments: Any) -> dict[str, Any]:
    return {} if arguments is None else dict(_permit.plain(arguments))


def _names(tool: Any) -> set[str]:
    """The possible names of a hosted tool."""
    if isinstance(tool, Mapping):
        return {str(tool[key]) for key in ("name", "type") if tool.get(key)} or {"dict"}
    return {str(getattr(tool, "name", "")) or type(tool).__name__, type(tool).__name__}


def _noticed(result: Any, notice: str) -> Any:
    if isinstance(result, list):
        return [*result, Content.from_text(notice)]
    if isinstance(result, str):
        return joined(result, notice)
    return [Content.from_text(str(result)), Content.from_text(notice)]


def _question(context: FunctionInvocationContext, approval_id: str, message: str) -> Content:
    """A request for approval, of the call that waits."""
    call_id = context.metadata["call_id"]
    occurrence = context.metadata.get("function_call_occurrence_id")
    call = Content.from_function_call(
        call_id=call_id, name=context.function.name, arguments=dict(context.arguments or {}), id=occurrence
    )
    return Content.from_function_approval_request(
        id=occurrence or call_id,
        function_call=call,
        additional_properties={"approval_id": approval_id, "reason": message},
    )


def _succeeded(result: Any) -> bool:
    """Whether a result is that of a call that has succeeded. One of a command has its status."""
    if isinstance(result, list):
        return all(map(_succeeded, result))
    if not isinstance(result, Content):
        return True
    return not (result.exit_code or result.timed_out) and _succeeded(list(result.outputs or ()))


def _texts(result: Any) -> Any:
    if isinstance(result, list):
        return "\n".join(text for part in result if (text := getattr(part, "text", None)))
    return result
