"""The ways in which tools run in LangChain and LangGraph."""

from __future__ import annotations

import asyncio
from typing import Any

from deepagents import create_deep_agent
from deepagents.backends import LocalShellBackend
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, ToolRetryMiddleware
from langchain.tools import ToolRuntime
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import BaseTool, StructuredTool, tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command
from pydantic import create_model

from conformance.harness import Play, Way
from conformance.langchain_driver import Model
from interlock.langchain import InterlockMiddleware, thread_id


def tools(d: Any, sync: bool = False) -> list[Any]:
    if sync:
        return [StructuredTool.from_function(function) for function in d.world.sync_tools().values()]
    return [StructuredTool.from_function(coroutine=function) for function in d.world.tools().values()]


def named(d: Any, name: str, sync: bool = False) -> Any:
    return next(one for one in tools(d, sync) if one.name == name)


GO = {"messages": [("user", "go")]}


async def go(d: Any, agent: Any) -> Any:
    return await agent.ainvoke(GO, d.config("main"))


async def plain(d: Any, play: Play) -> Any:
    return await go(d, create_agent(Model(play=play), tools(d), middleware=[d.interlock]))


async def bare(d: Any, play: Play) -> Any:
    return await go(d, create_agent(Model(play=play), tools(d)))


async def node(d: Any, play: Play, sync: bool = False, **wraps: Any) -> Any:
    call = play.first()
    message = AIMessage("", tool_calls=[{"name": call.tool, "args": call.args, "id": call.id}])
    graph = StateGraph(MessagesState).add_node("tools", ToolNode(tools(d, sync), **wraps)).add_edge(START, "tools").compile()
    if sync:
        return await asyncio.to_thread(graph.invoke, {"messages": [message]}, d.config("main"))
    return await graph.ainvoke({"messages": [message]}, d.config("main"))


async def node_wrapped(d: Any, play: Play) -> Any:
    return await node(d, play, awrap_tool_call=d.interlock.awrap_tool_call)


async def node_invoked(d: Any, play: Play) -> Any:
    return await node(d, play, sync=True, awrap_tool_call=d.interlock.awrap_tool_call)


async def node_sync(d: Any, play: Play) -> Any:
    return await node(d, play, sync=True, wrap_tool_call=d.interlock.wrap_tool_call)


async def invoked(d: Any, play: Play) -> Any:
    call = play.first()
    d.interlock = InterlockMiddleware(d.client, session=d.world.session("main"))
    return await named(d, call.tool).ainvoke(call.args)


async def in_a_chain(d: Any, play: Play) -> Any:
    call = play.first()
    chain = RunnableLambda(lambda _: call.args) | named(d, call.tool, sync=True)
    return await asyncio.to_thread(chain.invoke, None, d.config("main"))


async def batch(d: Any, play: Play) -> Any:
    call = play.first()
    d.interlock = InterlockMiddleware(d.client, session=d.world.session("main"))
    return await named(d, call.tool).abatch([call.args])


async def nowhere(d: Any, play: Play) -> Any:
    call = play.first()
    return await named(d, call.tool).ainvoke(call.args)


async def within(d: Any, play: Play, run: Any) -> Any:
    """A tool of a guarded agent, which is allowed, does something."""

    async def delegate(runtime: ToolRuntime) -> str:
        """Does something."""
        return str(await run(runtime))

    calls = [{"id": "d1", "delegate": "helper"}]
    outer = Play({"main": [{"calls": calls}, {"text": "done"}]})
    given = [StructuredTool.from_function(coroutine=delegate), *tools(d)]
    answer = await go(d, create_agent(Model(play=outer), given, middleware=[d.interlock]))
    return [answer, outer.reads]


async def inner_agent(d: Any, play: Play) -> Any:
    helper = create_agent(Model(play=play), tools(d))
    return await within(d, play, lambda _: helper.ainvoke(GO))


async def other_tool(d: Any, play: Play) -> Any:
    call = play.first()

    async def run(runtime: Any) -> Any:
        other = next(one for one in runtime.tools if one.name == call.tool)
        return await other.ainvoke(call.args)

    return await within(d, play, run)


