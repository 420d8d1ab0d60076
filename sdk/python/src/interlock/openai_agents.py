"""Gates the tools of the OpenAI Agents SDK.

```python
gate = InterlockGate(client)
result = await Runner.run(gate.agent(agent), "...")
```

Function tools, tools of MCP servers that the program connects to, and agents as tools are judged, and so are the tools of every agent
that takes part: one that takes over by a hand-off, also one that was added later; the inner agent of `as_tool`; a clone; an agent that
the function of a tool runs. `gate.agent` takes a `RealtimeAgent` too.

A refusal is the tool's result. A call that a human must approve interrupts the run: keep `result.to_state()`, and when the approval is
decided, continue with `await gate.settle(state)` and `Runner.run(agent, state)`. `settle` asks Interlock about each call that waits,
and approves or rejects it in the state; one that was not decided continues to wait. A call that was approved in the state alone does
not run. In a realtime session, call `session.approve_tool_call` when the approval is decided: Interlock decides again then.

Not judged are hand-offs themselves, and tools that do not run in this program or have no function: hosted tools, shells, computers and
patches. An agent with one of those is refused, unless `ungated` names it. Agents that guardrails, hooks or threads of your own run have
to be given to `gate.agent`.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator
from contextvars import ContextVar
from typing import Any, SupportsIndex, TypeVar

from agents import Agent, Handoff, Model, RunContextWrapper, Tool
from agents.agent import AgentBase
from agents.realtime import RealtimeAgent, RealtimeSession
from agents.run_state import RunState
from agents.tool import FunctionTool, maybe_invoke_function_tool_failure_error_function
from agents.tool_context import ToolContext
from agents.tool_guardrails import ToolInputGuardrail, ToolInputGuardrailData
from agents.util._approvals import evaluate_needs_approval_setting

from . import _provider
from ._gate import Client, Gate, Outcome, Verdict, joined

__all__ = ["InterlockGate"]

A = TypeVar("A", bound=AgentBase[Any])

_offers: ContextVar[Callable[[str], bool]] = ContextVar("interlock_offers")
_here: ContextVar[InterlockGate | None] = ContextVar("interlock_here", default=None)
"""The gate of the tool whose function runs here: agents that it runs are judged by it."""
_failed: ContextVar[list[bool] | None] = ContextVar("interlock_failed", default=None)
"""Whether the MCP server has said that the call has failed, which the SDK does not pass on."""


def _nothing(tool: str) -> bool:
    return False


class InterlockGate:
    """Makes agents whose tools are judged. One of it serves any number of agents and conversations."""

    def __init__(
        self,
        client: Client,
        *,
        session: str | Callable[[Any], str] = "",
        tool_name: Callable[[str], str] | None = None,
        human: str | Callable[[Any], str] = "",
        only: Any = None,
        folder: str | Callable[[Any], str] = "",
        hide: bool = True,
        ungated: Collection[str] = (),
    ) -> None:
        """Makes the gate.

        Args:
            client: A client, of either kind.
            session: The session of a conversation, or a function of the `RunContextWrapper` that says it. The client's own
                without it.
            tool_name: Interlock's name of a tool. The tools of MCP servers have their own names, those of a namespace
                `NAMESPACE.TOOL`.
            human: The own token of the person on whose behalf a conversation is, or a function that says it, of the same as
                that of `session`; that of the client without it.
            only: Entries that all calls of each session must meet: sessions are narrowed before their first call (S22.24).
            folder: The folder that tools work in, as an absolute path, or a function of the `RunContextWrapper` that says it.
            hide: Whether tools that are not legal in the state are kept from the model. The agent's `model` must be a `Model` for
                that: a name is resolved by the SDK, out of reach.
            ungated: Names of tools that cannot be judged and may be used all the same.
        """
        self._gate = Gate(client, session=session, tool_name=tool_name, folder=folder, human=human, only=only)
        self._hide = hide
        self._ungated = frozenset(ungated)
        self._agents: dict[int, tuple[Any, Any]] = {}
        self._tools: dict[int, tuple[FunctionTool, FunctionTool]] = {}
        self._handoffs: dict[int, tuple[Any, Any]] = {}

    def agent(self, agent: A) -> A:
        """The agent with its tools judged, and those of the agents that it can hand off to."""
        if id(agent) in self._agents:
            made: A = self._agents[id(agent)][1]
            return made
        if isinstance(agent, _Guarded):
            return agent
        self._check(agent)
        fields = {field.name: getattr(agent, field.name) for field in dataclasses.fields(agent) if field.init}
        kind = type("Guarded" + type(agent).__name__, (_Guarded, type(agent)), {"interlock_gate": self})
        if self._hide and isinstance(fields.get("model"), Model):
            fields["model"] = _Offering(fields["model"])
        handoffs, fields["handoffs"] = getattr(agent, "handoffs", []), []
        guarded: Any = kind(**fields)
        # The agent is kept with its gated copy, so that no other has its id.
        self._agents[id(agent)] = (agent, guarded)
        guarded.handoffs = handoffs
        return guarded  # type: ignore[no-any-return]

    def tool(self, tool: FunctionTool) -> FunctionTool:
        """A tool that is judged, for programs that do not use `agent`."""
        known = self._tools.get(id(tool))
        if known is None or known[0] is not tool:
            known = self._tools[id(tool)] = (tool, self._guard(tool))
            self._tools[id(known[1])] = (known[1], known[1])
        return known[1]

    async def settle(self, state: RunState[Any, Any]) -> None:
        """Asks Interlock about the calls that wait in a state: approves those that are allowed now, and rejects those that are
        not. A call that was not decided continues to wait."""
        for item in state.get_interruptions():
            raw: Any = item.raw_item
            call_id = raw.get("call_id") if isinstance(raw, dict) else getattr(raw, "call_id", None)
            name = _qualified(item.tool_name or "", item.tool_namespace)
            verdict = await self._gate.ask(name, item.arguments, state._context, call_id=call_id or "")
            if verdict.waits:
                continue
            if not verdict.allowed or not call_id:
                await self._gate.settle(verdict)
                state.reject(item, rejection_message=verdict.text)
                continue
            self._gate.hold(verdict)
            state.approve(item)

    def _handoff(self, handoff: Any) -> Any:
        if isinstance(handoff, AgentBase):
            return self.agent(handoff)
        if not isinstance(handoff, Handoff):
            raise TypeError(f"a hand-off is an Agent or a Handoff, not {handoff!r}")
        known = self._handoffs.get(id(handoff))
        if known is None:
            invoke = handoff.on_invoke_handoff

            async def on_invoke(context: Any, given: str) -> Any:
                return self.agent(await invoke(context, given))

            made = dataclasses.replace(handoff, on_invoke_handoff=on_invoke)
            known = self._handoffs[id(handoff)] = (handoff, made)
            self._handoffs[id(made)] = (made, made)
        return known[1]

    def _check(self, agent: AgentBase[Any]) -> None:
        """Refuses an agent that has tools which are not in the list of its tools, and cannot be judged."""
        settings = getattr(agent, "model_settings", None)
        found = ["prompt"] if getattr(agent, "prompt", None) is not None else []
        for extra in (getattr(settings, "extra_body", None), getattr(settings, "extra_args", None)):
            found += _provider.brought(extra)
        # Agents that the SDK makes when the sandbox is closed, which have a shell.
        found += ["memory" for one in getattr(agent, "capabilities", ()) if getattr(one, "generate", None) is not None]
        _provider.refuse(found, self._ungated)

    def _realtime(self, settings: Any) -> Any:
        """Settings of a realtime session whose tools and hand-offs are judged."""
        if not settings:
            return settings
        _provider.refuse(["prompt"] if settings.get("prompt") else [], self._ungated)
        made = dict(settings)
        if settings.get("tools"):
            made["tools"] = self._all(list(settings["tools"]))
        if settings.get("handoffs"):
            made["handoffs"] = [self._handoff(one) for one in settings["handoffs"]]
        return made

    def _all(self, tools: list[Tool]) -> list[Tool]:
        """Tools of an agent as it may have them."""
        made: list[Tool] = []
        for tool in tools:
            if isinstance(tool, FunctionTool):
                made.append(self.tool(tool))
            elif tool.name in self._ungated:
                made.append(tool)
            else:
                raise TypeError(
                    f"Interlock cannot judge the tool {tool.name!r} ({type(tool).__name__}), so it must not be offered; "
                    "name it in `ungated` if it may be used without"
                )
        return made

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """Has the agents that run here judged by this gate."""
        token = _here.set(self)
        try:
            yield
        finally:
            _here.reset(token)

    def _guard(self, tool: FunctionTool) -> FunctionTool:
        # Exceptions come out of this one; the tool itself handles them after the report.
        inner = dataclasses.replace(tool, _failure_error_function=None, _use_default_failure_error_function=False)
        theirs, name = tool.needs_approval, tool.qualified_name

        async def needs_approval(context: RunContextWrapper[Any], params: dict[str, Any], call_id: str) -> bool:
            if await evaluate_needs_approval_setting(theirs, context, params, call_id):
                return True
            # An ALLOW must be used or given up, and whether the call is made is not known here: guardrails come after this.
            if not (await self._gate.ask(name, params, context, dry_run=True)).waits:
                return False
            verdict = await self._gate.ask(name, params, context, call_id=call_id)
            if not verdict.waits:
                self._gate.hold(verdict)
            return verdict.waits

        async def invoke(context: ToolContext[Any], given: str) -> Any:
            verdict = self._gate.take(name, given, context, context.tool_call_id)
            verdict = verdict or await self._gate.ask(name, given, context, call_id=context.tool_call_id)
            if not verdict.allowed:
                return verdict.text
            try:
                result, notice = await self._run(verdict, lambda: inner.on_invoke_tool(context, given))
            except Exception as err:
                told = await maybe_invoke_function_tool_failure_error_function(function_tool=tool, context=context, error=err)
                if told is None:
                    raise
                return told
            return joined(result if isinstance(result, str) else str(result), notice) if notice else result

        guardrails = [self._guardrail(tool, one) for one in tool.tool_input_guardrails or []]
        return dataclasses.replace(
            tool, on_invoke_tool=invoke, needs_approval=needs_approval, tool_input_guardrails=guardrails or None
        )

    async def _run(self, verdict: Verdict, run: Callable[[], Awaitable[Any]]) -> tuple[Any, str]:
        failed: list[bool] = []

        async def inside() -> Any:
            token = _failed.set(failed)
            try:
                with self._inside():
                    return await run()
            finally:
                _failed.reset(token)

        return await self._gate.perform(verdict, inside, output=lambda result: Outcome(result, ok=not any(failed)))

    def _guardrail(self, tool: FunctionTool, guardrail: ToolInputGuardrail[Any]) -> ToolInputGuardrail[Any]:
        """A guardrail of a tool, whose refusal gives back the verdict that the call was approved with."""

        async def judged(data: ToolInputGuardrailData) -> Any:
            kept: Any = None
            try:
                kept = await guardrail.run(data)
                return kept
            finally:
                if kept is None or kept.behavior["type"] != "allow":
                    context = data.context
                    given = self._gate.take(tool.qualified_name, context.tool_arguments, context, context.tool_call_id)
                    if given is not None and given.allowed:
                        await self._gate.give_up(given)

        return dataclasses.replace(guardrail, guardrail_function=judged, name=guardrail.get_name())


class _Handoffs(list[Any]):
    """Hand-offs to agents that are judged, also those that are added later."""

    def __init__(self, gate: InterlockGate, items: Iterable[Any]) -> None:
        self.gate = gate
        super().__init__(map(gate._handoff, items))

    def append(self, item: Any) -> None:
        super().append(self.gate._handoff(item))

    def extend(self, items: Iterable[Any]) -> None:
        super().extend(map(self.gate._handoff, items))

    def insert(self, index: SupportsIndex, item: Any) -> None:
        super().insert(index, self.gate._handoff(item))

    def __setitem__(self, index: Any, item: Any) -> None:
        super().__setitem__(index, map(self.gate._handoff, item) if isinstance(index, slice) else self.gate._handoff(item))

    def __iadd__(self, items: Iterable[Any]) -> _Handoffs:  # type: ignore[misc]
        self.extend(items)
        return self


class _Guarded(AgentBase[Any]):
    """An agent that has no tool but those that are judged."""

    interlock_gate: InterlockGate

    @property
    def handoffs(self) -> list[Any]:
        return self.__dict__["handoffs"]  # type: ignore[no-any-return]

    @handoffs.setter
    def handoffs(self, items: list[Any]) -> None:
        known = isinstance(items, _Handoffs) and items.gate is self.interlock_gate
        self.__dict__["handoffs"] = items if known else _Handoffs(self.interlock_gate, items)

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        gate = self.interlock_gate
        gate._check(self)
        for server in self.mcp_servers:
            _watch(server)
        with gate._inside():
            tools = gate._all(await super().get_all_tools(run_context))
        if gate._hide:
            _offers.set(await gate._gate.offered(run_context))
        return tools


_their_tools = AgentBase.get_all_tools


async def _tools_here(self: AgentBase[Any], run_context: RunContextWrapper[Any]) -> list[Tool]:
    """The tools of an agent. One that runs inside of a judged tool is judged, too."""
    gate = _here.get()
    if gate is None:
        return await _their_tools(self, run_context)
    if not isinstance(self, _Guarded) and type(self).get_all_tools not in _KNOWN:
        raise TypeError(
            f"Interlock cannot judge an agent of {type(self).__name__}, which has a get_all_tools of its own: give it to gate.agent"
        )
    gate._check(self)
    for server in self.mcp_servers:
        _watch(server)
    # Its own tool servers do not take it for being inside of the tool that runs it.
    return gate._all(await _their_tools(self, run_context))


AgentBase.get_all_tools = _tools_here  # type: ignore[method-assign]
_KNOWN: set[Any] = {Agent.get_all_tools, RealtimeAgent.get_all_tools}
with contextlib.suppress(ImportError):
    from agents.sandbox import SandboxAgent

    _KNOWN.add(SandboxAgent.get_all_tools)


_open_session, _update_agent = RealtimeSession.__init__, RealtimeSession.update_agent


def _open_here(
    self: Any, model: Any, agent: Any, context: Any, model_config: Any = None, run_config: Any = None, **more: Any
) -> None:
    """Opens a realtime session. Its settings may bring tools and hand-offs, which take the place of those of a judged agent."""
    if isinstance(agent, _Guarded):
        gate, key = agent.interlock_gate, "initial_model_settings"
        model_config = {**model_config, key: gate._realtime(model_config.get(key))} if model_config else model_config
        gate._realtime((run_config or {}).get("model_settings"))
    _open_session(self, model, agent, context, model_config, run_config, **more)


async def _update_here(self: RealtimeSession, agent: Any) -> None:
    """Gives a realtime session another agent, which is judged where the one before was."""
    before = self._current_agent
    await _update_agent(self, before.interlock_gate.agent(agent) if isinstance(before, _Guarded) else agent)


RealtimeSession.__init__ = _open_here  # type: ignore[method-assign]
RealtimeSession.update_agent = _update_here  # type: ignore[method-assign]


def _watch(server: Any) -> None:
    """Has an MCP server say here when a call has failed, and make a judged call once."""
    call = server.call_tool
    if getattr(call, "interlock", False):
        return

    retries = getattr(server, "_run_with_retries", None)
    if retries is not None:

        async def tries(request: Any) -> Any:
            return await (request() if _failed.get() is not None else retries(request))

        server._run_with_retries = tries

    async def call_tool(*args: Any, **kwargs: Any) -> Any:
        result = await call(*args, **kwargs)
        failed = _failed.get()
        if failed is not None:
            failed.append(bool(getattr(result, "isError", getattr(result, "is_error", False))))
        return result

    call_tool.interlock = True  # type: ignore[attr-defined]
    with contextlib.suppress(AttributeError):  # a server that takes none
        server.call_tool = call_tool


def _qualified(name: str, namespace: str | None) -> str:
    """The name of a tool as `FunctionTool.qualified_name` has it; a deferred tool is its own namespace."""
    return f"{namespace}.{name}" if namespace and namespace != name else name


class _Offering(Model):
    """A model that is offered the tools that are legal in the state."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def _legal(self, tools: list[Tool]) -> list[Tool]:
        offers = _offers.get(_nothing)
        return [tool for tool in tools if not isinstance(tool, FunctionTool) or offers(tool.qualified_name)]

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: list[Tool], *args: Any, **kwargs: Any
    ) -> Any:
        return await self._model.get_response(system_instructions, input, model_settings, self._legal(tools), *args, **kwargs)

    async def _stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        async for event in self._model.stream_response(*args, **kwargs):
            yield event

    def stream_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: list[Tool], *args: Any, **kwargs: Any
    ) -> AsyncIterator[Any]:
        return self._stream(system_instructions, input, model_settings, self._legal(tools), *args, **kwargs)

    async def close(self) -> None:
        await self._model.close()
