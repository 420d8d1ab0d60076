"""The contract of adapters, for the framework that ADAPTER names: each has an environment of its own."""

from __future__ import annotations

import ast
import functools
import importlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from interlock_server import ROOT, Proxy, Server

import interlock
from conformance.harness import CASES, CONFORMANCE, SPEC, Driver, Play, Way, World, attempt, check, check_way, write
from interlock._gate import Verdict

framework = os.environ["ADAPTER"]
driving = importlib.import_module(f"conformance.{framework.replace('-', '_')}_driver")
driver: type[Driver] = driving.Driver
(entry,) = {
    "InterlockCapability", "InterlockGate", "InterlockHooks", "InterlockMiddleware", "InterlockPlugin", "guarded",
    "interlock_middleware",
} & set(vars(driving))  # fmt: skip
held: dict[str, bool] = {}
tried: set[str] = set()


@pytest.fixture(scope="session")
def governed(server: Server) -> Server:
    import json

    for kind in ("workflow", "policy"):
        (server.folder / f"{kind}.json").write_text(json.dumps(SPEC[kind]))
    server.cli("operator", "workflow", "register", str(server.folder / "workflow.json"))
    server.cli("operator", "policy", "put", str(server.folder / "policy.json"))
    server.cli("operator", "policy", "attach", SPEC["policy"]["name"], "--workflow", SPEC["workflow"]["id"])
    return server


@pytest.mark.parametrize("name", [name for name in CASES if name not in driver.cannot])
async def test_case(name: str, governed: Server, proxy: Proxy, tmp_path: Path) -> None:
    case = CASES[name]
    held[name] = False
    await check(driver(World(governed, proxy, name, case.get("fault", ""), tmp_path)), case)
    held[name] = True


@pytest.mark.parametrize("way", [way for way in driver.ways if way.run is not None], ids=lambda way: way.name)
async def test_way(way: Way, governed: Server, proxy: Proxy, tmp_path: Path) -> None:
    for number in range(2):
        (tmp_path / str(number)).mkdir()
    worlds = iter([tmp_path / "0", tmp_path / "1"])
    await check_way(lambda: driver(World(governed, proxy, "way", "", next(worlds))), way)
    tried.add(way.name)


@pytest.mark.parametrize("way", driver.failures, ids=lambda way: way.name)
async def test_a_failure_is_reported(way: Way, governed: Server, proxy: Proxy, tmp_path: Path) -> None:
    await attempt(driver(World(governed, proxy, "way", "", tmp_path)), way, "read_note", {"path": "a"})
    assert [(r.tool, r.ok, r.not_executed) for r in proxy.reports] == [(way.tool, False, False)]


async def test_the_example(governed: Server, proxy: Proxy, tmp_path: Path) -> None:
    (block,) = re.findall(rf"(?ms)^```python {framework}\n(.*?)^```$", (ROOT / "docs" / "adapters.md").read_text())
    made = driver(World(governed, proxy, "denied", "", tmp_path))
    turns: list[Any] = [{"calls": [{"id": "c1", "tool": "write_note", "args": {"path": "a", "text": "b"}}]}, {"text": "done"}]
    play = Play({"main": turns}, wire=made.wire)
    await made.open()
    names = made.names(play)
    await made.close()
    made.world.agent.for_session("docs").load("conformance")
    client = interlock.Interlock(proxy.address, token=governed.tokens["agent"], session="docs")
    code = compile(block, "<example>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    running = eval(code, {**names, "client": client})
    if running is not None:
        await running
    await client.close()
    assert "TOOL_NOT_ALLOWED" in play.reads["c1"]


async def test_the_contract_can_fail(governed: Server, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An adapter that takes every decision for ALLOW does not hold it."""
    monkeypatch.setattr("interlock._gate._verdict", lambda tool, session, decision: Verdict(tool, session, decision=decision))
    with pytest.raises(AssertionError, match="ran"):
        await check(driver(World(governed, proxy, "denied", "", tmp_path)), CASES["denied"])


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"only": [{"tools": ["write_note"]}]}, "NARROWED"),
        ({"human": "no-token"}, "UNAUTHENTICATED"),
        ({"human": lambda _: None}, "human"),
    ],
    ids=["only", "human", "a function that fails"],
)
async def test_who_and_how_far(
    given: Any, said: str, governed: Server, proxy: Proxy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session of a conversation is narrowed before its first call, and calls are on behalf of a person."""
    monkeypatch.setattr(driving, entry, functools.partial(getattr(driving, entry), **given))
    way = Way("a conversation", "judged", lambda made, play: made.run(play, "main", stream=False, sync=False))
    ran, _, read = await attempt(driver(World(governed, proxy, "way", "", tmp_path)), way, "read_note", {"path": "a"})
    assert ran == []
    assert said in read


def test_names_of_exceptions_exist() -> None:
    assert set(driver.cannot) <= set(CASES)


@pytest.fixture(scope="session", autouse=True)
def _results() -> Iterator[None]:
    yield
    # Written when every case and way has been tried; the check of docs/adapters.md compares it with what is committed.
    every = set(held) == set(CASES) - set(driver.cannot) and tried == {way.name for way in driver.ways if way.run is not None}
    if every and all(held.values()) and not os.environ.get("NEWEST"):
        (CONFORMANCE / "results" / f"python-{framework}.json").write_text(write(driver, held))
