"""Gates the tools of Microsoft's Agent Framework.

```python
agent = Agent(client=chat, tools=tools, middleware=interlock_middleware(client))
```

A refusal is the tool's result. A call that a human must approve ends the run with an approval request in `user_input_requests`; when
the approval is decided, run the agent again, in the same session, with `request.to_function_approval_response(True)`. That
approval admits nothing: Interlock decides again, about the arguments of that moment.

Put the middleware last, so that no other changes the arguments after they were judged. Hosted tools, which the model's provider
runs, are not judged.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
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

from ._gate import Client, Gate

__all__ = ["InterlockChatMiddleware", "InterlockFunctionMiddleware", "interlock_middleware"]


def interlock_middleware(
    client: Client,
    *,
    session: str | Callable[[Any], str] = "",
    tool_name: Callable[[str], str] | None = None,
    hide: bool = True,
) -> list[FunctionMiddleware | ChatMiddleware]:
    """The middleware of an agent.

    Args:
        client: A client, of either kind.
        session: The session of a conversation, or a function of the middleware's context that says it, such as
            `lambda context: context.session.session_id`. The client's own without it.
        tool_name: Interlock's name of a tool. The tools of MCP servers have their own names, without that of the server.
        hide: Whether tools that are not legal in the state are kept from the model.
    """
    gate = Gate(client, session=session, tool_name=tool_name)
    made: list[FunctionMiddleware | ChatMiddleware] = [InterlockFunctionMiddleware(gate)]
    if hide:
        made.append(InterlockChatMiddleware(gate))
    return made


class InterlockFunctionMiddleware(FunctionMiddleware):
    """Judges every call of a function tool, and reports it."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Judges one call."""
        verdict = await self._gate.ask(context.function.name, dict(context.arguments or {}), context)
        if verdict.waits:
            context.result = _question(context, verdict.approval_id, verdict.text)
            raise MiddlewareTermination("a human must approve the call")
        if not verdict.allowed:
            context.result = verdict.text
            return
        _, notice = await self._gate.perform(verdict, call_next, output=lambda _: _texts(context.result))
        if notice:
            if isinstance(context.result, list):
                context.result = [*context.result, Content.from_text(notice)]
            else:
                context.result = [Content.from_text(str(context.result)), Content.from_text(notice)]


class InterlockChatMiddleware(ChatMiddleware):
    """Offers the model the tools that are legal in the state."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    async def process(self, context: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Changes what one request offers."""
        options: Any = context.options
        if options and options.get("tools"):
            offers = await self._gate.offered(context)
            legal = [tool for tool in options["tools"] if not isinstance(tool, FunctionTool) or offers(tool.name)]
            context.options = {**options, "tools": legal}
        await call_next()


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


def _texts(result: Any) -> Any:
    if isinstance(result, list):
        return "\n".join(text for part in result if (text := getattr(part, "text", None)))
    return result
