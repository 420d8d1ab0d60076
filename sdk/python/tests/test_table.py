"""What every SDK does is in sdk/conformance/sdk.yaml and governance.yaml; this is the runner of Python, for the client with an event
loop and the one without."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import re
import urllib.request
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
import yaml
from governing import CALLS, govern
from interlock_server import ROOT

import interlock
import interlock.sync
from interlock import _json

TABLES: dict[str, dict[str, Any]] = {
    name: yaml.safe_load((ROOT / "sdk" / "conformance" / f"{name}.yaml").read_text()) for name in ("sdk", "governance")
}
CASES = [(name, case) for name, table in TABLES.items() for case in table["cases"]]


class ToolError(Exception):
    pass


class Runner:
    def __init__(self, control: str, table: dict[str, Any], case: dict[str, Any], kind: Any) -> None:
        self.kind, self.session = kind, case.get("session", "agent")
        self.saved: dict[str, Any] = {}
        self.ran = 0
        definitions: dict[str, Any] = {}
        for what, names in case.get("setup", {}).items():
            fixtures = table["fixtures"]["policies" if what == "attachable" else what]
            named = {name: fixtures[name] for name in names}
            definitions[what] = named if what == "schemas" else list(named.values())
        made = self.ask("POST", control + "/cases", definitions)
        self.base, self.made = f"{control}/cases/{made['id']}", made
        self.others: list[Any] = []
        self.connect({})

    def connect(self, other: dict[str, Any]) -> None:
        made = self.made
        given = {"token": made["token"], "namespace": made["namespace"], "session": self.session, **other}
        self.client = self.kind(given.pop("server", made["server"]), **given)

    def client_of(self, step: dict[str, Any]) -> Any:
        client, made = self.client, self.made
        if step.keys() & {"role", "token", "namespace"}:
            token = made[step["role"] + "_token"] if "role" in step else self.fill(step.get("token", made["token"]))
            namespace = step.get("namespace", made["namespace"]).replace("other", made["other"])
            client = self.kind(made["server"], token=token, namespace=namespace, session=self.session)
            self.others.append(client)
        if "for" in step:
            client = client.for_human(self.fill(step["for"]))
        return client.for_session(step["as"]) if "as" in step else client

    async def recorded(self, step: dict[str, Any], decided: dict[str, Any]) -> Any:
        """The one record of the decision that a step has got, as an operator of the namespace reads it."""
        client = self.client_of({k: v for k, v in step.items() if k in {"as", "namespace"}} | {"role": "operator"})
        return words(await self.do(client.explain_decision, decided["call_id"], run_id=decided["run_id"]))

    async def close(self) -> None:
        for client in [self.client, *self.others]:
            await self.do(client.close)

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
        until = asyncio.get_running_loop().time() + 10
        while True:
            try:
                await asyncio.gather(*map(self.once, together))
                break
            except AssertionError:
                if not step.get("eventually") or asyncio.get_running_loop().time() > until:
                    raise
        if "together" in step and "ran" in step.get("expect", {}):
            assert self.ran - before == step["expect"]["ran"]

    async def once(self, step: dict[str, Any]) -> None:
        expect = step.get("expect", {})
        ran = [0]
        result, error, failed = None, None, None
        try:
            result = await self.cancelled(step, ran)
        except asyncio.CancelledError:
            error = {"type": "Cancelled"}
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
        if "recorded" in step:
            self.same(self.fill(step["recorded"]), await self.recorded(step, result), step["call"] + "/recorded")
        if "ran" in expect:
            assert ran[0] == expect["ran"], f"{step['call']}: ran {ran[0]} times"

    async def cancelled(self, step: dict[str, Any], ran: list[int]) -> Any:
        """Makes a call, and cancels it where the step says so."""
        task = asyncio.ensure_future(self.call(step, self.fill(step.get("args", {})), ran))
        if "cancel" in step:
            while not task.done() and not await self.reached(step["cancel"], ran):  # noqa: ASYNC110 - the host is asked
                await asyncio.sleep(0)
            task.cancel()
        return await task

    async def reached(self, place: str, ran: list[int]) -> bool:
        if place == "body":
            return ran[0] > 0
        attempts = await asyncio.to_thread(self.ask, "GET", self.base + "/attempts")
        return any(attempt["rpc"] == place and attempt.get("hangs") for attempt in attempts)

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
        client = self.client_of(step)
        given: dict[str, Any] = {"timeout": step["timeout_ms"] / 1000} if "timeout_ms" in step else {}
        do, name = self.do, step["call"]
        if "idempotency_key" in args:
            given["idempotency_key"] = args["idempotency_key"]
        if name == "load":
            options = {k: args[k] for k in ("context", "workspace") if k in args}
            return self.run(await do(client.load, args["workflow"], **options, **given))
        if name == "transition":
            return self.run(await do(client.transition, args["event"], args.get("data"), **given))
        if name in {"guard", "guard_items", "check", "report"}:
            return await self.tool(client, step, args, ran, given)
        if name == "ping":
            ping = await do(client.ping, **given)
            return {**words(ping), "run_id": ping.run.id if ping.run else ""}
        if name == "create_session":
            options = {k: args[k] for k in ("parent", "agent", "only") if k in args}
            return words(await do(client.create_session, args.get("name", ""), **options, **given))
        if name == "stop_session":
            options = {k: args[k] for k in ("in_place", "end", "result") if k in args}
            return words(await do(client.stop_session, **options, **given))
        if name in {"create_state", "read_state", "patch_state", "update_state", "watch_state"}:
            return await self.state(client, name, args, given)
        if name in {"reconnect", "connect"}:
            await do(self.client.close)
            self.connect(args)
            return {}
        if name in CALLS:
            return words(await govern(do, self.all, client, name, args))
        if "approval" in name or name.endswith(("_run", "_runs", "_run_history")):
            return await self.asked(client, name, args, given)
        if hasattr(client, name):
            return await self.registered(client, name, args, given)
        method = "POST" if name in {"human", "person", "down", "up"} else "GET"
        answer = await asyncio.to_thread(self.ask, method, f"{self.base}/{name}", args if name in {"human", "person"} else None)
        return [a for a in answer if a["rpc"] == args["rpc"]] if name == "attempts" else answer

    async def asked(self, client: Any, name: str, args: dict[str, Any], given: dict[str, Any]) -> Any:
        """Approvals and runs."""
        do = self.do
        if name == "list_approvals":
            return [self.approval(a) for a in await self.all(client.list_approvals(filter_of(args), **given))]
        if name == "approval_stats":
            return words(await do(client.approval_stats, **given))
        if name in {"get_approval", "wait_approval"}:
            return self.approval(await do(getattr(client, name), args["approval"], **given))
        if name == "decide_approval":
            vote = await do(client.decide_approval, args["approval"], args["approve"], note=args.get("note", ""), **given)
            return self.approval(vote)
        if name == "cancel_approval":
            return self.approval(await do(client.cancel_approval, args["approval"], reason=args["reason"], **given))
        if name == "list_runs":
            given["stale_for"] = args.pop("stale_for", 0)
            return [self.run(run) for run in await self.all(client.list_runs(filter_of(args), **given))]
        if name == "get_run_history":
            entries = await self.all(client.get_run_history(args["run"], **given))
            return [{**words(e), "from": e.source, "to": e.target} for e in entries]
        if name == "wait_run":
            wanted = args.get("until", {}).get("state")
            return self.run(await do(client.wait_run, "", (lambda run: run.state == wanted) if wanted else None, **given))
        options = {"reason": args["reason"]} if "reason" in args else {}
        return self.run(await do(getattr(client, name), args.get("run", ""), **options, **given))

    async def registered(self, client: Any, name: str, args: dict[str, Any], given: dict[str, Any]) -> Any:
        """Definitions, the log, open calls and costs."""
        do = self.do
        if name == "register_schema":
            return words(await do(client.register_schema, args["name"], args["definition"], **given))
        if name.startswith("register_"):
            options = {"name": args["name"]} if "name" in args else {}
            return words(await do(getattr(client, name), args["definition"], **options, **given))
        if name == "list_decisions":
            return words(await self.all(client.list_decisions(filter_of(args), **given)))
        if name == "explain_decision":
            return words(await do(client.explain_decision, args["call_id"], run_id=args["run"], **given))
        if name == "list_open_calls":
            return words(await do(client.list_open_calls, **given))
        if name == "settle_call":
            options = {"run_id": args["run"], "note": args.get("note", "")}
            return words(await do(client.settle_call, args["call_id"], args["outcome"], **options, **given))
        assert name == "report_cost", name
        costs = [interlock.Cost(**cost) for cost in args["costs"]]
        return {"total_usd": await do(client.report_cost, args["source"], *costs, **given)}

    async def all(self, items: Any) -> list[Any]:
        if self.kind is interlock.sync.Interlock:
            return await asyncio.to_thread(list, items)
        return [item async for item in items]

    async def tool(self, client: Any, step: dict[str, Any], args: dict[str, Any], ran: list[int], given: dict[str, Any]) -> Any:
        given_input = args.get("input")
        if isinstance(given_input, list):
            given_input = json.dumps(given_input).encode()
        options = {
            k: args[k] for k in ("folder", "qualified_tool", "estimated_cost", "call_id", "explain", "dry_run") if k in args
        }
        if step["call"] == "report":
            members = ("tool", "call_id", "run_id", "session_id", "dry_run")
            decision = interlock.Decision("ALLOW", **{k: args["call"].get(k, "") for k in members})
            report = await self.do(client.report, decision, interlock.Result(**args.get("result", {})), ok=args["ok"])
            return self.report(report)
        if step["call"] == "check":
            return words(await self.do(client.check, args["tool"], given_input, **options, **given))
        if options.pop("dry_run", False):  # guard has no dry runs: what one consists of refuses them
            (await self.do(client.check, args["tool"], given_input, dry_run=True, **given)).require()
        if step["call"] == "guard_items":
            return await self.items(client, args, given_input, ran, options | given)
        tool = self.waiting(ran) if step.get("cancel") == "body" else self.body(args, ran)
        result = await self.do(client.guard, args["tool"], given_input, tool, **options, **given)
        return {"output": result.output or "", "notice": result.notice, "report": self.report(result.report)}

    def body(self, args: dict[str, Any], ran: list[int]) -> Any:
        def tool() -> Any:
            ran[0] += 1
            self.ran += 1
            if "throws" in args:
                raise ToolError(args["throws"])
            return interlock.Result(**args.get("returns", {}))

        return tool

    def waiting(self, ran: list[int]) -> Any:
        async def tool() -> None:
            ran[0] += 1
            await asyncio.Event().wait()

        return tool

    async def items(self, client: Any, args: dict[str, Any], given_input: Any, ran: list[int], options: dict[str, Any]) -> Any:
        def tool() -> Iterator[str]:
            ran[0] += 1
            yield from args["yields"]
            if "throws" in args:
                raise ToolError(args["throws"])

        items = client.guard_items(args["tool"], given_input, tool, **options)
        if self.kind is interlock.sync.Interlock:

            def taken() -> list[Any]:
                try:
                    return list(islice(items, args.get("take")))
                finally:
                    items.close()

            return await asyncio.to_thread(taken)
        out: list[Any] = []
        try:
            while len(out) != args.get("take"):
                out.append(await items.__anext__())
        except StopAsyncIteration:
            pass
        finally:
            await items.aclose()
        return out

    def report(self, report: interlock.Report) -> Any:
        said = words(report)
        if report.interrupt:
            said["interrupt"] |= {"from": report.interrupt.source, "to": report.interrupt.target}
        return said

    def approval(self, approval: interlock.Approval) -> Any:
        return {**words(approval), "granted": approval.granted}

    async def state(self, client: Any, name: str, args: dict[str, Any], given: dict[str, Any]) -> Any:
        do = self.do
        if name == "create_state":
            data = args["json"].encode() if "json" in args else args["data"]
            return words(await do(client.create_state, args["schema"], data, **given))
        if name == "read_state":
            state = await do(client.read_state, args.get("id", ""), *args.get("pointers", []), **given)
            parts = {pointer: _json.dumps(part) for pointer, part in state.parts.items()}
            return {**words(state), "parts_size": len(parts), "parts_json": parts}
        if name == "patch_state":
            return words(await do(client.patch_state, args.get("id", ""), *args["ops"], **given))
        if name == "update_state":
            return words(await self.update(client, args, given))
        after = args.get("after", -1)
        if self.kind is interlock.sync.Interlock:
            changes = await asyncio.to_thread(lambda: list(islice(client.watch_state(args.get("id", ""), after), args["take"])))
            return [words(change) for change in changes]
        taken: list[Any] = []
        watch = client.watch_state(args.get("id", ""), after)
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
                client.patch_state("", *args["patching"])
                return document

            async def later() -> Any:
                await client.patch_state("", *args["patching"])
                return document

            return later()

        return await self.do(client.update_state, args.get("id", ""), change, **given)

    def run(self, run: interlock.Run) -> Any:
        return {**words(run), "ended": run.ended, "context_json": _json.dumps(run.context)}

    def failure(self, err: Exception) -> dict[str, Any]:
        """An error in the words of the table."""
        members = {k: words(v) for k, v in vars(err).items()} | {"retriable": getattr(err, "retriable", None)}
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


def filter_of(args: dict[str, Any]) -> str:
    return " AND ".join(f"{key}={value}" for key, value in args.items())


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
@pytest.mark.parametrize(
    ("table", "case"), CASES, ids=["/".join(filter(None, (case.get("category"), case["name"]))) for _, case in CASES]
)
async def test_table(table: str, case: dict[str, Any], kind: Any, control: str) -> None:
    if kind is interlock.sync.Interlock and any("cancel" in step for step in case["steps"]):
        pytest.skip("without an event loop nothing can be cancelled")
    runner = Runner(control, TABLES[table], case, kind)
    try:
        for step in case["steps"]:
            await runner.step(step)
    finally:
        await runner.close()
        runner.ask("DELETE", runner.base)


def test_the_table_is_whole() -> None:
    assert len(TABLES["sdk"]["cases"]) >= 70
    assert len(TABLES["governance"]["cases"]) >= 60


def test_the_twins_have_the_same_surface() -> None:
    def surface(kind: type) -> dict[str, list[str]]:
        members = inspect.getmembers(kind, lambda m: callable(m) or isinstance(m, property))
        return {
            name.replace("__a", "__"): list(inspect.signature(member).parameters) if callable(member) else []
            for name, member in members
            if not name.startswith("_") or name in {"__aenter__", "__enter__", "__init__"}
        }

    assert surface(interlock.Interlock) == surface(interlock.sync.Interlock)
