"""Pydantic AI with a `FunctionModel`."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import json
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability, NativeTool
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import (
    ModelMessagesTypeAdapter,
    ModelResponse,
    RetryPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.tools import ToolApproved
from pydantic_ai.toolsets import FunctionToolset, WrapperToolset

from conformance import harness
from conformance.harness import NO_BACKGROUND, NO_FOLDER, NO_GENERATOR, Cannot, End, Play
from interlock.pydantic_ai import InterlockCapability


@dataclasses.dataclass
class Changes(WrapperToolset[Any]):
    """Somebody else's toolset, which changes arguments."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        return await self.wrapped.call_tool(name, {**tool_args, "path": "changed"}, ctx, tool)


@dataclasses.dataclass
class Answers(WrapperToolset[Any]):
    """Somebody else's toolset, which answers calls itself."""

    async def call_tool(self, name: str, tool_args: dict[str, Any], ctx: Any, tool: Any) -> Any:
        return "not from the tool"


class Replaces(AbstractCapability[Any]):
    """Somebody else's capability, which replaces results."""

    async def after_tool_execute(self, ctx: Any, **given: Any) -> Any:
        return "not from the tool"


class Driver(harness.Driver):
    framework = "pydantic-ai"
    package = "pydantic-ai-slim"
    cannot = {  # noqa: RUF012
        "later": Cannot(
            "The framework hands over to no agent: one runs another in a tool, or the program runs one after the other.",
            "See `inner`.",
        ),
        "subagent": Cannot("The framework makes no agents.", "See `inner`."),
        "background": NO_BACKGROUND,
        "generator": NO_GENERATOR,
        "folder": NO_FOLDER,
    }

    async def open(self) -> None:
        self.client = self.world.client()
        self.capability = InterlockCapability(self.client, session=lambda ctx: self.world.session(ctx.deps))

    async def close(self) -> None:
        await self.client.close()

    def model(self, play: Play, agent: str) -> FunctionModel:
        def answer(messages: Any, info: AgentInfo) -> ModelResponse:
            if agent == "main":
                play.offer([tool.name for tool in info.function_tools])
            for message in messages:
                for part in message.parts:
                    if isinstance(part, ToolReturnPart):
                        play.saw(part.tool_call_id, str(part.content))
                    elif isinstance(part, RetryPromptPart) and part.tool_call_id:
                        play.saw(part.tool_call_id, part.model_response())
            text, calls = play.next(agent)
            if not calls:
                return ModelResponse([TextPart(text)])
            return ModelResponse([ToolCallPart(c.tool, c.args, c.id) for c in calls])

        async def stream(messages: Any, info: AgentInfo) -> Any:
            for i, part in enumerate(answer(messages, info).parts):
                if isinstance(part, TextPart):
                    yield part.content
                elif isinstance(part, ToolCallPart):
                    yield {i: DeltaToolCall(part.tool_name, json.dumps(part.args), tool_call_id=part.tool_call_id)}

        return FunctionModel(answer, stream_function=stream)

    def agent(self, play: Play) -> Agent[str, Any]:
        tools: list[Any] = [Tool(f, takes_ctx=False) for f in self.world.tools().values()]
        helper: Any = Agent(
            self.model(play, "helper"), deps_type=str, tools=tools, capabilities=[] if self.way == "inner" else [self.capability]
        )

        async def delegate(ctx: RunContext[str], agent: str) -> str:
            """Lets a helper do it."""
            return str((await helper.run("help", deps=ctx.deps)).output)

        toolsets = []
        if "mcp" in self.world.name:
            from fastmcp.client.transports import StdioTransport
            from pydantic_ai.mcp import MCPToolset

            command, args, env = self.world.mcp_command()
            toolsets.append(MCPToolset(StdioTransport(command, args, env), id="notes", init_timeout=60))
        if self.way in {"changes", "answers"}:
            toolsets.append({"changes": Changes, "answers": Answers}[self.way](FunctionToolset(tools[:1])))
            tools = tools[1:]
        others: list[Any] = [Replaces()] if self.way == "replaces" else []
        others += [NativeTool(WebSearchTool())] if self.way == "hosted" else []
        made: Any = Agent(
            self.model(play, "main"), deps_type=str, tools=[*tools, Tool(delegate, takes_ctx=True)], toolsets=toolsets,
            capabilities=[*others, self.capability], output_type=[str, DeferredToolRequests],
        )  # fmt: skip
        return copy.copy(made) if self.way == "clone" else made  # type: ignore[no-any-return]

    def names(self, play: Play) -> dict[str, Any]:
        return {"model": self.model(play, "main"), "tools": [Tool(f, takes_ctx=False) for f in self.world.tools().values()]}

    async def run(self, play: Play, conversation: str, *, stream: bool, sync: bool) -> End:
        return await self.go(self.agent(play), conversation, stream, sync, user_prompt="go")

    async def go(self, agent: Any, conversation: str, stream: bool = False, sync: bool = False, **given: Any) -> End:
        async def drain(ctx: Any, events: Any) -> None:
            async for _ in events:
                pass

        try:
            if sync:
                result = await asyncio.to_thread(agent.run_sync, deps=conversation, **given)
            else:
                result = await agent.run(deps=conversation, event_stream_handler=drain if stream else None, **given)
        except UserError:
            raise
        except Exception as err:
            return End(raised=err)
        self.kept = result.all_messages_json()
        self.requests = result.output
        return End(paused=isinstance(result.output, DeferredToolRequests))

    async def resume(self, play: Play, conversation: str, args: dict[str, Any] | None) -> End:
        history = ModelMessagesTypeAdapter.validate_json(self.kept)
        approvals: Any = {call.tool_call_id: ToolApproved(override_args=args) for call in self.requests.approvals}
        return await self.go(
            self.agent(play), conversation, message_history=history,
            deferred_tool_results=self.requests.build_results(approvals=approvals),
        )  # fmt: skip


from conformance.pydantic_ai_ways import WAYS  # noqa: E402 # it needs the driver's toolsets

Driver.ways = WAYS
