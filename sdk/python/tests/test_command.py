"""Commands in jails: what is asked, and what is to be executed."""

from __future__ import annotations

import json
import os
import subprocess
from typing import Any

import pytest
from interlock_server import BINARY, Server

import interlock
import interlock.sync
from interlock import _command
from interlock.testing import Fake

WORKFLOW = {
    "id": "commanding",
    "initial": "reading",
    "states": {"reading": {"allowed_tools": ["Bash"], "on": {"DONE": "done"}}, "done": {"type": "final"}},
}


async def test_a_line_is_judged_as_the_shells(interlock_fake: Fake) -> None:
    fake = interlock_fake
    fake.allow("Bash")
    fake.allow("shell")
    jailed = await fake.client(jail_level=3).guard_command(["echo", "a b"], folder="/w")
    assert jailed.argv == (
        "interlock", "jail", "--run", jailed.decision.run_id, "--call", jailed.decision.call_id, "--", "echo 'a b'",
    )  # fmt: skip
    assert jailed.jail == interlock.Jail(3, "sha256:of-the-fake")
    named = fake.sync_client(jail_level=1, jail_program="/opt/interlock").guard_command("true", tool="shell")
    assert named.argv[0] == "/opt/interlock"
    assert named.jail
    assert named.jail.level == 1
    plain = await fake.client().guard_command("echo 'a b'")
    assert plain.argv == ("/bin/bash", "--noprofile", "--norc", "-c", "echo 'a b'")
    assert plain.jail is None
    fake.no_jail()
    assert (await fake.client(jail_level=3).guard_command("true")).argv[0] == "/bin/bash"
    assert [(c.tool, c.args, c.folder, c.jail_level) for c in fake.calls] == [
        ("Bash", {"command": "echo 'a b'"}, "/w", 3),
        ("shell", {"command": "true"}, "", 1),
        ("Bash", {"command": "echo 'a b'"}, "", 0),
        ("Bash", {"command": "true"}, "", 3),
    ]


async def test_what_is_refused(interlock_fake: Fake) -> None:
    fake = interlock_fake
    client = fake.client(jail_level=3)
    with pytest.raises(interlock.Denied):
        await client.guard_command("true")
    fake.ask("Bash")
    with pytest.raises(interlock.AwaitingApproval):
        await client.guard_command("true")
    fake.allow("Bash")
    before = len(fake.calls)
    with pytest.raises(interlock.Denied) as denied:
        await fake.client().guard_command("true", required=True)
    assert denied.value.code == "JAIL_REQUIRED"
    assert len(fake.calls) == before
    fake.no_jail()
    with pytest.raises(interlock.Denied) as denied:
        await client.guard_command("true", required=True)
    assert denied.value.code == "JAIL_REQUIRED"
    assert [report.not_executed for report in fake.reports] == [True]


@pytest.mark.parametrize(
    ("text", "level"),
    [
        (b'{"level": 3}', 3),
        (b'{"level": 2, "missing": "x"}', 2),
        (b'{"level": 9}', 3),
        (b'{"level": "3"}', 0),
        (b"[]", 0),
        (b"", 0),
    ],
)
def test_an_answer_that_cannot_be_read_is_no_jail(text: bytes, level: int) -> None:
    assert _command.level_of(text) == level


@pytest.mark.parametrize("program", ["/no/such/program", "/bin/echo", "/bin/false"])
async def test_another_program_has_no_jail(interlock_fake: Fake, program: str) -> None:
    interlock_fake.allow("Bash")
    settings: dict[str, Any] = {"jail_program": program, "jail_level": None}
    assert (await interlock_fake.client(**settings).guard_command("true")).jail is None
    assert interlock_fake.sync_client(**settings).guard_command("true").jail is None


def test_a_shell_reads_the_words_that_were_given() -> None:
    words = ["", "a b", "it's", "$HOME", "`x`", "a\nb", "*", "~", "-n", "\\", "ä", "a;b", "#x", "=", "!x", '"', "{a,b}"]
    out = subprocess.run(["/bin/sh", "-c", "printf '%s\\0' " + _command.line_of(words)], capture_output=True, check=True).stdout
    assert out.decode().split("\0")[:-1] == words


def test_a_command_runs_once_in_its_jail(server: Server) -> None:
    if _command.probed(str(BINARY)) < 3:
        pytest.skip("this machine has no jail")
    (server.folder / "commanding.json").write_text(json.dumps(WORKFLOW))
    server.cli("operator", "workflow", "register", str(server.folder / "commanding.json"))
    work = server.folder / "work"
    work.mkdir()
    with interlock.sync.Interlock(server.grpc, token=server.tokens["operator"], session="commanding") as operator:
        operator.load("commanding", workspace=str(work))
    settings: dict[str, Any] = {"token": server.tokens["agent"], "session": "commanding", "jail_program": str(BINARY)}
    env = {**os.environ, "INTERLOCK_DATA": str(server.folder / "data")}
    with interlock.sync.Interlock(server.grpc, **settings) as client:
        command = client.guard_command('python3 -c \'open("made", "w")\'; ls', folder=work, required=True)
        ran = subprocess.run(command.argv, cwd=work, env=env, capture_output=True, text=True)
        assert (ran.returncode, ran.stdout) == (0, "made\n"), ran.stderr
        assert list(work.iterdir()) == []
        assert client.report(command.decision, interlock.Result(ran.stdout)).accounted
        again = subprocess.run(command.argv, cwd=work, env=env, capture_output=True, text=True)
        assert again.returncode == 126
        assert "was not run" in again.stderr
