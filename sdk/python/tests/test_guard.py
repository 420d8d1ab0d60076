"""Guarded calls that are left: cancelled, out of time, closed; and tools whose results come one by one."""

from __future__ import annotations

import _thread
import asyncio
import concurrent.futures
import gc
import json
import signal
import subprocess
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from interlock_server import Proxy, Server

import interlock
import interlock.sync
from interlock import _ids

WORKFLOW = {
    "id": "guarding",
    "initial": "at",
    "states": {"at": {"allowed_tools": ["Read"], "on": {"DONE": "over"}}, "over": {"type": "final"}},
}


@pytest.fixture
def settings(server: Server, proxy: Proxy) -> dict[str, Any]:
    """Settings of a client whose session may call Read."""
    (server.folder / "guarding.json").write_text(json.dumps(WORKFLOW))
    server.cli("operator", "workflow", "register", str(server.folder / "guarding.json"))
    given = {"server": proxy.address, "token": server.tokens["agent"], "session": "guarding-" + _ids.idempotency_key()}
    with interlock.sync.Interlock(**given) as client:
        client.load("guarding")
    return given


def told(proxy: Proxy) -> list[tuple[bool, bool, bool]]:
    """The reports: whether they say ok, of an unknown outcome, and not executed."""
    return [(r.ok, r.outcome_unknown, r.not_executed) for r in proxy.reports]


OK, FAILED, LEFT, NOT_MADE = (True, False, False), (False, False, False), (False, True, False), (False, False, True)


async def held(proxy: Proxy, method: str, work: Any) -> Any:
    """Begins a piece of work and waits until the server has answered an RPC whose answer has not arrived."""
    reached = proxy.hold(method)
    task = asyncio.ensure_future(work)
    assert await asyncio.to_thread(reached.wait, 30)
    return task


async def test_a_check_that_is_cancelled_is_settled(settings: Any, proxy: Proxy) -> None:
    async with interlock.Interlock(**settings) as client:
        task = await held(proxy, "CheckToolCall", client.guard("Read", {"file_path": "a"}, lambda: pytest.fail("it ran")))
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        proxy.let()
    assert told(proxy) == [NOT_MADE]
    assert proxy.reports[0].call_id == proxy.checks[0].call_id


async def test_a_check_that_is_out_of_its_callers_time_is_settled(settings: Any, proxy: Proxy) -> None:
    async with interlock.Interlock(**settings) as client:
        proxy.hold("CheckToolCall")
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(client.guard("Read", {}, lambda: pytest.fail("it ran")), 0.2)
        proxy.let()
    assert told(proxy) == [NOT_MADE]


async def test_of_many_checks_that_are_cancelled_none_stays_open(settings: Any, proxy: Proxy) -> None:
    ran = 0

    def tool() -> None:
        nonlocal ran
        ran += 1

    async with interlock.Interlock(**settings) as client:
        reached = proxy.hold("CheckToolCall")
        tasks = [asyncio.ensure_future(client.guard("Read", {"file_path": str(i)}, tool)) for i in range(40)]
        assert await asyncio.to_thread(reached.wait, 30)
        for task in tasks:
            task.cancel()
        proxy.let()
        await asyncio.gather(*tasks, return_exceptions=True)
    asked = {c.call_id for c in proxy.checks}
    assert asked <= {r.call_id for r in proxy.reports}
    assert sum(r.ok for r in proxy.reports) == ran


async def test_a_check_whose_answer_is_lost_for_good_is_settled(settings: Any, proxy: Proxy) -> None:
    async with interlock.Interlock(**settings, timeout=0.3) as client:
        proxy.hold("CheckToolCall")
        with pytest.raises(interlock.Unavailable) as caught:
            await client.guard("Read", {}, lambda: pytest.fail("it ran"))
        proxy.let()
    assert caught.value.retriable
    assert NOT_MADE in told(proxy)


def test_a_check_without_an_event_loop_whose_answer_is_lost_is_settled(settings: Any, proxy: Proxy) -> None:
    with interlock.sync.Interlock(**settings, timeout=0.3) as client:
        proxy.hold("CheckToolCall")
        with pytest.raises(interlock.Unavailable):
            client.guard("Read", {}, lambda: pytest.fail("it ran"))
        proxy.let()
    assert NOT_MADE in told(proxy)


def test_a_check_without_an_event_loop_that_the_user_interrupts_is_settled(settings: Any, proxy: Proxy) -> None:
    # A process that a shell starts in the background ignores interrupts.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        interrupted_check(settings, proxy)
    finally:
        signal.signal(signal.SIGINT, before)


