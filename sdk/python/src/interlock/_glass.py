"""Grants by which calls are made while no connection to Interlock can be made, and the spool in which they are written down first:
docs/breakglass.md has the format."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any, Final, NamedTuple

from .errors import Fault

MOST_GRANT = 16 * 1024
MOST_INPUT = 16 * 1024
MOST_SPOOL = 1024 * 1024
MOST_LINES = 4000
LONGEST = 86_400
LOCK = 2.0
"""Seconds that a client waits for the lock of a spool."""
UNGOVERNED: Final = "UNGOVERNED"
"""The code of calls that pass by a grant. Their spool is handed in: they are not reported."""

_TEXTS = ("jti", "iss", "aud", "sub", "reason", "by")
_NOT_MADE = re.compile(
    r"^failed to connect to all addresses; last error: .*(?:"
    r"Failed to connect to remote host: (?:Connection refused|connect\(\) timed out|Connection timed out|No route to host"
    r"|Network is unreachable)|connect failed: addr: unix:.* error: (?:No such file or directory|Connection refused))"
    r"|^errors resolving .*address lookup failed",
    re.DOTALL,
)


@dataclass(frozen=True)
class BreakGlass:
    """A grant, and the principal that the client's token is for. Without a grant no call passes while the server is away."""

    grant: str
    """The file with the signed grant."""
    principal: str
    """Name of the principal that the token is for."""
    key: str = ""
    """The file with the public key; the grant's with `.pub` by default."""
    spool: str = ""
    """The file in which calls are written down; the grant's with `.spool` by default. `interlock breakglass hand-in` hands it in."""


class GlassCall(NamedTuple):
    """A call of a tool, as the spool has it."""

    tool: str
    """The full name, where it is known."""
    input: bytes
    """The JSON of its input; empty for none."""
    session: str
    run: str


def unreachable(fault: Fault) -> bool:
    """Whether a call has failed because no connection could be made: the library of gRPC itself says so."""
    err: Any = fault.__cause__
    if fault.reason != "UNAVAILABLE" or getattr(getattr(err, "code", lambda: None)(), "name", "") != "UNAVAILABLE":
        return False
    return not err.trailing_metadata() and _NOT_MADE.search(err.details() or "") is not None


class Glass:
    """A grant that a client may use now, with its spool."""

    def __init__(self, settings: BreakGlass, namespace: str) -> None:
        """Reads the grant of a client. Raises unless it may be used now."""
        key = _public_key(_guarded(settings.key or settings.grant + ".pub"))
        claims = _read(_guarded(settings.grant).rstrip(b" \t\r\n"), key)
        now = time.time()
        if claims["aud"] != (namespace or "default"):
            raise ValueError(f'the break-glass grant is for namespace "{claims["aud"]}"')
        if claims["sub"] != settings.principal:
            raise ValueError(
                f'the break-glass grant is for principal "{claims["sub"]}", and the client is "{settings.principal}": set '
                "INTERLOCK_PRINCIPAL"
            )
        if claims["iat"] > now + 60:
            raise ValueError("the break-glass grant begins later: check the clock of this machine")
        if claims["exp"] <= now:
            raise ValueError(f"the break-glass grant ended at {datetime.fromtimestamp(claims['exp'], timezone.utc).isoformat()}")
        self._claims = claims
        self._spool = settings.spool or settings.grant + ".spool"

    @property
    def id(self) -> str:
        """Id of the grant."""
        return str(self._claims["jti"])

    def use(self, call: GlassCall) -> None:
        """Writes down that a call is made now, while Interlock cannot be reached. When it raises, the call must not be made."""
        command = self._lets(call)
        if command is None:
            raise ValueError("the break-glass grant names other tools or commands")
        given = _given(call.input)

        def decide(entries: list[dict[str, Any]]) -> tuple[str, str]:
            if _refused(entries, call.tool, command):
                raise ValueError("Interlock has denied the call, or asked people about it, while it could be reached")
            return "use", given

        self._change(call, command, decide)

    def deny(self, call: GlassCall) -> None:
        """Writes down that Interlock has denied a call, or asked people about it, so that the grant does not let it pass later."""
        command = self._lets(call)
        if command is not None:
            self._change(call, command, lambda all: None if _refused(all, call.tool, command) else ("refused", ""))

    def _lets(self, call: GlassCall) -> str | None:
        """The command of a call that the grant lets pass, empty where it names none; None for another call."""
        tools, commands = self._claims["tools"], self._claims.get("commands")
        if not any(one == call.tool or (one.endswith("*") and call.tool.startswith(one[:-1])) for one in tools):
            return None
        if commands is None:
            return ""
        try:
            command = _members(call.input).get("command")
        except ValueError:
            return None
        return command if isinstance(command, str) and command in commands else None

    def _change(self, call: GlassCall, command: str, decide: Callable[[list[dict[str, Any]]], tuple[str, str] | None]) -> None:
        """Appends the line that `decide` returns, durably; nothing for None."""
        with _lock(self._spool + ".lock"):
            try:
                with open(self._spool, "rb") as file:
                    text = file.read(MOST_SPOOL + 1)
            except FileNotFoundError:
                text = b""
            entries, head = _entries(self.id, text)
            made = decide(entries)
            if made is None:
                return
            kind, given = made
            now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
            entry = {
                "grant": self.id, "spool": entries[0]["spool"] if entries else secrets.token_hex(16), "seq": len(entries) + 1,
                "time": now, "kind": kind, "tool": call.tool, "command": command, "session": call.session, "run": call.run,
                "client": "python",
            }  # fmt: skip
            written = _dumps({name: value for name, value in entry.items() if value != ""})[:-1] + given + "}"
            line = (_dumps({"prev": head, "hash": _sha256(head + "\n" + written), "entry": written}) + "\n").encode()
            if len(entries) >= MOST_LINES or len(text) + len(line) > MOST_SPOOL:
                raise ValueError(f"the spool {self._spool} is full: hand it in, put it aside, and ask for another grant")
            _append(self._spool, line, not text)


