"""The Claude Agent SDK and the Claude Code that it brings, with a Messages API on loopback that says what the play has."""

from __future__ import annotations

import dataclasses
import json
import os
import threading
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from claude_agent_sdk import AgentDefinition, ClaudeAgentOptions, HookMatcher, ResultMessage, create_sdk_mcp_server, tool

from conformance import harness
from conformance.harness import SPEC, Cannot, End, Play
from interlock.claude_agent import guarded, query, resume

HELPER = "You are the helper of the conformance cases."


class Messages(BaseHTTPRequestHandler):
    """The Messages API, as far as Claude Code uses it."""

    protocol_version = "HTTP/1.1"
    api: Api

    def log_message(self, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "count_tokens" in self.path:
            self.answer("application/json", json.dumps({"input_tokens": 10}))
            return
        content = self.api.answer(body)
        message = {
            "id": "msg_" + uuid.uuid4().hex, "type": "message", "role": "assistant", "model": body["model"], "content": content,
            "stop_reason": "tool_use" if any(c["type"] == "tool_use" for c in content) else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 10, "output_tokens": 10},
        }  # fmt: skip
        if not body.get("stream"):
            self.answer("application/json", json.dumps(message))
            return
        events: list[dict[str, Any]] = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
        for i, block in enumerate(content):
            if block["type"] == "text":
                start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                start = {**block, "input": {}}
                delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events += [
                {"type": "content_block_start", "index": i, "content_block": start},
                {"type": "content_block_delta", "index": i, "delta": delta},
                {"type": "content_block_stop", "index": i},
            ]
        events += [
            {
                "type": "message_delta",
                "delta": {"stop_reason": message["stop_reason"], "stop_sequence": None},
                "usage": {"output_tokens": 10},
            },
            {"type": "message_stop"},
        ]
        self.answer("text/event-stream", "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events))

    def answer(self, kind: str, text: str) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


class Api:
    def __init__(self) -> None:
        self.play = Play({})
        self.plays: dict[str, Play] = {}
        """By the session of Claude Code."""
        self.builtin = False
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Messages,), {"api": self}))
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._lock = threading.Lock()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        with self._lock:
            if os.environ.get("SHOW_API"):
                print(json.dumps(body["messages"], indent=1)[-3000:], [t["name"] for t in body.get("tools", [])])
            if not body.get("tools"):  # a title, or whether there is a topic
                return [{"type": "text", "text": "{}"}]
            agent = "helper" if HELPER in json.dumps(body.get("system", "")) or _asked(body) == "help" else "main"
            named = json.dumps(body.get("metadata", ""))
            play = next((play for session, play in self.plays.items() if session in named), self.play)
            if agent == "main":
                play.offer([t["name"] for t in body["tools"]])
            last = ""
            for message in body["messages"]:
                if message["role"] == "assistant":
                    last = ""
                for block in message["content"] if isinstance(message["content"], list) else []:
                    if block["type"] == "tool_result":
                        last = block["tool_use_id"].removeprefix("toolu_")
                        play.saw(last, _text(block["content"]))
                    elif block["type"] == "text" and last:  # what hooks add to a result
                        play.saw(last, play.reads[last] + "\n" + block["text"])
            text, calls = play.next(agent)
        content: list[dict[str, Any]] = [{"type": "text", "text": text or "..."}]
        for c in calls:
            name, given = c.tool, c.args
            if name == "delegate":
                kind = "general-purpose" if self.builtin else c.args["agent"]
                name, given = "Agent", {"description": "help", "prompt": "help", "subagent_type": kind}
            content.append({"type": "tool_use", "id": "toolu_" + c.id, "name": name, "input": given})
        return content


def _asked(body: dict[str, Any]) -> str:
    """The last text of the message that an agent was begun with."""
    content = body["messages"][0]["content"]
    return content if isinstance(content, str) else str(next((c["text"] for c in reversed(content) if c["type"] == "text"), ""))


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(c.get("text", "") for c in content)


