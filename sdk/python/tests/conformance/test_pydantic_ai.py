"""What the contract of adapters does not ask: how calls end that other capabilities of Pydantic AI repeat or answer."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from typing import Any

import pytest
from interlock_server import Proxy, Server

if os.environ["ADAPTER"] != "pydantic-ai":
    pytest.skip("another framework", allow_module_level=True)

from pydantic_ai import Tool

from conformance.harness import SPEC, Play, World, forget
from conformance.pydantic_ai_driver import Driver
from conformance.pydantic_ai_ways import Recovers, Repeats, agent, go

UNKNOWN = (False, True)


@pytest.fixture
async def driver(server: Server, proxy: Proxy, tmp_path: Any) -> Any:
    for kind in ("workflow", "policy"):
        (server.folder / f"{kind}.json").write_text(json.dumps(SPEC[kind]))
    server.cli("operator", "workflow", "register", str(server.folder / "workflow.json"))
    world = World(server, proxy, "allowed", "", tmp_path)
    made = Driver(world)
    forget(made)
    world.session("main")
    await made.open()
    yield made
    await made.close()


def plays(tool: str, args: dict[str, Any]) -> Play:
    return Play({"main": [{"calls": [{"id": "c1", "tool": tool, "args": args}]}, {"text": "done"}]})


def ends(driver: Any) -> list[tuple[bool, bool]]:
    return [(r.ok, r.outcome_unknown) for r in driver.world.proxy.reports]


async def test_each_run_of_a_call_that_is_repeated_is_judged_and_reported(driver: Any) -> None:
    await go(agent(driver, plays("read_note", {"path": "a"}), capabilities=[Repeats()]))
    assert driver.world.ran == ["read_note", "read_note"]
    assert ends(driver) == [(True, False), (True, False)]
    assert len({report.call_id for report in driver.world.proxy.reports}) == 2


@pytest.mark.parametrize("others", [[Recovers()], [Repeats(), Recovers()]], ids=["once", "twice"])
async def test_a_call_that_has_failed_is_reported_so_whatever_is_made_of_its_error(driver: Any, others: Any) -> None:
    play = plays("fail", {"why": "x"})
    await go(agent(driver, play, capabilities=others))
    assert "all is well" in play.reads["c1"]
    assert ends(driver) == [(False, False)] * len(driver.world.ran)


@pytest.mark.parametrize("kind", ["a coroutine", "a thread"])
async def test_a_tool_that_is_out_of_time_has_an_unknown_outcome(driver: Any, kind: str) -> None:
    over = threading.Event()

    async def waits(path: str) -> str:
        await asyncio.Event().wait()
        return "never"

    def blocks(path: str) -> str:
        over.wait(30)
        return "late"

    tool = Tool(waits if kind == "a coroutine" else blocks, name="read_note", timeout=0.05)
    try:
        await go(agent(driver, plays("read_note", {"path": "a"}), tools=[tool]))
    finally:
        over.set()
    assert ends(driver) == [UNKNOWN]
