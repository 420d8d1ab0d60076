"""What the contract of adapters does not ask: ways in which the OpenAI Agents SDK alone comes to run a tool."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable
from typing import Any

import pytest
from interlock_server import Proxy, Server

if os.environ["ADAPTER"] != "openai-agents":
    pytest.skip("another framework", allow_module_level=True)

from agents import (
    Agent,
    GuardrailFunctionOutput,
    InputGuardrail,
    ModelSettings,
    Runner,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    function_tool,
)
from agents import handoff as make_handoff
from agents.realtime import RealtimeAgent, RealtimeModel, RealtimeModelToolCallEvent, RealtimeRunner, realtime_handoff
from agents.realtime.model_inputs import RealtimeModelSendToolOutput
from agents.tool import tool_namespace
from agents.tool_context import ToolContext

from conformance.harness import SPEC, Play, World
from conformance.openai_agents_driver import Scripted
from interlock.openai_agents import InterlockGate


@pytest.fixture
async def made(server: Server, proxy: Proxy, tmp_path: Any) -> Any:
    for kind in ("workflow", "policy"):
        (server.folder / f"{kind}.json").write_text(json.dumps(SPEC[kind]))
    server.cli("operator", "workflow", "register", str(server.folder / "workflow.json"))
    server.cli("operator", "policy", "put", str(server.folder / "policy.json"))
    server.cli("operator", "policy", "attach", SPEC["policy"]["name"], "--workflow", SPEC["workflow"]["id"])
    world = World(server, proxy, "allowed", "", tmp_path)
    client = world.client()
    yield world, InterlockGate(client, session=world.session("main"))
    await client.close()


def turns(*calls: tuple[str, dict[str, Any]]) -> list[Any]:
    return [{"calls": [{"id": f"c{i}", "tool": tool, "args": args}]} for i, (tool, args) in enumerate(calls)] + [{"text": "done"}]


WRITES = turns(("write_note", {"path": "a", "text": "b"}))
READS = turns(("read_note", {"path": "a"}))
DEPLOYS = turns(("deploy", {"target": "test"}))


def delegating(play: Play, agent: str, given: dict[str, Any]) -> Scripted:
    """A model that calls the tool `delegate`."""
    model = Scripted(play, agent)
    model.delegates, model.delegated = "delegate", json.dumps(given)
    return model


DELEGATES = [{"calls": [{"id": "d1", "tool": "delegate", "args": {}}]}, {"text": "done"}]
INPUT = {"input": "help"}


def told(world: World) -> list[tuple[str, bool, bool, bool]]:
    return [(r.tool, r.ok, r.outcome_unknown, r.not_executed) for r in world.proxy.reports]


# Agents that were never given to the gate


def raw(world: World, play: Play) -> Agent[Any]:
    return Agent(name="helper", model=Scripted(play, "helper"), tools=[function_tool(f) for f in world.tools().values()])


async def test_an_agent_that_a_tools_function_runs_is_judged(made: Any) -> None:
    world, gate = made
    play = Play({"main": list(DELEGATES), "helper": list(WRITES)})
    helper = raw(world, play)

    @function_tool
    async def delegate() -> str:
        return str((await Runner.run(helper, "help")).final_output)

    await Runner.run(gate.agent(Agent(name="main", model=delegating(play, "main", {}), tools=[delegate])), "go")
    assert world.ran == []
    assert "TOOL_NOT_ALLOWED" in play.reads["c0"]


async def test_an_agent_that_a_synchronous_tool_runs_is_judged(made: Any) -> None:
    world, gate = made
    play = Play({"main": list(DELEGATES), "helper": list(WRITES)})
    helper = raw(world, play)

    @function_tool
    def delegate() -> str:
        return str(Runner.run_sync(helper, "help").final_output)

    await Runner.run(gate.agent(Agent(name="main", model=delegating(play, "main", {}), tools=[delegate])), "go")
    assert world.ran == []


async def test_an_inner_agent_of_an_inner_agent_is_judged(made: Any) -> None:
    world, gate = made
    play = Play({"main": list(DELEGATES), "middle": list(DELEGATES), "helper": list(WRITES)})
    middle = Agent(name="middle", model=delegating(play, "middle", INPUT), tools=[raw(world, play).as_tool("delegate", "helps")])
    await Runner.run(
        gate.agent(Agent(name="main", model=delegating(play, "main", INPUT), tools=[middle.as_tool("delegate", "helps")])), "go"
    )
    assert world.ran == []


async def test_an_agent_beside_a_gated_one_stays_as_it_is(made: Any) -> None:
    world, gate = made
    play = Play({"main": list(READS), "helper": list(WRITES)})
    await Runner.run(gate.agent(Agent(name="main", model=Scripted(play, "main"), tools=[function_tool(world.read_note)])), "go")
    await Runner.run(raw(world, play), "go")
    assert world.ran == ["read_note", "write_note"]


async def test_an_inner_agent_whose_tools_are_out_of_reach_is_refused(made: Any) -> None:
    world, gate = made

    class Own(Agent[Any]):
        async def get_all_tools(self, run_context: Any) -> list[Any]:
            return [*await super().get_all_tools(run_context), function_tool(world.write_note)]

    play = Play(
        {
            "main": list(DELEGATES),
            "helper": list(WRITES),
        }
    )
    helper = Own(name="helper", model=Scripted(play, "helper"))
    main = Agent(name="main", model=delegating(play, "main", INPUT), tools=[helper.as_tool("delegate", "helps")])
    await Runner.run(gate.agent(main), "go")
    assert world.ran == []
    assert "error" in play.reads["d1"]
    play = Play({"helper": list(WRITES)})
    await Runner.run(gate.agent(Own(name="helper", model=Scripted(play, "helper"))), "go")
    assert world.ran == []


ADDED: dict[str, Callable[[Any, Any], Any]] = {
    "append": lambda main, helper: main.handoffs.append(helper),
    "extend": lambda main, helper: main.handoffs.extend([helper]),
    "insert": lambda main, helper: main.handoffs.insert(0, helper),
    "slice": lambda main, helper: main.handoffs.__setitem__(slice(0, 0), [helper]),
    "+=": lambda main, helper: main.handoffs.__iadd__([helper]),
    "assigned": lambda main, helper: setattr(main, "handoffs", [helper]),
    "concatenated": lambda main, helper: setattr(main, "handoffs", [*main.handoffs, helper]),
    "a Handoff": lambda main, helper: main.handoffs.append(make_handoff(helper)),
}


@pytest.mark.parametrize("add", ADDED.values(), ids=ADDED)
@pytest.mark.parametrize("copied", [False, True], ids=["agent", "clone"])
async def test_a_hand_off_that_is_added_later_is_judged(made: Any, add: Any, copied: bool) -> None:
    world, gate = made
    play = Play({"main": [{"calls": [{"id": "c1", "delegate": "helper"}]}], "helper": list(WRITES)})
    main = gate.agent(Agent(name="main", model=Scripted(play, "main"), tools=[]))
    main = main.clone() if copied else main
    add(main, raw(world, play))
    result = await Runner.run(main, "go")
    assert result.last_agent.name == "helper"
    assert world.ran == []
    assert "TOOL_NOT_ALLOWED" in play.reads["c0"]


async def test_a_tool_that_is_added_later_is_judged(made: Any) -> None:
    world, gate = made
    play = Play({"main": list(WRITES)})
    main = gate.agent(Agent(name="main", model=Scripted(play, "main"), tools=[]))
    main.tools.append(function_tool(world.write_note))
    await Runner.run(main, "go")
    assert world.ran == []


# Guardrails


async def approved(world: World, gate: Any, agent: Any) -> Any:
    """Runs an agent until it waits, approves, and gives the state back."""
    result = await Runner.run(agent, "go")
    assert result.interruptions
    world.decide(True, "")
    state = result.to_state()
    await gate.settle(state)
    return state


@pytest.mark.parametrize(
    "answer",
    [ToolGuardrailFunctionOutput.reject_content("no"), ToolGuardrailFunctionOutput.raise_exception()],
    ids=["rejects", "raises"],
)
async def test_a_guardrail_that_refuses_an_approved_call_leaves_nothing_open(made: Any, answer: Any) -> None:
    world, gate = made
    tool = function_tool(world.deploy)
    tool.tool_input_guardrails = [ToolInputGuardrail(lambda _: answer, name="no")]
    play = Play({"main": list(DEPLOYS)})
    agent = gate.agent(Agent(name="main", model=Scripted(play, "main"), tools=[tool]))
    state = await approved(world, gate, agent)
    with (
        pytest.raises(Exception, match=r"(?i)tripwire")
        if answer.behavior["type"] == "raise_exception"
        else contextlib.nullcontext()
    ):
        await Runner.run(agent, state)
    assert world.ran == []
    assert told(world) == [("deploy", False, False, True)]


async def test_a_guardrail_that_refuses_a_call_leaves_nothing_open(made: Any) -> None:
    world, gate = made
    tool = function_tool(world.read_note)
    tool.tool_input_guardrails = [ToolInputGuardrail(lambda _: ToolGuardrailFunctionOutput.reject_content("no"), name="no")]
    play = Play({"main": list(READS)})
    await Runner.run(gate.agent(Agent(name="main", model=Scripted(play, "main"), tools=[tool])), "go")
    assert (world.ran, told(world)) == ([], [])
    assert {c.dry_run for c in world.proxy.checks} == {True}


async def test_an_input_guardrail_that_refuses_leaves_no_call_open(made: Any) -> None:
    world, gate = made
    begun = asyncio.Event()

    async def guard(*_: Any) -> GuardrailFunctionOutput:
        await begun.wait()
        return GuardrailFunctionOutput(None, tripwire_triggered=True)

    @function_tool
    async def read_note(path: str) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    play = Play({"main": list(READS)})
    agent = Agent(name="main", model=Scripted(play, "main"), tools=[read_note], input_guardrails=[InputGuardrail(guard)])
    with pytest.raises(Exception, match=r"(?i)guardrail"):
        await Runner.run(gate.agent(agent), "go")
    await gate._gate._client.close()
    allowed = {c.call_id for c in world.proxy.checks if not c.dry_run}
    assert allowed == {r.call_id for r in world.proxy.reports}
    assert told(world) == [("read_note", False, True, False)]


# Outcomes


async def test_a_tool_that_is_out_of_time_has_an_unknown_outcome(made: Any) -> None:
    world, gate = made

    @function_tool(timeout=0.05)
    async def read_note(path: str) -> str:
        await asyncio.Event().wait()
        return "never"

    play = Play({"main": list(READS)})
    await Runner.run(gate.agent(Agent(name="main", model=Scripted(play, "main"), tools=[read_note])), "go")
    assert told(world) == [("read_note", False, True, False)]


async def test_a_tool_of_an_mcp_server_that_says_that_it_has_failed_is_reported_as_failed(made: Any, tmp_path: Any) -> None:
    from agents.mcp import MCPServerStdio

    world, gate = made
    script = tmp_path / "server.py"
    script.write_text(
        "from mcp.server.mcpserver import MCPServer\nserver = MCPServer('notes')\n\n@server.tool()\ndef read_note(path: str) -> str:\n"
        "    raise RuntimeError('it broke')\n\nserver.run()\n"
    )
    play = Play({"main": list(READS)})
    async with MCPServerStdio({"command": sys.executable, "args": [str(script)]}, name="notes") as server:
        await Runner.run(gate.agent(Agent(name="main", model=Scripted(play, "main"), mcp_servers=[server])), "go")
    assert "Error executing" in play.reads["c0"]
    assert told(world) == [("read_note", False, False, False)]


async def test_tools_of_two_namespaces_are_two_tools(made: Any) -> None:
    world, gate = made
    (tool,) = tool_namespace(name="notes", description="notes", tools=[function_tool(world.read_note)])
    guarded = gate.tool(tool)
    context: Any = ToolContext(None, tool_name="read_note", tool_call_id="c1", tool_arguments='{"path":"a"}')
    assert "TOOL_NOT_ALLOWED" in await guarded.on_invoke_tool(context, '{"path":"a"}')
    assert world.proxy.checks[-1].tool == "notes.read_note"


# Realtime


async def test_tools_of_a_realtime_agent_are_judged(made: Any) -> None:
    world, gate = made
    helper = RealtimeAgent(name="helper", tools=[function_tool(world.write_note)])
    main = gate.agent(
        RealtimeAgent(name="main", tools=[function_tool(world.read_note), function_tool(world.write_note)], handoffs=[helper])
    )
    assert isinstance(main, RealtimeAgent)
    context: Any = ToolContext(None, tool_name="t", tool_call_id="c1", tool_arguments="{}")
    tools = {tool.name: tool for tool in await main.get_all_tools(context)}
    assert await tools["read_note"].on_invoke_tool(context, '{"path":"a"}') == "note of a"
    assert "TOOL_NOT_ALLOWED" in await tools["write_note"].on_invoke_tool(context, '{"path":"a","text":"b"}')
    (inner,) = await main.handoffs[0].get_all_tools(context)
    assert "TOOL_NOT_ALLOWED" in await inner.on_invoke_tool(context, '{"path":"a","text":"b"}')
    assert world.ran == ["read_note"]


# The key of a decision


@pytest.mark.parametrize(
    ("session", "given"),
    [("b", '{"target":"test"}'), ("a", '{"target":"production"}'), ("a", '{"target":"test","force":true}')],
    ids=["another conversation", "other arguments", "more arguments"],
)
async def test_an_approved_call_admits_no_other_of_the_same_id(
    server: Server, proxy: Proxy, tmp_path: Any, made: Any, session: str, given: str
) -> None:
    world, _ = made
    client = world.client()
    gate = InterlockGate(client, session=lambda context: world.session(context.context))
    tool = gate.tool(function_tool(world.deploy, strict_mode=False))
    world.session("a")
    world.session("b")

    def context(name: str, args: str) -> Any:
        return ToolContext(name, tool_name="deploy", tool_call_id="functions.deploy:0", tool_arguments=args)

    first = '{"target":"test"}'
    approval: Any = tool.needs_approval
    assert await approval(context("a", first), json.loads(first), "functions.deploy:0")
    world.decide(True, "")
    assert not await approval(context("a", first), json.loads(first), "functions.deploy:0")
    assert "APPROVAL_REQUIRED" in await tool.on_invoke_tool(context(session, given), given)
    assert world.ran == []
    assert await tool.on_invoke_tool(context("a", first), first) == "deployed test"
    await client.close()


async def test_tools_of_a_sandboxs_capability_are_judged(made: Any) -> None:
    from agents.sandbox import SandboxAgent

    world, gate = made
    main = gate.agent(SandboxAgent(name="main", tools=[function_tool(world.read_note)]))
    main._sandbox_capability_tools = [function_tool(world.write_note)]
    context: Any = ToolContext(None, tool_name="t", tool_call_id="c1", tool_arguments="{}")
    tools = {tool.name: tool for tool in await main.get_all_tools(context)}
    assert "TOOL_NOT_ALLOWED" in await tools["write_note"].on_invoke_tool(context, '{"path":"a","text":"b"}')
    assert await tools["read_note"].on_invoke_tool(context, '{"path":"a"}') == "note of a"


@pytest.mark.parametrize("mode", ["immediate", "after_turn"])
async def test_a_streamed_run_that_is_cancelled_leaves_no_call_open(made: Any, mode: Any) -> None:
    world, gate = made
    begun, over = asyncio.Event(), asyncio.Event()

    @function_tool
    async def read_note(path: str) -> str:
        begun.set()
        await over.wait()
        return "a note"

    play = Play({"main": list(READS)})
    streamed = Runner.run_streamed(gate.agent(Agent(name="main", model=Scripted(play, "main"), tools=[read_note])), "go")
    reading = asyncio.ensure_future(_read(streamed))
    await begun.wait()
    streamed.cancel(mode=mode)
    over.set()
    await asyncio.gather(reading, return_exceptions=True)
    await gate._gate._client.close()
    allowed = {c.call_id for c in world.proxy.checks if not c.dry_run}
    assert allowed == {r.call_id for r in world.proxy.reports}


async def _read(streamed: Any) -> None:
    async for _ in streamed.stream_events():
        pass


async def test_a_call_beside_one_that_ends_the_run_has_an_unknown_outcome(made: Any) -> None:
    world, gate = made
    begun = asyncio.Event()

    @function_tool
    async def read_note(path: str) -> str:
        begun.set()
        await asyncio.Event().wait()
        return "never"

    @function_tool(failure_error_function=None)
    async def fail(why: str) -> str:
        await begun.wait()
        raise RuntimeError("it broke")

    calls = [{"id": "c1", "tool": "read_note", "args": {"path": "a"}}, {"id": "c2", "tool": "fail", "args": {"why": "b"}}]
    play = Play({"main": [{"calls": calls}]})
    with pytest.raises(Exception, match="it broke"):
        await Runner.run(gate.agent(Agent(name="main", model=Scripted(play, "main"), tools=[read_note, fail])), "go")
    await gate._gate._client.close()
    assert sorted(told(world)) == [("fail", False, False, False), ("read_note", False, True, False)]


# Tools that are not in the list of an agent's tools

HIDDEN: dict[str, dict[str, Any]] = {
    "a stored prompt": {"prompt": {"id": "pmpt_1"}},
    "extra_body": {"model_settings": ModelSettings(extra_body={"tools": [{"type": "web_search"}]})},
    "extra_args": {"model_settings": ModelSettings(extra_args={"tools": [{"type": "mcp", "server_url": "http://127.0.0.1:1"}]})},
    "the search of a chat": {"model_settings": ModelSettings(extra_args={"web_search_options": {"user_location": None}})},
    "plugins of a router": {"model_settings": ModelSettings(extra_body={"plugins": [{"id": "web"}]})},
}


@pytest.mark.parametrize("given", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("where", ["main", "hand-off", "as_tool", "changed later"])
async def test_tools_that_the_model_gets_in_another_way_are_refused(made: Any, given: dict[str, Any], where: str) -> None:
    _, gate = made
    play = Play({"main": [{"calls": [{"id": "c1", "delegate": "helper"}]}, {"text": "done"}], "helper": [{"text": "reached"}]})
    hidden = Agent(name="helper", model=Scripted(play, "helper"), **given)
    main: Any
    if where == "main":
        with pytest.raises(TypeError, match="name it in `ungated`"):
            gate.agent(hidden)
    elif where == "hand-off":
        with pytest.raises(TypeError, match="name it in `ungated`"):
            gate.agent(Agent(name="main", model=Scripted(play, "main"), handoffs=[hidden]))
    elif where == "as_tool":
        main = Agent(name="main", model=delegating(play, "main", INPUT), tools=[hidden.as_tool("delegate", "helps")])
        await Runner.run(gate.agent(main), "go")
        assert "error" in play.reads["c1"]
    else:
        main = gate.agent(Agent(name="main", model=Scripted(play, "main")))
        for name, value in given.items():
            setattr(main, name, value)
        with pytest.raises(TypeError, match="name it in `ungated`"):
            await Runner.run(main, "go")
    assert "reached" not in str(play.reads)


async def test_tools_that_ungated_names_may_come_in_another_way(made: Any) -> None:
    world, _ = made
    gate = InterlockGate(world.client(), ungated=["prompt", "web_search"])
    play = Play({"main": [{"text": "done"}]})
    settings = ModelSettings(extra_body={"tools": [{"type": "web_search"}]})
    agent = gate.agent(Agent(name="main", model=Scripted(play, "main"), prompt={"id": "pmpt_1"}, model_settings=settings))
    assert (await Runner.run(agent, "go")).final_output == "done"


async def test_a_sandbox_that_writes_memories_is_refused(made: Any) -> None:
    from agents.sandbox import SandboxAgent
    from agents.sandbox.capabilities import Memory

    _, gate = made
    with pytest.raises(TypeError, match="'memory'"):
        gate.agent(SandboxAgent(name="main", capabilities=[Memory()]))
    gate.agent(SandboxAgent(name="reads", capabilities=[Memory(generate=None)]))


# Realtime sessions


class Line(RealtimeModel):
    """A realtime model without a network."""

    def __init__(self) -> None:
        self.listeners: list[Any] = []
        self.answered = asyncio.Event()
        self.answers: list[str] = []

    async def connect(self, options: Any) -> None: ...

    async def close(self) -> None: ...

    def add_listener(self, listener: Any) -> None:
        self.listeners.append(listener)

    def remove_listener(self, listener: Any) -> None: ...

    async def send_event(self, event: Any) -> None:
        if isinstance(event, RealtimeModelSendToolOutput):
            self.answers.append(event.output)
            self.answered.set()

    async def call(self, name: str, args: str) -> str:
        self.answered.clear()
        for listener in self.listeners:
            await listener.on_event(RealtimeModelToolCallEvent(name=name, call_id="c-" + name, arguments=args))
        await self.answered.wait()
        return self.answers[-1]


@pytest.mark.parametrize("way", ["update_agent", "update_agent twice", "tools of the session", "hand-offs of the session"])
async def test_tools_that_a_realtime_session_gets_later_are_judged(made: Any, way: str) -> None:
    world, gate = made
    line, main = Line(), gate.agent(RealtimeAgent(name="main"))
    tools: list[Any] = [function_tool(world.write_note), function_tool(world.read_note)]
    other: Any = RealtimeAgent(name="helper", tools=tools)
    settings: Any = {"tools": tools} if way == "tools of the session" else {}
    settings = {"handoffs": [realtime_handoff(other)]} if way == "hand-offs of the session" else settings
    session = await RealtimeRunner(main, model=line).run(model_config={"initial_model_settings": settings})
    async with session:
        if way == "update_agent twice":
            await session.update_agent(RealtimeAgent(name="between"))
        if way.startswith("update_agent"):
            await session.update_agent(other)
        if way == "hand-offs of the session":
            await line.call("transfer_to_helper", "{}")
        assert "TOOL_NOT_ALLOWED" in await line.call("write_note", '{"path":"a","text":"b"}')
        assert await line.call("read_note", '{"path":"a"}') == "note of a"
    assert world.ran == ["read_note"]


async def test_a_realtime_session_with_a_stored_prompt_is_refused(made: Any) -> None:
    _, gate = made
    with pytest.raises(TypeError, match="'prompt'"):
        gate.agent(RealtimeAgent(name="main", prompt={"id": "pmpt_1"}))
    runner = RealtimeRunner(gate.agent(RealtimeAgent(name="main")), model=Line())
    with pytest.raises(TypeError, match="'prompt'"):
        await runner.run(model_config={"initial_model_settings": {"prompt": {"id": "pmpt_1"}}})


async def test_a_tool_of_an_mcp_server_that_is_out_of_time_has_run_once_with_an_unknown_outcome(made: Any, tmp_path: Any) -> None:
    from agents.mcp import MCPServerStdio

    world, gate = made
    script, log = tmp_path / "server.py", tmp_path / "log"
    script.write_text(
        "import threading\nfrom mcp.server.mcpserver import MCPServer\nserver = MCPServer('notes')\n\n@server.tool()\n"
        f"def read_note(path: str) -> str:\n    open({str(log)!r}, 'a').write('x')\n    threading.Event().wait(20)\n    return ''\n\n"
        "server.run()\n"
    )
    play = Play({"main": list(READS)})
    # Starting it may take longer than a call may.
    async with MCPServerStdio({"command": sys.executable, "args": [str(script)]}, name="notes", max_retry_attempts=3) as server:
        server.retry_backoff_seconds_base = 0
        call = server.session.call_tool

        async def briefly(name: str, args: Any, **given: Any) -> Any:
            return await call(name, args, read_timeout_seconds=1, **given)

        server.session.call_tool = briefly
        await Runner.run(gate.agent(Agent(name="main", model=Scripted(play, "main"), mcp_servers=[server])), "go")
    assert log.read_text() == "x"
    assert told(world) == [("read_note", False, True, False)]
