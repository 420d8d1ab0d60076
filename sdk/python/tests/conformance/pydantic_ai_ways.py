"""The ways in which tools run in Pydantic AI."""

from __future__ import annotations

import asyncio
from typing import Any

from pydantic_ai import Agent, DeferredToolRequests, RunContext, TextOutput, Tool, ToolOutput
from pydantic_ai.capabilities import AbstractCapability, NativeTool
from pydantic_ai.capabilities.abstract import CapabilityOrdering
from pydantic_ai.messages import ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.native_tools import WebSearchTool
from pydantic_ai.tools import DeferredToolResults, ToolDefinition
from pydantic_ai.toolsets import ExternalToolset, FunctionToolset

from conformance.harness import Play, Way
from conformance.pydantic_ai_driver import Changes
from interlock.pydantic_ai import InterlockCapability


def tools(d: Any) -> list[Any]:
    return [Tool(function, takes_ctx=False) for function in d.world.tools().values()]


def agent(d: Any, play: Play, guarded: bool = True, **given: Any) -> Any:
    capabilities = [*given.pop("capabilities", []), *([d.capability] if guarded else [])]
    return Agent(d.model(play, "main"), deps_type=str, capabilities=capabilities, **{"tools": tools(d), **given})


async def go(agent: Any, **given: Any) -> Any:
    return (await agent.run("go", deps="main", **given)).output


async def plain(d: Any, play: Play) -> Any:
    return await go(agent(d, play))


async def bare(d: Any, play: Play) -> Any:
    return await go(agent(d, play, guarded=False))


async def synchronous(d: Any, play: Play) -> Any:
    return await asyncio.to_thread(lambda: agent(d, play, guarded=False).run_sync("go", deps="main"))


async def streamed(d: Any, play: Play) -> Any:
    async with agent(d, play, guarded=False).run_stream("go", deps="main") as result:
        return [text async for text in result.stream_text()]


async def iterated(d: Any, play: Play) -> Any:
    async with agent(d, play, guarded=False).iter("go", deps="main") as run:
        return [node async for node in run]


async def overridden(d: Any, play: Play) -> Any:
    made = agent(d, play, guarded=False)
    with made.override(tools=tools(d)):
        return await go(made)


async def at_run(d: Any, play: Play) -> Any:
    return await go(agent(d, play, tools=[]), toolsets=[FunctionToolset(tools(d))])


async def dynamic(d: Any, play: Play) -> Any:
    return await go(agent(d, play, tools=[], toolsets=[lambda ctx: FunctionToolset(tools(d))]))


async def dynamic_changed(d: Any, play: Play) -> Any:
    return await go(agent(d, play, tools=[], toolsets=[lambda ctx: Changes(FunctionToolset(tools(d)))]))


async def changed(d: Any, play: Play) -> Any:
    return await go(agent(d, play, tools=[], toolsets=[Changes(FunctionToolset(tools(d)))]))


class Brings(AbstractCapability[Any]):
    """Somebody else's capability, which has tools."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def get_toolset(self) -> Any:
        return self.given


async def of_a_capability(d: Any, play: Play) -> Any:
    return await go(agent(d, play, tools=[], capabilities=[Brings(FunctionToolset(tools(d)))]))


async def inner(d: Any, play: Play) -> Any:
    helper = agent(d, play, guarded=False)

    async def delegate(ctx: RunContext[str], agent: str) -> str:
        """Lets a helper do it."""
        return str((await helper.run("help", deps=ctx.deps)).output)

    outer = Play({"main": [{"calls": [{"id": "d1", "delegate": "helper"}]}]})
    return await go(agent(d, outer, tools=[Tool(delegate, takes_ctx=True)]))


async def inner_of_several(d: Any, play: Play) -> Any:
    d.other = InterlockCapability(d.client, session="other")
    return await go(agent(d, play, guarded=False))


def talker(play: Play, output: str = "") -> FunctionModel:
    """A model that makes the call by a tool of its output, or by text."""

    def answer(messages: Any, info: Any) -> ModelResponse:
        for message in messages:
            for part in message.parts:
                if isinstance(part, (RetryPromptPart, ToolReturnPart)):
                    play.saw("output", str(part.content))
        calls = play.next()[1]
        if not calls:
            return ModelResponse([TextPart("done")])
        if output == "text":
            return ModelResponse([TextPart(str(calls[0].args["path"]))])
        return ModelResponse([ToolCallPart(info.output_tools[0].name, {"path": calls[0].args["path"]}, "o1")])

    return FunctionModel(answer)


def writer(d: Any, play: Play) -> Any:
    """The tool of the play's first call, as an output function."""
    name = play.turns["main"][0]["calls"][0]["tool"]
    play.turns["main"] = play.turns["main"][:1] * 2

    async def run(path: str) -> str:
        return str(await d.world.tools()[name](**({"path": path} if name == "read_note" else {"path": path, "text": "b"})))

    run.__name__ = name
    return run


async def output_function(d: Any, play: Play) -> Any:
    run = writer(d, play)
    made = Agent(talker(play), deps_type=str, capabilities=[d.capability], output_type=run)
    return await go(made)


async def output_tool(d: Any, play: Play) -> Any:
    run = writer(d, play)
    made = Agent(talker(play), deps_type=str, capabilities=[d.capability], output_type=ToolOutput(run, name="answer"))
    return await go(made)


async def output_text(d: Any, play: Play) -> Any:
    run = writer(d, play)
    made = Agent(talker(play, "text"), deps_type=str, capabilities=[d.capability], output_type=TextOutput(run))
    return await go(made)


