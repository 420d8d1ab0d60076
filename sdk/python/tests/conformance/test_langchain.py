"""What LangChain's adapter does that no other framework has."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from interlock_server import Proxy, Server

if os.environ["ADAPTER"] != "langchain":
    pytest.skip("it is of another framework", allow_module_level=True)

from langchain.agents import create_agent
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from conformance.harness import Play, World, forget
from conformance.langchain_driver import Driver, Model
from conformance.test_adapters import governed
from interlock.langchain import InterlockMiddleware

__all__ = ["governed"]


async def test_an_agent_without_the_middleware_waits_for_humans(governed: Server, proxy: Proxy, tmp_path: Path) -> None:
    driver = Driver(World(governed, proxy, "ask", "", tmp_path))
    forget(driver)
    await driver.open()
    config = driver.config("main")
    play = Play({"main": [{"calls": [{"id": "c1", "tool": "deploy", "args": {"target": "prod"}}]}, {"text": "done"}]})
    tools = [StructuredTool.from_function(coroutine=function) for function in driver.world.tools().values()]
    agent = create_agent(Model(play=play), tools, checkpointer=InMemorySaver())
    asked = await agent.ainvoke({"messages": [("user", "go")]}, config)
    assert asked["__interrupt__"][0].value["type"] == "interlock_approval"
    assert driver.world.ran == []
    driver.world.decide(True, "")
    await agent.ainvoke(Command(resume=True), config)
    assert driver.world.ran == ["deploy"]
    assert [report.ok for report in proxy.reports] == [True]
    await driver.close()


async def test_a_tool_that_calls_itself_is_judged_again(governed: Server, proxy: Proxy, tmp_path: Path) -> None:
    driver = Driver(World(governed, proxy, "way", "", tmp_path))
    forget(driver)
    await driver.open()
    session = driver.world.session("main")
    forget(driver)
    kept = InterlockMiddleware(driver.client, session=session)
    ran: list[str] = []

    async def function(path: str) -> str:
        ran.append(path)
        if len(ran) > 1:
            return "ran"
        driver.world.agent.for_session(session).transition("CODE")  # where no note is read
        return str(await made.ainvoke({"path": path}))

    made = StructuredTool.from_function(coroutine=function, name="read_note", description="Reads.")
    with pytest.raises(Exception, match="TOOL_NOT_ALLOWED"):
        await made.ainvoke({"path": "a"})
    assert ran == ["a"]
    assert kept is not None
    await driver.close()


async def test_a_call_that_is_cancelled_while_it_waits_is_not_made(governed: Server, proxy: Proxy, tmp_path: Path) -> None:
    """By an agent without the middleware."""
    driver = Driver(World(governed, proxy, "way", "", tmp_path))
    forget(driver)
    await driver.open()
    play = Play({"main": [{"calls": [{"id": "c1", "tool": "read_note", "args": {"path": "a"}}]}]})
    tools = [StructuredTool.from_function(coroutine=function) for function in driver.world.tools().values()]
    there = proxy.hold("CheckToolCall")
    running = asyncio.create_task(
        create_agent(Model(play=play), tools).ainvoke({"messages": [("user", "go")]}, driver.config("main"))
    )
    assert await asyncio.to_thread(there.wait, 30)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    proxy.let()
    assert await asyncio.to_thread(proxy.reported.wait, 30)
    assert [report.not_executed for report in proxy.reports] == [True]
    assert driver.world.ran == []
    await driver.close()
