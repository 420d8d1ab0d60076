"""What every SDK does is in sdk/conformance/sdk.yaml; this is the runner of Python, for the client with an event loop and the one
without."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import os
import re
import subprocess
import urllib.request
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import yaml
from interlock_server import BINARY, ROOT

import interlock
import interlock.sync
from interlock import _json

TABLE: dict[str, Any] = yaml.safe_load((ROOT / "sdk" / "conformance" / "sdk.yaml").read_text())


class ToolError(Exception):
    pass


@pytest.fixture(scope="session")
def control() -> Iterator[str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith("INTERLOCK_")}
    host = subprocess.Popen(
        [BINARY.with_name("sdkhost"), "-interlock", BINARY], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert host.stdin
    assert host.stdout
    yield json.loads(host.stdout.readline())["control"]
    host.stdin.close()
    assert host.wait() == 0
    host.stdout.close()


class Runner:
    def __init__(self, control: str, case: dict[str, Any], kind: Any) -> None:
        self.kind, self.session = kind, case.get("session", "agent")
        self.saved: dict[str, Any] = {}
        self.ran = 0
        definitions: dict[str, Any] = {}
        for what, names in case.get("setup", {}).items():
            named = {name: TABLE["fixtures"][what][name] for name in names}
            definitions[what] = named if what == "schemas" else list(named.values())
        made = self.ask("POST", control + "/cases", definitions)
        self.base, self.made = f"{control}/cases/{made['id']}", made
        self.connect()

    def connect(self) -> None:
        made = self.made
        self.client = self.kind(made["server"], token=made["token"], namespace=made["namespace"], session=self.session)

    def ask(self, method: str, url: str, body: Any = None) -> Any:
        request = urllib.request.Request(url, method=method, data=None if body is None else json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or "null")

    async def do(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls a method of the client, of either kind."""
        if self.kind is interlock.Interlock:
            return await function(*args, **kwargs)
        return await asyncio.to_thread(function, *args, **kwargs)

    async def step(self, step: dict[str, Any]) -> None:
        if "faults" in step:
            await asyncio.to_thread(self.ask, "POST", self.base + "/faults", step["faults"])
        before = self.ran
        together = step.get("together") or [step] * step.get("times", 1)
        await asyncio.gather(*map(self.once, together))
        if "together" in step and "ran" in step.get("expect", {}):
            assert self.ran - before == step["expect"]["ran"]

    async def once(self, step: dict[str, Any]) -> None:
        expect = step.get("expect", {})
        ran = [0]
        result, error, failed = None, None, None
        try:
            result = await self.call(step, self.fill(step.get("args", {})), ran)
        except (interlock.InterlockError, ToolError) as err:
            error, failed = self.failure(err), err
        if "save" in step:
            self.saved[step["save"]] = result if error is None else error
        if expect.get("any"):
            return
        if "error" in expect:
            self.same(self.fill(expect["error"]), error, step["call"] + "/error")
        elif failed is not None:
            raise failed
        elif "result" in expect:
            self.same(self.fill(expect["result"]), result, step["call"] + "/result")
        if "ran" in expect:
            assert ran[0] == expect["ran"], f"{step['call']}: ran {ran[0]} times"

    def fill(self, value: Any) -> Any:
        """Puts what was saved in the place of "$NAME" and "$NAME.member"."""
        if isinstance(value, str) and value.startswith("$"):
            name, _, member = value[1:].partition(".")
            if name in self.saved:
                return self.saved[name][member] if member else self.saved[name]
        if isinstance(value, dict):
            return {k: self.fill(v) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill(v) for v in value]
        return value

    async def call(self, step: dict[str, Any], args: dict[str, Any], ran: list[int]) -> Any:
        client = self.client.for_session(step["as"]) if "as" in step else self.client
        given: dict[str, Any] = {"timeout": step["timeout_ms"] / 1000} if "timeout_ms" in step else {}
        do, name = self.do, step["call"]
        if name == "load":
            options = {k: args[k] for k in ("context", "workspace") if k in args}
            return self.run(await do(client.load, args["workflow"], **options, **given))
        if name == "get":
            return self.run(await do(client.get, **given))
        if name == "transition":
            return self.run(await do(client.transition, args["event"], args.get("data"), **given))
        if name == "guard":
            return await self.guard(client, args, ran, given)
        if name == "check":
            return words(await do(client.check, args["tool"], args.get("input"), **given))
        if name == "report":
            decision = interlock.Decision("ALLOW", args["call"]["tool"], args["call"]["call_id"], args["call"]["run_id"])
            return {"notice": await do(client.report, decision, interlock.Result(**args["result"]), ok=args["ok"])}
        if name == "wait_approval":
            approval = await do(client.wait_approval, args["approval"], **given)
            return {**words(approval), "granted": approval.granted}
        if name == "create_session":
            return words(await do(client.create_session, args.get("name", ""), parent=args["parent"], **given))
        if name == "stop":
            return words(await do(client.stop, in_place=args.get("in_place", False), **given))
        if name in {"create_state", "read_state", "patch", "update", "watch"}:
            return await self.state(client, name, args, given)
        if name == "reconnect":
            await do(self.client.close)
            self.connect()
            return {}
        method = {"human": "POST", "down": "POST", "up": "POST"}.get(name, "GET")
        return await asyncio.to_thread(self.ask, method, f"{self.base}/{name}", args if name == "human" else None)

    async def guard(self, client: Any, args: dict[str, Any], ran: list[int], given: dict[str, Any]) -> Any:
        def tool() -> Any:
            ran[0] += 1
            self.ran += 1
            if "throws" in args:
                raise ToolError(args["throws"])
            return interlock.Result(**args.get("returns", {}))

        given_input = args.get("input")
        if isinstance(given_input, list):
            given_input = json.dumps(given_input).encode()
        result = await self.do(client.guard, args["tool"], given_input, tool, **given)
        return {"output": result.output or "", "notice": result.notice}

    async def state(self, client: Any, name: str, args: dict[str, Any], given: dict[str, Any]) -> Any:
        do = self.do
        if name == "create_state":
            data = args["json"].encode() if "json" in args else args["data"]
            return words(await do(client.create_state, args["schema"], data, **given))
        if name == "read_state":
            state = await do(client.read_state, args.get("id", ""), *args.get("pointers", []), **given)
            parts = {pointer: _json.dumps(part) for pointer, part in state.parts.items()}
            return {**words(state), "parts_size": len(parts), "parts_json": parts}
        if name == "patch":
            return words(await do(client.patch, args.get("id", ""), *args["ops"], **given))
        if name == "update":
            return words(await self.update(client, args, given))
        after = args.get("after", -1)
        if self.kind is interlock.sync.Interlock:
            changes = await asyncio.to_thread(lambda: list(islice(client.watch(args.get("id", ""), after), args["take"])))
            return [words(change) for change in changes]
        taken: list[Any] = []
        watch = client.watch(args.get("id", ""), after)
        async for change in watch:
            taken.append(words(change))
            if len(taken) == args["take"]:
                break
        await watch.aclose()
        return taken

    async def update(self, client: Any, args: dict[str, Any], given: dict[str, Any]) -> Any:
        def change(document: Any) -> Any:
            if "throws" in args:
                raise ToolError(args["throws"])
            document[args["increment"]] += 1
            if "patching" not in args:
                return None
            # Another session is faster each time.
            if self.kind is interlock.sync.Interlock:
                client.patch("", *args["patching"])
                return document

            async def later() -> Any:
                await client.patch("", *args["patching"])
                return document

            return later()

        return await self.do(client.update, args.get("id", ""), change, **given)

    def run(self, run: interlock.Run) -> Any:
        return {**words(run), "ended": run.ended, "context_json": _json.dumps(run.context)}

    def failure(self, err: Exception) -> dict[str, Any]:
        """An error in the words of the table."""
        members = {k: words(v) for k, v in vars(err).items()}
        message = getattr(err, "message", str(err))
        return {**members, "type": type(err).__name__, "message": message, "reason": interlock.reason(err)}

    def same(self, expected: Any, actual: Any, where: str) -> None:
        if isinstance(expected, dict):
            if "$match" in expected:
                assert isinstance(actual, str), f"{where}: {actual!r}"
                assert re.search(expected["$match"], actual), f"{where}: {actual!r}"
            elif "$not" in expected:
                assert expected["$not"] != actual, f"{where}: {actual!r}"
            elif "$size" in expected:
                assert len(actual) == expected["$size"], f"{where}: {actual!r}"
            elif not expected.get("$any"):
                assert isinstance(actual, dict), f"{where}: {actual!r}"
                for name, value in expected.items():
                    self.same(value, actual.get(name), f"{where}/{name}")
        elif isinstance(expected, list):
            assert isinstance(actual, list), f"{where}: {actual!r}"
            assert len(actual) == len(expected), f"{where}: {actual!r}"
            for i, value in enumerate(expected):
                self.same(value, actual[i], f"{where}/{i}")
        else:
            assert expected == actual, f"{where}: {actual!r}, not {expected!r}"


