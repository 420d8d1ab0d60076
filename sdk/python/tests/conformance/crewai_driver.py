"""CrewAI with a scripted language model."""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true", "CREWAI_TRACING_ENABLED": "false"}

from crewai import Agent, BaseLLM, Crew, Task
from crewai.mcp import MCPServerStdio
from crewai.tools import tool

from conformance import harness
from conformance.harness import Cannot, End, Play
from interlock.crewai import InterlockHooks

PAUSE = Cannot(
    "CrewAI has nothing to pause a call with and resume it: its hooks let a call pass or block it.",
    "The model reads which approval waits, and may make the call again; or `InterlockHooks(wait=...)` lets the call itself wait.",
)
HIDE = Cannot(
    "The hooks before a call of the model see its messages; the tools that it is offered are out of reach.",
    "Give agents the tools of their work. A call of one that is not legal now is denied, and the model reads what is.",
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
        "hidden": HIDE,
        "hidden-unavailable": HIDE,
    }  # fmt: skip

    async def open(self) -> None:
        self.client = self.world.client()
        # The names of crews are those of conversations.
        self.hooks = InterlockHooks(self.client, session=lambda context: self.world.session(context.crew.name))
        self.hooks.register()

    async def close(self) -> None:
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
        main = Agent(
            role="main", llm=Scripted(model="scripted", play=play), allow_delegation="handoff" in self.world.name,
            mcps=servers or None, **given,
        )  # fmt: skip
        task = Task(description="go", expected_output="done", agent=main)
        return Crew(name=conversation, agents=[main, helper], tasks=[task], cache=False, stream=stream, tracing=False)

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