def interrupted_check(settings: Any, proxy: Proxy) -> None:
    """Interrupts a check as a user does, and expects that the call is withdrawn."""
    reached = proxy.hold("CheckToolCall")
    ended = threading.Event()

    def interrupt() -> None:
        reached.wait(30)
        _thread.interrupt_main()
        while not ended.wait(3):  # an exception that a callback of gRPC has swallowed
            _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with interlock.sync.Interlock(**settings) as client, pytest.raises(KeyboardInterrupt):
            client.guard("Read", {}, lambda: pytest.fail("it ran"))
    finally:
        ended.set()
    thread.join()
    proxy.let()
    assert told(proxy) == [NOT_MADE]


@pytest.mark.parametrize("cancels", [True, False], ids=["cancelled", "left"])
def test_a_check_at_the_end_of_the_event_loop_is_settled(settings: Any, proxy: Proxy, cancels: bool) -> None:
    async def main() -> None:
        client = interlock.Interlock(**settings)
        task = await held(proxy, "CheckToolCall", client.guard("Read", {}, lambda: pytest.fail("it ran")))
        if cancels:
            task.cancel()
        # And the program ends, without closing the client.

    asyncio.run(main())
    gc.collect()
    proxy.let()
    assert told(proxy) == [NOT_MADE]


async def test_a_call_id_of_the_callers_is_left_to_the_caller(settings: Any, proxy: Proxy) -> None:
    async with interlock.Interlock(**settings) as client:
        task = await held(proxy, "CheckToolCall", client.check("Read", {}, call_id="mine"))
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        proxy.let()
        assert (await client.check("Read", {}, call_id="mine")).allowed
    assert told(proxy) == []


async def test_a_denied_call_is_not_reported(settings: Any, proxy: Proxy) -> None:
    async with interlock.Interlock(**settings) as client:
        with pytest.raises(interlock.Denied):
            await client.guard("Write", {}, lambda: pytest.fail("it ran"))
    assert told(proxy) == []


async def test_a_call_that_is_cancelled_has_an_unknown_outcome(settings: Any, proxy: Proxy) -> None:
    begun = asyncio.Event()

    async def tool() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with interlock.Interlock(**settings) as client:
        task = asyncio.create_task(client.guard("Read", {}, tool))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert told(proxy) == [LEFT]


@pytest.mark.parametrize(
    ("error", "report"),
    [
        (TimeoutError("late"), LEFT),
        (asyncio.TimeoutError(), LEFT),
        (subprocess.TimeoutExpired("make", 1), LEFT),
        (type("ReadTimeout", (OSError,), {})(), LEFT),
        (type("Late", (type("TimeoutException", (Exception,), {}),), {})(), LEFT),
        (KeyboardInterrupt(), LEFT),
        (SystemExit(1), LEFT),
        (RuntimeError("it broke"), FAILED),
        (ValueError("Timeout"), FAILED),
    ],
    ids=repr,
)
def test_what_an_error_of_a_tool_says_of_its_outcome(settings: Any, proxy: Proxy, error: BaseException, report: Any) -> None:
    def tool() -> None:
        raise error

    with interlock.sync.Interlock(**settings) as client, pytest.raises(type(error)):
        client.guard("Read", {}, tool)
    assert told(proxy) == [report]


async def test_what_a_result_says_of_its_outcome(settings: Any, proxy: Proxy) -> None:
    result = interlock.Result("started", outcome_unknown=True, background="job-1", background_ended="job-0")
    async with interlock.Interlock(**settings) as client:
        done = await client.guard("Read", {}, lambda: result, folder="/repo")
    assert done.report is not None
    assert done.report.accounted
    assert done.report.run is not None
    (report,) = proxy.reports
    assert (report.outcome_unknown, report.background, report.background_ended) == (True, "job-1", "job-0")
    assert proxy.checks[0].folder == "/repo"


async def nested() -> Any:
    async def inner() -> str:
        return "text"

    return inner()


def in_a_thread() -> Any:
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return pool.submit(lambda: "text")


@pytest.mark.parametrize(
    "tool",
    [nested, in_a_thread, lambda: interlock.Result(value=nested()), lambda: asyncio.ensure_future(nested())],
    ids=["a coroutine of a coroutine", "a future of a thread", "in a Result", "a task"],
)
async def test_a_call_is_reported_when_its_work_is_done(settings: Any, proxy: Proxy, tool: Any) -> None:
    async with interlock.Interlock(**settings) as client:
        assert (await client.guard("Read", {}, tool)).value == "text"
    assert told(proxy) == [OK]


def test_a_future_is_waited_for_without_an_event_loop(settings: Any, proxy: Proxy) -> None:
    with interlock.sync.Interlock(**settings) as client:
        assert client.guard("Read", {}, in_a_thread).value == "text"


