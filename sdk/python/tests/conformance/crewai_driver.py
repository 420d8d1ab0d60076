"""CrewAI with a scripted language model."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import Agent, BaseLLM, Crew, Task
from crewai.hooks.dispatch import HookAborted, InterceptionPoint, register, unregister
from crewai.mcp import MCPServerStdio
from crewai.tools import tool

from conformance import harness
from conformance.harness import NO_BACKGROUND, NO_FOLDER, NO_GENERATOR, Cannot, End, Play
from interlock.crewai import InterlockHooks

PAUSE = Cannot(
    "CrewAI cannot pause and resume a call: its hooks let a call pass or block it.",
    "The model reads which approval waits, and may make the call again; or `InterlockHooks(wait=...)` lets the call itself wait.",
)
HIDE = Cannot(
    "The hooks before a call of the model see its messages; the tools that it is offered are out of reach.",
    "Give agents the tools of their work. A call of one that is not legal now is denied, and the model reads the legal ones.",
)


class Scripted(BaseLLM):
    play: Any = None
    agent: str = "main"

    def supports_function_calling(self) -> bool:
        return True

    def call(self, messages: Any, tools: Any = None, *args: Any, **kwargs: Any) -> Any:
        if self.agent == "main" and tools:
            self.play.offer([t["function"]["name"] for t in tools])
        for message in messages if isinstance(messages, list) else []:
            if message["role"] == "tool":
                self.play.saw(message["tool_call_id"], message["content"])
        text, calls = self.play.next(self.agent)
        if not calls:
            return text

        def offered(name: str) -> str:
            """The name that CrewAI has made for a tool of an MCP server, found by what it is described as."""
            if not name.startswith("mcp__notes__"):
                return name
            wanted = {"search": "Searches the notes", "erase": "Erases notes"}[name.removeprefix("mcp__notes__")]
            return str(next(t["function"]["name"] for t in tools if wanted in t["function"]["description"]))

        return [
            {"id": call.id, "type": "function", "function": {"name": offered(name), "arguments": json.dumps(given)}}
            for call, name, given in map(_named, calls)
        ]

    async def acall(self, *args: Any, **kwargs: Any) -> Any:
        return self.call(*args, **kwargs)


def _named(call: Any) -> tuple[Any, str, dict[str, Any]]:
    if call.tool == "delegate":
        return call, "delegate_work_to_coworker", {"task": "help", "context": "help", "coworker": call.args["agent"]}
    return call, call.tool, call.args


def _abort(context: Any) -> None:
    raise HookAborted("not from the tool", source="somebody else")


class Driver(harness.Driver):
    framework = "crewai"
    package = "crewai"
    cannot = {  # noqa: RUF012
        **{
            name: PAUSE
            for name in (
                "ask-pauses", "ask-approved", "ask-rejected", "ask-undecided", "ask-restart", "ask-changed", "ask-once",
                "parallel-ask",
            )
        },
        "hosted": Cannot(
            "Tools of the model's provider are in the settings of the language model, out of the hooks' reach.",
            "Give the model no such tools.",
        ),
        "subagent": Cannot("The framework makes no agents.", "See `handoff` and `inner`."),
        "background": NO_BACKGROUND,
        "generator": NO_GENERATOR,
        "folder": NO_FOLDER,
        **{
            name: Cannot(
                "A crew runs in threads: it cannot be cancelled, and comes to its end.",
                "None needed: its calls are judged and reported.",
            )
            for name in ("cancel-check", "cancel-tool", "cancel-report")
        },
        "hidden": HIDE,
        "hidden-unavailable": HIDE,
    }  # fmt: skip

    async def open(self) -> None:
        self.others: list[tuple[InterceptionPoint, Any]] = []
        self.client = self.world.client()
        # The names of crews are those of conversations.
        self.hooks = InterlockHooks(self.client, session=lambda context: self.world.session(context.crew.name))
        if self.world.name == "plugin-replaces":
            self.other(InterceptionPoint.POST_TOOL_CALL, lambda context: "not from the tool")
        self.hooks.register()
        if self.world.name == "plugin-changes":
            self.other(InterceptionPoint.PRE_TOOL_CALL, lambda context: context.tool_input.update(path="changed"))
        if self.world.name == "plugin-answers":
            self.other(InterceptionPoint.PRE_TOOL_CALL, _abort)

    def other(self, point: InterceptionPoint, hook: Any) -> None:
        """Registers a hook of somebody else."""
        register(point, hook)
        self.others.append((point, hook))

    async def close(self) -> None:
        while self.others:
            unregister(*self.others.pop())
        self.hooks.unregister()
        await self.client.close()

    def wire(self, name: str) -> str:
        return name

    def crew(self, play: Play, conversation: str, stream: bool) -> Crew:
        tools = [tool(f) for f in self.world.sync_tools().values()]
        servers = []
        if "mcp" in self.world.name:
            command, args, env = self.world.mcp_command()
            servers.append(MCPServerStdio(command=command, args=args, env=env))
        given: dict[str, Any] = {"goal": "go", "backstory": "go", "tools": tools, "cache": False}
        helper = Agent(role="helper", llm=Scripted(model="scripted", play=play, agent="helper"), **given)
        bare = self.way in {"inner", "later"}

        def delegate_work_to_coworker(task: str, context: str, coworker: str) -> str:
            """Lets a helper do it."""
            if self.way == "later":
                return "handed over"
            asked = Task(description="help", expected_output="done", agent=helper)
            return str(Crew(name=conversation, agents=[helper], tasks=[asked], tracing=False).kickoff())

        given["tools"] = [*tools, tool(delegate_work_to_coworker)] if bare else tools
        main = Agent(
            role="main", llm=Scripted(model="scripted", play=play), allow_delegation="handoff" in self.world.name,
            mcps=servers or None, **given,
        )  # fmt: skip
        todo = [Task(description="go", expected_output="done", agent=main)]
        if self.way == "later":
            todo.append(Task(description="help", expected_output="done", agent=helper))
        crew = Crew(name=conversation, agents=[main, helper], tasks=todo, cache=False, stream=stream, tracing=False)
        if self.way == "clone":
            crew = crew.copy()
            crew.name = conversation
        return crew

    def names(self, play: Play) -> dict[str, Any]:
        return {"crew": self.crew(play, "docs", stream=False)}

    async def run(self, play: Play, conversation: str, *, stream: bool, sync: bool) -> End:
        crew = self.crew(play, conversation, stream)
        if sync:
            await asyncio.to_thread(crew.kickoff)
        elif stream:
            async for _ in await crew.akickoff():
                pass
        else:
            await crew.akickoff()
        return End()

    async def resume(self, play: Play, conversation: str, args: dict[str, Any] | None) -> End:
        raise NotImplementedError("CrewAI pauses nothing")


from conformance.crewai_ways import WAYS  # noqa: E402 # it needs the model

Driver.ways = WAYS
