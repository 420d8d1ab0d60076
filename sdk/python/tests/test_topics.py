"""Topics of the client that the table does not have: definitions, processes, components, agents, sessions, watches. And the words."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import AsyncIterator
from datetime import datetime, timedelta, timezone
from typing import Any, get_args

import pytest
from interlock_server import ROOT, Proxy, Server

import interlock
import interlock.sync
from interlock import _convert, _ids, types
from interlock.gen.approval.v1 import approval_pb2
from interlock.gen.engine.v1 import run_pb2, schedule_pb2
from interlock.gen.policy.v1 import decision_pb2
from interlock.gen.state.v1 import session_pb2

WORDS: list[tuple[Any, Any, str, set[str]]] = [
    (types.DecisionValue, decision_pb2.Decision, "DECISION_", {""}),
    (types.DecisionCode, decision_pb2.DecisionCode, "DECISION_CODE_", set()),
    (types.RunStatus, run_pb2.RunStatus, "RUN_STATUS_", set()),
    (types.BranchStatus, run_pb2.BranchStatus, "BRANCH_STATUS_", set()),
    (types.SessionStatus, session_pb2.SessionStatus, "SESSION_STATUS_", set()),
    (types.StateUpdate, session_pb2.StateUpdateStatus, "STATE_UPDATE_STATUS_", set()),
    (types.ApprovalStatus, approval_pb2.ApprovalStatus, "APPROVAL_STATUS_", set()),
    (types.ApprovalKind, approval_pb2.ApprovalKind, "APPROVAL_KIND_", set()),
]


@pytest.mark.parametrize(("words", "enum", "prefix", "never"), WORDS, ids=[prefix for _, _, prefix, _ in WORDS])
def test_the_words_are_those_of_the_contract(words: Any, enum: Any, prefix: str, never: set[str]) -> None:
    assert set(get_args(words)) == {_convert.word(enum, value, prefix) for value in enum.values()} - never


@pytest.mark.parametrize(
    ("words", "enum", "prefix", "never"),
    [
        (types.ScheduleStatus, schedule_pb2.ScheduleStatus, "SCHEDULE_STATUS_", set()),
        (types.ScheduleResult, schedule_pb2.ScheduleResult, "SCHEDULE_RESULT_", set()),
        (types.MissedTimes, schedule_pb2.MissedTimes, "MISSED_TIMES_", {""}),
        (types.ScheduleOverlap, schedule_pb2.ScheduleOverlap, "SCHEDULE_OVERLAP_", {""}),
    ],
)
def test_the_words_of_schedules_are_those_of_the_contract(words: Any, enum: Any, prefix: str, never: set[str]) -> None:
    assert set(get_args(words)) == {_convert.word(enum, value, prefix).lower() for value in enum.values()} - never


@pytest.fixture
def name() -> str:
    return "topic-" + _ids.idempotency_key()


@pytest.fixture
async def operator(server: Server, name: str) -> AsyncIterator[interlock.Interlock]:
    async with interlock.Interlock(server.grpc, token=server.tokens["operator"], session=name) as client:
        yield client


@pytest.fixture
async def agent(server: Server, name: str) -> AsyncIterator[interlock.Interlock]:
    async with interlock.Interlock(server.grpc, token=server.tokens["agent"], session=name) as client:
        yield client


def workflow(name: str, **more: Any) -> dict[str, Any]:
    return {
        "id": name,
        "initial": "at",
        "states": {"at": {"on": {"GO": "at", "DONE": "over"}}, "over": {"type": "final"}},
        **more,
    }


async def test_a_process(agent: interlock.Interlock, operator: interlock.Interlock, name: str) -> None:
    definition = json.loads((ROOT / "examples" / "release-check.json").read_text()) | {"name": name}
    made = await operator.register_process(json.dumps(definition))
    assert (made.name, made.version, made.created) == (name, 1, True)
    assert (await agent.get_process(name)).definition["name"] == name
    first = await agent.start_process(name, idempotency_key=name)
    assert first.question == "Have all tests passed?"
    assert (await agent.get_question()).question == first.question
    assert (await agent.start_process(name, idempotency_key=name)).run.id == first.run.id
    with pytest.raises(interlock.Rejected):
        await agent.answer_question("perhaps")
    assert (await agent.answer_question(first.answers[0])).question != first.question


async def test_policies(operator: interlock.Interlock, agent: interlock.Interlock, name: str) -> None:
    await operator.register_workflow(workflow(name))
    limit = {"name": name, "rate_limits": [{"capability": "*", "max_calls": 1, "window_seconds": 3600}]}
    assert (await operator.register_policy({"name": name, "role": "agent", "deny": [{"capability": "tool:Write"}]})).created
    attached = await operator.attach_policy(name, interlock.Attachment("workflow", name))
    assert attached.name == name
    assert name in {policy.name async for policy in operator.list_policies()}
    assert name in {found.name async for found in operator.list_workflows()}
    await agent.load(name)
    assert (await agent.check("Write", {"file_path": "a", "content": "b"})).code == "POLICY_DENIED"
    assert (await operator.attach_policy(name, interlock.Attachment("group", "nobody"))).name == name
    await operator.detach_policy(name, interlock.Attachment("group", "nobody"), interlock.Attachment("workflow", name))
    assert (await agent.check("Write", {"file_path": "a", "content": "b"})).allowed
    assert await operator.policy_usage(name) == ()
    with pytest.raises(interlock.Fault) as wrong:
        await operator.register_policy(limit)
    assert wrong.value.violations


async def test_components(operator: interlock.Interlock, agent: interlock.Interlock, name: str) -> None:
    made = await operator.create_component(
        {
            "slug": name,
            "name": "notes",
            "schema_definition": {"n": {"type": "integer"}},
            "persistence": "session",
            "initial_values": {"n": 1},
        }
    )
    assert (made.slug, made.persistence) == (name, "SESSION")
    assert (await agent.get_component(name)).slug == name
    assert name in {component.slug async for component in agent.list_components()}
    await agent.create_session(name)
    begun = await agent.begin_execution(name)
    assert begun.values == {"n": 1}
    done = await agent.commit_execution(begun.id, {"n": 2})
    assert done.values == {"n": 2}
    assert (await agent.component_values(name)).values == {"n": 2}
    again = await agent.begin_execution(name)
    assert (await agent.commit_execution(again.id, merge_patch={"n": 3})).values == {"n": 3}
    third = await agent.begin_execution(name)
    patched = await agent.commit_execution(third.id, patch=[interlock.patch.replace("/n", 4)])
    assert patched.values == {"n": 4}
    await operator.delete_component(name)


async def test_a_schedule_is_read_as_it_was_written(operator: interlock.Interlock, agent: interlock.Interlock, name: str) -> None:
    await operator.register_workflow(workflow(name))
    spec = interlock.ScheduleSpec(
        name=name, workflow=name, cron="0 7 29 2 *", zone="Europe/Berlin", workflow_version=1, missed="all",
        overlap="allow", session_prefix=name + "-leap", context={"of": "yesterday"}, workspace="/work",
        until=datetime(2096, 2, 29, 12, tzinfo=timezone.utc),
    )  # fmt: skip
    made = await operator.create_schedule(spec, paused=True)
    assert (made.spec, made.version, made.status, made.created_by, made.last) == (spec, 1, "paused", "operator", None)
    started = await operator.trigger_schedule(spec.name)
    assert (await agent.get_run(started.run_id)).schedule == spec.name
    assert started.schedule.last_run_id == started.run_id
    last = (await operator.get_schedule(spec.name)).last
    assert last
    assert (last.result, last.count, last.run_id, last.session_id) == ("started", 1, started.run_id, started.session_id)
    times = await operator.schedule_times(spec.name, count=2)
    assert [at.strftime("%m-%d %H:%M") for at in times] == ["02-29 06:00"] * 2
    with pytest.raises(ValueError, match="missed must be one of skip, once, all, not 'never'"):
        await operator.create_schedule(dataclasses.replace(spec, missed="never"))  # type: ignore[arg-type]
    await operator.delete_schedule(spec.name, expected_version=1)


async def test_a_set_is_applied_in_one_commit_and_can_wait_as_a_shadow(
    operator: interlock.Interlock, agent: interlock.Interlock, name: str
) -> None:
    def rules(tool: str) -> dict[str, object]:
        return {"name": name, "role": "agent", "default": "allow", "deny": [{"capability": f"tool:{tool}"}]}

    first = await operator.register_policy(rules("WebFetch"), staged=True)
    with pytest.raises(interlock.Fault, match="NOT_FOUND"):
        await operator.get_policy(name)
    places = (interlock.Attachment("session", name),)
    change = interlock.SetChange("policy", name, first.version, attachments=places)
    made = await operator.apply_set(name, change, repo="git.example.com/shop", commit="abc")
    assert (made.version, made.repo, made.commit, made.applied_by, made.shadow) == (
        1,
        "git.example.com/shop",
        "abc",
        "operator",
        None,
    )
    assert made.objects == (interlock.SetObject("policy", name, 1, first.digest, True),)
    second = await operator.register_policy(rules("WebSearch"), staged=True)
    change = interlock.SetChange("policy", name, second.version, expected_version=1)
    with pytest.raises(interlock.Fault, match="VERSION_CONFLICT"):
        await operator.apply_set(name, change)
    waits = await operator.apply_set(name, change, expected_version=1, shadow=timedelta(hours=1))
    assert waits.shadow
    assert waits.shadow.objects == (interlock.ShadowedObject("policy", name, 2, second.digest, 1, None, True),)
    assert waits.shadow.until
    assert waits.shadow.started_at
    assert waits.shadow.until - waits.shadow.started_at == timedelta(hours=1)
    assert (await operator.get_policy(name)).version == 1
    with pytest.raises(interlock.Fault, match="FAILED_PRECONDITION"):
        await operator.apply_set(name, change, expected_version=2)
    assert (await operator.apply_set(name, change, expected_version=2, now=True)).shadow is None
    assert (await operator.get_policy(name)).version == 2
    assert (await operator.get_set(name)).objects[0].version == 2
    assert name in {found.name for found in await operator.list_sets()}
    with pytest.raises(interlock.Fault, match="PERMISSION_DENIED"):
        await agent.apply_set(name, change, expected_version=3)
    with pytest.raises(ValueError, match="kind must be one of workflow, process, policy, schema, component, not 'agent'"):
        await operator.apply_set(name, interlock.SetChange("agent", name))  # type: ignore[arg-type]


async def test_agents_and_sessions(operator: interlock.Interlock, agent: interlock.Interlock, name: str) -> None:
    made = await operator.create_agent(name, instructions="Be brief.", tool_refs=["Read"])
    assert (made.name, made.tool_refs) == (name, ("Read",))
    assert (await operator.update_agent(name, instructions="Be long.", expected_version=made.version)).instructions == "Be long."
    assert name in {found.name async for found in agent.list_agents()}
    session = await agent.create_session(name, agent=name)
    assert (await agent.get_session()).id == session.id
    assert name in {found.name async for found in agent.list_sessions()}
    stopped = await agent.stop_session(end=True, result={"answer": 42})
    assert stopped.session.status == "ENDED"
    assert await agent.session_result() == {"answer": 42}
    await operator.delete_agent(name)


async def test_a_state_is_forced_where_the_workflow_permits_it(
    operator: interlock.Interlock, agent: interlock.Interlock, name: str
) -> None:
    await operator.register_workflow(workflow(name, meta={"debug": True}))
    await operator.register_workflow(workflow(name + "-x"))
    run = await agent.load(name)
    assert (await operator.force_state(run.id, "over")).status == "COMPLETED"
    other = await agent.load(name + "-x")
    with pytest.raises(interlock.Rejected) as refused:
        await operator.force_state(other.id, "over")
    assert refused.value.code == "DEBUG_DISABLED"


async def test_what_changes_is_watched(
    server: Server, operator: interlock.Interlock, agent: interlock.Interlock, name: str
) -> None:
    definition = workflow(name)
    definition["states"]["at"]["on"]["DONE"] = {"target": "over", "requires_approval": True}
    await operator.register_workflow(definition)
    await agent.load(name)
    run = agent.watch_run()
    assert (await run.__anext__()).state == "at"
    with pytest.raises(interlock.AwaitingApproval) as asks:
        await agent.transition("DONE")
    async with interlock.Interlock(server.grpc, token=server.tokens["approver"]) as approver:
        await approver.decide_approval(asks.value.approval_id, True)
    seen = [r.status async for r in run]
    assert seen[-1] == "COMPLETED"
    assert [lease async for lease in operator.list_leases(asks.value.run.id if asks.value.run else "")] == []


async def test_a_watch_of_approvals_misses_none_when_it_is_broken(
    server: Server, proxy: Proxy, operator: interlock.Interlock, agent: interlock.Interlock, name: str
) -> None:
    definition = workflow(name)
    definition["states"]["at"]["on"]["DONE"] = {"target": "over", "requires_approval": True}
    await operator.register_workflow(definition)
    await agent.load(name)
    with pytest.raises(interlock.AwaitingApproval) as asks:
        await agent.transition("DONE")
    broken: list[Any] = [None]

    class Cut(interlock.Interlock):
        async def _stream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            for one in broken:
                yield one

    async with Cut(server.grpc, token=server.tokens["operator"]) as watching:
        assert asks.value.approval_id in {approval.id async for approval in watching.watch_approvals()}


def test_a_run_that_is_waited_for_in_vain(server: Server, name: str) -> None:
    with interlock.sync.Interlock(server.grpc, token=server.tokens["agent"], session=name) as client:
        client.register_workflow(workflow(name))
        client.load(name)
        with pytest.raises(interlock.Fault) as late:
            client.wait_run(timeout=0.2)
    assert (late.value.reason, late.value.retriable) == ("DEADLINE_EXCEEDED", True)


# Settings


@pytest.mark.parametrize(
    "server", ["http://127.0.0.1:7420", "HTTPS://u:p@engine:7421/x", "grpc://engine:1", "127.0.0.1:1,http://127.0.0.1:2"]
)
def test_an_address_of_another_protocol_says_what_to_give(server: str) -> None:
    with pytest.raises(interlock.ConfigurationError, match="gRPC services without a scheme") as caught:
        interlock.Interlock(server)
    assert "TLS the token" not in str(caught.value)
    assert "u:p" not in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_settings_do_not_show_the_token() -> None:
    client = interlock.Interlock(token="ilk_secret")
    assert "ilk_secret" not in repr(client._settings)
    assert "ilk_secret" not in repr(client)


@pytest.mark.parametrize(
    ("error", "retriable"),
    [
        (interlock.Fault("UNAVAILABLE", ""), True),
        (interlock.Fault("VERSION_CONFLICT", ""), True),
        (interlock.Fault("LIMIT_REACHED", "", retry_after=1.0), True),
        (interlock.Fault("LIMIT_REACHED", ""), False),
        (interlock.Fault("INVALID_REQUEST", ""), False),
        (interlock.Fault("NOT_FOUND", ""), False),
        (interlock.Denied("POLICY_DENIED", ""), False),
        (interlock.Unavailable(""), False),
        (interlock.ConfigurationError("UNAUTHENTICATED", ""), False),
        (interlock.AwaitingApproval("APPROVAL_REQUIRED", "", approval_id="a"), False),
        (interlock.ReportError("c", interlock.Fault("UNAVAILABLE", "")), True),
        (interlock.ReportError("c", interlock.Fault("INTERNAL", "")), False),
    ],
)
def test_what_may_succeed_the_next_time(error: interlock.InterlockError, retriable: bool) -> None:
    assert error.retriable == retriable


def test_a_denial_for_want_of_an_answer_is_as_retriable_as_its_cause() -> None:
    for reason, retriable in (("UNAVAILABLE", True), ("IDEMPOTENCY_MISMATCH", False)):
        error = interlock.Unavailable("")
        error.__cause__ = interlock.Fault(reason, "")
        assert error.retriable == retriable


async def test_a_client_without_a_session_says_how_to_give_one(server: Server) -> None:
    async with interlock.Interlock(server.grpc, token=server.tokens["agent"]) as client:
        with pytest.raises(interlock.ConfigurationError, match="INTERLOCK_SESSION"):
            await client.guard("Read", {}, lambda: pytest.fail("it ran"))
        assert (await client.ping()).run is None


async def test_a_server_with_tls_is_named_as_a_cause(proxy: Proxy) -> None:
    async with interlock.Interlock("127.0.0.1:1", token="t", timeout=0.2) as client:
        with pytest.raises(interlock.Fault, match=r"127\.0\.0\.1:1, without TLS") as away:
            await client.ping()
    assert away.value.retriable
