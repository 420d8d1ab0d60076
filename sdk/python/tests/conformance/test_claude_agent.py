"""What the contract of adapters does not ask: how commands of Claude Code end, and which code it runs besides tools."""

from __future__ import annotations

import dataclasses
import json
import os
import uuid
from pathlib import Path
from typing import Any

import pytest
from interlock_server import Proxy, Server

if os.environ["ADAPTER"] != "claude-agent":
    pytest.skip("another framework", allow_module_level=True)

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, PermissionResultAllow, PermissionResultDeny, ResultMessage

import interlock
import interlock.sync
from conformance.claude_agent_driver import Api
from conformance.harness import Play
from interlock import claude_agent
from interlock.claude_agent import SKILL_COMMANDS_SINCE, _outcome, guarded, query, settle
from interlock.testing import Fake

NEW = claude_agent._version() >= SKILL_COMMANDS_SINCE
TOUCHING = {"allowed_tools": ["Bash", "Read"], "allowed_commands": ["touch"]}
RUNNING = {"allowed_tools": ["Bash", "Read", "TaskOutput", "TaskStop"]}
READING = {"allowed_tools": ["Read"]}


class Bench:
    """A conversation of Claude Code in a folder, and what its adapter has asked and reported."""

    def __init__(self, server: Server, proxy: Proxy, folder: Path, state: dict[str, Any]) -> None:
        self.proxy, self.folder, self.api = proxy, folder, Api()
        name = "claude-" + uuid.uuid4().hex
        workflow = {"id": name, "initial": "at", "states": {"at": {**state, "on": {"DONE": "over"}}, "over": {"type": "final"}}}
        (server.folder / "claude.json").write_text(json.dumps(workflow))
        server.cli("operator", "workflow", "register", str(server.folder / "claude.json"))
        given = {"server": proxy.address, "token": server.tokens["agent"], "session": name}
        with interlock.sync.Interlock(**given) as client:  # type: ignore[arg-type]
            client.load(name, workspace=str(folder))
        self.client = interlock.Interlock(**given)  # type: ignore[arg-type]

    def options(self, **more: Any) -> ClaudeAgentOptions:
        env = {
            "ANTHROPIC_BASE_URL": self.api.url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CONFIG_DIR": str(self.folder / ".config"),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1", "ENABLE_TOOL_SEARCH": "false",
        }  # fmt: skip
        given: dict[str, Any] = {"cwd": self.folder, "env": env, "setting_sources": [], "strict_mcp_config": True, **more}
        return guarded(ClaudeAgentOptions(**given), self.client)

    async def run(self, *calls: tuple[str, dict[str, Any]], prompt: str = "go", **more: Any) -> dict[str, str]:
        """Plays calls, one in a turn, and returns what the model read of each."""
        turns: list[Any] = [{"calls": [{"id": f"c{i}", "tool": t, "args": a}]} for i, (t, a) in enumerate(calls)]
        self.api.play = Play({"main": [*turns, {"text": "done"}]})
        async for _ in query(prompt=prompt, options=self.options(**more)):
            pass
        return self.api.play.reads

    async def close(self) -> None:
        await self.client.close()
        self.api.close()


