"""The OpenAI Agents SDK with a scripted model."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from agents.exceptions import ModelBehaviorError
from agents.mcp import MCPServerStdio
from agents.run_state import RunState
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
)

from conformance import harness
from conformance.harness import End, Play
from interlock.openai_agents import InterlockGate

set_tracing_disabled(True)


class Scripted(Model):
    def __init__(self, play: Play, agent: str) -> None:
        self.play, self.agent = play, agent

    def answer(self, given: Any, tools: Any) -> list[Any]:
        if self.agent == "main":
            self.play.offer([tool.name for tool in tools])
        for item in given if isinstance(given, list) else []:
            if item.get("type") == "function_call_output":
                self.play.saw(item["call_id"], str(item["output"]))
        text, calls = self.play.next(self.agent)
        if not calls:
            content = ResponseOutputText(text=text, type="output_text", annotations=[])
            return [ResponseOutputMessage(id="m", type="message", role="assistant", status="completed", content=[content])]
        return [
            ResponseFunctionToolCall(
                type="function_call",
                call_id=call.id,
                name="transfer_to_helper" if call.tool == "delegate" else call.tool,
                arguments="{}" if call.tool == "delegate" else json.dumps(call.args),
            )
            for call in calls
        ]

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *args: Any, **kwargs: Any
    ) -> ModelResponse:
        return ModelResponse(output=self.answer(input, tools), usage=Usage(), response_id=None)

    async def stream_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *args: Any, **kwargs: Any
    ) -> Any:
        response = Response(
            id="r", created_at=0, model="scripted", object="response", output=self.answer(input, tools), tool_choice="auto",
            tools=[], parallel_tool_calls=True,
        )  # fmt: skip
        yield ResponseCompletedEvent(type="response.completed", response=response, sequence_number=0)


class Driver(harness.Driver):
    framework = "openai-agents"
    package = "openai-agents"

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.client = self.world.client()
        self.gate = InterlockGate(self.client, session=lambda context: self.world.session(context.context["conversation"]))
        self.servers = []
        if "mcp" in self.world.name:
            command, args, env = self.world.mcp_command()
            server = MCPServerStdio({"command": command, "args": args, "env": env}, name="notes")
            self.servers.append(await self.stack.enter_async_context(server))

    async def close(self) -> None:
        await self.stack.aclose()
        await self.client.close()

    def agent(self, play: Play) -> Agent[Any]:
        tools: Any = [function_tool(f) for f in self.world.tools().values()]
        helper = Agent(name="helper", model=Scripted(play, "helper"), tools=tools)
        return self.gate.agent(
            Agent(name="main", model=Scripted(play, "main"), tools=tools, handoffs=[helper], mcp_servers=self.servers)
        )

    def names(self, play: Play) -> dict[str, Any]:
        return {"model": Scripted(play, "main"), "tools": [function_tool(f) for f in self.world.tools().values()]}

    async def run(self, play: Play, conversation: str, *, stream: bool, sync: bool) -> End:
        context = {"conversation": conversation}
        agent = self.agent(play)
        if sync:
            return self.end(await asyncio.to_thread(Runner.run_sync, agent, "go", context=context))
        if stream:
            streamed = Runner.run_streamed(agent, "go", context=context)
            async for _ in streamed.stream_events():
                pass
            return self.end(streamed)
        return self.end(await Runner.run(agent, "go", context=context))

    def end(self, result: Any) -> End:
        if result.interruptions:
            self.kept = result.to_state().to_string()
        return End(paused=bool(result.interruptions))

    async def resume(self, play: Play, conversation: str, args: dict[str, Any] | None) -> End:
        agent = self.agent(play)
        kept = self.kept
        if args is not None:
            # The SDK has nothing for that but the text of the state.
            before, after = (json.dumps(json.dumps(a))[1:-1] for a in ({"target": "test"}, args))
            assert before in kept
            kept = kept.replace(before, after)
        state: Any = await RunState.from_string(agent, kept)
        try:
            await self.gate.settle(state)
            return self.end(await Runner.run(agent, state))
        except ModelBehaviorError as err:
            return End(raised=err)