async def beside(d: Any, play: Play) -> Any:
    graph = StateGraph(MessagesState).add_node("helper", create_agent(Model(play=play), tools(d))).add_edge(START, "helper")
    return await go(d, graph.compile())


async def general_purpose(d: Any, play: Play) -> Any:
    return await subagent(d, play, {})


async def declared(d: Any, play: Play) -> Any:
    spec = {"name": "helper", "description": "helps", "system_prompt": "help", "model": Model(play=play)}
    return await subagent(d, play, spec)


async def compiled(d: Any, play: Play) -> Any:
    spec = {"name": "helper", "description": "helps", "runnable": create_agent(Model(play=play), tools(d))}
    return await subagent(d, play, spec)


async def subagent(d: Any, play: Play, spec: dict[str, Any]) -> Any:
    name = spec.get("name", "general-purpose")
    outer = Play({"main": [{"calls": [{"id": "t1", "delegate": name}]}]})
    # The model of the agent that deepagents itself makes is that of the first; its turns follow.
    outer.turns["main"] += play.turns["main"] if not spec else []
    given: list[Any] = [spec] if spec else []
    agent = create_deep_agent(Model(play=outer, delegates="task"), tools(d), middleware=[d.interlock], subagents=given)
    return [await go(d, agent), outer.reads]


class Adds(AgentMiddleware[Any, Any, Any]):
    """Runs tools that the agent was not made with."""

    def __init__(self, given: list[Any]) -> None:
        super().__init__()
        self.given = {one.name: one for one in given}

    async def awrap_tool_call(self, request: Any, handler: Any) -> Any:
        return await handler(request.override(tool=self.given[request.tool_call["name"]]))


async def dynamic(d: Any, play: Play) -> Any:
    @tool
    def other() -> str:
        """Is there."""
        return ""

    return await go(d, create_agent(Model(play=play), [other], middleware=[Adds(tools(d)), d.interlock]))


async def dynamic_after(d: Any, play: Play) -> Any:
    @tool
    def other() -> str:
        """Is there."""
        return ""

    return await go(d, create_agent(Model(play=play), [other], middleware=[d.interlock, Adds(tools(d))]))


async def retried(d: Any, play: Play) -> Any:
    retry = ToolRetryMiddleware(max_retries=1, initial_delay=0)
    return await go(d, create_agent(Model(play=play), tools(d), middleware=[d.interlock, retry]))


async def hosted(d: Any, play: Play) -> Any:
    given = [*tools(d), {"type": "web_search_20250305", "name": "web_search"}]
    return await go(d, create_agent(Model(play=play), given, middleware=[d.interlock]))


class Own(BaseTool):
    """A tool that runs where it is invoked: no callback is called."""

    name: str
    description: str = "Does it."
    function: Any
    args_schema: Any = create_model("Args", path=(str, ...), text=(str, ""))

    async def ainvoke(self, input: Any, config: Any = None, **_: Any) -> Any:
        return ToolMessage(await self.function(**input["args"]), tool_call_id=input["id"])

    def _run(self, **_: Any) -> Any:
        raise NotImplementedError


class OwnRun(Own):
    """A tool with both methods of its own, one of which calls the other."""

    async def ainvoke(self, input: Any, config: Any = None, **_: Any) -> Any:
        return ToolMessage(await self.arun(input["args"]), tool_call_id=input["id"])

    async def arun(self, tool_input: Any, *_: Any, **given: Any) -> Any:
        return await self.function(**tool_input)


class OwnSuper(Own):
    """A tool whose method comes to that of LangChain."""

    async def ainvoke(self, input: Any, config: Any = None, **given: Any) -> Any:
        return await BaseTool.ainvoke(self, input, config, **given)

    async def _arun(self, **given: Any) -> Any:
        return await self.function(**{name: value for name, value in given.items() if value})


def owned(d: Any, kind: type[Own]) -> list[Any]:
    return [kind(name=name, function=function) for name, function in d.world.tools().items()]


async def own(d: Any, play: Play) -> Any:
    return await go(d, create_agent(Model(play=play), owned(d, Own), middleware=[d.interlock]))


async def own_bare(d: Any, play: Play) -> Any:
    return await go(d, create_agent(Model(play=play), owned(d, Own)))


async def own_run(d: Any, play: Play) -> Any:
    return await go(d, create_agent(Model(play=play), owned(d, OwnRun)))


