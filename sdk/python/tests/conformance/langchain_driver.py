"""LangChain's `create_agent` with a scripted chat model."""

from __future__ import annotations

import asyncio
from typing import Any

from deepagents import create_deep_agent
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.tools import ToolRuntime
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool
from langchain_mcp_adapters.client import MultiServerMCPClient
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command

from conformance import harness
from conformance.harness import NO_BACKGROUND, NO_FOLDER, NO_GENERATOR, End, Play
from interlock.langchain import InterlockMiddleware, thread_id


class Model(BaseChatModel):
    """Says what the play has next."""

    play: Any
    agent: str = "main"
    delegates: str = "delegate"
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
        made = []
        for call in calls:
            name, args = call.tool, call.args
            if name == "delegate" and self.delegates == "task":
                name, args = "task", {"description": "help", "subagent_type": args["agent"]}
            made.append({"name": name, "args": args, "id": call.id, "type": "tool_call"})
        return AIMessage(text, tool_calls=made)

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


class Answers(AgentMiddleware[Any, Any, Any]):
    """Somebody else's middleware, which answers calls itself."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return ToolMessage("not from the tool", name=request.tool_call["name"], tool_call_id=request.tool_call["id"])


class Replaces(AgentMiddleware[Any, Any, Any]):
    """Somebody else's middleware, which replaces results."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return (await handler(request)).model_copy(update={"content": "not from the tool"})


class Changes(AgentMiddleware[Any, Any, Any]):
    """Somebody else's middleware, which changes arguments."""

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        call = {**request.tool_call, "args": {**request.tool_call["args"], "path": "changed"}}
        return await handler(request.override(tool_call=call))


class Driver(harness.Driver):
    framework = "langchain"
    package = "langchain"
    cannot = {  # noqa: RUF012
        "background": NO_BACKGROUND,
        "generator": NO_GENERATOR,
        "folder": NO_FOLDER,
    }

    async def open(self) -> None:
        self.client = self.world.client()
        self.interlock = InterlockMiddleware(self.client, session=thread_id)
        self.saver = AsyncSqliteSaver.from_conn_string(str(self.world.folder / "checkpoints.sqlite"))
        self.checkpointer = await self.saver.__aenter__()

    async def close(self) -> None:
        await self.saver.__aexit__(None, None, None)
        await self.client.close()

    async def agent(self, play: Play, sync: bool = False) -> Any:
        middleware: list[Any] = [self.interlock]
        if self.way in {"changes", "answers"}:
            middleware.append(Changes() if self.way == "changes" else Answers())
        if self.way == "replaces":
            middleware.insert(0, Replaces())
        tools: list[Any]
        if sync:
            tools = [StructuredTool.from_function(f) for f in self.world.sync_tools().values()]
        else:
            tools = [StructuredTool.from_function(coroutine=f) for f in self.world.tools().values()]
            if "mcp" in self.world.name:
                command, args, env = self.world.mcp_command()
                notes = {"transport": "stdio", "command": command, "args": args, "env": env}
                tools += await MultiServerMCPClient({"notes": notes}).get_tools()  # type: ignore[dict-item]
        checkpointer: Any = InMemorySaver() if sync else self.checkpointer
        bare = self.way in {"inner", "later"}
        helper = create_agent(Model(play=play, agent="helper"), tools, middleware=[] if bare else middleware)
        if self.way == "subagent":
            return self.deep(play, tools, middleware, checkpointer)

        async def delegate(agent: str) -> str:
            """Lets a helper do it."""
            answer = await helper.ainvoke({"messages": [("user", "help")]})
            return str(answer["messages"][-1].text)

        async def hand_over(agent: str, runtime: ToolRuntime) -> Command[Any]:
            """Hands over to a helper."""
            message = ToolMessage("handed over", tool_call_id=runtime.tool_call_id)
            return Command(goto="helper", graph=Command.PARENT, update={"messages": [*runtime.state["messages"], message]})

        given = hand_over if self.way == "later" else delegate
        tools = [*tools, StructuredTool.from_function(coroutine=given, name="delegate")]
        if self.way == "hosted":
            tools.append({"type": "web_search_20250305", "name": "web_search"})
        main = create_agent(Model(play=play), tools, middleware=middleware, checkpointer=checkpointer)
        if self.way == "clone":
            return main.with_config({"tags": ["clone"]}).copy()
        if self.way != "later":
            return main
        graph = StateGraph(MessagesState).add_node("main", main, destinations=("helper",)).add_node("helper", helper)
        return graph.add_edge(START, "main").compile(checkpointer=checkpointer)

    def deep(self, play: Play, tools: list[Any], middleware: list[Any], checkpointer: Any) -> Any:
        """An agent of deepagents, whose subagents are made by deepagents itself."""
        helper: Any = {
            "name": "helper",
            "description": "helps",
            "system_prompt": "help",
            "model": Model(play=play, agent="helper"),
        }
        return create_deep_agent(
            Model(play=play, delegates="task"), tools, middleware=middleware, subagents=[helper], checkpointer=checkpointer
        )

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


from conformance.langchain_ways import FAILURES, WAYS  # noqa: E402 # it needs the model

Driver.ways, Driver.failures = WAYS, FAILURES