@pytest.mark.parametrize(
    ("command", "report", "output"),
    [(["sh", "-c", "echo done"], OK, b"done\n"), (["sh", "-c", "echo no >&2; exit 3"], FAILED, b"no\n")],
    ids=["status 0", "status 3"],
)
def test_a_process_says_by_its_status_how_it_has_ended(
    settings: Any, proxy: Proxy, command: Any, report: Any, output: bytes
) -> None:
    with interlock.sync.Interlock(**settings) as client:
        client.guard("Read", {}, lambda: subprocess.run(command, capture_output=True, check=False))
        client.guard("Read", {}, lambda: interlock.Result("out", value=subprocess.run(command, capture_output=True, check=False)))
    assert told(proxy) == [report] * 2
    assert [r.output for r in proxy.reports] == [output, b"out"]


def test_a_process_that_still_runs_is_no_success(settings: Any, proxy: Proxy) -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as running, interlock.sync.Interlock(**settings) as client:
        client.guard("Read", {}, lambda: running)
        assert running.stdin
        running.stdin.close()
        running.wait()
        client.guard("Read", {}, lambda: running)
    assert [(r.ok, r.outcome_unknown, r.background) for r in proxy.reports] == [
        (True, True, f"process {running.pid}"), (True, False, ""),
    ]  # fmt: skip


async def test_a_process_of_the_event_loop(settings: Any, proxy: Proxy) -> None:
    async def tool() -> Any:
        process = await asyncio.create_subprocess_exec("sh", "-c", "exit 3")
        await process.wait()
        return process

    async with interlock.Interlock(**settings) as client:
        await client.guard("Read", {}, tool)
    assert told(proxy) == [FAILED]


# Streams

Made = Callable[[list[str]], Any]


def generator(log: list[str]) -> Any:
    def items() -> Iterator[str]:
        log.append("begun")
        try:
            yield "one"
            yield "two"
        finally:
            log.append("ended")

    return items


def asynchronous(log: list[str]) -> Any:
    async def items() -> AsyncIterator[str]:
        log.append("begun")
        try:
            yield "one"
            yield "two"
        finally:
            log.append("ended")

    return items


def returned(log: list[str]) -> Any:
    made = asynchronous(log)

    async def tool() -> Any:
        return made()

    return tool


def mapped(log: list[str]) -> Any:
    def each(item: str) -> str:
        if not log:
            log.append("begun")
        if item == "two":
            log.append("ended")
        return item

    return lambda: map(each, ["one", "two"])


KINDS = [generator, asynchronous, returned, mapped, lambda log: lambda: interlock.Result(value=generator(log)())]
IDS = ["generator", "async generator", "coroutine of one", "iterator", "in a Result"]


@pytest.mark.parametrize("kind", KINDS, ids=IDS)
async def test_a_stream_is_reported_when_it_has_ended(settings: Any, proxy: Proxy, kind: Made) -> None:
    log: list[str] = []
    async with interlock.Interlock(**settings) as client:
        result = await client.guard("Read", {}, kind(log))
        assert (log, told(proxy), len(proxy.checks)) == ([], [], 1)
        items = []
        async for item in result.value:
            items.append(item)
            assert told(proxy) == []
        assert items == ["one", "two"]
        assert (log, told(proxy)) == (["begun", "ended"], [OK])
        assert result.value.report.accounted
    assert (proxy.reports[0].output, proxy.reports[0].result_bytes) == (b"onetwo", 6)


@pytest.mark.parametrize("kind", [generator, mapped], ids=["generator", "iterator"])
def test_a_stream_without_an_event_loop(settings: Any, proxy: Proxy, kind: Made) -> None:
    log: list[str] = []
    with interlock.sync.Interlock(**settings) as client:
        result = client.guard("Read", {}, kind(log))
        assert (log, told(proxy)) == ([], [])
        assert list(result.value) == ["one", "two"]
        assert (log, told(proxy)) == (["begun", "ended"], [OK])
        assert list(result.value) == []
    assert told(proxy) == [OK]


def test_an_asynchronous_stream_needs_the_asynchronous_client(settings: Any, proxy: Proxy) -> None:
    with interlock.sync.Interlock(**settings) as client, pytest.raises(TypeError, match="asynchronous"):
        client.guard("Read", {}, asynchronous([]))
    assert told(proxy) == [FAILED]


@pytest.mark.parametrize("kind", [generator, asynchronous, returned], ids=IDS[:3])
async def test_a_stream_that_is_denied_does_not_begin(settings: Any, proxy: Proxy, kind: Made) -> None:
    log: list[str] = []
    async with interlock.Interlock(**settings) as client:
        with pytest.raises(interlock.Denied):
            await client.guard("Write", {}, kind(log))
    assert (log, told(proxy)) == ([], [])