async def own_super(d: Any, play: Play) -> Any:
    return await go(d, create_agent(Model(play=play), owned(d, OwnSuper), middleware=[d.interlock]))


async def own_super_bare(d: Any, play: Play) -> Any:
    return await go(d, create_agent(Model(play=play), owned(d, OwnSuper)))


def failing(result: Any, guarded: bool = True) -> Any:
    """A call of a tool that returns a result."""

    async def run(d: Any, play: Play) -> Any:
        @tool
        async def read_note(path: str) -> Any:
            """Fails."""
            return result

        return await go(d, create_agent(Model(play=play), [read_note], middleware=[d.interlock] if guarded else []))

    return run


async def failed_command(d: Any, play: Play) -> Any:
    backend = LocalShellBackend(root_dir=d.world.folder)
    play.turns["main"][0]["calls"][0].update(tool="execute", args={"command": "false"})
    # The workflow of the tests has no tool of this name.
    d.interlock = InterlockMiddleware(
        d.client, session=thread_id, tool_name=lambda name: "read_note" if name == "execute" else name
    )
    return await go(d, create_deep_agent(Model(play=play), middleware=[d.interlock], backend=backend))


MESSAGE = ToolMessage("bad", status="error", tool_call_id="c1")
FAILURES = [
    Way("a message with the status `error`", "judged", failing(MESSAGE)),
    Way("the same, without the middleware", "judged", failing(MESSAGE, False)),
    Way("a command of LangGraph with such a message", "judged", failing(Command(update={"messages": [MESSAGE]}))),
    Way("the same, without the middleware", "judged", failing(Command(update={"messages": [MESSAGE]}), False)),
    Way("deepagents: `execute`, whose command has failed", "judged", failed_command),
]


async def function(d: Any, play: Play) -> Any:
    call = play.first()
    return await named(d, call.tool).coroutine(**call.args)


WAYS = [
    Way("a tool of `create_agent`", "judged", plain),
    Way("the same, of an agent without the middleware", "judged", bare),
    Way("`ToolNode` with `awrap_tool_call`", "judged", node_wrapped),
    Way("`ToolNode` with `wrap_tool_call`, invoked without an event loop", "judged", node_sync),
    Way("`ToolNode` with `awrap_tool_call` alone, invoked without an event loop", "judged", node_invoked),
    Way("`ToolNode` without the middleware", "judged", node),
    Way("`tool.ainvoke` by the program, where `session` is a name", "judged", invoked),
    Way("`tool.abatch` by the program, where `session` is a name", "judged", batch),
    Way("a tool in a chain", "judged", in_a_chain),
    Way("`tool.ainvoke` by the program, where `session` is a function of the conversation", "refused", nowhere),
    Way("an agent that a tool runs", "judged", inner_agent),
    Way("a tool that a tool runs (`runtime.tools`)", "judged", other_tool),
    Way("an agent as another node of the graph", "judged", beside),
    Way("deepagents: the general-purpose subagent", "judged", general_purpose),
    Way("deepagents: a subagent that is described", "judged", declared),
    Way("deepagents: a subagent that is compiled", "judged", compiled),
    Way("a tool that other middleware adds", "judged", dynamic),
    Way("a tool that middleware after Interlock's adds", "judged", dynamic_after),
    Way("retries by middleware", "judged", retried),
    Way("a tool of a class with an `ainvoke` of its own", "judged", own),
    Way("the same, of an agent without the middleware", "judged", own_bare),
    Way("a tool of a class with an `arun` of its own, of an agent without the middleware", "judged", own_run),
    Way("a tool of a class whose `ainvoke` calls that of LangChain", "judged", own_super),
    Way("the same, of an agent without the middleware", "judged", own_super_bare),
    Way("a tool that the provider of the model runs", "refused", hosted),
    Way("the function of a tool, called by the program itself", "open", function, "Put `client.guard` around it."),
    Way("a graph elsewhere (`RemoteGraph`, asynchronous subagents of deepagents)", "open", None,
        "Give the adapter to the program that runs it."),
    Way("commands of `ShellToolMiddleware` at its start", "open", None, "They are the program's own; `shell` itself is judged."),
]  # fmt: skip
