"""Microsoft's Agent Framework with a scripted chat client."""

from __future__ import annotations

import copy
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
    FunctionMiddleware,
    MCPStdioTool,
    Message,
    ResponseStream,
    WorkflowBuilder,
    tool,
)
from agent_framework.exceptions import AgentException

from conformance import harness
from conformance.harness import NO_BACKGROUND, NO_FOLDER, NO_GENERATOR, Cannot, End, Play
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


class Changes(FunctionMiddleware):
    """Somebody else's middleware, which changes arguments."""

    async def process(self, context: Any, call_next: Any) -> None:
        context.arguments = {**dict(context.arguments), "path": "changed"}
        await call_next()


class Answers(FunctionMiddleware):
    """Somebody else's middleware, which answers calls itself."""

    async def process(self, context: Any, call_next: Any) -> None:
        context.result = "not from the tool"


class Replaces(FunctionMiddleware):
    """Somebody else's middleware, which replaces results."""

    async def process(self, context: Any, call_next: Any) -> None:
        await call_next()
        context.result = "not from the tool"


class Driver(harness.Driver):
    framework = "agent-framework"
    package = "agent-framework-core"
    cannot = {  # noqa: RUF012
        "sync-allowed": Cannot("The framework has no interface without an event loop.", "Call it with `asyncio.run`."),
        "sync-denied": Cannot("The framework has no interface without an event loop.", "Call it with `asyncio.run`."),
    }

    cannot |= {
        "subagent": Cannot("The framework makes no agents.", "See `inner`."),
        "background": NO_BACKGROUND,
        "generator": NO_GENERATOR,
        "folder": NO_FOLDER,
    }

    async def open(self) -> None:
        self.stack = AsyncExitStack()
        self.client = self.world.client()
        self.by_session = interlock_middleware(
            self.client, session=lambda context: self.world.session(context.session.session_id)
        )
        self.kept: dict[str, str] = getattr(self, "kept", {})

    async def close(self) -> None:
        await self.stack.aclose()
        await self.client.close()

    async def agent(self, play: Play, conversation: str) -> Agent[Any]:
        tools: list[Any] = [tool(f, approval_mode="never_require") for f in self.world.tools().values()]
        if "mcp" in self.world.name:
            command, args, env = self.world.mcp_command()
            tools.append(await self.stack.enter_async_context(MCPStdioTool("notes", command, args=args, env=env)))
        bare = self.way in {"inner", "later"}
        fixed = [] if bare else interlock_middleware(self.client, session=self.world.session(conversation))
        helper = Agent(Scripted(play, "helper"), name="helper", tools=tools, middleware=fixed)

        @tool(approval_mode="never_require")
        async def delegate(agent: str) -> str:
            """Lets a helper do it."""
            return "handed over" if self.way == "later" else (await helper.run("help")).text

        if self.way == "hosted":
            tools.append({"type": "web_search"})
        others = {"changes": [Changes()], "answers": [Answers()]}.get(self.way, [])
        first = [Replaces()] if self.way == "replaces" else []
        main = Agent(
            Scripted(play, "main"), name="main", tools=[*tools, delegate], middleware=[*first, *self.by_session, *others]
        )
        if self.way == "clone":
            return copy.copy(main)
        if self.way == "later":
            return WorkflowBuilder(start_executor=main, output_from=[helper]).add_edge(main, helper).build().as_agent()  # type: ignore[return-value]
        return main

    def names(self, play: Play) -> dict[str, Any]:
        tools = [tool(f, approval_mode="never_require") for f in self.world.tools().values()]
        return {"chat": Scripted(play, "main"), "tools": tools}

    async def run(self, play: Play, conversation: str, *, stream: bool, sync: bool) -> End:
        return await self.go(play, conversation, "go", stream)

    async def go(self, play: Play, conversation: str, given: Any, stream: bool = False) -> End:
        agent = await self.agent(play, conversation)
        kept = self.kept.get(conversation)
        session = AgentSession.from_dict(json.loads(kept)) if kept else agent.create_session(session_id=conversation)
        try:
            answer = await self.ask(agent, given, session, stream)
        except (TypeError, AgentException) as err:
            return End(raised=err)
        self.kept[conversation] = json.dumps(session.to_dict())
        self.requests = [json.dumps(request.to_dict()) for request in answer.user_input_requests]
        return End(paused=bool(self.requests))

    async def ask(self, agent: Any, given: Any, session: Any, stream: bool) -> Any:
        if stream:
            streamed = agent.run(given, session=session, stream=True)
            async for _ in streamed:
                pass
            return await streamed.get_final_response()
        return await agent.run(given, session=session)

    async def resume(self, play: Play, conversation: str, args: dict[str, Any] | None) -> End:
        if args is not None:
            # The framework takes the call that it has recorded, whatever the response says: so it is changed there too.
            assert args == {"target": "prod"}
            for before, after in (('\\"test\\"', '\\"prod\\"'), ('"test"', '"prod"')):
                self.kept[conversation] = self.kept[conversation].replace(before, after)
                self.requests = [request.replace(before, after) for request in self.requests]
        requests = [Content.from_dict(json.loads(text)) for text in self.requests]
        return await self.go(play, conversation, Message("user", [r.to_function_approval_response(True) for r in requests]))


from conformance.agent_framework_ways import FAILURES, WAYS  # noqa: E402 # it needs the model

Driver.ways, Driver.failures = WAYS, FAILURES
