"""Gates the tools of Pydantic AI agents.

```python
agent = Agent(model, capabilities=[InterlockCapability(client)], output_type=[str, DeferredToolRequests])
```

A refusal is a failed result of the tool, which the model reads. A call that a human must approve ends the run with
`DeferredToolRequests`; its metadata has the approval. When that is decided, continue with
`agent.run(message_history=..., deferred_tool_results=requests.build_results(approve_all=True))`. That approval admits no call:
Interlock decides again, about the arguments of that moment.

A tool gets the arguments that were judged: where a `WrapperToolset` or the `process_tool_call` of an MCP server's toolset has changed
them after that, it does not run. Output functions
are judged as calls of their own names, and run once, for the final output. External tools are judged before they are handed to the
program, and reported when their results come back. Agents without the capability, such as one that a tool runs, are judged too, for
as long as the process has one capability. Native tools, which the model's provider runs, cannot be judged: an agent with one is
refused unless `ungated` names it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.capabilities.abstract import CapabilityOrdering, WrapToolExecuteHandler
from pydantic_ai.exceptions import ApprovalRequired, ModelRetry, ToolFailed
from pydantic_ai.messages import BaseToolReturnPart, RetryPromptPart, ToolCallPart, ToolReturn
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.output import OutputContext
from pydantic_ai.tools import ToolDefinition
from pydantic_ai.toolsets import AbstractToolset, ToolsetTool, WrapperToolset
from pydantic_ai.toolsets._dynamic import DynamicToolset

from . import _permit, _provider
from ._async import io
from ._gate import Client, Gate, joined, text_of

__all__ = ["InterlockCapability"]


class _Gate(Gate):
    """The gate that the copies of a capability share: Pydantic AI makes one for each agent and run."""

    hide = True
    ungated: frozenset[str] = frozenset()


class _Nowhere(_permit.Nowhere, _Gate):
    pass


class _Attempt(_permit.Permit):
    """The permission to run a tool once. Other capabilities may repeat a call, and may make an answer of the tool's error."""

    failure: BaseException | None = None
    """The error of the tool itself."""