class Driver(harness.Driver):
    framework = "claude-agent"
    package = "claude-agent-sdk"
    cannot = {  # noqa: RUF012
        "hidden": Cannot(
            "Claude Code takes the list of tools when a conversation begins; a hook cannot change the tools offered in a turn.",
            "Leave tools that are never legal out of `tools` and `mcp_servers`. A call of one that is not legal now is denied, "
            "and the model reads the legal ones.",
        ),
        "hidden-unavailable": Cannot(
            "Claude Code takes the list of tools when a conversation begins; a hook cannot change the tools offered in a turn.",
            "None needed: every call is denied while there is no decision.",
        ),
        "sync-allowed": Cannot("The SDK has no interface without an event loop.", "Call it with `asyncio.run`."),
        "sync-denied": Cannot("The SDK has no interface without an event loop.", "Call it with `asyncio.run`."),
        "inner": Cannot(
            "A second conversation is a process of its own, with options of its own.", "Give its options to `guarded`."
        ),
        "later": Cannot("Conversations are not handed over to other agents.", "See `subagent`."),
        "hosted": Cannot(
            "Claude Code makes every call itself, also one of WebSearch: there is no tool that is out of the reach of hooks.",
            "None needed: every call is judged.",
        ),
        "plugin-changes": Cannot(
            "Claude Code runs the hooks of settings files next to those of the program, and takes the arguments that one of them "
            "gives. Such a call is reported as failed.",
            "Set `setting_sources=[]` and no `plugins`, or keep hooks out of them that return `updatedInput`. Hooks of the options "
            "run before the judgement.",
        ),
        "background": Cannot(
            "Only commands, monitors and agents of Claude Code continue in the background; their calls are reported so.",
            "Report programs that a tool of your own starts with `client.guard` and `Result(background=...)`.",
        ),
        "generator": Cannot("A tool returns one result.", "Put `client.guard` around the generator."),
    }

    def wire(self, name: str) -> str:
        return name if name.startswith("mcp__") else "mcp__world__" + name

    async def open(self) -> None:
        self.client = self.world.client()
        if not hasattr(self, "api"):
            self.api = Api()
            self.ids: dict[str, str] = {}

    async def close(self) -> None:
        await self.client.close()

    def options(
        self, play: Play, conversation: str, stream: bool = False, args: dict[str, Any] | None = None
    ) -> ClaudeAgentOptions:
        self.api.play, self.api.builtin = play, self.way == "subagent"
        if conversation in self.ids:
            self.api.plays[self.ids[conversation]] = play
        world = [
            tool(name, name, {arg: str for arg in SPEC["tools"][name]["args"]})(_handler(function))
            for name, function in self.world.tools().items()
        ]
        servers: dict[str, Any] = {"world": create_sdk_mcp_server("world", tools=world)}
        if "mcp" in self.world.name:
            command, arguments, env = self.world.mcp_command()
            servers["notes"] = {"type": "stdio", "command": command, "args": arguments, "env": env}
        config = self.world.folder / "claude"
        sessions = {id: self.world.session(conversation) for conversation, id in self.ids.items()}
        options = ClaudeAgentOptions(
            tools=["Agent"],
            mcp_servers=servers,
            strict_mcp_config=True,
            setting_sources=[],
            hooks=self.hooks(args),
            cwd=self.world.folder,
            include_partial_messages=stream,
            agents={"helper": AgentDefinition(description="helps", prompt=HELPER)},
            env={
                "ANTHROPIC_BASE_URL": self.api.url,
                "ANTHROPIC_API_KEY": "none",
                "CLAUDE_CONFIG_DIR": str(config),
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "DISABLE_AUTOUPDATER": "1",
                "ENABLE_TOOL_SEARCH": "false",
                "MCP_CONNECTION_NONBLOCKING": "0",  # the first turn has the tools of MCP servers
                "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
                "MCP_TIMEOUT": "60000",
                "MCP_CONNECT_TIMEOUT_MS": "60000",
            },
        )
        made = guarded(options, self.client, session=lambda given: sessions[given["session_id"]])
        return dataclasses.replace(made, system_prompt="You are a copy.") if self.way == "clone" else made

    def hooks(self, args: dict[str, Any] | None) -> Any:
        """Somebody else's hooks."""
        if args:
            return {"PreToolUse": [HookMatcher(hooks=[_changing(args)])]}
        if self.way == "answers":
            return {"PreToolUse": [HookMatcher(hooks=[_answering])]}
        return {"PostToolUse": [HookMatcher(hooks=[_replacing])]} if self.way == "replaces" else None

    def names(self, play: Play) -> dict[str, Any]:
        options = self.options(play, "docs")
        return {"servers": options.mcp_servers, "env": options.env}

    async def run(self, play: Play, conversation: str, *, stream: bool, sync: bool) -> End:
        self.ids[conversation] = str(uuid.uuid4())
        options = self.options(play, conversation, stream)
        options.session_id = self.ids[conversation]
        return await self.play(query(prompt="go", options=options))

    async def resume(self, play: Play, conversation: str, args: dict[str, Any] | None) -> End:
        options = self.options(play, conversation, args=args)
        options.resume = self.ids[conversation]
        return await self.play(resume(options))

    async def play(self, messages: Any) -> End:
        end = End()
        async for message in messages:
            if os.environ.get("SHOW_API"):
                print(message)
            if isinstance(message, ResultMessage):
                end.paused = message.deferred_tool_use is not None
        return end


def _changing(args: dict[str, Any]) -> Any:
    async def hook(given: Any, tool_use_id: Any, context: Any) -> Any:
        return {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": args}}

    return hook


async def _answering(given: Any, tool_use_id: Any, context: Any) -> Any:
    said = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not from the tool"}
    return {"hookSpecificOutput": said}


async def _replacing(given: Any, tool_use_id: Any, context: Any) -> Any:
    said = [{"type": "text", "text": "not from the tool"}]
    return {"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": said}}


def _handler(function: Any) -> Any:
    async def handler(args: dict[str, Any]) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": await function(**args)}]}

    return handler
