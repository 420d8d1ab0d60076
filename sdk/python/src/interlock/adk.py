"""Gates the tools of Google's Agent Development Kit.

```python
runner = Runner(app=App(name="app", root_agent=agent, plugins=[..., InterlockPlugin(client)]), session_service=sessions)
```

Every tool of every agent of the app is judged, `transfer_to_agent` too. A refusal is the tool's response. A call that a human must
approve asks for ADK's confirmation and ends the turn; when the approval is decided, answer `adk_request_confirmation` with
`{"confirmed": true}`. That answer is no approval: Interlock decides again. Answer after the approval is decided: ADK confirms a call
once, so a call that still waits is refused then, and the model may make it again.

Put the plugin last among the plugins that have a `before_tool_callback`: one that answers stops the rest, and then nothing runs, but
one that changes arguments must do it before they are judged. The `before_tool_callback` of an agent runs after all plugins; it must
not change arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext

from ._gate import Client, Gate, Verdict, joined, text_of

__all__ = ["InterlockPlugin"]


class InterlockPlugin(BasePlugin):
    """Judges every tool call of an app, and reports it."""

    def __init__(
        self,
        client: Client,
        *,
        session: str | Callable[[Any], str] = "",
        tool_name: Callable[[str], str] | None = None,
        hide: bool = True,
        name: str = "interlock",
    ) -> None:
        """Makes the plugin.

        Args:
            client: A client, of either kind.
            session: The session of a conversation, or a function of ADK's context that says it, such as
                `lambda context: context.session.id`. The client's own without it.
            tool_name: Interlock's name of a tool. The tools of MCP servers have their own names, without that of the server.
            hide: Whether tools that are not legal in the state are kept from the model.
            name: Name of the plugin.
        """
        super().__init__(name)
        self._gate = Gate(client, session=session, tool_name=tool_name)
        self._hide = hide
        self._running: dict[tuple[str, str | None], Verdict] = {}

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        confirmation = tool_context.tool_confirmation
        if confirmation is not None and not confirmation.confirmed:
            return {"error": "The call was not confirmed, so it was not made."}
        verdict = await self._gate.ask(tool.name, tool_args, tool_context)
        if verdict.waits and confirmation is None:
            tool_context.request_confirmation(hint=verdict.text, payload={"approval_id": verdict.approval_id})
            # The pause is no result for the model to speak of.
            tool_context.actions.skip_summarization = True
            return {"error": verdict.text}
        if not verdict.allowed:
            return {"error": verdict.text}
        self._running[_key(tool_context)] = verdict
        return None

    async def after_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, result: Any
    ) -> dict[str, Any] | None:
        verdict = self._running.pop(_key(tool_context), None)
        if verdict is None:
            return None
        failed = isinstance(result, dict) and bool(result.get("isError"))
        notice = await self._gate.tell(verdict, result, ok=not failed)
        if not notice:
            return None
        if not isinstance(result, dict):
            return {"result": joined(text_of(result), notice)}
        return {**result, "interlock_notice": notice}

    async def on_tool_error_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext, error: Exception
    ) -> dict[str, Any] | None:
        verdict = self._running.pop(_key(tool_context), None)
        if verdict is not None:
            await self._gate.tell(verdict, ok=False)
        return None

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        if self._hide:
            offers = await self._gate.offered(callback_context)
            # Only what is offered is changed: a call of another tool still finds it, and is judged.
            for tools in llm_request.config.tools or []:
                declared = getattr(tools, "function_declarations", None)
                if declared:
                    tools.function_declarations = [d for d in declared if offers(d.name or "")]  # type: ignore[union-attr]
        return None


def _key(context: ToolContext) -> tuple[str, str | None]:
    return context.invocation_id, context.function_call_id
