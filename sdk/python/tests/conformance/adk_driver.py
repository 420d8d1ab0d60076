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
from google.adk.plugins.base_plugin import BasePlugin
from google.adk.runners import Runner
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.agent_tool import AgentTool
from google.adk.tools.function_tool import FunctionTool
from google.adk.tools.google_search_tool import GoogleSearchTool
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

from conformance import harness
from conformance.harness import NO_FOLDER, Cannot, End, Play
from interlock.adk import InterlockPlugin

CONFIRM = "adk_request_confirmation"


class Scripted(BaseLlm):
    play: Any
    agent: str
    delegates: str = "transfer_to_agent"

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
            if name == "delegate" and self.delegates == "delegate":
                args = {"request": "help"}
            elif name == "delegate":
                name, args = "transfer_to_agent", {"agent_name": args["agent"]}
            parts.append(types.Part(function_call=types.FunctionCall(id=call.id, name=name, args=args)))
        yield LlmResponse(content=types.Content(role="model", parts=parts))


class Answers(BasePlugin):
    """Somebody else's plugin, which replaces results."""

    async def after_tool_callback(self, **given: Any) -> Any:
        return {"result": "not from the tool"}


async def changes(tool: Any, args: dict[str, Any], tool_context: Any) -> None:
    """A callback of an agent, which changes arguments."""
    args["path"] = "changed"


async def answers(tool: Any, args: dict[str, Any], tool_context: Any) -> Any:
    """A callback of an agent, which answers calls itself."""
    return {"result": "not from the tool"}


class Driver(harness.Driver):
    framework = "adk"
    package = "google-adk"
    cannot = {  # noqa: RUF012
        "generator": Cannot(
            "Only live conversations read the items that tools yield, and no model of the tests has them.",
            "None needed: such a tool is judged before it begins, and reported when it ends.",
        ),
        "folder": NO_FOLDER,
        "ask-undecided": Cannot(
            "ADK confirms a call once: a tool that asks again while it is resumed does not pause again.",
            "Confirm when the approval is decided; `wait_approval` waits for that. A call that still waits does not run: the "
            "model reads so, and may make it again.",
        ),
    }

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.client = self.world.client()
        self.plugin = InterlockPlugin(self.client, session=lambda context: self.world.session(context.session.id))
        self.database = self.world.folder / "sessions.sqlite"
        # Many writers at once wait for SQLite's lock longer than the service does.
        self.sessions: Any = InMemorySessionService() if self.world.name == "many" else SqliteSessionService(str(self.database))

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
        if self.way == "background":
            tools[0] = LongRunningFunctionTool(self.world.read_note)
        if self.way == "hosted":
            tools.append(GoogleSearchTool(bypass_multi_tools_limit=False))
        called = self.way in {"inner", "subagent"}
        helper = LlmAgent(
            name="delegate" if called else "helper", model=Scripted(model="scripted", play=play, agent="helper"), tools=tools
        )
        model = Scripted(
            model="gemini-3-pro" if self.way == "hosted" else "scripted",
            play=play,
            agent="main",
            delegates="delegate" if called else "transfer_to_agent",
        )
        callback = {"changes": changes, "answers": answers}.get(self.way)
        given: dict[str, Any] = {"tools": [*tools, AgentTool(helper, include_plugins=False)] if self.way == "inner" else tools}
        if self.way == "subagent":
            helper.mode = "single_turn"
        main = LlmAgent(
            name="main", model=model, sub_agents=[helper] if self.way not in {"inner", "later", "hosted"} else [],
            before_tool_callback=callback, **given,
        )  # fmt: skip
        plugins: list[Any] = [Answers(name="answers"), self.plugin] if self.way == "replaces" else [self.plugin]
        if self.way == "clone":
            main = main.clone()
        runner = Runner(app=App(name="conformance", root_agent=main, plugins=plugins), session_service=self.sessions)
        if self.way == "later":
            helper.parent_agent = main
            main.sub_agents = [helper]
        return runner

    def names(self, play: Play) -> dict[str, Any]:
        tools = [FunctionTool(f) for f in self.world.tools().values()]
        return {"model": Scripted(model="scripted", play=play, agent="main"), "tools": tools, "sessions": self.sessions}

    async def run(self, play: Play, conversation: str, *, stream: bool, sync: bool) -> End:
        where = {"app_name": "conformance", "user_id": conversation, "session_id": conversation}
        if await self.sessions.get_session(**where) is None:
            await self.sessions.create_session(**where)
        return await self.go(play, conversation, types.Part(text="go"), stream, sync)

    async def go(self, play: Play, conversation: str, part: types.Part, stream: bool = False, sync: bool = False) -> End:
        runner = self.runner(play)
        given: dict[str, Any] = {
            "user_id": conversation, "session_id": conversation, "new_message": types.Content(role="user", parts=[part]),
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


from conformance.adk_ways import FAILURES, WAYS  # noqa: E402 # it needs the model

Driver.ways, Driver.failures = WAYS, FAILURES
