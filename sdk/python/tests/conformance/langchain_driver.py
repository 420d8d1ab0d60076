"""LangChain's `create_agent` with a scripted chat model."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.types import Command

from conformance import harness
from conformance.harness import End, Play
from interlock.langchain import InterlockMiddleware, thread_id


class Model(BaseChatModel):
    """Says what the play has next."""

    play: Any
    agent: str = "main"
    offered: list[str] = []  # noqa: RUF012

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.model_copy(update={"offered": [t["name"] if isinstance(t, dict) else t.name for t in tools]})

    def _answer(self, messages: Any) -> AIMessage:
        if self.agent == "main":
            self.play.offer(self.offered)
        for message in messages:
            if isinstance(message, ToolMessage):
                self.play.saw(message.tool_call_id, message.text)
        text, calls = self.play.next(self.agent)
        return AIMessage(text, tool_calls=[{"name": c.tool, "args": c.args, "id": c.id, "type": "tool_call"} for c in calls])

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _stream(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        answer = self._answer(messages)
        chunk = AIMessageChunk(
            content=answer.content,
            tool_call_chunks=[
                {"name": c["name"], "args": __import__("json").dumps(c["args"]), "id": c["id"], "index": i}
                for i, c in enumerate(answer.tool_calls)
            ],
        )
        yield ChatGenerationChunk(message=chunk)


class Driver(harness.Driver):
    framework = "langchain"
    package = "langchain"

    async def open(self) -> None:
        self.client = self.world.client()
        self.saver = AsyncSqliteSaver.from_conn_string(str(self.world.folder / "checkpoints.sqlite"))
        self.checkpointer = await self.saver.__aenter__()

    async def close(self) -> None:
        await self.saver.__aexit__(None, None, None)
        await self.client.close()

    async def agent(self, play: Play, sync: bool = False) -> Any:
        middleware = [InterlockMiddleware(self.client, session=thread_id)]
        tools: list[Any]
        if sync:
            tools = [StructuredTool.from_function(f) for f in self.world.sync_tools().values()]
        else:
            tools = [StructuredTool.from_function(coroutine=f) for f in self.world.tools().values()]
            if "mcp" in self.world.name:
                command, args, env = self.world.mcp_command()
                notes = {"transport": "stdio", "command": command, "args": args, "env": env}
                tools += await MultiServerMCPClient({"notes": notes}).get_tools()  # type: ignore[dict-item]
        helper = create_agent(Model(play=play, agent="helper"), tools, middleware=middleware)

        async def delegate(agent: str) -> str:
            """Lets a helper do it."""
            answer = await helper.ainvoke({"messages": [("user", "help")]})
            return str(answer["messages"][-1].text)

        tools.append(StructuredTool.from_function(coroutine=delegate))
        checkpointer: Any = InMemorySaver() if sync else self.checkpointer
        return create_agent(Model(play=play), tools, middleware=middleware, checkpointer=checkpointer)

    def names(self, play: Play) -> dict[str, Any]:
        tools = [StructuredTool.from_function(coroutine=f) for f in self.world.tools().values()]
        return {"model": Model(play=play), "tools": tools}

    def config(self, conversation: str) -> Any:
        return {"configurable": {"thread_id": self.world.session(conversation)}}

    async def run(self, play: Play, conversation: str, *, stream: bool, sync: bool) -> End:
        agent = await self.agent(play, sync)
        return await self.invoke(agent, {"messages": [("user", "go")]}, conversation, stream=stream, sync=sync)

    async def invoke(self, agent: Any, given: Any, conversation: str, *, stream: bool = False, sync: bool = False) -> End:
        config = self.config(conversation)
        try:
            if sync:
                state = await asyncio.to_thread(agent.invoke, given, config)
            elif stream:
                async for _ in agent.astream(given, config, stream_mode=["messages", "updates"]):
                    pass
                state = {}
            else:
                state = await agent.ainvoke(given, config)
        except Exception as err:
            return End(raised=err)
        return End(paused="__interrupt__" in state)

    async def resume(self, play: Play, conversation: str, args: dict[str, Any] | None) -> End:
        agent = await self.agent(play)
        if args is not None:
            state = await agent.aget_state(self.config(conversation))
            last = state.values["messages"][-1]
            changed = last.model_copy(update={"tool_calls": [{**last.tool_calls[0], "args": args}]})
            await agent.aupdate_state(self.config(conversation), {"messages": [changed]}, as_node="model")
            return await self.invoke(agent, None, conversation)
        return await self.invoke(agent, Command(resume=True), conversation)