def words(value: Any) -> Any:
    """A value in the words of the table."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: words(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [words(v) for v in value]
    if isinstance(value, dict):
        return {k: words(v) for k, v in value.items()}
    return value


@pytest.mark.parametrize("kind", [interlock.Interlock, interlock.sync.Interlock], ids=["async", "sync"])
@pytest.mark.parametrize("case", TABLE["cases"], ids=lambda case: case["name"])
async def test_table(case: dict[str, Any], kind: Any, control: str) -> None:
    runner = Runner(control, case, kind)
    try:
        for step in case["steps"]:
            await runner.step(step)
    finally:
        await runner.do(runner.client.close)
        runner.ask("DELETE", runner.base)


def test_the_table_is_whole() -> None:
    assert len(TABLE["cases"]) >= 40


def test_the_twins_have_the_same_surface() -> None:
    def surface(kind: type) -> dict[str, list[str]]:
        members = inspect.getmembers(kind, lambda m: callable(m) or isinstance(m, property))
        return {
            name.replace("__a", "__"): list(inspect.signature(member).parameters) if callable(member) else []
            for name, member in members
            if not name.startswith("_") or name in {"__aenter__", "__enter__", "__init__"}
        }

    assert surface(interlock.Interlock) == surface(interlock.sync.Interlock)
