"""Microsoft's Agent Framework with a scripted chat client."""

from __future__ import annotations

import json
from contextlib import AsyncExitStack
from typing import Any

from agent_framework import (
    Agent,
    AgentSession,
    BaseChatClient,
    ChatMiddlewareLayer,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    FunctionInvocationLayer,
    MCPStdioTool,
    Message,
    ResponseStream,
    tool,
)

from conformance import harness
from conformance.harness import Cannot, End, Play
from interlock.agent_framework import interlock_middleware


class Scripted(FunctionInvocationLayer, ChatMiddlewareLayer, BaseChatClient):  # type: ignore[misc,type-arg]
    def __init__(self, play: Play, agent: str) -> None:
        super().__init__()
        self.play, self.agent = play, agent

    def _inner_get_response(self, *, messages: Any, stream: bool, options: Any, **kwargs: Any) -> Any:
        contents = self.answer(messages, options)

        async def whole() -> ChatResponse:
            return ChatResponse(messages=[Message("assistant", contents)])

        async def parts() -> Any:
            for content in contents:
                yield ChatResponseUpdate(role="assistant", contents=[content])

        return ResponseStream(parts(), finalizer=ChatResponse.from_updates) if stream else whole()

    def answer(self, messages: Any, options: Any) -> list[Content]:
        if self.agent == "main":
            self.play.offer([tool.name for tool in options.get("tools") or []])
        for message in messages:
            for content in message.contents:
                if content.type == "function_result":
                    texts = [c.text for c in content.items or [] if c.text] or [str(content.result)]
                    self.play.saw(content.call_id, "\n".join(texts) + (content.exception or ""))
        text, calls = self.play.next(self.agent)
        if not calls:
            return [Content.from_text(text)]
        return [Content.from_function_call(call_id=c.id, name=c.tool, arguments=json.dumps(c.args)) for c in calls]


class Driver(harness.Driver):
    framework = "agent-framework"
    package = "agent-framework-core"
    cannot = {  # noqa: RUF012
        "sync-allowed": Cannot("The framework has no interface without an event loop.", "Call it with `asyncio.run`."),
        "sync-denied": Cannot("The framework has no interface without an event loop.", "Call it with `asyncio.run`."),
    }

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.client = self.world.client()
        self.kept: dict[str, str] = getattr(self, "kept", {})

    async def close(self) -> None:
        await self.stack.aclose()
        await self.client.close()

    async def agent(self, play: Play, conversation: str) -> Agent[Any]:
        tools: list[Any] = [tool(f, approval_mode="never_require") for f in self.world.tools().values()]
        if "mcp" in self.world.name:
            command, args, env = self.world.mcp_command()
            tools.append(await self.stack.enter_async_context(MCPStdioTool("notes", command, args=args, env=env)))
        helper = Agent(
            Scripted(play, "helper"),
            tools=tools,
            middleware=interlock_middleware(self.client, session=self.world.session(conversation)),
        )

        @tool(approval_mode="never_require")
        async def delegate(agent: str) -> str:
            """Lets a helper do it."""
            return (await helper.run("help")).text

        by_session = interlock_middleware(self.client, session=lambda context: self.world.session(context.session.session_id))
        return Agent(Scripted(play, "main"), tools=[*tools, delegate], middleware=by_session)

    def names(self, play: Play) -> dict[str, Any]:
        tools = [tool(f, approval_mode="never_require") for f in self.world.tools().values()]
        return {"chat": Scripted(play, "main"), "tools": tools}

    async def run(self, play: Play, conversation: str, *, stream: bool, sync: bool) -> End:
        return await self.go(play, conversation, "go", stream)

    async def go(self, play: Play, conversation: str, given: Any, stream: bool = False) -> End:
        agent = await self.agent(play, conversation)
        kept = self.kept.get(conversation)
        session = AgentSession.from_dict(json.loads(kept)) if kept else agent.create_session(session_id=conversation)
        if stream:
            streamed = agent.run(given, session=session, stream=True)
            async for _ in streamed:
                pass
            answer = await streamed.get_final_response()
        else:
            answer = await agent.run(given, session=session)
        self.kept[conversation] = json.dumps(session.to_dict())
        self.requests = [json.dumps(request.to_dict()) for request in answer.user_input_requests]
        return End(paused=bool(self.requests))

    async def resume(self, play: Play, conversation: str, args: dict[str, Any] | None) -> End:
        if args is not None:
            # The framework takes the call that it has recorded, whatever the response says: so it is changed there too.
            assert args == {"target": "prod"}
            for before, after in (('\\"test\\"', '\\"prod\\"'), ('"test"', '"prod"')):
                self.kept[conversation] = self.kept[conversation].replace(before, after)
                self.requests = [request.replace(before, after) for request in self.requests]
        requests = [Content.from_dict(json.loads(text)) for text in self.requests]
        return await self.go(play, conversation, Message("user", [r.to_function_approval_response(True) for r in requests]))
