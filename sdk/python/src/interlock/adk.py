"""Gates the tools of Google's Agent Development Kit.

```python
runner = Runner(app=App(name="app", root_agent=agent, plugins=[..., InterlockPlugin(client)]), session_service=sessions)
```

Every tool of every agent of the app is judged, `transfer_to_agent` too. A refusal is the tool's response. A call that a human must
approve asks for ADK's confirmation and ends the turn; when the approval is decided, answer `adk_request_confirmation` with
`{"confirmed": true}`. That answer is no approval: Interlock decides again. Answer after the approval is decided: ADK confirms a call
once, so a call that still waits is refused then, and the model may make it again.

A tool runs with the arguments that were judged: where another plugin, or the `before_tool_callback` of an agent, has changed them
after that, it does not run. Put the plugin last, so that it judges calls after the changes of other plugins.

The code that a `code_executor` runs is judged as a call of the tool `execute_code` with the argument `code`. Runners of the process
that were made without the plugin, such as that of an `AgentTool` with `include_plugins=False`, are judged too, for as long as a
plugin exists. Tools that the provider of the model runs cannot be judged: an agent with one is refused unless `ungated` names it.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from contextvars import ContextVar
from typing import Any

from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.invocation_context import InvocationContext
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionInput, CodeExecutionResult
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.plugins.plugin_manager import PluginManager
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from . import _permit
from ._async import io
from ._gate import Client, Gate, Outcome, Verdict, joined, text_of

__all__ = ["InterlockPlugin"]

CODE = "execute_code"
"""The tool that a `code_executor` is judged as."""


class InterlockPlugin(BasePlugin):
    """Judges every tool call of an app, and reports it."""

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
        name: str = "interlock",
    ) -> None:
        """Makes the plugin.

        Args:
            client: A client, of either kind.
            session: The session of a conversation, or a function of ADK's context that says it, such as
                `lambda context: context.session.id`. The client's own without it.
            tool_name: Interlock's name of a tool. The tools of MCP servers have their own names, without that of the server.
            human: The own token of the person on whose behalf a conversation is, or a function that says it, of the same as
                that of `session`; that of the client without it.
            only: Entries that all calls of each session must meet: sessions are narrowed before their first call (S22.24).
            hide: Whether tools that are not legal in the state are kept from the model.
            ungated: Names of tools that the model's provider runs, such as `google_search` and `code_execution`, so that they
                cannot be judged, and that may be used all the same.
            name: Name of the plugin.
        """
        super().__init__(name)
        self._gate = Gate(client, session=session, tool_name=tool_name, human=human, only=only)
        self._hide = hide
        self._ungated = frozenset(ungated)
        self._ended: dict[str, list[str]] = {}
        self._permits: dict[tuple[str, str | None], _permit.Permit] = {}
        _adapters.add(self)

    async def before_tool_callback(
        self, *, tool: BaseTool, tool_args: dict[str, Any], tool_context: ToolContext
    ) -> dict[str, Any] | None:
        confirmation = tool_context.tool_confirmation
        if confirmation is not None and not confirmation.confirmed:
            return {"error": "The call was not confirmed, so it was not made."}
        verdict = await self._gate.ask(tool.name, tool_args, _outer.get() or tool_context)
        if verdict.waits and confirmation is None:
            tool_context.request_confirmation(hint=verdict.text, payload={"approval_id": verdict.approval_id})
            # The pause is no result for the model to speak of.
            tool_context.actions.skip_summarization = True
            return {"error": verdict.text}
        if not verdict.allowed:
            return {"error": verdict.text}
        permit = self._permits[_key(tool_context)] = _permit.Permit(verdict, tool.name)
        _permit.grant(permit)
        _adapters.enter(self)
        return None

    async def settle(self, tool_context: ToolContext) -> None:
        """Reports a call that was allowed and has not been made, because something else has answered it."""
        permit = self._permits.pop(_key(tool_context), None)
        if permit is not None and not permit.used:
            await self._gate.settle(permit.verdict)

    async def on_user_message_callback(self, *, invocation_context: InvocationContext, user_message: types.Content) -> None:
        """Notes which long-running calls have ended: the next report says so."""
        answers = [part.function_response for part in user_message.parts or [] if part.function_response]
        for answer in answers:
            status = str((answer.response or {}).get("status", "")).lower()
            if answer.id and status not in {"pending", "running", "in_progress"}:
                with contextlib.suppress(Exception):
                    session = self._gate.session(invocation_context)
                    self._ended.setdefault(session, []).append(_background(answer.name or "", answer.id))

    async def perform(self, verdict: Verdict, tool: BaseTool, call_id: str | None, run: Callable[[], Awaitable[Any]]) -> Any:
        """Runs a call that is allowed, and reports it. One that is long-running continues in the background (S14.6)."""
        ended = self._ended.get(verdict.session)
        gone = ended.pop() if ended else ""

        def outcome(result: Any) -> Outcome:
            background = _background(tool.name, call_id) if tool.is_long_running else ""
            return Outcome(result, background=background, background_ended=gone)

        verdict.begin()
        try:
            result = await run()
        except BaseException as err:
            await self._gate.tell(verdict, ok=False, unknown=io.interrupted(err))
            raise
        if inspect.isasyncgen(result):
            return self.items(verdict, result)  # type: ignore[arg-type]
        notice = await self._gate.tell(verdict, outcome(result), ok=not _failed(result))
        if not notice:
            return result
        return {**result, "interlock_notice": notice} if isinstance(result, dict) else {"result": joined(text_of(result), notice)}

    async def items(self, verdict: Verdict, items: AsyncGenerator[Any, None]) -> AsyncGenerator[Any, None]:
        """Passes on the items of a streaming tool, and reports the call at its end."""
        try:
            async for item in items:
                yield item
        except BaseException as err:
            await self._gate.tell(verdict, ok=False, unknown=io.interrupted(err))
            raise
        await self._gate.tell(verdict)

    async def before_model_callback(self, *, callback_context: CallbackContext, llm_request: LlmRequest) -> LlmResponse | None:
        tools: list[Any] = llm_request.config.tools or []
        for name in (name for tool in tools for name in _hosted(tool)):
            if name not in self._ungated:
                raise TypeError(
                    f"Interlock cannot judge the tool {name!r}, which the model's provider runs, so it must not be offered; name it "
                    "in `ungated` if it may be used without"
                )
        if self._hide:
            offers = await self._gate.offered(_outer.get() or callback_context)
            # Only the offer is changed: a call of another tool still finds it, and is judged.
            for declaring in tools:
                declared = getattr(declaring, "function_declarations", None)
                if declared:
                    declaring.function_declarations = [d for d in declared if offers(d.name or "")]
        return None

    def run_code(self, context: InvocationContext, code: str, run: Callable[[], CodeExecutionResult]) -> CodeExecutionResult:
        """Judges code of the model, and runs and reports it."""
        verdict = self._gate.ask_sync(CODE, {"code": code}, _outer.get() or context)
        if not verdict.allowed:
            return CodeExecutionResult(stderr=verdict.text)
        # Many executors give no exit status: code that has written errors may have failed.
        result, notice = self._gate.perform_sync(
            verdict,
            run,
            lambda done: not getattr(done, "exit_code", None),
            lambda done: Outcome(done.stdout, unknown=bool(done.stderr)),
        )
        if notice:
            result.stdout = joined(result.stdout, notice)
        return result


_adapters: _permit.Adapters[InterlockPlugin] = _permit.Adapters()
_running: ContextVar[BaseTool | None] = ContextVar("interlock_adk_running", default=None)
_outer: ContextVar[ToolContext | None] = ContextVar("interlock_conversation", default=None)
"""The outermost tool that runs. The agent that an `AgentTool` runs has a session of ADK's own, which is none of the program's."""


def _plugin(manager: PluginManager) -> InterlockPlugin | None:
    """Returns the plugin that judges for a runner: its own, or the one around it, or the only one of the process."""
    own = next((plugin for plugin in manager.plugins if isinstance(plugin, InterlockPlugin)), None)
    return own or _adapters.find()


def _guarded_tool(run: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(run)
    async def run_async(self: BaseTool, *, args: dict[str, Any], tool_context: ToolContext) -> Any:
        permit = _permit.current()
        if not _adapters or (permit is None and _running.get() is self):  # by `super()`, of the call that is made
            return await run(self, args=args, tool_context=tool_context)
        plugin = _plugin(tool_context._invocation_context.plugin_manager)
        if plugin is None:
            return {"error": _permit.SEVERAL}
        args = _permit.frozen(args)
        if permit is not None:
            if not permit.use(self.name, args):
                await plugin.settle(tool_context)
                return {"error": _permit.CHANGED}
            verdict = permit.verdict
        else:
            verdict = await plugin._gate.ask(self.name, args, _outer.get() or tool_context)
            if not verdict.allowed:
                return {"error": verdict.text}
        before, outer = _running.set(self), _outer.set(_outer.get() or tool_context)
        try:
            return await plugin.perform(
                verdict, self, tool_context.function_call_id, lambda: run(self, args=args, tool_context=tool_context)
            )
        finally:
            _running.reset(before)
            _outer.reset(outer)

    return run_async


def _guarded_executor(run: Callable[..., CodeExecutionResult]) -> Callable[..., CodeExecutionResult]:
    @functools.wraps(run)
    def execute_code(
        self: BaseCodeExecutor, invocation_context: InvocationContext, code_execution_input: CodeExecutionInput
    ) -> CodeExecutionResult:
        if not _adapters:
            return run(self, invocation_context, code_execution_input)
        plugin = _plugin(invocation_context.plugin_manager)
        if plugin is None:
            return CodeExecutionResult(stderr=_permit.SEVERAL)
        given = code_execution_input.code
        return plugin.run_code(invocation_context, given, lambda: run(self, invocation_context, code_execution_input))

    return execute_code


def _guarded_callbacks(name: str, forgotten: Callable[[InterlockPlugin, dict[str, Any]], Awaitable[Any]]) -> None:
    """Has runners without the plugin call it all the same, after the plugins that they have."""
    original = getattr(PluginManager, name)

    @functools.wraps(original)
    async def run(self: PluginManager, **given: Any) -> Any:
        answer = await original(self, **given)
        if answer is not None or not _adapters or any(isinstance(plugin, InterlockPlugin) for plugin in self.plugins):
            return answer
        plugin = _adapters.find()
        if plugin is None:
            raise RuntimeError(_permit.SEVERAL)
        return await forgotten(plugin, given)

    setattr(PluginManager, name, run)


def _settled_first(name: str) -> None:
    """Has calls settled before plugins are called, because one that answers keeps the others from being called."""
    original = getattr(PluginManager, name)

    @functools.wraps(original)
    async def run(self: PluginManager, **given: Any) -> Any:
        # A streaming tool begins later, in a task of its own.
        if not _yields(given["tool"]) and (plugin := _plugin(self)) is not None:
            await plugin.settle(given["tool_context"])
        return await original(self, **given)

    setattr(PluginManager, name, run)


_permit.guard(BaseTool, ("run_async",), _guarded_tool)
_permit.guard(BaseCodeExecutor, ("execute_code",), _guarded_executor)
_guarded_callbacks("run_before_tool_callback", lambda plugin, given: plugin.before_tool_callback(**given))
_guarded_callbacks("run_before_model_callback", lambda plugin, given: plugin.before_model_callback(**given))
_settled_first("run_after_tool_callback")
_settled_first("run_on_tool_error_callback")


def _key(context: ToolContext) -> tuple[str, str | None]:
    return context.invocation_id, context.function_call_id


def _background(tool: str, call_id: str | None) -> str:
    """The name of the work that a long-running call has left in the background."""
    return f"{tool}:{call_id}"[:256]


def _yields(tool: BaseTool) -> bool:
    """Whether a tool is a streaming tool, of live conversations."""
    return inspect.isasyncgenfunction(getattr(tool, "func", None))


def _failed(result: Any) -> bool:
    """Whether a result is that of a call that has failed: one of MCP, of a command, or an error in ADK's own words. A tool that asks
    for a confirmation says so by an error."""
    if not isinstance(result, dict):
        return False
    return result.get("status") == "error" or any(result.get(key) for key in ("error", "isError", "returncode", "exit_code"))


def _hosted(tool: Any) -> list[str]:
    """Names of the tools that the model's provider runs, of one entry of the tools of a request."""
    fields: set[str] = getattr(tool, "model_fields_set", set())
    return sorted(name for name in fields - {"function_declarations"} if getattr(tool, name) is not None)