async def external(d: Any, play: Play) -> Any:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}, "additionalProperties": True}
    given = ExternalToolset([ToolDefinition(name=name, parameters_json_schema=schema) for name in d.world.tools()])
    made = agent(d, play, tools=[], toolsets=[given], output_type=[str, DeferredToolRequests])
    result = await made.run("go", deps="main")
    if not isinstance(result.output, DeferredToolRequests):
        return result.output
    results = DeferredToolResults()
    for call in result.output.calls:  # the program runs it
        results.calls[call.tool_call_id] = await d.world.tools()[call.tool_name](**call.args_as_dict())
    return await go(made, message_history=result.all_messages(), deferred_tool_results=results)


async def approved(d: Any, play: Play) -> Any:
    given = [Tool(function, takes_ctx=False, requires_approval=True) for function in d.world.tools().values()]
    made = agent(d, play, tools=given, output_type=[str, DeferredToolRequests])
    result = await made.run("go", deps="main")
    results = result.output.build_results(approve_all=True)
    return await go(made, message_history=result.all_messages(), deferred_tool_results=results)


async def native(d: Any, play: Play) -> Any:
    return await go(agent(d, play, capabilities=[NativeTool(WebSearchTool())]))


async def settings(d: Any, play: Play) -> Any:
    return await go(agent(d, play), model_settings={"extra_body": {"tools": [{"type": "web_search"}]}})


async def openai_settings(d: Any, play: Play) -> Any:
    return await go(agent(d, play, model_settings={"openai_native_tools": [{"type": "web_search"}]}))


async def of_a_server(d: Any, play: Play, **given: Any) -> Any:
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    script = d.world.folder / "server.py"
    script.write_text(
        "import os\nfrom mcp.server.mcpserver import MCPServer\nserver = MCPServer('notes')\n\n"
        "@server.tool()\ndef read_note(path: str) -> str:\n    return ran('read_note')\n\n"
        "@server.tool()\ndef write_note(path: str, text: str) -> str:\n    return ran('write_note')\n\n"
        "def ran(name):\n    open(os.environ['NOTES_LOG'], 'a').write(name + '\\n')\n    return name\n\nserver.run('stdio')\n"
    )
    command, _, env = d.world.mcp_command()
    server: Any = StdioTransport(command, [str(script)], env)
    return await go(agent(d, play, tools=[], toolsets=[MCPToolset(server, id="notes", init_timeout=60, **given)]))


async def processed(d: Any, play: Play) -> Any:
    async def process(ctx: Any, call_tool: Any, name: str, args: dict[str, Any]) -> Any:
        return await call_tool(name, {**args, "path": "changed"})

    return await of_a_server(d, play, process_tool_call=process)


async def processed_other(d: Any, play: Play) -> Any:
    async def process(ctx: Any, call_tool: Any, name: str, args: dict[str, Any]) -> Any:
        return await call_tool("write_note", {"path": "a", "text": "b"})

    return await of_a_server(d, play, process_tool_call=process)


async def processed_same(d: Any, play: Play) -> Any:
    async def process(ctx: Any, call_tool: Any, name: str, args: dict[str, Any]) -> Any:
        return await call_tool(name, args, metadata={"trace": "1"})

    return await of_a_server(d, play, process_tool_call=process)


class Repeats(AbstractCapability[Any]):
    """Somebody else's capability, which runs a call twice."""

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="innermost")

    async def wrap_tool_execute(self, ctx: Any, *, args: Any, handler: Any, **given: Any) -> Any:
        await handler(args)
        return await handler(args)


class Recovers(AbstractCapability[Any]):
    """Somebody else's capability, which makes an answer of an error."""

    async def on_tool_execute_error(self, ctx: Any, **given: Any) -> Any:
        return "all is well"


async def function(d: Any, play: Play) -> Any:
    call = play.first()
    return await next(tool for tool in tools(d) if tool.name == call.tool).function(**call.args)


WAYS = [
    Way("a tool of an agent", "judged", plain),
    Way("the same, of an agent without the capability", "judged", bare),
    Way("the same, by `run_sync`", "judged", synchronous),
    Way("the same, by `run_stream`", "judged", streamed),
    Way("the same, by `iter`", "judged", iterated),
    Way("the same, of `agent.override`", "judged", overridden),
    Way("an agent without the capability, where the process has several", "refused", inner_of_several),
    Way("an agent that a tool runs", "judged", inner),
    Way("a tool of a toolset that is given for a run", "judged", at_run),
    Way("a tool of a toolset that is made for a run", "judged", dynamic),
    Way("a tool of another capability", "judged", of_a_capability),
    Way("a `WrapperToolset` that changes arguments", "refused", changed),
    Way("the same, in a toolset that is made for a run", "refused", dynamic_changed),
    Way("an output function", "judged", output_function),
    Way("an output function with a tool's name of its own", "judged", output_tool),
    Way("an output function of text", "judged", output_text),
    Way("an external tool, which the program runs", "judged", external),
    Way("a tool that needs the framework's approval", "judged", approved),
    Way("a native tool, which the provider of the model runs", "refused", native),
    Way("the same, in `extra_body` of the model's settings", "refused", settings),
    Way("the same, as `openai_native_tools` of the agent's settings", "refused", openai_settings),
    Way("a tool of an MCP server, with `process_tool_call`", "judged", processed_same),
    Way("the same, where `process_tool_call` changes the arguments", "refused", processed),
    Way("the same, where it calls another tool", "refused", processed_other),
    Way("realtime sessions", "untried", None, "No model of the tests has them; they run tools by the same hooks."),
    Way("durable execution, where tools run in activities", "untried", None, "It needs Temporal, DBOS or Prefect."),
    Way("the function of a tool, called by the program itself", "open", function, "Put `client.guard` around it."),
]  # fmt: skip
