"""The fake that users test their own programs with: the examples of docs/sdk.md run, and the client above it is the real one."""

from __future__ import annotations

import asyncio
import threading
from typing import TYPE_CHECKING, Any

import pytest

import interlock
import interlock.sync

if TYPE_CHECKING:
    from interlock.testing import Fake


async def test_what_no_rule_is_for_is_denied(interlock_fake: Fake) -> None:
    async with interlock_fake.client() as client:
        with pytest.raises(interlock.Denied, match="no rule in the fake") as caught:
            await client.guard("Edit", {}, lambda: pytest.fail("it ran"))
    assert caught.value.code == "TOOL_NOT_ALLOWED"
    assert [(c.tool, c.decision) for c in interlock_fake.calls] == [("Edit", "DENY")]
    assert interlock_fake.reports == []


async def test_what_is_allowed_runs_and_is_reported(interlock_fake: Fake) -> None:
    interlock_fake.allow("Edit")
    async with interlock_fake.client() as client:
        result = await client.guard(
            "Edit", {"file_path": "a"}, lambda: interlock.Result("edited", files_changed=["a"]), folder="/r"
        )
    assert result.report is not None
    assert result.report.accounted
    (call,), (report,) = interlock_fake.calls, interlock_fake.reports
    assert (call.args, call.folder, call.session) == ({"file_path": "a"}, "/r", "fake")
    assert (report.ok, report.output, report.files_changed, report.accounted) == (True, b"edited", ("a",), True)
    assert interlock_fake.open_calls == []


@pytest.mark.parametrize(
    ("rule", "tool", "runs"), [("mcp__*", "mcp__a__b", True), ("mcp__*", "mcp", False), ("*", "x", True), ("E", "Edit", False)]
)
async def test_names_of_tools(interlock_fake: Fake, rule: str, tool: str, runs: bool) -> None:
    interlock_fake.allow(rule)
    async with interlock_fake.client() as client:
        assert (await client.check(tool)).allowed == runs


async def test_the_newest_rule_decides(interlock_fake: Fake) -> None:
    interlock_fake.allow("*")
    interlock_fake.deny("Bash", code="COMMAND_NOT_ALLOWED", message="make is not allowed")
    async with interlock_fake.client() as client:
        denied = await client.check("Bash")
        assert (denied.decision, denied.code, denied.message) == ("DENY", "COMMAND_NOT_ALLOWED", "make is not allowed")
        interlock_fake.allow("Bash")
        assert (await client.check("Bash")).allowed
    with pytest.raises(ValueError, match="no code"):
        interlock_fake.deny("Bash", code="WHATEVER")  # type: ignore[arg-type]


async def test_approvals(interlock_fake: Fake) -> None:
    interlock_fake.ask("Deploy")
    async with interlock_fake.client() as client:
        with pytest.raises(interlock.AwaitingApproval) as asks:
            await client.guard("Deploy", {"to": "test"}, lambda: pytest.fail("it ran"))
        waiting = asyncio.ensure_future(client.wait_approval(asks.value.approval_id))
        interlock_fake.approve(asks.value.approval_id)
        assert (await waiting).granted
        other = await client.check("Deploy", {"to": "production"})
        assert (other.decision, other.code) == ("ASK", "APPROVAL_REQUIRED")
        assert (await client.check("Deploy", {"to": "production"})).code == "APPROVAL_PENDING"
        assert (await client.guard("Deploy", {"to": "test"}, lambda: "deployed")).value == "deployed"
        assert (await client.check("Deploy", {"to": "test"})).decision == "ASK"
        interlock_fake.reject(other.approval_id, note="not today")
        rejected = await client.check("Deploy", {"to": "production"})
        assert (rejected.decision, rejected.message) == ("DENY", "a human has rejected this call: not today")
    with pytest.raises(ValueError, match="does not wait"):
        interlock_fake.approve("apr_other")


async def test_down_and_up(interlock_fake: Fake) -> None:
    interlock_fake.allow("Edit")
    interlock_fake.down()
    async with interlock_fake.client() as client:
        with pytest.raises(interlock.Unavailable) as caught:
            await client.guard("Edit", {}, lambda: pytest.fail("it ran"))
        assert caught.value.retriable
        interlock_fake.up()
        assert (await client.check("Edit")).allowed


def test_the_environment_is_that_of_the_fake(interlock_fake: Fake) -> None:
    interlock_fake.allow("Edit")
    with interlock.sync.Interlock.from_env() as client:
        run = client.load("anything")
        assert client.guard("Edit", {}, lambda: "done").value == "done"
        assert client.transition("READY").id == run.id
        assert client.get_run().allows("anything")
    assert interlock_fake.events == ["READY"]


async def test_a_call_that_is_left_is_seen(interlock_fake: Fake) -> None:
    interlock_fake.allow("Edit")
    begun = asyncio.Event()

    async def tool() -> None:
        begun.set()
        await asyncio.Event().wait()

    async with interlock_fake.client() as client:
        task = asyncio.ensure_future(client.guard("Edit", {}, tool))
        await begun.wait()
        assert [c.tool for c in interlock_fake.open_calls] == ["Edit"]
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert [(r.ok, r.outcome_unknown) for r in interlock_fake.reports] == [(False, True)]


async def test_what_the_fake_does_not_do_says_so(interlock_fake: Fake) -> None:
    async with interlock_fake.client() as client:
        with pytest.raises(interlock.Fault) as caught:
            await client.pause_run()
    assert caught.value.reason == "UNIMPLEMENTED"


def test_a_call_that_is_repeated_is_one() -> None:
    from interlock.testing import Fake

    with Fake() as fake, fake.sync_client() as client:
        fake.allow("Edit")
        first, second = (client.check("Edit", {}, call_id="call_1") for _ in range(2))
        assert first == second
        threads: list[Any] = [threading.Thread(target=client.report, args=(first,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(fake.calls), len(fake.reports)) == (1, 1)
