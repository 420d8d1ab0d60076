"""What adapters share: a verdict admits the call that it is of, once."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from interlock_server import Proxy, Server

import interlock
import interlock.sync
from interlock import _gate, _ids
from interlock._gate import Gate, Outcome, Verdict

WORKFLOW = {
    "id": "gating",
    "initial": "at",
    "states": {"at": {"allowed_tools": ["Read"], "on": {"DONE": "over"}}, "over": {"type": "final"}},
}


@pytest.fixture
def client(server: Server, proxy: Proxy) -> Any:
    """A client whose session may call read, and nothing else."""
    (server.folder / "gating.json").write_text(json.dumps(WORKFLOW))
    server.cli("operator", "workflow", "register", str(server.folder / "gating.json"))
    given = {"server": proxy.address, "token": server.tokens["agent"], "session": "gating-" + _ids.idempotency_key()}
    made = interlock.sync.Interlock(**given)
    made.load("gating")
    yield made
    made.close()


def verdict(tool: str = "deploy", args: Any = None, *, session: str = "", call_id: str = "c1", allowed: bool = True) -> Verdict:
    decision = interlock.Decision("ALLOW", tool, "call_1", "run_1") if allowed else None
    body = _gate.freeze({"to": "test"} if args is None else args)[1]
    return Verdict(tool, session, decision, "" if allowed else "no", digest=_gate.digest_of(body), call_id=call_id)


def gate() -> Gate:
    return Gate(interlock.sync.Interlock("127.0.0.1:1"), session=lambda context: context or "a")


Ask = Callable[[Gate], "Verdict | None"]

OTHERS: dict[str, Ask] = {
    "another conversation": lambda g: g.take("deploy", {"to": "test"}, "b", "c1"),
    "another tool": lambda g: g.take("Read", {"to": "test"}, "a", "c1"),
    "other arguments": lambda g: g.take("deploy", {"to": "production"}, "a", "c1"),
    "more arguments": lambda g: g.take("deploy", {"to": "test", "force": True}, "a", "c1"),
    "fewer arguments": lambda g: g.take("deploy", {}, "a", "c1"),
    "no arguments": lambda g: g.take("deploy", None, "a", "c1"),
    "another id": lambda g: g.take("deploy", {"to": "test"}, "a", "c2"),
    "no id": lambda g: g.take("deploy", {"to": "test"}, "a"),
    "arguments that are no JSON": lambda g: g.take("deploy", {"to": object()}, "a", "c1"),
    "a text that is no JSON": lambda g: g.take("deploy", '{"to":"test"', "a", "c1"),
    "a number for a text": lambda g: g.take("deploy", {"to": 1}, "a", "c1"),
}


@pytest.mark.parametrize("ask", OTHERS.values(), ids=OTHERS)
def test_a_held_verdict_is_of_one_call(ask: Ask) -> None:
    g = gate()
    g.hold(verdict(session="a"))
    assert ask(g) is None
    assert g.take("deploy", {"to": "test"}, "a", "c1") is not None


def test_a_held_verdict_is_used_once() -> None:
    g = gate()
    g.hold(verdict(session="a"))
    assert g.take("deploy", '{ "to": "test" }', "a", "c1") is not None
    assert g.take("deploy", {"to": "test"}, "a", "c1") is None


def test_the_same_call_of_two_conversations_of_one_session_has_each_its_verdict() -> None:
    g = gate()
    g.hold(verdict(session="a"))
    g.hold(verdict(session="a", allowed=False))
    taken = [g.take("deploy", {"to": "test"}, "a", "c1") for _ in range(3)]
    assert [t and t.allowed for t in taken] == [True, False, None]


def test_a_verdict_is_used_by_one_thread() -> None:
    one, start, got = verdict(), threading.Barrier(8), []

    def use() -> None:
        start.wait()
        got.append(one.use())

    threads = [threading.Thread(target=use) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got) == [False] * 7 + [True]


def test_what_is_held_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_gate, "MOST_HELD", 2)
    g = gate()
    for name in ("c1", "c2", "c3"):
        g.hold(verdict(session="a", call_id=name))
    assert [bool(g.take("deploy", {"to": "test"}, "a", name)) for name in ("c1", "c2", "c3")] == [False, True, True]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('{"a":1,"b":[1,2]}', {"b": [1, 2], "a": 1}),
        ('{ "a" : 1.10 }', {"a": 1.1}),
        ('{"a":100}', '{"a":1e2}'),
        ('{"a":100}', {"a": 100.0}),
        ('{"a":0}', '{"a":-0.0}'),
        ('{"a":"\\u00e9"}', {"a": "é"}),
        ('{"a":"\\ud800"}', {"a": "\ud800"}),
        ("", {}),
        (None, "{}"),
        ("  ", {}),
        ('{"a":(1)}'.replace("(1)", "[1]"), {"a": (1,)}),
    ],
)
def test_the_same_json_has_the_same_digest(one: Any, other: Any) -> None:
    assert digest(one) == digest(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1}, {"a": "1"}),
        ({"a": 1}, {"a": True}),
        ({"a": 0}, {"a": False}),
        ({"a": 0}, {"a": None}),
        ({"a": None}, {}),
        ({"a": []}, {"a": {}}),
        ({"a": ""}, {"a": None}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ({"a": ["b", "c"]}, {"a": ["bc"]}),
        ({"a": "b", "c": "d"}, {"a": 'b","c":"d'}),
        ({"ab": "c"}, {"a": "bc"}),
        ({"a": [[1], 2]}, {"a": [[1, 2]]}),
        ({"a": 9007199254740993}, {"a": 9007199254740992}),
        ('{"a":0.1}', '{"a":0.10000000000000000001}'),
        ('{"a":1e400}', '{"a":1e401}'),
        ('{"a":10}', '{"a":1}'),
        ({"a": "e"}, {"a": "é"}),
        ("[1]", "[2]"),
        ("{", "{{"),
        ('{"a":NaN}', '{"a":Infinity}'),
        ("é", "e"),
    ],
)
def test_other_json_has_another_digest(one: Any, other: Any) -> None:
    assert digest(one) != digest(other)


def digest(args: Any) -> str:
    if isinstance(args, dict) and "\ud800" in args.values():
        return _gate.digest_of(json.dumps(args).encode())
    return _gate.digest_of(_gate.freeze(args)[1])


def test_arguments_are_frozen_when_they_are_judged(client: Any, proxy: Proxy) -> None:
    args = {"path": "a", "list": [1]}
    judged = Gate(client).ask_sync("Read", args)
    args["path"], args["list"][0] = "b", 2  # type: ignore[index]
    assert judged.args == {"path": "a", "list": [1]}
    assert Gate(client).take("Read", args) is None


def test_a_denied_verdict_admits_nothing(client: Any, proxy: Proxy) -> None:
    g = Gate(client)
    denied = g.ask_sync("deploy", {})
    with pytest.raises(interlock.Denied):
        g.perform_sync(denied, lambda: pytest.fail("it ran"))


def test_a_dry_run_admits_nothing(client: Any, proxy: Proxy) -> None:
    g = Gate(client)
    dry = g.ask_sync("Read", {}, dry_run=True)
    assert dry.allowed
    with pytest.raises(interlock.Denied):
        g.perform_sync(dry, lambda: pytest.fail("it ran"))
    g.settle_sync(dry)
    assert proxy.reports == []


def test_a_verdict_is_performed_once(client: Any, proxy: Proxy) -> None:
    g, ran = Gate(client), []
    judged = g.ask_sync("Read", {})
    g.perform_sync(judged, lambda: ran.append(1))
    with pytest.raises(interlock.Denied, match="NOT_JUDGED"):
        g.perform_sync(judged, lambda: ran.append(2))
    assert (ran, len(proxy.reports)) == ([1], 1)


def test_what_is_not_made_is_settled_once(client: Any, proxy: Proxy) -> None:
    g = Gate(client)
    judged = g.ask_sync("Read", {})
    g.settle_sync(judged)
    g.settle_sync(judged)
    assert [(r.not_executed, r.ok) for r in proxy.reports] == [(True, False)]
    made = g.ask_sync("Read", {})
    g.perform_sync(made, lambda: "text")
    g.settle_sync(made)
    assert len(proxy.reports) == 2


def test_the_outcome_of_a_call(client: Any, proxy: Proxy) -> None:
    g = Gate(client, folder=lambda context: f"/repo/{context}")
    judged = g.ask_sync("Read", {}, "a")
    g.perform_sync(judged, lambda: "text", output=lambda text: Outcome(text, ok=False, unknown=True, background="job"))
    (report,) = proxy.reports
    assert (report.ok, report.outcome_unknown, report.background, report.output) == (False, True, "job", b"text")
    assert proxy.checks[0].folder == "/repo/a"


@pytest.mark.parametrize(
    ("said", "given", "reported"),
    [
        (Outcome("text"), True, (True, False)),
        (Outcome("text"), False, (False, False)),
        (Outcome("text", ok=False), True, (False, False)),
        (Outcome("text", unknown=True), False, (False, True)),
        (Outcome(subprocess.CompletedProcess([], 1)), True, (False, False)),
        (subprocess.CompletedProcess([], 0), False, (False, False)),
    ],
)
def test_each_side_may_know_of_a_failure(client: Any, proxy: Proxy, said: Any, given: bool, reported: tuple[bool, bool]) -> None:
    g = Gate(client)
    g.perform_sync(g.ask_sync("Read", {}), lambda: said, lambda _: given)
    (report,) = proxy.reports
    assert (report.ok, report.outcome_unknown) == reported


@pytest.mark.parametrize("given", [{"a": object()}, {"a": float("nan")}, {1: "a"}, [1], 5, "[1]", "{", '{"a":1,"a":2}'])
def test_arguments_that_cannot_be_judged_are_refused(client: Any, given: Any) -> None:
    refused = Gate(client).ask_sync("Read", given)
    assert not refused.allowed
    assert refused.text.startswith("INVALID_INPUT")


@pytest.mark.parametrize("broken", ["session", "tool_name", "folder"])
def test_a_function_of_the_callers_that_fails_is_a_refusal(client: Any, broken: str) -> None:
    def fails(_: Any) -> str:
        raise ValueError("it broke")

    given: dict[str, Any] = {broken: fails}
    refused = Gate(client, **given).ask_sync("Read", {})
    assert not refused.allowed
    assert "it broke" in refused.text


@pytest.mark.parametrize("named", ["", None, 5])
def test_a_conversation_without_a_session_is_refused(client: Any, proxy: Proxy, named: Any) -> None:
    refused = Gate(client, session=lambda _: named).ask_sync("Read", {})
    assert not refused.allowed
    assert "has named no session" in refused.text
    assert proxy.checks == []


@pytest.mark.parametrize(("folder", "sent"), [(lambda _: None, ""), (Path("/repo"), "/repo"), (lambda _: Path("/repo"), "/repo")])
def test_the_folder_of_a_call(client: Any, proxy: Proxy, folder: Any, sent: str) -> None:
    Gate(client, folder=folder).ask_sync("Read", {})
    assert proxy.checks[0].folder == sent


@pytest.mark.parametrize(("status", "ok"), [(0, True), (3, False)])
def test_a_process_that_a_tool_returns_says_how_it_has_ended(client: Any, proxy: Proxy, status: int, ok: bool) -> None:
    g = Gate(client)
    g.perform_sync(g.ask_sync("Read", {}), lambda: subprocess.run(["sh", "-c", f"exit {status}"], check=False))
    assert [r.ok for r in proxy.reports] == [ok]


@pytest.mark.parametrize(
    ("output", "sent"), [("text", b"text"), (b"text", b"text"), (None, b""), ({"a": 1.5}, b'{"a":1.5}'), ([], b"[]")]
)
def test_the_output_of_a_call(client: Any, proxy: Proxy, output: Any, sent: bytes) -> None:
    g = Gate(client)
    g.tell_sync(g.ask_sync("Read", {}), output)
    assert proxy.reports[0].output == sent