def _given(body: bytes) -> str:
    """The part of an entry that has the input of a call."""
    if not body:
        return ""
    _parse(body)  # it stands in the entry as it is
    if len(body) > MOST_INPUT:
        return f',"input_sha256":"{_sha256(body)}"'
    return ',"input":' + body.decode()


def _entries(grant: str, text: bytes) -> tuple[list[dict[str, Any]], str]:
    """The entries of a spool, whose chain must hold, and the hash that the next line follows."""
    head = _sha256(grant)
    entries: list[dict[str, Any]] = []
    if not text:
        return entries, head
    again = "hand it in, put it aside, and ask for another grant"
    if not text.endswith(b"\n"):
        raise ValueError(f"the last line of the spool has no end: {again}")
    for i, line in enumerate(text[:-1].split(b"\n"), 1):
        try:
            one = _members(line)
            entry = one["entry"]
            if one["prev"] != head or one["hash"] != _sha256(f"{head}\n{entry}"):
                raise ValueError("its hash is another")
            entries.append(_members(entry.encode()))
        except (ValueError, KeyError, AttributeError) as err:
            raise ValueError(f"line {i} of the spool was altered: {again}") from err
        head = one["hash"]
        last = entries[-1]
        if last.get("grant") != grant or last.get("seq") != i or last.get("spool") != entries[0].get("spool"):
            raise ValueError(f"line {i} of the spool is of another spool")
    return entries, head


def _refused(entries: list[dict[str, Any]], tool: str, command: str) -> bool:
    return any(e.get("kind") == "refused" and e.get("tool") == tool and e.get("command", "") == command for e in entries)


