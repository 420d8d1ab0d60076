"""Calls while no connection can be made: docs/breakglass.md."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

import interlock
from interlock import _glass
from interlock.errors import fault_of
from interlock.testing import Fake

KEY = Ed25519PrivateKey.generate()
PUBLIC = KEY.public_key()
KID = hashlib.sha256(PUBLIC.public_bytes_raw()).hexdigest()
KINDS = [interlock.Interlock, interlock.sync.Interlock]


def encoded(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def same(text: str) -> str:
    return text


class Ground:
    """A folder with grants, an address where nobody listens, and one that closes each connection."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.serial = folder, 0
        with socket.socket() as gone:
            gone.bind(("127.0.0.1", 0))
            self.away = f"127.0.0.1:{gone.getsockname()[1]}"
        self.closing = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.close_all, daemon=True).start()

    def close_all(self) -> None:
        while True:
            try:
                self.closing.accept()[0].close()
            except OSError:
                return

    def granted(
        self,
        claims: dict[str, Any] | None = None,
        header: dict[str, Any] | None = None,
        text: Callable[[str], str] = same,
        token: Callable[[str], str] = same,
        mode: int = 0o600,
    ) -> str:
        """Writes a grant for the tool Bash, and its key."""
        self.serial += 1
        file, now = self.folder / f"g{self.serial}.jws", int(time.time())
        everything = {
            "jti": "bg_1", "iss": "interlock", "aud": "default", "sub": "agent", "tools": ["Bash", "mcp__k8s__*"], "iat": now,
            "exp": now + 3600, "reason": "on call", "by": "olga", **(claims or {}),
        }  # fmt: skip
        head = {"alg": "EdDSA", "typ": "interlock-breakglass+jwt", "kid": KID, **(header or {})}
        signed = encoded(json.dumps(head)) + "." + encoded(text(json.dumps(everything)))
        signature = base64.urlsafe_b64encode(KEY.sign(signed.encode())).decode().rstrip("=")
        file.write_text(token(f"{signed}.{signature}") + "\n")
        file.chmod(mode)
        public = Path(f"{file}.pub")
        public.write_bytes(PUBLIC.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
        public.chmod(0o600)
        return str(file)


@pytest.fixture(scope="module")
def ground(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ground]:
    made = Ground(tmp_path_factory.mktemp("glass"))
    yield made
    made.closing.close()


@pytest.fixture(autouse=True)
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """Withdraws calls that were not made for a moment only: nobody listens."""
    monkeypatch.setattr("interlock._retry.WITHDRAW", 0.01)


def lines(grant: str) -> list[dict[str, str]]:
    return [json.loads(line) for line in Path(grant + ".spool").read_text().splitlines()]


def spool(grant: str) -> str | None:
    """The spool of a grant; None for none."""
    file = Path(grant + ".spool")
    return file.read_text() if file.exists() else None


def write(file: str, text: str | None) -> None:
    """Writes a file, or removes it."""
    if text is None:
        Path(file).unlink()
    else:
        Path(file).write_text(text)


def mode(file: str) -> int:
    return Path(file).stat().st_mode & 0o777


async def guard(client: Any, tool: str = "Bash", args: Any = None, **options: Any) -> bool:
    """Guards a call, and says whether the tool has run."""
    ran = []
    args = {"command": "ls"} if args is None else args
    try:
        done = client.guard(tool, args, lambda: ran.append(1), timeout=0.5, **options)
        if isinstance(client, interlock.Interlock):
            await done
    except interlock.Denied:
        pass
    closed = client.close()
    if isinstance(client, interlock.Interlock):
        await closed
    return bool(ran)


def client(ground: Ground, grant: str, kind: Any = interlock.Interlock, **more: Any) -> Any:
    given = {"session": "ops", "break_glass": interlock.BreakGlass(grant, "agent"), "server": ground.away, **more}
    return kind(given.pop("server"), **given)


@pytest.mark.parametrize("kind", KINDS, ids=["async", "sync"])
async def test_a_call_without_contact_is_written_down_then_made(ground: Ground, kind: Any) -> None:
    grant = ground.granted()
    before: list[Any] = []
    of = client(ground, grant, kind)
    done = of.guard("Bash", {"command": "ls", "n": 1}, lambda: before.extend(lines(grant)), timeout=0.5)
    result = await done if kind is interlock.Interlock else done
    assert result.report is not None
    assert not result.report.accounted
    assert await guard(of, "get", {}, qualified_tool="mcp__k8s__get")
    assert len(before) == 1
    first, second = lines(grant)
    assert first["prev"] == hashlib.sha256(b"bg_1").hexdigest()
    assert first["hash"] == hashlib.sha256(f"{first['prev']}\n{first['entry']}".encode()).hexdigest()
    assert second["prev"] == first["hash"]
    entries = [json.loads(line["entry"]) for line in (first, second)]
    assert entries[0].items() >= {
        "grant": "bg_1", "seq": 1, "kind": "use", "tool": "Bash", "session": "ops", "client": "python",
    }.items()  # fmt: skip
    assert entries[0]["input"] == {"command": "ls", "n": 1}
    assert (entries[1]["seq"], entries[1]["tool"], entries[1]["spool"]) == (2, "mcp__k8s__get", entries[0]["spool"])
    assert re.fullmatch(r"[0-9a-f]{32}", entries[0]["spool"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", entries[0]["time"])
    assert mode(grant + ".spool") == 0o600


NOW = int(time.time())


@pytest.mark.parametrize(
    ("change", "options", "call"),
    [
        pytest.param({}, {}, ("Edit",), id="another tool"),
        pytest.param({}, {}, ("bash",), id="another case of letters"),
        pytest.param({"claims": {"commands": ["ls"]}}, {}, ("Bash", {"command": "ls -a"}), id="another command"),
        pytest.param({"claims": {"commands": ["ls"]}}, {}, ("Bash", b'{"command":"rm","command":"ls"}'), id="a command twice"),
        pytest.param({}, {}, ("Bash", b'1,"kind":"refused"'), id="an input that is no JSON"),
        pytest.param({"claims": {"sub": "root"}}, {}, (), id="another principal"),
        pytest.param({}, {"namespace": "other"}, (), id="another namespace"),
        pytest.param({"claims": {"iat": 1, "exp": 2}}, {}, (), id="a grant that has ended"),
        pytest.param({"claims": {"iat": NOW + 9000, "exp": NOW + 9999}}, {}, (), id="a grant that begins later"),
        pytest.param({"claims": {"exp": NOW + 200_000}}, {}, (), id="a grant of two days"),
        pytest.param({"claims": {"tools": ["*"]}}, {}, (), id="a grant of all tools"),
        pytest.param({"claims": {"tools": []}}, {}, (), id="a grant of no tools"),
        pytest.param({"claims": {"iss": "me"}}, {}, (), id="another issuer"),
        pytest.param({"claims": {"admin": "yes"}}, {}, (), id="more claims"),
        pytest.param({"claims": {"reason": ""}}, {}, (), id="an empty claim"),
        pytest.param({"claims": {"iat": True}}, {}, (), id="a time that is none"),
        pytest.param({"text": lambda all: all.replace('"sub": ', '"sub": "root", "sub": ')}, {}, (), id="a claim twice"),
        pytest.param({"header": {"alg": "none"}}, {}, (), id="another algorithm"),
        pytest.param({"header": {"crit": ["x"]}}, {}, (), id="another header"),
        pytest.param({"header": {"kid": "0" * 64}}, {}, (), id="another key"),
        pytest.param(
            {"token": lambda all: re.sub(r"\.(.)", lambda m: ".f" if m[1] == "e" else ".e", all, count=1)},
            {},
            (),
            id="a grant that was changed",
        ),
        pytest.param(
            {"token": lambda all: re.sub(r"\.(.)(?=[^.]*$)", lambda m: ".B" if m[1] == "A" else ".A", all)},
            {},
            (),
            id="another signature",
        ),
        pytest.param({"token": lambda all: re.sub(r"\.[^.]*$", ".", all)}, {}, (), id="no signature"),
        pytest.param({"token": lambda all: all + "="}, {}, (), id="padding"),
        pytest.param({"mode": 0o666}, {}, (), id="a grant that others can write"),
        pytest.param({}, {"break_glass": None}, (), id="no grant"),
        pytest.param({}, {"server": "closing"}, (), id="a connection that was made"),
        pytest.param({}, {"server": "closing", "tls": interlock.TLS()}, (), id="TLS that fails"),
    ],
)
async def test_a_call_without_contact_is_not_made(ground: Ground, change: Any, options: Any, call: Any) -> None:
    grant = ground.granted(**change)
    if options.get("server") == "closing":
        options = {**options, "server": f"127.0.0.1:{ground.closing.getsockname()[1]}"}
    assert not await guard(client(ground, grant, **options), *call)
    assert spool(grant) is None


async def test_a_command_that_the_grant_names_is_made(ground: Ground) -> None:
    assert await guard(client(ground, ground.granted({"commands": ["ls"]})))


async def test_a_socket_that_is_not_there_is_no_contact(ground: Ground) -> None:
    assert await guard(client(ground, ground.granted(), server=f"unix:{ground.folder}/nobody.sock"))


ALL = "failed to connect to all addresses; last error: "


@pytest.mark.parametrize(
    ("text", "code", "metadata", "away"),
    [
        (ALL + "UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: Connection refused", "UNAVAILABLE", (), True),
        (ALL + "UNKNOWN: ipv4:127.0.0.1:1: Failed to connect to remote host: connect() timed out", "UNAVAILABLE", (), True),
        ("errors resolving a.invalid:443: [field:x error:address lookup failed for a: not found]", "UNAVAILABLE", (), True),
        (ALL + "UNKNOWN: ipv4:127.0.0.1:1: connection attempt timed out before receiving SETTINGS", "UNAVAILABLE", (), False),
        (ALL + "UNAVAILABLE: ipv4:127.0.0.1:1: Socket closed", "UNAVAILABLE", (), False),
        (ALL + "UNAVAILABLE: ipv4:127.0.0.1:1: Ssl handshake failed: certificate verify failed", "UNAVAILABLE", (), False),
        ("Socket closed", "UNAVAILABLE", (), False),
        (ALL + "Failed to connect to remote host: Connection refused", "UNAVAILABLE", (("grpc-status-details-bin", b""),), False),
        (ALL + "Failed to connect to remote host: Connection refused", "INTERNAL", (), False),
    ],
)
def test_what_is_no_contact(text: str, code: str, metadata: Any, away: bool) -> None:
    class Refusal(Exception):
        def code(self) -> Any:
            return type("Code", (), {"name": code})

        def details(self) -> str:
            return text

        def trailing_metadata(self) -> Any:
            return metadata

    assert _glass.unreachable(fault_of(Refusal())) is away


async def test_a_dry_run_and_a_command_that_needs_a_jail_are_not_made(ground: Ground) -> None:
    grant = ground.granted()
    of = client(ground, grant, jail_level=3)
    with pytest.raises(interlock.Unavailable):
        await of.check("Bash", {}, dry_run=True, timeout=0.5)
    with pytest.raises(interlock.Unavailable):
        await of.guard_command("ls", required=True, timeout=0.5)
    await of.close()
    assert spool(grant) is None


async def test_a_spool_that_is_held_altered_or_cut_admits_no_call(ground: Ground) -> None:
    grant = ground.granted()
    assert await guard(client(ground, grant))
    assert await guard(client(ground, grant))
    whole = spool(grant)
    assert whole is not None
    first, second = whole.splitlines(keepends=True)
    forged = json.loads(second) | {"prev": "0" * 64}
    for altered in (whole.replace("ls", "rm"), whole.rstrip("\n"), second, first + json.dumps(forged) + "\n"):
        write(grant + ".spool", altered)
        assert not await guard(client(ground, grant))
    write(grant + ".spool", whole)
    write(grant + ".spool.lock", "")
    assert not await guard(client(ground, grant))
    write(grant + ".spool.lock", None)
    assert await guard(client(ground, grant))
    assert len(lines(grant)) == 3


async def test_an_answer_is_contact_and_what_it_refuses_does_not_pass_later(ground: Ground) -> None:
    grant = ground.granted()
    with Fake() as fake:
        fake.deny("Bash", code="POLICY_DENIED")
        for _ in range(2):
            assert not await guard(fake.client(break_glass=interlock.BreakGlass(grant, "agent")))
    assert [json.loads(line["entry"])["kind"] for line in lines(grant)] == ["refused"]
    assert not await guard(client(ground, grant))
    assert await guard(client(ground, grant), "mcp__k8s__get", {})


@pytest.mark.parametrize("kind", KINDS, ids=["async", "sync"])
async def test_settings_of_the_environment(ground: Ground, kind: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "INTERLOCK_SERVER": ground.away, "INTERLOCK_SESSION": "ops", "INTERLOCK_BREAKGLASS": ground.granted(),
        "INTERLOCK_PRINCIPAL": "agent",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    assert await guard(kind.from_env())