@pytest.fixture
async def bench(server: Server, proxy: Proxy, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    made = Bench(server, proxy, tmp_path, getattr(request, "param", RUNNING))
    yield made
    await made.close()


async def test_how_commands_end(bench: Bench) -> None:
    (bench.folder / "sub").mkdir()
    (bench.folder / "a.txt").write_text("hello\n")
    (bench.folder / "slow.sh").write_text("read -t 4 < <(tail -f /dev/null); exit 1\n")
    reads = await bench.run(
        ("Bash", {"command": "cd sub && pwd"}),
        ("Bash", {"command": "pwd"}),
        ("Bash", {"command": "grep -q zzz ../a.txt"}),
        ("Bash", {"command": "exit 3"}),
        ("Bash", {"command": "bash ../slow.sh", "timeout": 1500}),
        ("Bash", {"command": "sleep 30", "run_in_background": True}),
    )
    assert len(reads) == 6
    assert [Path(check.folder).name for check in bench.proxy.checks[:2]] == [bench.folder.name, "sub"]
    ends = [(r.ok, r.outcome_unknown, bool(r.background)) for r in bench.proxy.reports]
    assert ends == [
        (True, False, False), (True, False, False), (False, False, False), (False, False, False), (True, True, True),
        (True, True, True),
    ]  # fmt: skip


ENDED = {"stdout": "", "stderr": "", "interrupted": False, "isImage": False}


@pytest.mark.parametrize(
    ("tool", "result", "ends"),
    [
        ("Bash", ENDED, (True, False, "", "")),
        ("Bash", {**ENDED, "backgroundTaskId": None, "returnCodeInterpretation": ""}, (True, False, "", "")),
        ("Bash", '{"backgroundTaskId":"b1"}', (True, False, "", "")),
        ("Bash", {**ENDED, "backgroundTaskId": "b1", "timedOutAfterMs": 1}, (True, True, "b1", "")),
        ("Bash", {**ENDED, "backgroundedByUser": True}, (True, True, "?", "")),
        ("Bash", {**ENDED, "assistantAutoBackgrounded": True}, (True, True, "?", "")),
        ("Bash", {**ENDED, "timedOutAfterMs": 1}, (True, True, "?", "")),
        ("Bash", {**ENDED, "interrupted": True}, (True, True, "", "")),
        ("Bash", {"interrupted": "yes"}, (True, True, "", "")),
        ("Bash", {**ENDED, "returnCodeInterpretation": "Files differ"}, (False, False, "", "")),
        ("PowerShell", {**ENDED, "backgroundTaskId": "b1"}, (True, True, "b1", "")),
        ("Bash", None, (True, False, "", "")),
        ("Read", {"interrupted": "never", "backgroundTaskId": "b1"}, (True, False, "", "")),
        ("mcp__x__Bash", [{"type": "text", "text": "backgroundTaskId"}], (True, False, "", "")),
        ("Monitor", {"taskId": "m1", "timeoutMs": 1}, (True, False, "m1", "")),
        ("Agent", {"status": "async_launched", "agentId": "a1"}, (True, False, "a1", "")),
        ("Agent", {"status": "completed", "agentId": "a1"}, (True, False, "", "")),
        (
            "TaskOutput",
            {"retrieval_status": "success", "task": {"task_id": "b1", "status": "completed"}},
            (True, False, "", "b1"),
        ),
        ("TaskOutput", {"task": {"task_id": "b1", "status": "running"}}, (True, False, "", "")),
        ("TaskOutput", {"status": "completed", "task": {"task_id": "b1", "status": "running"}}, (True, False, "", "")),
        ("BashOutput", {"shellId": "b1", "status": "killed"}, (True, False, "", "b1")),
        ("TaskStop", {"message": "x", "task_id": "b1"}, (True, False, "", "b1")),
        ("KillShell", "Killed", (True, False, "", "b9")),
        ("mcp__x__TaskStop", {"task_id": "b1"}, (True, False, "", "")),
    ],
)
def test_what_a_result_says(tool: str, result: Any, ends: Any) -> None:
    read = _outcome({"tool_name": tool, "tool_response": result, "tool_input": {"shell_id": "b9"}})
    assert (read.ok, read.unknown, read.background, read.background_ended) == ends


# Commands in the texts of skills


def write_commands(folder: Path) -> None:
    for name, text in {
        "commands/mark.md": "---\nallowed-tools: Bash(touch:*)\n---\nresult: !`touch marker`\n",
        "skills/marking/SKILL.md": "---\nname: marking\ndescription: Marks\nallowed-tools: Bash(touch:*)\n---\n!`touch marker`\n",
    }.items():
        (folder / ".claude" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / ".claude" / name).write_text(text)


@pytest.mark.parametrize(("bench", "runs"), [(TOUCHING, NEW), (READING, False)], ids=["allowed", "denied"], indirect=["bench"])
@pytest.mark.parametrize("prompt", ["/mark", "/marking"])
async def test_a_command_in_a_text_is_judged_or_does_not_run(bench: Bench, prompt: str, runs: bool) -> None:
    write_commands(bench.folder)
    await bench.run(prompt=prompt, setting_sources=["project"])
    assert (bench.folder / "marker").exists() == runs
    assert [(c.tool, c.input) for c in bench.proxy.checks] == ([("Bash", b'{"command":"touch marker"}')] if NEW else [])
    assert [(r.ok, r.outcome_unknown) for r in bench.proxy.reports] == ([(True, True)] if runs else [])


@pytest.mark.parametrize("given", ["", '{"model": "x"}', "settings.json"])
def test_commands_in_texts_are_switched_off(tmp_path: Path, given: str) -> None:
    (tmp_path / "settings.json").write_text('{"model": "x"}')
    with Fake() as fake, fake.sync_client() as client:
        options = ClaudeAgentOptions(cwd=tmp_path, settings=given or None, cli_path="/claude")
        made = guarded(options, client)
        kept = {**({"model": "x"} if given else {}), "env": {"CLAUDE_CODE_SIMPLE": "0"}}
        assert json.loads(made.settings or "") == {**kept, "disableSkillShellExecution": True}
        assert "PreSkillShellCommand" not in (made.hooks or {})
        asking = guarded(options, client, skill_commands=True)
        assert json.loads(asking.settings or "") == kept
        assert "PreSkillShellCommand" in (asking.hooks or {})
        assert json.loads(guarded(options, client, skill_commands=False).settings or "")["disableSkillShellExecution"] is True


@pytest.mark.parametrize(("bench", "runs"), [(TOUCHING, True), (READING, False)], ids=["allowed", "denied"], indirect=["bench"])
async def test_settings_that_switch_hooks_off_do_not_switch_these_off(bench: Bench, runs: bool) -> None:
    (bench.folder / ".claude").mkdir()
    (bench.folder / ".claude" / "settings.json").write_text('{"disableAllHooks": true}')
    await bench.run(("Bash", {"command": "touch marker"}), setting_sources=["project"], allowed_tools=["Bash"])
    assert len(bench.proxy.checks) == 1
    assert (bench.folder / "marker").exists() == runs


# Calls whose end is not said


def event(name: str, **more: Any) -> dict[str, Any]:
    base = {
        "hook_event_name": name,
        "session_id": "s1",
        "tool_name": "Bash",
        "tool_use_id": "t1",
        "tool_input": {"command": "x"},
        "cwd": "/r",
    }
    return {**base, **more}


async def fire(options: ClaudeAgentOptions, given: dict[str, Any]) -> Any:
    hook: Any = (options.hooks or {})[given["hook_event_name"]][0].hooks[0]  # type: ignore[index]
    return await hook(given, given.get("tool_use_id"), {"signal": None})


def reports(fake: Fake) -> list[tuple[bool, bool, bool]]:
    return [(r.ok, r.outcome_unknown, r.not_executed) for r in fake.reports]


async def test_a_call_that_permissions_refuse_is_given_back() -> None:
    with Fake() as fake:
        fake.allow("Bash")
        async with fake.client() as client:
            options = guarded(ClaudeAgentOptions(), client)
            await fire(options, event("PreToolUse"))
            await fire(options, event("PermissionDenied", reason="no"))
            await fire(options, event("PostToolUse", tool_response="late"))
        assert reports(fake) == [(False, False, True)]


@pytest.mark.parametrize(
    ("stop", "told"),
    [({}, 1), ({"session_id": "s2"}, 0), ({"agent_id": "a1"}, 0)],
    ids=["its own", "another conversation", "a subagent"],
)
async def test_a_call_that_has_not_ended_when_its_agent_stops_is_unknown(stop: dict[str, Any], told: int) -> None:
    with Fake() as fake:
        fake.allow("Bash")
        async with fake.client() as client:
            options = guarded(ClaudeAgentOptions(), client)
            await fire(options, event("PreToolUse"))
            await fire(options, event("Stop", **stop))
            assert reports(fake) == [(False, True, False)] * told
            await settle(dataclasses.replace(options, model="x"))
            assert reports(fake) == [(False, True, False)]


async def test_a_call_of_the_same_id_in_another_conversation_is_another() -> None:
    with Fake() as fake:
        fake.allow("Bash")
        async with fake.client() as client:
            options = guarded(ClaudeAgentOptions(), client)
            await fire(options, event("PreToolUse"))
            await fire(options, event("PostToolUse", session_id="s2", tool_response="x"))
            assert reports(fake) == []
            await fire(options, event("PostToolUse", tool_response="x"))
            assert reports(fake) == [(True, False, False)]


async def test_a_call_whose_arguments_were_changed_after_the_judgement_is_no_success() -> None:
    with Fake() as fake:
        fake.allow("Bash")
        async with fake.client() as client:
            options = guarded(ClaudeAgentOptions(), client)
            await fire(options, event("PreToolUse"))
            await fire(options, event("PostToolUse", tool_input={"command": "y"}, tool_response="x"))
            await fire(options, event("PreToolUse"))
            await fire(options, event("PostToolUse", tool_input={"command": "x", "added": 1}, tool_response="x"))
        assert reports(fake) == [(False, True, False), (True, False, False)]


async def test_arguments_are_those_that_were_judged() -> None:
    with Fake() as fake:
        fake.allow("Bash")
        async with fake.client() as client:
            given = event("PreToolUse")
            answer = await fire(guarded(ClaudeAgentOptions(), client), given)
            given["tool_input"]["command"] = "y"
            assert answer["hookSpecificOutput"]["updatedInput"] == {"command": "x"}
            assert fake.calls[0].folder == "/r"


async def test_a_subagent_of_claude_codes_own_is_judged(bench: Bench) -> None:
    bench.api.play = Play(
        {
            "main": [{"calls": [{"id": "c1", "delegate": "helper"}]}],
            "helper": [
                {"calls": [{"id": "h1", "tool": "Write", "args": {"file_path": str(bench.folder / "w"), "content": "x"}}]}
            ],
        }
    )
    bench.api.builtin = True
    async for message in query(prompt="go", options=bench.options(allowed_tools=["Agent", "Write"])):
        assert not isinstance(message, ResultMessage) or not message.is_error
    assert not (bench.folder / "w").exists()
    assert "TOOL_NOT_ALLOWED" in bench.api.play.reads.get("h1", "") + bench.api.play.reads.get("c1", "")


# The permissions and the hooks of the program

touching = pytest.mark.parametrize("bench", [TOUCHING], indirect=True)
TOUCH, OTHER, BAD = ({"command": command} for command in ("touch one", "touch two", "mkdir bad"))


def files(bench: Bench) -> set[str]:
    return {path.name for path in bench.folder.iterdir()} & {"one", "two", "bad"}


def ends(bench: Bench) -> list[tuple[bool, bool, bool]]:
    return [(r.ok, r.outcome_unknown, r.not_executed) for r in bench.proxy.reports]


async def streamed() -> Any:
    yield {"type": "user", "message": {"role": "user", "content": "go"}}


def hooked(event: Any, answer: dict[str, Any]) -> Any:
    async def hook(given: Any, tool_use_id: Any, context: Any) -> Any:
        named = answer.get("hookSpecificOutput")
        return {**answer, "hookSpecificOutput": {"hookEventName": event, **named}} if named else answer

    return {event: [HookMatcher(hooks=[hook])]}


def permitting(answer: Any) -> Any:
    async def can_use_tool(tool: str, given: Any, context: Any) -> Any:
        return answer

    return can_use_tool


RULES = json.dumps({"permissions": {"ask": ["Bash(touch one)"], "allow": ["Bash(mkdir:*)", "Bash(touch two)"]}})
GIVEN_UP, RAN = (False, False, True), (True, False, False)


@touching
@pytest.mark.parametrize(
    ("answer", "ran", "told"),
    [
        (PermissionResultAllow(), {"one"}, [RAN]),
        (PermissionResultAllow(updated_input=BAD), set(), [GIVEN_UP]),
        (PermissionResultAllow(updated_input=OTHER), {"two"}, [GIVEN_UP, RAN]),
        (PermissionResultDeny(message="no"), set(), [GIVEN_UP]),
    ],
    ids=["allows", "changes to what is denied", "changes", "denies"],
)
@pytest.mark.parametrize("by", ["can_use_tool", "PermissionRequest"])
async def test_what_the_permissions_of_the_program_change_is_judged(
    bench: Bench, by: str, answer: Any, ran: set[str], told: Any
) -> None:
    if by == "can_use_tool":
        more: dict[str, Any] = {"can_use_tool": permitting(answer)}
    else:
        changed = getattr(answer, "updated_input", None)
        decision = {"behavior": answer.behavior, **({"updatedInput": changed} if changed else {})}
        more = {"hooks": hooked("PermissionRequest", {"hookSpecificOutput": {"decision": decision}})}
    await bench.run(("Bash", TOUCH), prompt=streamed(), settings=RULES, permission_mode="acceptEdits", **more)
    assert files(bench) == ran
    if by == "can_use_tool":
        assert ends(bench) == told


@touching
@pytest.mark.parametrize(
    "answer",
    [
        {"hookSpecificOutput": {"permissionDecision": "ask"}},
        {"hookSpecificOutput": {"permissionDecision": "allow"}},
        {"hookSpecificOutput": {"permissionDecision": "defer"}},
        {"continue_": False, "stopReason": "enough"},
        {"decision": "block", "reason": "no"},
        {"decision": "approve"},
        {"async_": True},
        {},
    ],
    ids=str,
)
async def test_no_answer_of_another_hook_has_a_denied_call_run(bench: Bench, answer: dict[str, Any]) -> None:
    yes = permitting(PermissionResultAllow())
    await bench.run(
        ("Bash", BAD), prompt=streamed(), can_use_tool=yes, hooks=hooked("PreToolUse", answer), allowed_tools=["Bash"],
        permission_mode="acceptEdits",
    )  # fmt: skip
    assert files(bench) == set()


@touching
async def test_a_call_that_another_hook_asks_about_runs_and_is_reported(bench: Bench) -> None:
    asks = hooked("PreToolUse", {"hookSpecificOutput": {"permissionDecision": "ask"}})
    await bench.run(("Bash", TOUCH), prompt=streamed(), can_use_tool=permitting(PermissionResultAllow()), hooks=asks)
    assert (files(bench), ends(bench)) == ({"one"}, [RAN])


# A Claude Code that runs no hooks

SIMPLE = {"CLAUDE_CODE_SIMPLE": "1"}


@pytest.mark.parametrize(
    "given",
    [
        {"extra_args": {"bare": None}},
        {"env": SIMPLE},
        {"env": {"CLAUDE_CODE_SIMPLE": " True "}},
        {"settings": json.dumps({"env": SIMPLE})},
        {"permission_prompt_tool_name": "mcp__x__ask"},
    ],
    ids=str,
)
async def test_options_that_leave_the_hooks_out_are_refused(given: dict[str, Any]) -> None:
    with Fake() as fake, pytest.raises(TypeError, match="Interlock cannot judge"):
        guarded(ClaudeAgentOptions(**given), fake.client())


async def test_options_that_leave_the_hooks_out_later_are_refused() -> None:
    with Fake() as fake:
        made = dataclasses.replace(guarded(ClaudeAgentOptions(), fake.client()), extra_args={"bare": None})
        with pytest.raises(TypeError, match="runs no hooks"):
            async for _ in query(prompt="go", options=made):
                pass


@touching
@pytest.mark.parametrize("by", ["env", "a settings file", "disableAllHooks"])
async def test_what_a_folder_says_switches_no_hook_off(bench: Bench, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (bench.folder / ".claude").mkdir()
    said = {"disableAllHooks": True} if by == "disableAllHooks" else {"env": SIMPLE}
    (bench.folder / ".claude" / "settings.json").write_text(json.dumps(said))
    made = bench.options

    def options(**more: Any) -> ClaudeAgentOptions:
        given = made(**more)
        given.env.update(SIMPLE if by == "env" else {})
        return given

    monkeypatch.setattr(bench, "options", options)
    await bench.run(("Bash", BAD), permission_mode="acceptEdits", setting_sources=["project"])
    assert files(bench) == set()
    assert len(bench.proxy.checks) == 1
