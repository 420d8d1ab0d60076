"""Google's ADK with a scripted model, and sessions in SQLite."""

from __future__ import annotations

import asyncio
import sqlite3
from contextlib import AsyncExitStack
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.apps import App
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_response import LlmResponse
from google.adk.runners import Runner
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.function_tool import FunctionTool
from google.genai import types

from conformance import harness
from conformance.harness import Cannot, End, Play
from interlock.adk import InterlockPlugin

CONFIRM = "adk_request_confirmation"


class Scripted(BaseLlm):
    play: Any
    agent: str

    async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
        if self.agent == "main":
            declared = [d.name for t in llm_request.config.tools or [] for d in t.function_declarations or []]
            self.play.offer(declared)
        for content in llm_request.contents:
            for part in content.parts or []:
                if part.function_response:
                    self.play.saw(
                        part.function_response.id, "\n".join(map(str, (part.function_response.response or {}).values()))
                    )
        text, calls = self.play.next(self.agent)
        parts = [types.Part(text=text)] if not calls else []
        for call in calls:
            name, args = call.tool, call.args
            if name == "delegate":
                name, args = "transfer_to_agent", {"agent_name": args["agent"]}
            parts.append(types.Part(function_call=types.FunctionCall(id=call.id, name=name, args=args)))
        yield LlmResponse(content=types.Content(role="model", parts=parts))


class Driver(harness.Driver):
    framework = "adk"
    package = "google-adk"
    cannot = {  # noqa: RUF012
        "ask-undecided": Cannot(
            "ADK confirms a call once: a tool that asks again while it is resumed does not pause again.",
            "Confirm when the approval is decided; `wait_approval` waits for that. A call that still waits does not run: the "
            "model reads so, and may make it again.",
        ),
    }

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.client = self.world.client()
        self.database = self.world.folder / "sessions.sqlite"
        self.sessions = SqliteSessionService(str(self.database))

    async def close(self) -> None:
        await self.stack.aclose()
        await self.client.close()

    def runner(self, play: Play) -> Runner:
        tools: list[Any] = [FunctionTool(f) for f in self.world.tools().values()]
        if "mcp" in self.world.name:
            from google.adk.tools.mcp_tool.mcp_session_manager import StdioConnectionParams
            from google.adk.tools.mcp_tool.mcp_toolset import McpToolset
            from mcp import StdioServerParameters

            command, args, env = self.world.mcp_command()
            parameters = StdioServerParameters(command=command, args=args, env=env)
            toolset = McpToolset(connection_params=StdioConnectionParams(server_params=parameters, timeout=60))
            tools.append(toolset)
            self.stack.push_async_callback(toolset.close)
        helper = LlmAgent(name="helper", model=Scripted(model="scripted", play=play, agent="helper"), tools=tools)
        main = LlmAgent(name="main", model=Scripted(model="scripted", play=play, agent="main"), tools=tools, sub_agents=[helper])
        plugin = InterlockPlugin(self.client, session=lambda context: self.world.session(context.session.id))
        return Runner(app=App(name="conformance", root_agent=main, plugins=[plugin]), session_service=self.sessions)

    def names(self, play: Play) -> dict[str, Any]:
        tools = [FunctionTool(f) for f in self.world.tools().values()]
        return {"model": Scripted(model="scripted", play=play, agent="main"), "tools": tools, "sessions": self.sessions}

    async def run(self, play: Play, conversation: str, *, stream: bool, sync: bool) -> End:
        where = {"app_name": "conformance", "user_id": "user", "session_id": conversation}
        if await self.sessions.get_session(**where) is None:
            await self.sessions.create_session(**where)
        return await self.go(play, conversation, types.Part(text="go"), stream, sync)

    async def go(self, play: Play, conversation: str, part: types.Part, stream: bool = False, sync: bool = False) -> End:
        runner = self.runner(play)
        given: dict[str, Any] = {
            "user_id": "user", "session_id": conversation, "new_message": types.Content(role="user", parts=[part]),
            "run_config": RunConfig(streaming_mode=StreamingMode.SSE if stream else StreamingMode.NONE),
        }  # fmt: skip
        self.asked = ""
        try:
            if sync:
                events = await asyncio.to_thread(lambda: list(runner.run(**given)))
            else:
                events = [event async for event in runner.run_async(**given)]
        except (RuntimeError, ValueError) as err:
            return End(raised=err)
        for event in events:
            for call in event.get_function_calls():
                if call.name == CONFIRM:
                    self.asked = call.id or ""
        return End(paused=bool(self.asked))

    async def resume(self, play: Play, conversation: str, args: dict[str, Any] | None) -> End:
        if args is not None:
            # ADK has nothing for that but what it has stored.
            with sqlite3.connect(self.database) as db:
                column = next(c[1] for c in db.execute("pragma table_info(events)") if c[1] in {"event_data", "content"})
                changed = db.execute(f"update events set {column} = replace({column}, ?, ?)", ('"test"', '"prod"')).rowcount
                assert changed
                assert args == {"target": "prod"}
        response = types.FunctionResponse(id=self.asked, name=CONFIRM, response={"confirmed": True})
        return await self.go(play, conversation, types.Part(function_response=response))
