"""The ways in which tools run in Microsoft's Agent Framework."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_framework import Agent, ChatOptions, Content, ContextProvider, FunctionTool, Message, WorkflowBuilder, tool

from conformance.agent_framework_driver import Changes, Scripted
from conformance.harness import Play, Way
from interlock.agent_framework import interlock_middleware


def tools(d: Any, mode: Any = "never_require") -> list[Any]:
    return [tool(function, approval_mode=mode) for function in d.world.tools().values()]


def fixed(d: Any) -> list[Any]:
    """The middleware with a session by name, for calls that have no conversation of the framework's."""
    d.by_session = interlock_middleware(d.client, session=d.world.session("main"))
    return d.by_session  # type: ignore[no-any-return]


def agent(d: Any, play: Play, **given: Any) -> Any:
    return Agent(Scripted(play, "main"), **{"name": "main", "tools": tools(d), "middleware": d.by_session, **given})


async def go(agent: Any, message: Any = "go", **given: Any) -> Any:
    return await agent.run(message, session=given.pop("session", None) or agent.create_session(session_id="main"), **given)


async def plain(d: Any, play: Play) -> Any:
    return await go(agent(d, play))


async def streamed(d: Any, play: Play) -> Any:
    made = agent(d, play)
    return [update async for update in made.run("go", session=made.create_session(session_id="main"), stream=True)]


async def at_run(d: Any, play: Play) -> Any:
    return await go(agent(d, play, tools=[]), tools=tools(d))


async def bare(d: Any, play: Play) -> Any:
    fixed(d)
    return await go(agent(d, play, middleware=None))


async def bare_elsewhere(d: Any, play: Play) -> Any:
    return await go(agent(d, play, middleware=None))


async def inner(d: Any, play: Play) -> Any:
    helper = agent(d, play, middleware=None)

    @tool(approval_mode="never_require")
    async def delegate(agent: str) -> str:
        """Lets a helper do it."""
        return (await helper.run("help")).text

    outer = Play({"main": [{"calls": [{"id": "d1", "delegate": "helper"}]}]})
    return await go(agent(d, outer, tools=[delegate]))


async def as_tool(d: Any, play: Play) -> Any:
    helper = agent(d, play, middleware=None).as_tool(name="delegate", arg_name="agent")
    outer = Play({"main": [{"calls": [{"id": "d1", "delegate": "helper"}]}]})
    return await go(agent(d, outer, tools=[helper]))


async def in_background(d: Any, play: Play) -> Any:
    helper = agent(d, play, middleware=None)
    begun: list[Any] = []

    @tool(approval_mode="never_require")
    async def delegate(agent: str) -> str:
        """Has a helper do it in the background."""
        begun.append(asyncio.create_task(helper.run("help")))
        return "begun"

    outer = Play({"main": [{"calls": [{"id": "d1", "delegate": "helper"}]}]})
    await go(agent(d, outer, tools=[delegate]))
    return await begun[0]


async def workflow_fixed(d: Any, play: Play) -> Any:
    fixed(d)
    made = WorkflowBuilder(start_executor=agent(d, play, middleware=None)).build()
    return await made.run("go")


async def chat(d: Any, play: Play) -> Any:
    fixed(d)
    return await Scripted(play, "main").get_response([Message("user", ["go"])], options=ChatOptions(tools=tools(d)))


async def invoked(d: Any, play: Play) -> Any:
    fixed(d)
    call = play.first()
    made = next(one for one in tools(d) if one.name == call.tool)
    return [content.text for content in await made.invoke(arguments=call.args)]


async def raw(d: Any, play: Play) -> Any:
    fixed(d)
    call = play.first()
    made = next(one for one in tools(d) if one.name == call.tool)
    return await made.invoke(**call.args, skip_parsing=True)


async def approved(d: Any, play: Play) -> Any:
    made = agent(d, play, tools=tools(d, "always_require"))
    session = made.create_session(session_id="main")
    answer = await go(made, session=session)
    responses = [request.to_function_approval_response(True) for request in answer.user_input_requests]
    return await go(made, Message("user", responses), session=session)


async def changed(d: Any, play: Play) -> Any:
    return await go(agent(d, play, middleware=[*d.by_session, Changes()]))


async def hosted(d: Any, play: Play) -> Any:
    return await go(agent(d, play, tools=[*tools(d), {"type": "web_search"}]))


class Own(FunctionTool):
    """A tool of a class of the program, with an `invoke` of its own."""

    async def invoke(self, *, arguments: Any = None, **_: Any) -> Any:
        assert self.func is not None
        return [Content.from_text(await self.func(**arguments))]


