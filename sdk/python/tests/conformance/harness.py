"""Runs sdk/conformance/cases.yaml against a framework: see there for what its words mean."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

import yaml
from interlock_server import ROOT, Proxy, Server, unused_address

import interlock
import interlock.sync
from interlock.gen.approval.v1 import approval_service_pb2, approval_service_pb2_grpc

CONFORMANCE = ROOT / "sdk" / "conformance"
SPEC: dict[str, Any] = yaml.safe_load((CONFORMANCE / "cases.yaml").read_text())
CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in SPEC["cases"] if "python" in case.get("languages", ["python"])}

DELEGATES = {"delegate", "task", "mcp__world__delegate", "Agent", "Task", "transfer_to_agent", "delegate_work_to_coworker"}
"""Tools by which frameworks let another agent take part."""


@dataclass(frozen=True)
class Cannot:
    """Why a framework cannot hold a case, and what to do instead."""

    reason: str
    instead: str


@dataclass(frozen=True)
class Way:
    """One way in which a tool or code comes to run in a framework."""

    name: str
    how: Literal["judged", "refused", "open", "untried"]
    """Whether the call is judged, the way is refused altogether, the adapter does not reach it, or it cannot be tried here."""
    run: Callable[[Any, Play], Awaitable[Any]] | None
    """Makes the call of a play's first turn in this way, with a driver that is open. None where that cannot be tried."""
    instead: str = ""
    """What to do where the adapter does not reach; why it was not tried."""
    tool: str = "read_note"
    """The name by which the call is judged."""


@dataclass(frozen=True)
class Call:
    id: str
    tool: str
    args: dict[str, Any]


@dataclass
class Play:
    """What the model says, by agent, and what it was shown."""

    turns: dict[str, list[dict[str, Any]]]
    reads: dict[str, str] = field(default_factory=dict)
    offered: list[str] | None = None
    wire: Callable[[str], str] = lambda name: name

    def first(self) -> Call:
        """The call of the first turn, for a way without a model."""
        (call,) = self.next()[1]
        return call

    def next(self, agent: str = "main") -> tuple[str, list[Call]]:
        """The next turn of an agent: a text, or calls. `delegate` is the tool by which the other agent is called."""
        turn = self.turns[agent].pop(0) if self.turns.get(agent) else {"text": "end"}
        calls = [
            Call(c["id"], "delegate", {"agent": c["delegate"]})
            if "delegate" in c
            else Call(c["id"], self.wire(c["tool"]), c["args"])
            for c in turn.get("calls", [])
        ]
        return turn.get("text", ""), calls

    def offer(self, names: list[str]) -> None:
        if self.offered is None:
            self.offered = [bare(name) for name in names]

    def saw(self, call_id: str, text: str) -> None:
        self.reads[call_id] = text


def bare(name: str) -> str:
    """A tool's name without the prefix that a framework wants."""
    for prefix in ("mcp__world__", "mcp__notes__"):
        name = name.removeprefix(prefix)
    return name


@dataclass
class End:
    """How a conversation stands."""

    paused: bool = False
    raised: BaseException | None = None