class InterlockCapability(AbstractCapability[Any]):
    """Judges every call of a function tool or of an MCP server's tool, and reports it. It is the innermost capability, so that no
    other changes the arguments after they were judged."""

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
        """Makes the capability.

        Args:
            client: A client, of either kind.
            session: The session of a conversation, or a function of the `RunContext` that says it, such as
                `lambda ctx: ctx.conversation_id`. The client's own without it.
            tool_name: Interlock's name of a tool. The tools of MCP servers have their own names, without that of the server.
            human: The own token of the person on whose behalf a conversation is, or a function that says it, of the same as
                that of `session`; that of the client without it.
            only: Entries that all calls of each session must meet: sessions are narrowed before their first call (S22.24).
            hide: Whether tools that are not legal in the state are kept from the model.
            ungated: Kinds of tools that the model's provider runs, such as `web_search`, so that they cannot be judged, and that
                may be used all the same.
        """
        self._gate = _Gate(client, session=session, tool_name=tool_name, human=human, only=only)
        self._gate.hide, self._gate.ungated = hide, frozenset(ungated)
        self._running: dict[tuple[str | None, str], list[_Attempt]] = {}
        _adapters.add(self._gate)

    def get_ordering(self) -> CapabilityOrdering | None:
        return CapabilityOrdering(position="innermost")

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any] | None:
        return toolset.visit_and_replace(lambda leaf: _Leaf(leaf, self))

    def judges(self, ctx: RunContext[Any]) -> bool:
        """Whether this capability judges a run."""
        return True

    async def after_tool_validate(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        if tool_def.kind != "external" or not self.judges(ctx):
            return args
        verdict = await self._gate.ask(call.tool_name, _permit.plain(args), ctx, call_id=call.tool_call_id)
        if not verdict.allowed:
            raise ToolFailed(verdict.text)
        self._gate.hold(verdict)  # until its result is in the conversation
        return args

    async def before_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: dict[str, Any]
    ) -> dict[str, Any]:
        if not self.judges(ctx):
            return args
        verdict = await self._gate.ask(call.tool_name, _permit.plain(args), ctx)
        if verdict.waits:
            raise ApprovalRequired(metadata={"approval_id": verdict.approval_id, "message": verdict.text})
        if not verdict.allowed:
            raise ToolFailed(verdict.text)
        attempt = _Attempt(verdict, call.tool_name)
        self._running.setdefault((ctx.run_id, call.tool_call_id), []).append(attempt)
        _permit.grant(attempt)
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
            with _adapters.inside(self._gate):
                result = await handler(args)
        except BaseException as err:
            await self._ended(key, err)
            raise
        output = result.return_value if isinstance(result, ToolReturn) else result
        notice = await self._ended(key, None, output)
        if not notice:
            return result
        if isinstance(result, ToolReturn):
            return dataclasses.replace(result, return_value=joined(text_of(output), notice))
        return joined(text_of(output), notice)

    async def _ended(self, key: tuple[str | None, str], err: BaseException | None, output: Any = None) -> str:
        """Reports the attempts at a call, and returns the notice. The handling of a tool's error by another capability is not how
        the tool has ended."""
        notice = ""
        for attempt in self._running.pop(key, ()):
            failure = attempt.failure or err
            if not attempt.used:
                await self._gate.settle(attempt.verdict)
            elif failure is not None:
                await self._gate.tell(attempt.verdict, ok=False, unknown=io.interrupted(failure))
            else:
                notice = await self._gate.tell(attempt.verdict, output)
        return notice

    async def wrap_output_process(
        self, ctx: RunContext[Any], *, output_context: OutputContext, output: Any, handler: Callable[[Any], Any]
    ) -> Any:
        if not output_context.has_function or not self.judges(ctx):
            return await handler(output)
        if ctx.partial_output:  # it runs once, for the final output
            return output
        call = output_context.tool_call
        name = output_context.function_name or (call.tool_name if call else "output_function")
        output = _permit.frozen(output)
        verdict = await self._gate.ask(name, _arguments(output), ctx)
        if not verdict.allowed:
            raise ModelRetry(verdict.text)
        with _adapters.inside(self._gate):
            return (await self._gate.perform(verdict, lambda: handler(output)))[0]

    async def before_model_request(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
        if not self.judges(ctx):
            return request_context
        await self._returned(ctx, request_context)
        parameters = request_context.model_request_parameters
        settings: Any = request_context.model_settings or {}
        _provider.refuse([native.kind for native in parameters.native_tools], self._gate.ungated)
        for body in (settings.get("extra_body"), {"tools": settings.get("openai_native_tools")}):
            _provider.refuse(_provider.brought(body), self._gate.ungated)
        if not self._gate.hide:
            return request_context
        offers = await self._gate.offered(ctx)
        legal = [tool for tool in parameters.function_tools if offers(tool.name)]
        return dataclasses.replace(
            request_context, model_request_parameters=dataclasses.replace(parameters, function_tools=legal)
        )

    async def _returned(self, ctx: RunContext[Any], request_context: ModelRequestContext) -> None:
        """Reports external calls whose results are in the conversation."""
        returned = {
            part.tool_call_id: part
            for message in request_context.messages
            for part in message.parts
            if isinstance(part, (BaseToolReturnPart, RetryPromptPart))
        }
        try:
            session = self._gate.session(ctx)
        except Exception:  # then no call of this conversation was allowed
            return
        for verdict in self._gate.held(lambda key: key.session == session and key.call_id in returned):
            part = returned[verdict.call_id]
            ok = isinstance(part, BaseToolReturnPart) and part.outcome == "success"
            await self._gate.tell(verdict, part.content if ok else None, ok=ok)


class _Inherited(InterlockCapability):
    """Judges an agent that has no capability of its own."""

    def __init__(self, gate: _Gate) -> None:
        self._gate = gate
        self._running = {}

    def judges(self, ctx: RunContext[Any]) -> bool:
        found: list[AbstractCapability[Any]] = []
        if ctx.root_capability is not None:
            ctx.root_capability.apply(found.append)
        return not any(isinstance(one, InterlockCapability) and not isinstance(one, _Inherited) for one in found)


@dataclasses.dataclass
class _Leaf(WrapperToolset[Any]):
    """A toolset that calls its tools as they were judged, and no others."""

    capability: InterlockCapability

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]) -> Any:
        target = self.wrapped
        if isinstance(target, DynamicToolset):  # it has made its toolset since
            target = target.visit_and_replace(
                lambda leaf: leaf if isinstance(leaf, DynamicToolset) else _Leaf(leaf, self.capability)
            )
        elif self.capability.judges(ctx):
            permit, tool_args = _permit.current(), _permit.frozen(tool_args)
            if permit is None or not permit.use(ctx.tool_name or name, tool_args):
                raise ToolFailed(_permit.CHANGED)
            process: Any = getattr(target, "process_tool_call", None)
            if process is not None and not getattr(process, "interlock", False):
                target.process_tool_call = _exactly(process)  # type: ignore[attr-defined]
            try:
                return await target.call_tool(name, tool_args, ctx, tool)
            except BaseException as err:
                if isinstance(permit, _Attempt):
                    permit.failure = err
                raise
        return await target.call_tool(name, tool_args, ctx, tool)


def _exactly(process: Callable[..., Any]) -> Callable[..., Any]:
    """Has the callback of a toolset of an MCP server make the call that was judged, once, and no other."""

    async def processed(ctx: RunContext[Any], call_tool: Any, name: str, args: dict[str, Any]) -> Any:
        judged, left = _permit.frozen(args), [True]

        async def call(other: str, given: dict[str, Any], **more: Any) -> Any:
            if not left or other != name or given != judged:
                raise ToolFailed(_permit.CHANGED)
            left.clear()
            return await call_tool(other, _permit.frozen(judged), **more)

        return await process(ctx, call, name, args)

    processed.interlock = True  # type: ignore[attr-defined]
    return processed


def _arguments(output: Any) -> dict[str, Any]:
    """The arguments of an output function."""
    made = _permit.plain(output)
    return made if isinstance(made, dict) else {"output": made}


_adapters: _permit.Adapters[_Gate] = _permit.Adapters()


def _guard(name: str) -> None:
    """Has agents without the capability run with it."""
    original = getattr(Agent, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def run(self: Agent[Any, Any], *args: Any, capabilities: Sequence[Any] | None = None, **given: Any) -> Any:
        if _adapters:
            capabilities = [*(capabilities or ()), _Inherited(_adapters.find() or _Nowhere())]
        return original(self, *args, capabilities=capabilities, **given)

    setattr(Agent, name, run)


_guard("iter")
_guard("_resolve_realtime_session")
