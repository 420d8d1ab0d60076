"""What the table does not say: cancellation, settings, numbers, spans."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from interlock_server import Proxy, Server, unused_address
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import interlock
import interlock.sync
from interlock import _ids, _json, _target

WORKFLOW = {"id": "free", "initial": "at", "states": {"at": {"on": {"DONE": "over"}}, "over": {"type": "final"}}}


@pytest.fixture
def free(server: Server, proxy: Proxy, request: pytest.FixtureRequest) -> Any:
    """Settings of a client whose session may call every tool."""
    (server.folder / "free.json").write_text(json.dumps(WORKFLOW))
    server.cli("operator", "workflow", "register", str(server.folder / "free.json"))
    given = {"server": proxy.address, "token": server.tokens["agent"], "session": "free-" + _ids.idempotency_key()}
    with interlock.sync.Interlock(**given) as client:
        client.load("free")
    return given


async def test_a_cancelled_tool_is_reported_as_failed(free: Any, proxy: Proxy) -> None:
    begun = asyncio.Event()

    async def tool() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with interlock.Interlock(**free) as client:
        task = asyncio.create_task(client.guard("Read", {"file_path": "a"}, tool))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert [(r.tool, r.ok) for r in proxy.reports] == [("Read", False)]


async def test_one_client_in_several_event_loops(free: Any) -> None:
    client = interlock.Interlock(**free)

    async def once() -> Any:
        result = await client.guard("Read", {"file_path": "a"}, lambda: "text")
        await client.close()
        return result.value

    assert await once() == "text"
    assert await asyncio.to_thread(asyncio.run, once()) == "text"


async def test_an_asynchronous_tool_needs_the_asynchronous_client(free: Any, proxy: Proxy) -> None:
    async def tool() -> str:
        return "text"

    with interlock.sync.Interlock(**free) as client, pytest.raises(TypeError, match="asynchronous"):
        client.guard("Read", {"file_path": "a"}, tool)
    assert [(r.tool, r.ok) for r in proxy.reports] == [("Read", False)]


def test_a_twin_has_the_same_settings(free: Any) -> None:
    client = interlock.Interlock(**free)
    with client.twin() as twin:
        assert twin.session == client.session
        assert twin.guard("Read", {"file_path": "a"}, lambda: "text").value == "text"
        assert isinstance(twin.twin(), interlock.Interlock)


@pytest.mark.parametrize("args", [{"n": float("nan")}, {"x": object()}, {1: "a"}])
async def test_arguments_that_are_no_json_are_denied(free: Any, proxy: Proxy, args: Any) -> None:
    async with interlock.Interlock(**free) as client:
        with pytest.raises(interlock.Denied) as caught:
            await client.guard("Read", args, lambda: pytest.fail("it ran"))
    assert caught.value.code == "INVALID_INPUT"
    assert proxy.checks == []


async def test_nothing_runs_without_a_server() -> None:
    client = interlock.Interlock(unused_address(), session="s", timeout=0.2)
    with pytest.raises(interlock.Unavailable) as caught:
        await client.guard("Read", {}, lambda: pytest.fail("it ran"))
    assert interlock.reason(caught.value) == "UNAVAILABLE"
    await client.close()


async def test_a_token_that_is_not_known_is_a_mistake_of_the_settings(free: Any) -> None:
    async with interlock.Interlock(**{**free, "token": "ilk_unknown-and-long-enough"}) as client:
        with pytest.raises(interlock.ConfigurationError) as caught:
            await client.guard("Read", {}, lambda: pytest.fail("it ran"))
    assert caught.value.code == "UNAUTHENTICATED"
    assert interlock.reason(caught.value) == "UNAUTHENTICATED"


async def test_the_caller_of_a_report_that_is_refused_has_the_result(free: Any, proxy: Proxy) -> None:
    proxy.reset("report-refused")
    async with interlock.Interlock(**free) as client:
        with pytest.raises(interlock.ReportError) as caught:
            await client.guard("Read", {"file_path": "a"}, lambda: "text")
    assert caught.value.result is not None
    assert caught.value.result.value == "text"
    assert interlock.reason(caught.value) == "INTERNAL"


async def test_spans(free: Any) -> None:
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    async with interlock.Interlock(**free, tracer_provider=provider) as client:
        await client.guard("Read", {"file_path": "a"}, lambda: "text")
    names = [span.name.rpartition("/")[2] for span in exporter.get_finished_spans()]
    assert names == ["CheckToolCall", "ReportToolCall"]


def test_settings_of_the_environment() -> None:
    read = _target.settings_of(
        {"INTERLOCK_SERVER": "engine:1", "INTERLOCK_TOKEN": "t", "INTERLOCK_NAMESPACE": "n", "INTERLOCK_CA": "ca.pem",
         "INTERLOCK_INSECURE": "true", "INTERLOCK_SESSION": "s", "INTERLOCK_RUN": "r", "WORKFLOW_STATE_ID": "w"}
    )  # fmt: skip
    assert read == _target.Settings("engine:1", "t", "n", "s", "r", "w", _target.TLS(ca="ca.pem"), True)
    assert _target.settings_of({}) == _target.Settings()


@pytest.mark.parametrize(
    ("env", "says"),
    [({"INTERLOCK_SERVER": "http://127.0.0.1:7420"}, "gRPC"), ({"INTERLOCK_INSECURE": "maybe"}, "true or false")],
)
def test_settings_that_cannot_be_meant(env: dict[str, str], says: str) -> None:
    with pytest.raises(ValueError, match=says):
        _target.settings_of(env)


@pytest.mark.parametrize("server", ["engine:7421", "10.0.0.1:7421", "127.0.0.1:1,10.0.0.1:1", "dns:///engine:7421"])
def test_the_token_is_not_sent_in_plaintext(server: str) -> None:
    with pytest.raises(ValueError, match="plaintext"):
        interlock.Interlock(server, token="t")
    interlock.Interlock(server, token="t", insecure=True)
    interlock.Interlock(server, token="t", tls=interlock.TLS())


@pytest.mark.parametrize("server", ["127.0.0.1:1", "localhost:1", "[::1]:1", "unix:///run/x.sock", "127.0.0.1:1,127.0.0.2:1"])
def test_loopback_needs_no_tls(server: str) -> None:
    interlock.Interlock(server, token="t")


def test_lists_of_servers() -> None:
    assert _target.target(_target.Settings("127.0.0.1:1,127.0.0.2:2")) == "ipv4:127.0.0.1:1,127.0.0.2:2"
    with pytest.raises(ValueError, match="dns:///"):
        _target.target(_target.Settings("one:1,two:2"))


@pytest.mark.parametrize("text", ['{"a":1.10,"b":[9007199254740993,1e400,-0.0],"c":{"d":null,"e":"\\u00e9"}}'])
def test_numbers_stay_as_they_were_written(text: str) -> None:
    assert _json.dumps(_json.loads(text)) == text.replace("\\u00e9", "é")


def test_ids_are_those_of_the_server() -> None:
    first, second = _ids.call_id(), _ids.call_id()
    assert first != second
    assert first.startswith("call_0")
    assert len(first) == len("call_") + 26
    assert set(first[5:]) <= set("0123456789abcdefghjkmnpqrstvwxyz")
