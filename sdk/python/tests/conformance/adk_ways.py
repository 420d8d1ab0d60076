"""The ways in which tools and code run in Google's ADK."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent, LoopAgent, ParallelAgent, SequentialAgent
from google.adk.agents.run_config import RunConfig
from google.adk.apps import App
from google.adk.artifacts import InMemoryArtifactService
from google.adk.code_executors.base_code_executor import BaseCodeExecutor
from google.adk.code_executors.built_in_code_executor import BuiltInCodeExecutor
from google.adk.code_executors.code_execution_utils import CodeExecutionResult
from google.adk.models.llm_response import LlmResponse
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import InMemoryRunner, Runner
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.base_tool import BaseTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.google_search_tool import GoogleSearchTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow
from google.genai import types

from conformance.adk_driver import Scripted
from conformance.harness import Play, Way


def tools(d: Any) -> list[Any]:
    return [FunctionTool(function) for function in d.world.tools().values()]


def agent(d: Any, play: Play, name: str = "main", model: str = "scripted", **given: Any) -> Any:
    key = "main" if name == "main" else "helper"
    return LlmAgent(name=name, model=Scripted(model=model, play=play, agent=key), **{"tools": tools(d), **given})


async def go(d: Any, root: Any, plugins: list[Any] | None = None, user: str = "main", parts: list[Any] | None = None) -> Any:
    runner = Runner(
        app=App(name="conformance", root_agent=root, plugins=[d.plugin] if plugins is None else plugins), session_service=d.sessions,
        artifact_service=InMemoryArtifactService(),
    )  # fmt: skip
    where = {"app_name": "conformance", "user_id": user, "session_id": "main"}
    if await d.sessions.get_session(**where) is None:
        await d.sessions.create_session(**where)
    message = types.Content(role="user", parts=[types.Part(text="go"), *(parts or [])])
    return [event async for event in runner.run_async(user_id=user, session_id="main", new_message=message)]


async def plain(d: Any, play: Play) -> Any:
    return await go(d, agent(d, play))


async def cloned(d: Any, play: Play) -> Any:
    return await go(d, agent(d, play).clone())


async def transferred(d: Any, play: Play) -> Any:
    outer = Play({"main": [{"calls": [{"id": "t1", "delegate": "helper"}]}], "helper": play.turns["helper"]}, reads=play.reads)
    return await go(d, agent(d, outer, sub_agents=[agent(d, outer, "helper")]))


async def called(d: Any, play: Play, **given: Any) -> Any:
    outer = Play({"main": [{"calls": [{"id": "t1", "delegate": "helper"}]}]})
    helper = AgentTool(agent(d, play, "delegate"), **given)
    main = agent(d, outer, tools=[helper])
    main.model.delegates = "delegate"
    return await go(d, main)


async def called_alone(d: Any, play: Play) -> Any:
    return await called(d, play, include_plugins=False)


async def single_turn(d: Any, play: Play) -> Any:
    outer = Play({"main": [{"calls": [{"id": "t1", "delegate": "helper"}]}], "helper": play.turns["helper"]}, reads=play.reads)
    main = agent(d, outer, sub_agents=[agent(d, outer, "delegate", mode="single_turn")])
    main.model.delegates = "delegate"
    return await go(d, main)


async def sequential(d: Any, play: Play) -> Any:
    return await go(d, SequentialAgent(name="all", sub_agents=[agent(d, play)]))


async def parallel(d: Any, play: Play) -> Any:
    return await go(d, ParallelAgent(name="all", sub_agents=[agent(d, play)]))


async def loop(d: Any, play: Play) -> Any:
    return await go(d, LoopAgent(name="all", max_iterations=1, sub_agents=[agent(d, play)]))


async def other_runner(d: Any, play: Play) -> Any:
    return await go(d, agent(d, play), plugins=[])


async def in_memory(d: Any, play: Play) -> Any:
    runner = InMemoryRunner(agent=agent(d, play), app_name="conformance")
    await runner.session_service.create_session(app_name="conformance", user_id="main", session_id="main")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    return [event async for event in runner.run_async(user_id="main", session_id="main", new_message=message)]


async def long_running(d: Any, play: Play) -> Any:
    return await go(d, agent(d, play, tools=[LongRunningFunctionTool(function) for function in d.world.tools().values()]))


async def threads(d: Any, play: Play) -> Any:
    from google.adk.agents.run_config import ToolThreadPoolConfig

    runner = Runner(
        app=App(
            name="conformance", root_agent=agent(d, play, tools=[FunctionTool(f) for f in d.world.sync_tools().values()]),
            plugins=[d.plugin],
        ),
        session_service=d.sessions,
    )  # fmt: skip
    await d.sessions.create_session(app_name="conformance", user_id="main", session_id="main")
    message = types.Content(role="user", parts=[types.Part(text="go")])
    config = RunConfig(tool_thread_pool_config=ToolThreadPoolConfig())
    return [event async for event in runner.run_async(user_id="main", session_id="main", new_message=message, run_config=config)]


class Own(BaseTool):
    """A tool of the program's own class."""

    def __init__(self, d: Any, name: str) -> None:
        super().__init__(name=name, description="Does it.")
        self.function = d.world.tools()[name]

    def _get_declaration(self) -> Any:
        return types.FunctionDeclaration(name=self.name, description="Does it.")

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        return await self.function(**args)


