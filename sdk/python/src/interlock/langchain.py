"""Gates the tools of LangChain agents and of LangGraph.

```python
agent = create_agent(model, tools, middleware=[InterlockMiddleware(client)], checkpointer=checkpointer)
```

A refusal is the tool's message, with status "error". A call that a human must approve interrupts the graph, which needs a
checkpointer; resume it with `Command(resume=True)` when the approval is decided. What resumes it is no approval: Interlock
decides again, about the arguments of that moment.

The tool node of `create_agent` makes every call in a task of its own, so that resuming one does not run the others again. A
`ToolNode` of your own that makes several calls in one task runs all of them again when one of them has interrupted it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import ToolMessage
from langgraph.config import get_config
from langgraph.prebuilt.tool_node import ToolCallRequest
from langgraph.types import Command, interrupt

from ._gate import Client, Gate, Verdict, joined

__all__ = ["InterlockMiddleware", "thread_id"]

ToolResult = ToolMessage | Command[Any]


def thread_id(config: Any) -> str:
    """The thread of a conversation, for `session`: every thread then has a run of its own."""
    return str(config["configurable"]["thread_id"])


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
        hide: bool = True,
    ) -> None:
        """Makes the middleware.

        Args:
            client: A client, of either kind.
            session: The session of a conversation, or a function of the run's config that says it, such as `thread_id`. The
                client's own without it.
            tool_name: Interlock's name of a tool. The tools of MCP servers have the names that their adapter gives them.
            hide: Whether tools that are not legal in the state are kept from the model.
        """
        super().__init__()
        self._gate = Gate(client, session=session, tool_name=tool_name)
        self._hide = hide

    def wrap_tool_call(self, request: ToolCallRequest, handler: Callable[[ToolCallRequest], ToolResult]) -> ToolResult:
        """Judges a call, runs and reports it."""
        call, config = request.tool_call, _config(request)
        verdict = self._gate.ask_sync(call["name"], call["args"], config)
        while verdict.waits:
            # Returns when the graph was resumed, though perhaps nobody has decided.
            interrupt(_question(request, verdict))
            verdict = self._gate.ask_sync(call["name"], call["args"], config)
        if not verdict.allowed:
            return _refusal(request, verdict)
        result, notice = self._gate.perform_sync(verdict, lambda: handler(request), _succeeded, _output)
        return _noticed(result, notice)

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
        result, notice = await self._gate.perform(verdict, lambda: handler(request), _succeeded, _output)
        return _noticed(result, notice)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Offers the model the tools that are legal in the state."""
        if self._hide:
            offers = self._gate.offered_sync(get_config())
            request = request.override(tools=[tool for tool in request.tools if offers(_name(tool))])
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Offers the model the tools that are legal in the state."""
        if self._hide:
            offers = await self._gate.offered(get_config())
            request = request.override(tools=[tool for tool in request.tools if offers(_name(tool))])
        return await handler(request)


def _config(request: ToolCallRequest) -> Any:
    return getattr(request.runtime, "config", None) or {}


def _name(tool: Any) -> str:
    if isinstance(tool, dict):  # a tool of the model's provider
        function = tool.get("function")
        return str(tool.get("name") or (function or {}).get("name") or tool.get("type") or "")
    return str(tool.name)


def _question(request: ToolCallRequest, verdict: Verdict) -> dict[str, Any]:
    call = request.tool_call
    return {
        "type": "interlock_approval",
        "approval_id": verdict.approval_id,
        "tool": call["name"],
        "args": call["args"],
        "tool_call_id": call["id"],
        "message": verdict.text,
    }


def _refusal(request: ToolCallRequest, verdict: Verdict) -> ToolMessage:
    call = request.tool_call
    return ToolMessage(content=verdict.text, name=call["name"], tool_call_id=call["id"], status="error")


def _succeeded(result: ToolResult) -> bool:
    return not (isinstance(result, ToolMessage) and result.status == "error")


def _output(result: ToolResult) -> Any:
    if isinstance(result, ToolMessage):
        return result.content
    return result.update


def _noticed(result: ToolResult, notice: str) -> ToolResult:
    if not notice:
        return result
    if isinstance(result, ToolMessage):
        return _with(result, notice)
    if isinstance(result.update, dict):
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
