"""Gates the tools of the OpenAI Agents SDK.

```python
gate = InterlockGate(client)
result = await Runner.run(gate.agent(agent), "...")
```

Function tools, tools of MCP servers that the program connects to, and agents as tools are judged, those of agents that take over
by a hand-off too. A refusal is the tool's result. A call that a human must approve interrupts the run: keep `result.to_state()`,
and when the approval is decided, continue with `await gate.settle(state)` and `Runner.run(agent, state)`. `settle` asks Interlock
about each call that waits, and approves or rejects it in the state; one that nobody has decided goes on waiting. A call that was
approved in the state alone does not run.

Not judged are hand-offs themselves, and tools that do not run in this program or have no function: hosted tools, shells,
computers and patches. An agent with one of those is refused, unless `ungated` names it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable, Collection
from contextvars import ContextVar
from typing import Any

from agents import Agent, Handoff, Model, RunContextWrapper, Tool
from agents.run_state import RunState
from agents.tool import FunctionTool, maybe_invoke_function_tool_failure_error_function
from agents.tool_context import ToolContext
from agents.util._approvals import evaluate_needs_approval_setting

from ._gate import Client, Gate, Verdict, joined

__all__ = ["InterlockGate"]

_offers: ContextVar[Callable[[str], bool]] = ContextVar("interlock_offers")


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
        hide: bool = True,
        ungated: Collection[str] = (),
    ) -> None:
        """Makes the gate.

        Args:
            client: A client, of either kind.
            session: The session of a conversation, or a function of the `RunContextWrapper` that says it. The client's own
                without it.
            tool_name: Interlock's name of a tool. The tools of MCP servers have their own names.
            hide: Whether tools that are not legal in the state are kept from the model. The agent's `model` must be a `Model` for
                that: a name is resolved by the SDK, out of reach.
            ungated: Names of tools that cannot be judged and may be used all the same.
        """
        self._gate = Gate(client, session=session, tool_name=tool_name)
        self._hide = hide
        self._ungated = frozenset(ungated)
        self._decided: dict[str, Verdict] = {}
        self._agents: dict[int, tuple[Any, Any]] = {}
        self._tools: dict[int, tuple[FunctionTool, FunctionTool]] = {}

    def agent(self, agent: Agent[Any]) -> Agent[Any]:
        """The agent with its tools judged, and those of the agents that it can hand off to."""
        if id(agent) in self._agents:
            made: Agent[Any] = self._agents[id(agent)][1]
            return made
        if isinstance(agent, _Guarded):
            return agent
        fields = {field.name: getattr(agent, field.name) for field in dataclasses.fields(agent) if field.init}
        kind = type("Guarded" + type(agent).__name__, (_Guarded, type(agent)), {"interlock_gate": self})
        if self._hide and isinstance(agent.model, Model):
            fields["model"] = _Offering(agent.model)
        handoffs, fields["handoffs"] = agent.handoffs, []
        guarded: Agent[Any] = kind(**fields)
        # The agent is kept with what is made of it, so that no other has its id.
        self._agents[id(agent)] = (agent, guarded)
        guarded.handoffs = [self._handoff(handoff) for handoff in handoffs]
        return guarded

    def tool(self, tool: FunctionTool) -> FunctionTool:
        """A tool that is judged, for programs that do not use `agent`."""
        known = self._tools.get(id(tool))
        if known is None or known[0] is not tool:
            known = self._tools[id(tool)] = (tool, self._guard(tool))
            self._tools[id(known[1])] = (known[1], known[1])
        return known[1]

    async def settle(self, state: RunState[Any, Any]) -> None:
        """Asks Interlock about the calls that wait in a state: approves those that are allowed now, and rejects those that are
        not. What nobody has decided goes on waiting."""
        for item in state.get_interruptions():
            raw: Any = item.raw_item
            call_id = raw.get("call_id") if isinstance(raw, dict) else getattr(raw, "call_id", None)
            verdict = await self._gate.ask(item.tool_name or "", item.arguments, state._context)
            if verdict.waits:
                continue
            if not verdict.allowed or not call_id:
                state.reject(item, rejection_message=verdict.text)
                continue
            self._decided[call_id] = verdict
            state.approve(item)

    def _handoff(self, handoff: Any) -> Any:
        if isinstance(handoff, Agent):
            return self.agent(handoff)
        if not isinstance(handoff, Handoff):
            raise TypeError(f"a hand-off is an Agent or a Handoff, not {handoff!r}")
        invoke = handoff.on_invoke_handoff

        async def on_invoke(context: Any, given: str) -> Any:
            return self.agent(await invoke(context, given))

        return dataclasses.replace(handoff, on_invoke_handoff=on_invoke)

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

    def _guard(self, tool: FunctionTool) -> FunctionTool:
        # Exceptions come out of this one; what the tool itself makes of them comes after the report.
        inner = dataclasses.replace(tool, _failure_error_function=None, _use_default_failure_error_function=False)
        theirs = tool.needs_approval

        async def needs_approval(context: RunContextWrapper[Any], params: dict[str, Any], call_id: str) -> bool:
            if await evaluate_needs_approval_setting(theirs, context, params, call_id):
                return True
            verdict = await self._gate.ask(tool.name, params, context)
            if not verdict.waits:
                self._decided[call_id] = verdict
            return verdict.waits

        async def invoke(context: ToolContext[Any], given: str) -> Any:
            verdict = self._decided.pop(context.tool_call_id, None) or await self._gate.ask(tool.name, given, context)
            if not verdict.allowed:
                return verdict.text
            try:
                result, notice = await self._gate.perform(verdict, lambda: inner.on_invoke_tool(context, given))
            except Exception as err:
                told = await maybe_invoke_function_tool_failure_error_function(function_tool=tool, context=context, error=err)
                if told is None:
                    raise
                return told
            return joined(result if isinstance(result, str) else str(result), notice) if notice else result

        return dataclasses.replace(tool, on_invoke_tool=invoke, needs_approval=needs_approval)


class _Guarded(Agent[Any]):
    """An agent that has no tool but those that are judged."""

    interlock_gate: InterlockGate

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Tool]:
        gate = self.interlock_gate
        tools = gate._all(await super().get_all_tools(run_context))
        if gate._hide:
            _offers.set(await gate._gate.offered(run_context))
        return tools


class _Offering(Model):
    """A model that is offered the tools that are legal in the state."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def _legal(self, tools: list[Tool]) -> list[Tool]:
        offers = _offers.get(_nothing)
        return [tool for tool in tools if not isinstance(tool, FunctionTool) or offers(tool.name)]

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