async def own(d: Any, play: Play) -> Any:
    return await go(d, agent(d, play, tools=[Own(d, name) for name in d.world.tools()]))


async def own_elsewhere(d: Any, play: Play) -> Any:
    class New(Own):
        async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
            return await super().run_async(args=args, tool_context=tool_context)

    return await go(d, agent(d, play, tools=[New(d, name) for name in d.world.tools()]), plugins=[])


async def by_a_tool(d: Any, play: Play) -> Any:
    call = play.first()
    other = FunctionTool(d.world.tools()[call.tool])

    async def delegate(request: str, tool_context: ToolContext) -> Any:
        """Runs another tool."""
        return await other.run_async(args=call.args, tool_context=tool_context)

    outer = Play({"main": [{"calls": [{"id": "t1", "delegate": "helper"}]}]}, reads=play.reads)
    main = agent(d, outer, tools=[FunctionTool(delegate)])
    main.model.delegates = "delegate"
    return await go(d, main)


class Yields(Own):
    """A tool that yields, as those of live conversations do."""

    async def run_async(self, *, args: dict[str, Any], tool_context: Any) -> Any:
        async def items() -> Any:
            yield "first"
            yield await self.function(**args)

        return items()


async def streaming(d: Any, play: Play) -> Any:
    call = play.first()

    async def delegate(request: str, tool_context: ToolContext) -> Any:
        """Reads what a tool yields."""
        items = await Yields(d, call.tool).run_async(args=call.args, tool_context=tool_context)
        assert [report.tool for report in d.world.proxy.reports] == []
        return items if isinstance(items, dict) else [item async for item in items]

    outer = Play({"main": [{"calls": [{"id": "t1", "delegate": "helper"}]}]}, reads=play.reads)
    main = agent(d, outer, tools=[FunctionTool(delegate)])
    main.model.delegates = "delegate"
    return await go(d, main)


class Earlier(BasePlugin):
    """Somebody else's plugin, which answers before and after tools."""

    async def after_tool_callback(self, **given: Any) -> Any:
        return {"result": "not from the tool", "was": given["result"]}


async def earlier(d: Any, play: Play) -> Any:
    return await go(d, agent(d, play), plugins=[Earlier(name="earlier"), d.plugin])


async def answered(d: Any, play: Play) -> Any:
    return await go(d, agent(d, play, after_tool_callback=answers_after))


async def answers_after(tool: Any, args: Any, tool_context: Any, tool_response: Any) -> Any:
    return {"result": "not from the tool", "was": tool_response}


class Executor(BaseCodeExecutor):
    """Runs a name as a call of the tool of that name."""

    world: Any = None
    names: Any = str.strip
    exit_code: int = 0

    def execute_code(self, invocation_context: Any, code_execution_input: Any) -> CodeExecutionResult:
        self.world._ran.append(self.names(code_execution_input.code))
        return CodeExecutionResult(stdout="ran", exit_code=self.exit_code)


class Coder(Scripted):
    """Writes code."""

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        for content in llm_request.contents:
            for part in content.parts or []:
                self.play.saw("code", part.text or "")
        calls = self.play.next()[1]
        text = "done" if not calls else f"```tool_code\n{calls[0].tool}\n```"
        yield LlmResponse(content=types.Content(role="model", parts=[types.Part(text=text)]))


def coder(d: Any, play: Play) -> Any:
    if play.turns["main"][0]["calls"][0]["tool"] == "read_note":  # the call that is allowed
        d.world.agent.for_session(d.world.sessions["main"]).transition("CODE")
    return LlmAgent(
        name="main", model=Coder(model="scripted", play=play, agent="main"), code_executor=Executor(world=d.world),
    )  # fmt: skip


async def code(d: Any, play: Play) -> Any:
    return await go(d, coder(d, play))


