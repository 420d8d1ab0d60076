"""The ways in which tools run in CrewAI."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

from crewai import LLM, Agent, Crew, Process, Task
from crewai.hooks.dispatch import InterceptionPoint, register, unregister
from crewai.tools import BaseTool, tool

from conformance.crewai_driver import Scripted
from conformance.harness import Play, Way


def tools(d: Any) -> list[Any]:
    return [tool(function) for function in d.world.sync_tools().values()]


def agent(d: Any, play: Play, **given: Any) -> Any:
    return Agent(
        role="main", goal="go", backstory="go", llm=given.pop("llm", None) or Scripted(model="scripted", play=play),
        **{"tools": tools(d), "cache": False, **given},
    )  # fmt: skip


async def go(agent: Any, **given: Any) -> Any:
    task = Task(description="go", expected_output="done", agent=agent)
    crew = Crew(**{"name": "main", "agents": [agent], "tasks": [task], "cache": False, "tracing": False, **given})
    return await asyncio.to_thread(crew.kickoff)


async def plain(d: Any, play: Play) -> Any:
    return await go(agent(d, play))


async def awaited(d: Any, play: Play) -> Any:
    made = agent(d, play)
    task = Task(description="go", expected_output="done", agent=made)
    return await Crew(name="main", agents=[made], tasks=[task], cache=False, tracing=False).akickoff()


class Texts(Scripted):
    """Writes its calls as texts."""

    def supports_function_calling(self) -> bool:
        return False

    def call(self, messages: Any, tools: Any = None, *args: Any, **kwargs: Any) -> Any:
        self.play.saw("c1", json.dumps(messages))
        calls = self.play.next()[1]
        if not calls:
            return "Thought: I know.\nFinal Answer: done"
        return f"Thought: I do it.\nAction: {calls[0].tool}\nAction Input: {json.dumps(calls[0].args)}\n"


async def texts(d: Any, play: Play) -> Any:
    return await go(agent(d, play, llm=Texts(model="scripted", play=play)))


async def of_the_task(d: Any, play: Play) -> Any:
    made = agent(d, play, tools=[])
    task = Task(description="go", expected_output="done", agent=made, tools=tools(d))
    return await go(made, tasks=[task])


class Own(BaseTool):
    """A tool of a class of the program."""

    name: str
    description: str = "Does it."
    function: Any

    def _run(self, **given: Any) -> Any:
        return self.function(**given)


async def own(d: Any, play: Play) -> Any:
    from pydantic import create_model

    schema = create_model("Schema", path=(str, ...), text=(str, ""))
    given = [
        Own(name=name, function=lambda f=function, **args: f(**{k: v for k, v in args.items() if v}), args_schema=schema)
        for name, function in d.world.sync_tools().items()
    ]
    return await go(agent(d, play, tools=given))


async def alone(d: Any, play: Play) -> Any:
    d.hooks._gate._session = d.world.session("main")
    return await asyncio.to_thread(agent(d, play).kickoff, "go")


async def inner(d: Any, play: Play) -> Any:
    helper = agent(d, play)

    def delegate_work_to_coworker(task: str, context: str, coworker: str) -> str:
        """Lets a helper do it."""
        asked = Task(description="help", expected_output="done", agent=helper)
        return str(Crew(name="main", agents=[helper], tasks=[asked], tracing=False).kickoff())

    outer = Play({"main": [{"calls": [{"id": "d1", "delegate": "helper"}]}]})
    return await go(agent(d, outer, tools=[tool(delegate_work_to_coworker)]))


async def by_a_tool(d: Any, play: Play) -> Any:
    call = play.first()
    other = next(one for one in tools(d) if one.name == call.tool)

    def delegate_work_to_coworker(task: str, context: str, coworker: str) -> str:
        """Runs another tool."""
        return str(other.run(**call.args))

    outer = Play({"main": [{"calls": [{"id": "d1", "delegate": "helper"}]}]}, reads=play.reads)
    return await go(agent(d, outer, tools=[tool(delegate_work_to_coworker)]))


async def run(d: Any, play: Play) -> Any:
    d.hooks._gate._session = d.world.session("main")
    call = play.first()
    return await asyncio.to_thread(lambda: next(one for one in tools(d) if one.name == call.tool).run(**call.args))


async def run_new(d: Any, play: Play) -> Any:
    call = play.first()

    class New(Own):
        def run(self, *args: Any, **given: Any) -> Any:
            return super().run(*args, **given)

    d.hooks._gate._session = d.world.session("main")
    made = New(name=call.tool, function=d.world.sync_tools()[call.tool])
    return await asyncio.to_thread(lambda: made.run(**call.args))


async def run_elsewhere(d: Any, play: Play) -> Any:
    call = play.first()
    return await asyncio.to_thread(lambda: next(one for one in tools(d) if one.name == call.tool).run(**call.args))


async def structured(d: Any, play: Play) -> Any:
    d.hooks._gate._session = d.world.session("main")
    call = play.first()
    made = next(one for one in tools(d) if one.name == call.tool).to_structured_tool()
    return await asyncio.to_thread(made.invoke, call.args)


async def by_the_model(d: Any, play: Play) -> Any:
    d.hooks._gate._session = d.world.session("main")
    call = play.first()
    llm = Scripted(model="scripted", play=play)
    return await asyncio.to_thread(llm._handle_tool_execution, call.tool, call.args, d.world.sync_tools())


async def by_litellm(d: Any, play: Play) -> Any:
    d.hooks._gate._session = d.world.session("main")
    call = play.first()
    asked = SimpleNamespace(function=SimpleNamespace(name=call.tool, arguments=json.dumps(call.args)))
    llm: Any = SimpleNamespace(_handle_emit_call_events=lambda **_: None)
    return await asyncio.to_thread(LLM._handle_tool_call, llm, [asked], d.world.sync_tools())


async def hierarchical(d: Any, play: Play) -> Any:
    outer = Play({"main": [{"calls": [{"id": "d1", "delegate": "main"}]}]})
    task = Task(description="go", expected_output="done")
    manager = Scripted(model="scripted", play=outer)
    return await go(agent(d, play), tasks=[task], process=Process.hierarchical, manager_llm=manager)


async def changed(d: Any, play: Play) -> Any:
    def change(context: Any) -> None:
        context.tool_input.update(path="changed")

    register(InterceptionPoint.PRE_TOOL_CALL, change)
    try:
        return await go(agent(d, play))
    finally:
        unregister(InterceptionPoint.PRE_TOOL_CALL, change)


async def function(d: Any, play: Play) -> Any:
    call = play.first()
    return next(one for one in tools(d) if one.name == call.tool).func(**call.args)


WAYS = [
    Way("a tool of an agent", "judged", plain),
    Way("the same, in an event loop", "judged", awaited),
    Way("the same, of a model that writes its calls as texts", "judged", texts),
    Way("a tool of a task", "judged", of_the_task),
    Way("a tool of a class of the program", "judged", own),
    Way("an agent without a crew (`agent.kickoff`)", "judged", alone),
    Way("a crew that a tool runs", "judged", inner),
    Way("a tool that a tool runs (`tool.run`)", "judged", by_a_tool),
    Way("`tool.run` by the program or a flow, where `session` is a name", "judged", run),
    Way("`tool.run` by the program or a flow, where `session` is a function of the crew", "refused", run_elsewhere),
    Way("the same, of a class that is made later and has a `run` of its own", "judged", run_new),
    Way("`CrewStructuredTool.invoke`", "judged", structured),
    Way("an agent that a manager delegates to", "judged", hierarchical),
    Way("a function that a language model calls (`LLM.call(available_functions=...)`)", "judged", by_the_model),
    Way("the same, of a language model by LiteLLM", "judged", by_litellm),
    Way("a later hook that changes arguments", "refused", changed),
    Way("an agent by the adapter of OpenAI's Agents SDK", "open", None,
        "It calls the functions of tools by itself: use that SDK with its own gate."),
    Way("a tool that the provider of the model runs", "open", None, "Give the model no such tools: they are out of the hooks' reach."),
    Way("an agent elsewhere (A2A)", "open", None, "Give the adapter to the program that runs it."),
    Way("guardrails, conditions and callbacks of tasks", "open", None, "They are the program's own code."),
    Way("the function of a tool, called by the program itself", "open", function, "Put `client.guard` around it."),
]  # fmt: skip
