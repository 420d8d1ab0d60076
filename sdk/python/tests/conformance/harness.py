"""Runs sdk/conformance/cases.yaml against a framework: see there for what its words mean."""

from __future__ import annotations

import json
import os
import sys
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import yaml
from interlock_server import ROOT, Proxy, Server, unused_address

import interlock
import interlock.sync
from interlock.gen.approval.v1 import approval_service_pb2, approval_service_pb2_grpc

CONFORMANCE = ROOT / "sdk" / "conformance"
SPEC: dict[str, Any] = yaml.safe_load((CONFORMANCE / "cases.yaml").read_text())
CASES: dict[str, dict[str, Any]] = {case["name"]: case for case in SPEC["cases"] if "python" in case.get("languages", ["python"])}

DELEGATES = {"delegate", "mcp__world__delegate", "Agent", "Task", "transfer_to_agent", "delegate_work_to_coworker"}
"""Tools by which frameworks let another agent take part."""


@dataclass(frozen=True)
class Cannot:
    """Why a framework cannot hold a case, and what to do instead."""

    reason: str
    instead: str


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
                state = CASES[self.name].get("state", "reading")
                if state != "reading":
                    bound.transition(SPEC["reach"][state])
        return self.sessions[conversation]

    def run(self, conversation: str) -> interlock.Run:
        return self.agent.for_session(self.sessions[conversation]).get()

    @property
    def ran(self) -> list[str]:
        return self._ran + self._log.read_text().split()

    # The tools, for frameworks that make tools of functions.

    async def read_note(self, path: str) -> str:
        """Reads a note."""
        return self.sync_read_note(path)

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


async def check(driver: Driver, case: dict[str, Any]) -> None:
    """Runs a case and raises AssertionError when something is not as expected."""
    world = driver.world
    play = Play({})
    conversation = "main"
    await driver.open()
    try:
        for number, step in enumerate(case["steps"]):
            where = f"{case['name']}, step {number + 1}"
            end = End()
            conversation = step.get("as", "main") if "run" in step else conversation
            if "run" in step:
                world.session(conversation)
                play = Play({"main": list(step["run"]), "helper": list(step.get("helper", []))}, wire=driver.wire)
                end = await driver.run(play, conversation, stream=bool(step.get("stream")), sync=bool(step.get("sync")))
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
            if end.raised is not None and not step.get("raises"):
                raise AssertionError(f"{where}: the framework has raised {end.raised!r}") from end.raised
            _expect(where, world, play, end, step, conversation)
    finally:
        await driver.close()


def _expect(where: str, world: World, play: Play, end: End, step: dict[str, Any], conversation: str) -> None:
    if end.raised is None and step.get("paused") != "any":
        assert end.paused == bool(step.get("paused")), f"{where}: paused is {end.paused}"
    if "ran" in step:
        assert Counter(world.ran) == Counter(step["ran"]), f"{where}: ran {world.ran}; the model read {play.reads}"
    if "told" in step:
        told = [f"{bare(r.tool)} {'ok' if r.ok else 'failed'}" for r in world.proxy.reports if r.tool not in DELEGATES]
        assert Counter(told) == Counter(step["told"]), f"{where}: told {told}"
        assert len({r.call_id for r in world.proxy.reports}) == len(world.proxy.reports), f"{where}: a call was reported twice"
    if "asked" in step:
        asked = {c.call_id for c in world.proxy.checks if c.tool not in DELEGATES}
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
    result = {"framework": driver.framework, "version": driver.version(), "language": "python", "cases": cases}
    return json.dumps(result, indent=2, ensure_ascii=False) + "\n"