class World:
    """What is around an adapter in one case: tools, sessions, a server behind a proxy."""

    def __init__(self, server: Server, proxy: Proxy, name: str, fault: str, folder: Path) -> None:
        self.server, self.proxy, self.name, self.fault, self.folder = server, proxy, name, fault, folder
        self._ran: list[str] = []
        self._log = folder / "notes.log"
        self._log.touch()
        proxy.reset(fault)
        self.agent = interlock.sync.Interlock(server.grpc, token=server.tokens["agent"])
        self.sessions: dict[str, str] = {}
        self._down = unused_address() if fault == "down" else ""
        self._holds = False
        self.began, self._released = threading.Event(), threading.Event()

    def client(self) -> interlock.Interlock:
        """A client for the adapter; it is made anew for each process that is played."""
        kind = _Broken if self.fault == "adapter" else interlock.Interlock
        return kind(
            self._down or self.proxy.address,
            token=self.server.tokens["agent"],
            timeout=1.0 if self.fault in {"down", "silent"} else 30.0,
        )

    def session(self, conversation: str) -> str:
        """The session of a conversation, with a run in the case's first state."""
        if conversation not in self.sessions:
            session = self.sessions[conversation] = f"{self.name}-{conversation}-{os.urandom(4).hex()}"
            if self.fault != "no-run":
                bound = self.agent.for_session(session)
                bound.load("conformance")
                state = CASES.get(self.name, {}).get("state", "reading")
                if state != "reading":
                    bound.transition(SPEC["reach"][state])
        return self.sessions[conversation]

    def hold(self) -> threading.Event:
        """Has the bodies of tools wait until `release`. The event is set when the first of them has begun."""
        self._holds, self.began, self._released = True, threading.Event(), threading.Event()
        return self.began

    def release(self) -> None:
        self._holds = False
        self._released.set()

    def wait(self) -> None:
        """Waits in the body of a tool where it must."""
        if self._holds:
            self.began.set()
            assert self._released.wait(60)

    def run(self, conversation: str) -> interlock.Run:
        return self.agent.for_session(self.sessions[conversation]).get_run()

    @property
    def ran(self) -> list[str]:
        return self._ran + self._log.read_text().split()

    # The tools, for frameworks that make tools of functions.

    async def read_note(self, path: str) -> str:
        """Reads a note."""
        self._ran.append("read_note")
        if self._holds:
            await asyncio.to_thread(self.wait)
        return f"note of {path}"

    async def write_note(self, path: str, text: str) -> str:
        """Writes a note."""
        return self.sync_write_note(path, text)

    async def deploy(self, target: str) -> str:
        """Deploys to a target."""
        return self.sync_deploy(target)

    async def fail(self, why: str) -> str:
        """Fails."""
        return self.sync_fail(why)

    async def long(self, path: str) -> str:
        """Reads a long note."""
        return self.sync_long(path)

    def sync_read_note(self, path: str) -> str:
        self._ran.append("read_note")
        self.wait()
        return f"note of {path}"

    def sync_write_note(self, path: str, text: str) -> str:
        self._ran.append("write_note")
        return f"wrote {path}"

    def sync_deploy(self, target: str) -> str:
        self._ran.append("deploy")
        return f"deployed {target}"

    def sync_fail(self, why: str) -> str:
        self._ran.append("fail")
        raise RuntimeError(f"it broke: {why}")

    def sync_long(self, path: str) -> str:
        self._ran.append("long")
        return "x" * 95

    def tools(self) -> dict[str, Callable[..., Any]]:
        return {name: getattr(self, name) for name in SPEC["tools"]}

    def sync_tools(self) -> dict[str, Callable[..., Any]]:
        """The same as functions that do not need an event loop."""
        made = {}
        for name in SPEC["tools"]:
            made[name] = _named(getattr(self, "sync_" + name), getattr(self, name))
        return made

    def mcp_command(self) -> tuple[str, list[str], dict[str, str]]:
        """The command, arguments and environment of the MCP server `notes`."""
        return sys.executable, [str(Path(__file__).with_name("notes_server.py"))], {**os.environ, "NOTES_LOG": str(self._log)}

    # Humans

    def pending(self) -> list[str]:
        request = approval_service_pb2.ListApprovalsRequest(page_size=1000, filter='status = "PENDING"')
        stub = approval_service_pb2_grpc.ApprovalServiceStub(self.agent.conn)
        metadata = (("authorization", "Bearer " + self.server.tokens["operator"]),)
        runs = {self.run(conversation).id for conversation in self.sessions}
        return [a.approval_id for a in stub.ListApprovals(request, metadata=metadata).approvals if a.run_id in runs]

    def decide(self, approve: bool, note: str) -> None:
        (approval,) = self.pending()
        request = approval_service_pb2.DecideApprovalRequest(approval_id=approval, approve=approve, note=note)
        stub = approval_service_pb2_grpc.ApprovalServiceStub(self.agent.conn)
        stub.DecideApproval(request, metadata=(("authorization", "Bearer " + self.server.tokens["approver"]),))