def _read(token: bytes, key: Any) -> dict[str, Any]:
    """The claims of a token that a key has signed."""
    parts = token.split(b".")
    if len(token) > MOST_GRANT or len(parts) != 3:
        raise _wrong("is no signed grant")
    head, body, signature = map(_decode, parts)
    expected = {"alg": "EdDSA", "typ": "interlock-breakglass+jwt", "kid": _sha256(key.public_bytes_raw())}
    if _members(head) != expected:
        raise _wrong("is of another kind, or of another key")
    try:
        if len(signature) != 64:
            raise ValueError("it is not 64 bytes long")
        key.verify(signature, parts[0] + b"." + parts[1])
    except Exception as err:
        raise _wrong("is not signed by this key") from err
    claims = _members(body)
    for name, value in claims.items():
        if name in {"iat", "exp"}:
            ok = type(value) is int
        elif name in {"tools", "commands"}:
            ok = type(value) is list and 1 <= len(value) <= 32 and all(type(one) is str and one for one in value)
        else:
            ok = name in {*_TEXTS, "confirmed_by"} and type(value) is str and value != ""
        if not ok:
            raise _wrong(f'has a wrong claim "{name}"')
    missing = {*_TEXTS, "tools", "iat", "exp"} - claims.keys()
    if missing or claims["iss"] != "interlock":
        raise _wrong(f'has no right claim "{min(missing, default="iss")}"')
    if any(one.removesuffix("*") == "" or "*" in one[:-1] for one in claims["tools"]):
        raise _wrong("names a tool by a pattern that is too wide")
    if any(len(one.encode()) > 1024 or "\n" in one for one in claims.get("commands", ())):
        raise _wrong("names a command that is no line of at most 1,024 bytes")
    if not 0 < claims["exp"] - claims["iat"] <= LONGEST:
        raise _wrong("lasts for more than 24 hours")
    return claims


def _wrong(why: str) -> ValueError:
    return ValueError(f"the break-glass grant {why}")


def _decode(part: bytes) -> bytes:
    """The bytes of base64url without padding, in its only form."""
    try:
        decoded = base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4))
    except ValueError as err:
        raise _wrong("is not base64url") from err
    if base64.urlsafe_b64encode(decoded).rstrip(b"=") != part:
        raise _wrong("is not base64url without padding")
    return decoded


class _Pairs(list[tuple[str, Any]]):
    """The members of an object, in their order."""


def _parse(text: bytes) -> Any:
    def no_number(name: str) -> None:
        raise ValueError(f"{name} is no JSON")

    try:
        return json.loads(text.decode(), object_pairs_hook=_Pairs, parse_constant=no_number)
    except RecursionError as err:
        raise ValueError("it is too deep") from err


def _members(text: bytes) -> dict[str, Any]:
    """The members of a JSON object, which has none twice."""
    pairs = _parse(text)
    if not isinstance(pairs, _Pairs):
        raise ValueError("it is not a JSON object")
    members = dict(pairs)
    if len(members) != len(pairs):
        raise ValueError("it has a member twice")
    return members


def _public_key(pem: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError as err:
        raise ValueError("break-glass grants need a package: pip install 'interlock-sdk[breakglass]'") from err
    if not re.match(rb"-----BEGIN PUBLIC KEY-----\s", pem):
        raise ValueError("the key of the break-glass grant is no public key in PEM")
    key = load_pem_public_key(pem)
    if not isinstance(key, Ed25519PublicKey):
        raise ValueError("the key of the break-glass grant is no Ed25519 key")
    return key


def _guarded(name: str) -> bytes:
    """A file that others cannot write."""
    with open(name, "rb") as file:
        if os.name == "posix" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o022:
            raise ValueError(f"others can write {name}, so it does not count; run chmod go-w {name}")
        text = file.read(MOST_GRANT + 3)
    if len(text) > MOST_GRANT + 2:
        raise ValueError(f"{name} is too long")
    return text


@contextmanager
def _lock(name: str) -> Iterator[None]:
    """Holds a file that only one client has."""
    until = time.monotonic() + LOCK
    while True:
        try:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
            break
        except FileExistsError as err:
            if time.monotonic() > until:
                raise ValueError(f"another client holds the spool; if none is running, remove {name}") from err
            time.sleep(0.005)
    try:
        yield
    finally:
        os.remove(name)


def _append(name: str, line: bytes, fresh: bool) -> None:
    with open(os.open(name, os.O_CREAT | os.O_APPEND | os.O_WRONLY, 0o600), "wb") as file:
        file.write(line)
        file.flush()
        os.fsync(file.fileno())
    if fresh and os.name == "posix":
        folder = os.open(os.path.dirname(os.path.abspath(name)), os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _sha256(of: str | bytes) -> str:
    return hashlib.sha256(of.encode() if isinstance(of, str) else of).hexdigest()