class OwnSuper(FunctionTool):
    """A tool whose `invoke` calls that of the framework."""

    async def invoke(self, **given: Any) -> Any:
        return await super().invoke(**given)


def owned(d: Any, kind: type[FunctionTool]) -> list[Any]:
    return [kind(name=name, description="Does it.", func=f, approval_mode="never_require") for name, f in d.world.tools().items()]


async def own(d: Any, play: Play) -> Any:
    return await go(agent(d, play, tools=owned(d, Own)))


async def own_bare(d: Any, play: Play) -> Any:
    fixed(d)
    return await go(agent(d, play, tools=owned(d, Own), middleware=None))


async def own_super(d: Any, play: Play) -> Any:
    return await go(agent(d, play, tools=owned(d, OwnSuper)))


async def own_super_bare(d: Any, play: Play) -> Any:
    fixed(d)
    return await go(agent(d, play, tools=owned(d, OwnSuper), middleware=None))


class Provider(ContextProvider):
    """Adds tools to a run."""

    def __init__(self, given: list[Any]) -> None:
        super().__init__("provider")
        self.given = given

    async def before_run(self, *, context: Any, **_: Any) -> None:
        context.extend_tools(self.source_id, self.given)


async def provided(d: Any, play: Play) -> Any:
    return await go(agent(d, play, tools=[], context_providers=[Provider(tools(d))]))


async def workflow_agent(d: Any, play: Play) -> Any:
    fixed(d)
    return await go(WorkflowBuilder(start_executor=agent(d, play, middleware=None)).build().as_agent("w"))


def failing(result: Any, guarded: bool = True) -> Any:
    """A call of a tool that returns a result."""

    async def run(d: Any, play: Play) -> Any:
        @tool(approval_mode="never_require")
        async def read_note(path: str) -> Any:
            """Fails."""
            return [result]

        if not guarded:
            fixed(d)
        return await go(agent(d, play, tools=[read_note], middleware=d.by_session if guarded else None))

    return run


COMMAND = Content.from_shell_command_output(stderr="bad", exit_code=1)
LATE = Content.from_shell_command_output(timed_out=True)
FAILURES = [
    Way("a command that has failed", "judged", failing(COMMAND)),
    Way("the same, without the middleware", "judged", failing(COMMAND, False)),
    Way("a command that was late", "judged", failing(LATE)),
    Way("one of several commands", "judged", failing(Content.from_shell_tool_result(call_id="c1", outputs=[LATE]))),
]


async def called(d: Any, play: Play) -> Any:
    call = play.first()
    return await next(one for one in tools(d) if one.name == call.tool)(**call.args)


WAYS = [
    Way("a tool of an agent", "judged", plain),
    Way("the same, as a stream", "judged", streamed),
    Way("a tool that is given for a run", "judged", at_run),
    Way("an agent without the middleware, where `session` is a name", "judged", bare),
    Way("an agent without the middleware, where `session` is a function of the conversation", "refused", bare_elsewhere),
    Way("an agent that a tool runs", "judged", inner),
    Way("an agent as a tool (`as_tool`)", "judged", as_tool),
    Way("an agent that a tool runs in the background", "judged", in_background),
    Way("an agent of a workflow, where `session` is a name", "judged", workflow_fixed),
    Way("a chat client with tools, without an agent", "judged", chat),
    Way("`tool.invoke` by the program, where `session` is a name", "judged", invoked),
    Way("the same, unparsed, as code of the model runs it", "judged", raw),
    Way("a tool that needs the framework's approval", "judged", approved),
    Way("a tool of a class with an `invoke` of its own", "judged", own),
    Way("the same, of an agent without the middleware, where `session` is a name", "judged", own_bare),
    Way("a tool of a class whose `invoke` calls that of the framework", "judged", own_super),
    Way("the same, of an agent without the middleware, where `session` is a name", "judged", own_super_bare),
    Way("a tool of a context provider", "judged", provided),
    Way("a workflow as an agent, where `session` is a name", "judged", workflow_agent),
    Way("middleware that changes arguments", "refused", changed),
    Way("a hosted tool, which the provider of the model runs", "refused", hosted),
    Way("a tool that is only declared, which the program runs", "open", None, "Put `client.guard` around the code that runs it."),
    Way("an agent elsewhere (A2A, Foundry)", "open", None, "Give the adapter to the program that runs it."),
    Way("a tool, called by the program as a function", "open", called, "Put `client.guard` around it."),
]  # fmt: skip
