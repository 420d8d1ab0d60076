"""The OpenAI Agents SDK with a scripted model."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack
from typing import Any

from agents import (
    Agent,
    Model,
    ModelResponse,
    Runner,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolOutputGuardrail,
    Usage,
    WebSearchTool,
    function_tool,
    set_tracing_disabled,
)
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
from conformance.harness import Cannot, End, Play
from interlock.openai_agents import InterlockGate

set_tracing_disabled(True)


class Scripted(Model):
    def __init__(self, play: Play, agent: str) -> None:
        self.play, self.agent = play, agent
        self.delegates, self.delegated = "transfer_to_helper", "{}"

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
                name=self.delegates if call.tool == "delegate" else call.tool,
                arguments=self.delegated if call.tool == "delegate" else json.dumps(call.args),
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
    cannot = {  # noqa: RUF012
        "subagent": Cannot("The framework makes no agents.", "See `inner`."),
        "plugin-changes": Cannot(
            "Arguments do not change after the judgement: the tool is judged when it is called, with its final arguments.",
            "None needed: earlier changes of a hook are judged.",
        ),
        "background": Cannot(
            "A tool that has returned has ended: the framework knows no other.",
            "Report programs that a tool starts with `client.guard` and `Result(background=...)`.",
        ),
        "generator": Cannot("A tool returns one result.", "Put `client.guard` around the generator."),
    }

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.client = self.world.client()
        self.gate = InterlockGate(
            self.client,
            session=lambda context: self.world.session(context.context["conversation"]),
            folder=str(self.world.folder),
        )
        self.servers = []
        if "mcp" in self.world.name:
            command, args, env = self.world.mcp_command()
            server = MCPServerStdio({"command": command, "args": args, "env": env}, name="notes")
            self.servers.append(await self.stack.enter_async_context(server))

    async def close(self) -> None:
        await self.stack.aclose()
        await self.client.close()

    def tools(self) -> list[Any]:
        made: list[Any] = [function_tool(f) for f in self.world.tools().values()]
        said = "not from the tool"
        for tool in made:
            if self.way == "answers":
                tool.tool_input_guardrails = [
                    ToolInputGuardrail(lambda _: ToolGuardrailFunctionOutput.reject_content(said), name="answers")
                ]
            if self.way == "replaces":
                tool.tool_output_guardrails = [
                    ToolOutputGuardrail(lambda _: ToolGuardrailFunctionOutput.reject_content(said), name="replaces")
                ]
        return made

    def agent(self, play: Play) -> Agent[Any]:
        helper = Agent(name="helper", model=Scripted(play, "helper"), tools=self.tools())
        model, tools = Scripted(play, "main"), self.tools()
        if self.way == "inner":
            model.delegates, model.delegated = "delegate", '{"input":"help"}'
            tools.append(helper.as_tool("delegate", "lets a helper do it"))
        if self.way == "hosted":
            tools.append(WebSearchTool())
        handoffs: list[Any] = [] if self.way in {"inner", "later"} else [helper]
        main = self.gate.agent(Agent(name="main", model=model, tools=tools, handoffs=handoffs, mcp_servers=self.servers))
        if self.way == "later":
            main.handoffs.append(helper)
        return main.clone(name="copy") if self.way == "clone" else main

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
        try:
            return self.end(await Runner.run(agent, "go", context=context))
        except TypeError as err:
            return End(raised=err)

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