@pytest.mark.parametrize("kind", [generator, asynchronous], ids=IDS[:2])
async def test_a_stream_that_is_closed_early_has_an_unknown_outcome(settings: Any, proxy: Proxy, kind: Made) -> None:
    log: list[str] = []
    async with interlock.Interlock(**settings) as client:
        async with (await client.guard("Read", {}, kind(log))).value as stream:
            assert await stream.__anext__() == "one"
        assert (log, told(proxy)) == (["begun", "ended"], [LEFT])
        await stream.aclose()
    assert told(proxy) == [LEFT]


@pytest.mark.parametrize("kind", [generator, asynchronous], ids=IDS[:2])
async def test_a_stream_that_is_left_by_break_has_an_unknown_outcome(settings: Any, proxy: Proxy, kind: Made) -> None:
    async with interlock.Interlock(**settings) as client:
        async for _ in (await client.guard("Read", {}, kind([]))).value:
            break
        gc.collect()
        assert await asyncio.to_thread(proxy.reported.wait, 30)
    assert told(proxy) == [LEFT]


def test_a_stream_without_an_event_loop_that_is_left(settings: Any, proxy: Proxy) -> None:
    log: list[str] = []
    with interlock.sync.Interlock(**settings) as client:
        for _ in client.guard("Read", {}, generator(log)).value:
            break
        gc.collect()
    assert (log, told(proxy)) == (["begun", "ended"], [LEFT])


async def test_a_stream_that_throws_is_reported_as_failed(settings: Any, proxy: Proxy) -> None:
    async def items() -> AsyncIterator[str]:
        yield "one"
        raise RuntimeError("it broke")

    async with interlock.Interlock(**settings) as client:
        result = await client.guard("Read", {}, items)
        with pytest.raises(RuntimeError, match="it broke"):
            [item async for item in result.value]
    assert told(proxy) == [FAILED]
    assert proxy.reports[0].output == b"one"


async def test_a_stream_whose_reader_is_cancelled_has_an_unknown_outcome(settings: Any, proxy: Proxy) -> None:
    begun = asyncio.Event()

    async def items() -> AsyncIterator[str]:
        begun.set()
        await asyncio.Event().wait()
        yield "never"

    async with interlock.Interlock(**settings) as client:
        stream = (await client.guard("Read", {}, items)).value
        task = asyncio.ensure_future(stream.__anext__())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert told(proxy) == [LEFT]


async def test_a_stream_that_nobody_reads_is_settled(settings: Any, proxy: Proxy) -> None:
    log: list[str] = []
    async with interlock.Interlock(**settings) as client:
        await client.guard("Read", {}, asynchronous(log))
        gc.collect()
        assert await asyncio.to_thread(proxy.reported.wait, 30)
        await (await client.guard("Read", {}, generator(log))).value.aclose()
    assert (log, told(proxy)) == ([], [NOT_MADE, NOT_MADE])


def test_a_stream_that_nobody_reads_is_settled_without_an_event_loop(settings: Any, proxy: Proxy) -> None:
    log: list[str] = []
    with interlock.sync.Interlock(**settings) as client:
        client.guard("Read", {}, generator(log))
        gc.collect()
    assert (log, told(proxy)) == ([], [NOT_MADE])


def test_a_stream_that_nobody_reads_is_settled_after_its_event_loop(settings: Any, proxy: Proxy) -> None:
    async def main() -> Any:
        async with interlock.Interlock(**settings) as client:
            return (await client.guard("Read", {}, asynchronous([]))).value

    stream = asyncio.run(main())
    del stream
    gc.collect()
    assert told(proxy) == [NOT_MADE]


async def test_values_that_are_there_are_no_streams(settings: Any, proxy: Proxy, tmp_path: Any) -> None:
    (tmp_path / "a").write_text("text")
    async with interlock.Interlock(**settings) as client:
        for value in (["a"], {"a": 1}, "text", range(3), (1, 2), (tmp_path / "a").open()):
            assert (await client.guard("Read", {}, lambda value=value: value)).value is value
            if hasattr(value, "close"):
                value.close()
    assert told(proxy) == [OK] * 6


async def test_items_of_a_stream_count_by_their_size(settings: Any, proxy: Proxy) -> None:
    async with interlock.Interlock(**settings) as client:
        result = await client.guard("Read", {}, lambda: iter([b"x" * 100_000, {"a": 1}, "é"]))
        assert len([item async for item in result.value]) == 3
    assert proxy.reports[0].result_bytes == 100_000 + len('{"a":1}\n') + 2
    assert len(proxy.reports[0].output) == (64 << 10) + 1