def _named(function: Callable[..., Any], like: Callable[..., Any]) -> Callable[..., Any]:
    def tool(**args: Any) -> Any:
        return function(**args)

    tool.__name__ = like.__name__
    tool.__doc__ = like.__doc__
    tool.__annotations__ = {k: v for k, v in like.__annotations__.items() if k != "self"}
    tool.__signature__ = __import__("inspect").signature(like)  # type: ignore[attr-defined]
    return tool


class _Broken(interlock.Interlock):
    async def check(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("the adapter broke")

    def twin(self) -> Any:
        return _BrokenTwin._of(self._settings)


class _BrokenTwin(interlock.sync.Interlock):
    def check(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("the adapter broke")


class Driver(ABC):
    """One framework under test, in one case."""

    framework: str
    """Name of the results' file, and of the module of the adapter with - for _."""
    package: str
    """The distribution that is pinned."""
    cannot: dict[str, Cannot] = {}  # noqa: RUF012

    ways: list[Way] = []  # noqa: RUF012
    """Every way in which a tool or code can run."""
    failures: list[Way] = []  # noqa: RUF012
    """Ways in which a tool that was allowed says that it has failed."""
    way = ""
    """How the calls of a step come to the tool; see cases.yaml."""

    def __init__(self, world: World) -> None:
        self.world = world

    @classmethod
    def version(cls) -> str:
        return metadata.version(cls.package)

    def wire(self, tool: str) -> str:
        """The name that the framework has for a tool."""
        return tool.removeprefix("mcp__notes__")

    @abstractmethod
    async def open(self) -> None:
        """Makes the adapter and the framework's objects. What the framework stores is kept from before."""

    @abstractmethod
    async def run(self, play: Play, conversation: str, *, stream: bool, sync: bool) -> End:
        """Begins or continues a conversation with a message of the user."""

    @abstractmethod
    async def resume(self, play: Play, conversation: str, args: dict[str, Any] | None) -> End:
        """Continues what paused."""

    @abstractmethod
    def names(self, play: Play) -> dict[str, Any]:
        """What the example of docs/adapters.md has besides its `client`."""

    @abstractmethod
    async def close(self) -> None:
        """Ends what `open` has begun."""


NO_BACKGROUND = Cannot(
    "A tool that has returned has ended: the framework knows no other.", "Report programs that a tool starts with `background`."
)
NO_GENERATOR = Cannot("A tool returns one result.", "Put `client.guard` around the generator.")
NO_FOLDER = Cannot("The framework works in no folder.", "Name the folder with `client.check` or `client.guard`.")

REFUSALS = ("ungated", "POLICY_UNAVAILABLE", "after Interlock had judged it")


def forget(driver: Driver) -> None:
    """Forgets the adapters of other tests, some of which frameworks keep."""
    module = importlib.import_module(f"interlock.{driver.framework.replace('-', '_')}")
    if hasattr(module, "_adapters"):
        module._adapters._alive.clear()


async def attempt(driver: Driver, way: Way, tool: str, args: dict[str, Any]) -> tuple[list[str], list[str], str]:
    """Makes a call in a way. It returns what ran, what was reported, and what the model or the program read."""
    assert way.run is not None
    forget(driver)
    world = driver.world
    world.session("main")
    await driver.open()
    play = Play({"main": [{"calls": [{"id": "c1", "tool": tool, "args": args}]}, {"text": "done"}]}, wire=driver.wire)
    play.turns["helper"] = [dict(turn) for turn in play.turns["main"]]
    read: list[str] = []
    try:
        read.append(str(await way.run(driver, play)))
    except Exception as err:
        read += [str(one) for one in (err, err.__cause__, err.__context__)]
    finally:
        await driver.close()
    told = [_told(report) for report in world.proxy.reports if report.tool not in DELEGATES]
    return world.ran, told, " ".join([*read, *play.reads.values()])


async def check_way(made: Callable[[], Driver], way: Way) -> None:
    """Raises AssertionError when a way is not as it is said to be."""
    ran, told, read = await attempt(made(), way, "write_note", {"path": "a", "text": "b"})
    assert ran == (["write_note"] if way.how == "open" else []), f"{way.name}: ran {ran}; read {read}"
    if way.how == "judged":
        assert "TOOL_NOT_ALLOWED" in read, f"{way.name}: the denial was not read: {read}"
    ran, told, read = await attempt(made(), way, "read_note", {"path": "a"})
    if way.how == "refused":
        assert any(text in read for text in REFUSALS), f"{way.name}: not refused, but {read}"
    assert ran == ([] if way.how == "refused" else ["read_note"]), f"{way.name}: of an allowed call ran {ran}; read {read}"
    if way.how == "judged":
        assert told in ([f"{way.tool} ok"], [f"{way.tool} background"]), f"{way.name}: told {told}"


async def check(driver: Driver, case: dict[str, Any]) -> None:
    """Runs a case and raises AssertionError when something is not as expected."""
    world = driver.world
    play = Play({})
    conversation = "main"
    held: tuple[Play, str, asyncio.Task[End]] | None = None
    forget(driver)
    await driver.open()
    try:
        for number, step in enumerate(case["steps"]):
            where = f"{case['name']}, step {number + 1}"
            end = End()
            conversation = step.get("as", "main") if "run" in step else conversation
            if "run" in step:
                world.session(conversation)
                play, driver.way = played(driver, step), step.get("way", "")
                running = asyncio.ensure_future(
                    _many(driver, step)
                    if "many" in step
                    else driver.run(play, conversation, stream=bool(step.get("stream")), sync=bool(step.get("sync")))
                )
                if step.get("hold"):
                    await _reached(world.hold(), running)
                    held = play, conversation, running
                elif "cancel" in step:
                    end = await _cancelled(world, step, running)
                else:
                    end = await running
            elif "release" in step:
                assert held is not None
                world.release()
                play, conversation, running = held
                end = await running
            elif "decide" in step:
                world.decide(step["decide"] == "approve", step.get("note", ""))
                continue
            elif "restart" in step:
                await driver.close()
                await driver.open()
                continue
            elif "resume" in step:
                end = await driver.resume(play, conversation, step.get("args"))
            elif "move" in step:
                world.agent.for_session(world.sessions[step.get("as", "main")]).transition(step["move"])
                continue
            if step.get("refused"):
                texts = [] if end.raised is None else [str(end.raised), str(end.raised.__cause__)]
                assert any("ungated" in text for text in texts), f"{where}: the agent was not refused: {end.raised!r}"
                continue
            if end.raised is not None and not (step.get("raises") or "cancel" in step):
                raise AssertionError(f"{where}: the framework has raised {end.raised!r}") from end.raised
            _expect(where, world, play, end, step, conversation)
    finally:
        world.release()
        world.proxy.let()
        await driver.close()


def played(driver: Driver, step: dict[str, Any]) -> Play:
    return Play({"main": list(step["run"]), "helper": list(step.get("helper", []))}, wire=driver.wire)


async def _many(driver: Driver, step: dict[str, Any]) -> End:
    """Runs many conversations at once; every second one may write."""
    names = [f"many-{number}" for number in range(step["many"])]
    for number, name in enumerate(names):
        driver.world.session(name)
        if number % 2:
            driver.world.agent.for_session(driver.world.sessions[name]).transition("READY")
    ends = await asyncio.gather(*(driver.run(played(driver, step), name, stream=False, sync=False) for name in names))
    return next((end for end in ends if end.raised or end.paused), End())


async def _reached(event: threading.Event, running: asyncio.Task[End]) -> None:
    """Waits until an event is set. A conversation that ends without is not what the case plays."""
    waiting = asyncio.ensure_future(asyncio.to_thread(event.wait, 60))
    await asyncio.wait([waiting, running], return_when=asyncio.FIRST_COMPLETED)
    try:
        assert event.is_set(), f"the conversation has ended before: {running}"
    finally:
        event.set()
        await waiting


async def _cancelled(world: World, step: dict[str, Any], running: asyncio.Task[End]) -> End:
    """Cancels a conversation at a place, and waits for its reports."""
    rpc = {"check": "CheckToolCall", "report": "ReportToolCall"}.get(step["cancel"])
    await _reached(world.proxy.hold(rpc) if rpc else world.hold(), running)
    running.cancel()
    # The answer comes when the conversation has ended, so that it cannot come before the cancellation.
    await asyncio.wait([running], timeout=20)
    world.proxy.let()
    try:
        end = await running
    except asyncio.CancelledError as err:
        end = End(raised=err)
    await asyncio.to_thread(world.proxy.reported.wait, 30)  # each of these cases has one report
    world.release()
    return end


def _told(report: Any) -> str:
    how = "background" if report.background else "unknown" if report.outcome_unknown else "ok" if report.ok else "failed"
    return f"{bare(report.tool)} {how}"


def _expect(where: str, world: World, play: Play, end: End, step: dict[str, Any], conversation: str) -> None:
    if end.raised is None and step.get("paused") != "any":
        assert end.paused == bool(step.get("paused")), f"{where}: paused is {end.paused}"
    if "ran" in step:
        assert Counter(world.ran) == Counter(step["ran"]), f"{where}: ran {world.ran}; the model read {play.reads}"
    if "told" in step:
        told = [_told(r) for r in world.proxy.reports if r.tool not in DELEGATES]
        assert Counter(told) == Counter(step["told"]), f"{where}: told {told}"
        assert len({r.call_id for r in world.proxy.reports}) == len(world.proxy.reports), f"{where}: a call was reported twice"
    for never in step.get("never_told", []):
        assert never not in map(_told, world.proxy.reports), f"{where}: told {never}"
    if "folders" in step:
        assert {c.folder for c in world.proxy.checks} == {str(world.folder)}, f"{where}: another folder was named"
    if "asked" in step:
        asked = {c.call_id for c in world.proxy.checks if c.tool not in DELEGATES and not c.dry_run}
        assert len(asked) == step["asked"], f"{where}: asked about {len(asked)} calls"
    if "counted" in step:
        counted = world.run(conversation).iterations
        assert counted == step["counted"], f"{where}: counted {counted}"
    if "waits" in step:
        assert len(world.pending()) == step["waits"], f"{where}: {len(world.pending())} approvals wait"
    if end.raised is None:
        for call, texts in step.get("reads", {}).items():
            for text in texts:
                assert text in play.reads.get(call, ""), (
                    f"{where}: the model read of {call}: {play.reads.get(call)!r}, not {text!r}"
                )
    for call, texts in step.get("silent_on", {}).items():
        for text in texts:
            assert text not in play.reads.get(call, ""), f"{where}: the model read {text!r} of {call}"
    if "offered" in step:
        offered = play.offered or []
        missing = set(step["offered"]) - set(offered)
        surplus = set(step["withheld"]) & set(offered)
        assert not missing | surplus, f"{where}: offered {offered}"


def write(driver: type[Driver], held: dict[str, bool]) -> str:
    """The file of results, as text. Cases are in the order of the contract."""
    cases: dict[str, Any] = {}
    for name in CASES:
        if name in driver.cannot:
            cases[name] = {"holds": False, "reason": driver.cannot[name].reason, "instead": driver.cannot[name].instead}
        else:
            cases[name] = {"holds": held[name]}
    ways = [{"way": way.name, "how": way.how, **({"instead": way.instead} if way.instead else {})} for way in driver.ways]
    result = {"framework": driver.framework, "version": driver.version(), "language": "python", "cases": cases, "ways": ways}
    return json.dumps(result, indent=2, ensure_ascii=False) + "\n"
