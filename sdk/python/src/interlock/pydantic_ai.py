"""Gates the tools of Pydantic AI agents.

```python
agent = Agent(model, capabilities=[InterlockCapability(client)], output_type=[str, DeferredToolRequests])
```

A refusal is a failed result of the tool, which the model reads. A call that a human must approve ends the run with
`DeferredToolRequests`; its metadata has the approval. When that is decided, continue with
`agent.run(message_history=..., deferred_tool_results=requests.build_results(approve_all=True))`. That approval admits nothing:
Interlock decides again, about the arguments of that moment.

Native tools, which the model's provider runs, and output tools are not judged.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import CapabilityOrdering, WrapToolExecuteHandler
from pydantic_ai.exceptions import ApprovalRequired, ToolFailed
from pydantic_ai.messages import ToolCallPart, ToolReturn
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import ToolDefinition

from ._gate import Client, Gate, Verdict, joined, text_of

__all__ = ["InterlockCapability"]


class InterlockCapability(AbstractCapability[Any]):
    """Judges every call of a function tool or of an MCP server's tool, and reports it. It is the innermost capability, so that no
    other changes the arguments after they were judged."""

    def __init__(
        self,
        client: Client,
        *,
        session: str | Callable[[Any], str] = "",
        tool_name: Callable[[str], str] | None = None,
        hide: bool = True,
    ) -> None:
        """Makes the capability.

        Args:
            client: A client, of either kind.
            session: The session of a conversation, or a function of the `RunContext` that says it, such as
                `lambda ctx: ctx.conversation_id`. The client's own without it.
            tool_name: Interlock's name of a tool. The tools of MCP servers have their own names, without that of the server.
            hide: Whether tools that are not legal in the state are kept from the model.
        """
        self._gate = Gate(client, session=session, tool_name=tool_name)
        self._hide = hide
        self._running: dict[tuple[str | None, str], Verdict] = {}

    def get_ordering(self) -> CapabilityOrdering | None:
        return CapabilityOrdering(position="innermost")

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        verdict = await self._gate.ask(call.tool_name, args, ctx)
        if verdict.waits:
            raise ApprovalRequired(metadata={"approval_id": verdict.approval_id, "message": verdict.text})
        if not verdict.allowed:
            raise ToolFailed(verdict.text)
        self._running[ctx.run_id, call.tool_call_id] = verdict
        return args

    async def wrap_tool_execute(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: dict[str, Any],
        handler: WrapToolExecuteHandler,
    ) -> Any:
        key = (ctx.run_id, call.tool_call_id)
        try:
            result = await handler(args)
        except BaseException:
            if failed := self._running.pop(key, None):
                await self._gate.tell(failed, ok=False)
            raise
        verdict = self._running.pop(key, None)
        if verdict is None:
            return result
        output = result.return_value if isinstance(result, ToolReturn) else result
        notice = await self._gate.tell(verdict, output)
        if not notice:
            return result
        if isinstance(result, ToolReturn):
            return dataclasses.replace(result, return_value=joined(text_of(output), notice))
        return joined(text_of(output), notice)

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        if not self._hide:
            return request_context
        offers = await self._gate.offered(ctx)
        parameters = request_context.model_request_parameters
        legal = [tool for tool in parameters.function_tools if offers(tool.name)]
        return dataclasses.replace(
            request_context, model_request_parameters=dataclasses.replace(parameters, function_tools=legal)
        )