async def code_elsewhere(d: Any, play: Play) -> Any:
    return await go(d, coder(d, play), plugins=[])


async def search(d: Any, play: Play) -> Any:
    return await go(d, agent(d, play, model="gemini-3-pro", tools=[*tools(d), GoogleSearchTool()]))


async def built_in(d: Any, play: Play) -> Any:
    return await go(d, agent(d, play, model="gemini-3-pro", code_executor=BuiltInCodeExecutor()))


def node(d: Any, play: Play) -> Any:
    call = play.first()

    def first() -> dict[str, Any]:
        return call.args

    return Workflow(name="all", edges=[(START, first, FunctionTool(d.world.tools()[call.tool]))])


async def in_a_workflow(d: Any, play: Play) -> Any:
    return await go(d, node(d, play))


async def in_a_workflow_elsewhere(d: Any, play: Play) -> Any:
    return await go(d, node(d, play), plugins=[])


async def data_file(d: Any, play: Play) -> Any:
    main = coder(d, play)
    name = play.first().tool
    main.code_executor.optimize_data_file = True
    # ADK's own code, which explores the file.
    main.code_executor.names = lambda _: name
    return await go(d, main, parts=[types.Part(inline_data=types.Blob(mime_type="text/csv", data=b"a,b\n1,2\n"))])


def failing(result: Any) -> Any:
    """A call of a tool that returns a result."""

    async def run(d: Any, play: Play) -> Any:
        async def read_note(path: str) -> Any:
            """Fails."""
            return result

        return await go(d, agent(d, play, tools=[FunctionTool(read_note)]))

    return run


async def code_fails(d: Any, play: Play) -> Any:
    main = coder(d, play)
    main.code_executor.exit_code = 3
    return await go(d, main)


async def without_arguments(d: Any, play: Play) -> Any:
    play.turns["main"][0]["calls"][0]["args"] = {}
    return await go(d, agent(d, play))


FAILURES = [
    *(
        Way(f"a tool that returns {result}", "judged", failing(result))
        for result in ({"error": "bad"}, {"status": "error"}, {"isError": True}, {"returncode": 1}, {"exit_code": 1})
    ),
    Way("a tool without the arguments that it needs", "judged", without_arguments),
    Way("code that ends with a status and writes nothing", "judged", code_fails, tool="execute_code"),
]


async def function(d: Any, play: Play) -> Any:
    call = play.first()
    return await FunctionTool(d.world.tools()[call.tool]).func(**call.args)


WAYS = [
    Way("a tool of an agent", "judged", plain),
    Way("a tool of a class of the program", "judged", own),
    Way("a copy of the agent (`clone`)", "judged", cloned),
    Way("an agent that is transferred to", "judged", transferred),
    Way("`AgentTool`", "judged", called),
    Way("`AgentTool` with `include_plugins=False`", "judged", called_alone),
    Way("a sub-agent of one turn", "judged", single_turn),
    Way("`SequentialAgent`", "judged", sequential),
    Way("`ParallelAgent`", "judged", parallel),
    Way("`LoopAgent`", "judged", loop),
    Way("another runner, without the plugin", "judged", other_runner),
    Way("another runner, with a tool of a new class", "judged", own_elsewhere),
    Way("`InMemoryRunner`", "judged", in_memory),
    Way("`LongRunningFunctionTool`", "judged", long_running),
    Way("tools in a pool of threads", "judged", threads),
    Way("a tool that a tool runs (`run_async`)", "judged", by_a_tool),
    Way("a streaming tool, which yields", "judged", streaming),
    Way("an earlier plugin that answers after the tool", "judged", earlier),
    Way("a callback of the agent that answers after the tool", "judged", answered),
    Way("a `code_executor`", "judged", code, tool="execute_code"),
    Way("a `code_executor` of another runner, without the plugin", "judged", code_elsewhere, tool="execute_code"),
    Way("a tool as a node of a `Workflow`", "judged", in_a_workflow),
    Way("the same, of another runner, without the plugin", "judged", in_a_workflow_elsewhere),
    Way("code that explores a data file (`optimize_data_file`)", "judged", data_file, tool="execute_code"),
    Way("a tool of Gemini, such as Google Search", "refused", search),
    Way("`BuiltInCodeExecutor`", "refused", built_in),
    Way("live conversations (`run_live`)", "untried", None, "No model of the tests has them; they use the same callbacks and tools."),
    Way("an agent elsewhere (`RemoteA2aAgent`)", "open", None, "Give the adapter to the program that runs it."),
    Way("the function of a tool, called by the program itself", "open", function, "Put `client.guard` around it."),
]  # fmt: skip
