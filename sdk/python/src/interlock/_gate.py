"""The common part of the adapters of frameworks: a decision that is never an exception, and one report of each call that ran.

Frameworks differ in the meaning of an exception of a hook; some run the tool then. So no function here raises one before the
tool has run: every failure is a refusal.

A verdict admits one call: of the conversation, the tool and the arguments that it is of, once. It comes to that call in one of
three ways:

- The adapter asks where it runs the tool: `perform(await ask(...), run)`.
- The framework decides in one callback and runs in another: `hold(verdict)` in the one, `take(tool, args, context, call_id)` in the
  other. A call id alone is no key: models use the same one again, in other conversations too.
- The framework decides around the tool, and the tool runs in the same task: `_permit`.

A verdict that is not used has to be given back by `settle`: its call is reported as not executed.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import decimal
import hashlib
import logging
import os
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from . import _json
from ._async import io
from ._async.client import Interlock
from ._outcome import result_of
from ._sync.client import Interlock as SyncInterlock
from .errors import UNDECIDED, AwaitingApproval, Denied, Fault, ReportError
from .types import Decision, Result, Run

if TYPE_CHECKING:
    from typing import TypeAlias

log = logging.getLogger("interlock")
T = TypeVar("T")

Client: TypeAlias = "Interlock | SyncInterlock"

OWN_TOOLS = frozenset({"transition", "get_state"})
"""Tools of Interlock itself, which are always allowed."""

MOST_HELD = 4096
"""Verdicts that wait for their calls; the oldest is given up for another one, and its call is judged again."""


class Key(NamedTuple):
    """The call that a verdict is of."""

    session: str
    tool: str
    digest: str
    call_id: str
    """The model's or the framework's; empty where there is none."""


class _Once:
    """Something that happens once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._done = False

    def __call__(self) -> bool:
        """True the first time."""
        with self._lock:
            first, self._done = not self._done, True
        return first


@dataclass(frozen=True)
class Verdict:
    """The verdict on a tool call."""

    tool: str
    session: str = ""
    decision: Decision | None = None
    """Set when the call may be made; only then."""
    text: str = ""
    """Why it may not be made, for the model."""
    approval_id: str = ""
    """The approval that it waits for; empty when it is simply refused."""
    asks: bool = False
    """Whether humans would be asked; only of a dry run, which opens no approval."""
    digest: str = ""
    """Of the arguments that were judged."""
    call_id: str = ""
    """The model's or the framework's; empty where there is none."""
    args: Any = None
    """A copy of the arguments as they were judged: run these."""
    _used: _Once = field(default_factory=_Once, repr=False, compare=False)
    _begun: _Once = field(default_factory=_Once, repr=False, compare=False)
    _told: _Once = field(default_factory=_Once, repr=False, compare=False)

    @property
    def allowed(self) -> bool:
        return self.decision is not None

    @property
    def waits(self) -> bool:
        return self.decision is None and (self.asks or bool(self.approval_id))

    @property
    def key(self) -> Key:
        return Key(self.session, self.tool, self.digest, self.call_id)

    def use(self) -> bool:
        """Whether the call may be made now: it is allowed, and was not made before."""
        return self.allowed and self._used()

    def begin(self) -> None:
        """Lets the call be made, once: a second time is a Denied."""
        self.use()
        if not self.allowed or not self._begun():
            raise Denied("NOT_JUDGED", f"the call of {self.tool} was not made: no decision admits it", call_id=self.call_id)


@dataclass(frozen=True)
class Outcome:
    """How a call has ended, where that is more than whether it has failed."""

    output: Any = None
    ok: bool = True
    unknown: bool = False
    background: str = ""
    background_ended: str = ""


class Gate:
    """Decides and reports for an adapter."""

    def __init__(
        self,
        client: Client,
        *,
        session: str | Callable[[Any], str] = "",
        tool_name: Callable[[str], str] | None = None,
        folder: str | Callable[[Any], str] = "",
        human: str | Callable[[Any], str] = "",
        only: Any = None,
    ) -> None:
        self._client = client
        self._twin: Client | None = None
        self._session = session
        self._tool_name = tool_name
        self._folder = folder
        self._human = human
        self._only = only
        self._narrowed: set[str] = set()
        self._held: OrderedDict[Key, list[Verdict]] = OrderedDict()
        self._lock = threading.Lock()

    def session(self, context: Any = None) -> str:
        """The session of a conversation; empty for the client's own. Its exceptions are those of the caller's function."""
        if not callable(self._session):
            return self._session
        named = self._session(context)
        if not isinstance(named, str) or not named:
            raise TypeError(f"the function `session` has named no session, but returned {named!r}")
        return named

    def human(self, context: Any = None) -> str:
        """The token of the person on whose behalf a conversation is; empty for that of the client. Its exceptions are those of the
        caller's function."""
        named = self._human(context) if callable(self._human) else self._human
        if not isinstance(named, str):
            raise TypeError(f"the function `human` has returned {named!r}, which is no token")
        return named

    async def _asking(self, session: str, context: Any) -> Interlock:
        """The client that asks about a call of a conversation, whose session is narrowed by then."""
        client, human = self._aio(session), self.human(context)
        client = client.for_human(human) if human else client
        if self._only is not None and client.session not in self._narrowed:
            try:
                await client.narrow_session(self._only)
            except Fault as fault:
                if fault.reason != "NOT_FOUND":
                    raise
                await client.create_session(client.session, only=self._only)
            self._narrowed.add(client.session)
        return client

    def _asking_sync(self, session: str, context: Any) -> SyncInterlock:
        """`_asking` without an event loop."""
        client, human = self._sync(session), self.human(context)
        client = client.for_human(human) if human else client
        if self._only is not None and client.session not in self._narrowed:
            try:
                client.narrow_session(self._only)
            except Fault as fault:
                if fault.reason != "NOT_FOUND":
                    raise
                client.create_session(client.session, only=self._only)
            self._narrowed.add(client.session)
        return client

    def name(self, tool: str) -> str:
        """Interlock's name of a tool."""
        return self._tool_name(tool) if self._tool_name else tool

    def folder(self, context: Any = None) -> str:
        """The folder that calls of a conversation are made in; empty when it is not known."""
        return os.fspath((self._folder(context) if callable(self._folder) else self._folder) or "")

    def _aio(self, session: str) -> Interlock:
        client = self._client if isinstance(self._client, Interlock) else self._other()
        assert isinstance(client, Interlock)
        return client.for_session(session) if session else client

    def _sync(self, session: str) -> SyncInterlock:
        client = self._client if isinstance(self._client, SyncInterlock) else self._other()
        assert isinstance(client, SyncInterlock)
        return client.for_session(session) if session else client

    def _other(self) -> Client:
        if self._twin is None:
            self._twin = self._client.twin()
        return self._twin

    # Decisions

    async def ask(
        self, tool: str, args: Any, context: Any = None, *, call_id: str = "", folder: str = "", dry_run: bool = False
    ) -> Verdict:
        """Decides one call. With `dry_run` it only shows the decision: such a verdict admits no call."""
        asked = Verdict(tool, call_id=call_id)
        try:
            asked, body, folder = self._question(asked, args, context, folder)
            client = await self._asking(asked.session, context)
            decision = await client.check(asked.tool, body, folder=folder, dry_run=dry_run)
            return _answer(asked, decision, dry_run)
        except Exception as err:
            return _refused(asked, err)

    def ask_sync(
        self, tool: str, args: Any, context: Any = None, *, call_id: str = "", folder: str = "", dry_run: bool = False
    ) -> Verdict:
        """`ask` without an event loop."""
        asked = Verdict(tool, call_id=call_id)
        try:
            asked, body, folder = self._question(asked, args, context, folder)
            client = self._asking_sync(asked.session, context)
            decision = client.check(asked.tool, body, folder=folder, dry_run=dry_run)
            return _answer(asked, decision, dry_run)
        except Exception as err:
            return _refused(asked, err)

    def _question(self, asked: Verdict, args: Any, context: Any, folder: str) -> tuple[Verdict, bytes | None, str]:
        """The call that is asked about. Its arguments are frozen here: they run as they were judged."""
        try:
            frozen, body = freeze(args)
        except Exception as err:
            raise Denied("INVALID_INPUT", f"the call was not made: its arguments are no JSON object: {err}") from err
        asked = dataclasses.replace(
            asked, tool=self.name(asked.tool), session=self.session(context), digest=digest_of(body), args=frozen
        )
        return asked, body, folder or self.folder(context)

    def wait_sync(self, verdict: Verdict, timeout: float) -> bool:
        """Waits until humans have decided about a call that waits, and says whether they have."""
        try:
            self._sync(verdict.session).wait_approval(verdict.approval_id, timeout=timeout)
        except Exception:
            return False
        return True

    # Verdicts on their way to their calls

    def key(self, tool: str, args: Any, context: Any = None, call_id: str = "") -> Key | None:
        """The key of a call; None when it has none, because its arguments are no JSON or the caller's functions fail."""
        try:
            return Key(self.session(context), self.name(tool), digest_of(freeze(args)[1]), call_id)
        except Exception:
            return None

    def hold(self, verdict: Verdict) -> None:
        """Keeps a verdict until its call is made."""
        with self._lock:
            self._held.setdefault(verdict.key, []).append(verdict)
            if len(self._held) > MOST_HELD:
                self._held.popitem(last=False)

    def take(self, tool: str, args: Any, context: Any = None, call_id: str = "") -> Verdict | None:
        """The verdict that is held for a call, which is then used; None when there is none."""
        key = self.key(tool, args, context, call_id)
        with self._lock:
            held = self._held.get(key) if key else None
            verdict = held.pop(0) if held else None
            if key and not held:
                self._held.pop(key, None)
        return verdict if verdict is None or not verdict.allowed or verdict.use() else None

    def held(self, choose: Callable[[Key], bool] = lambda _: True) -> list[Verdict]:
        """Takes away the verdicts that are held and were not used, for `settle`."""
        with self._lock:
            gone = [key for key in self._held if choose(key)]
            return [verdict for key in gone for verdict in self._held.pop(key)]

    # Reports

    async def tell(
        self, verdict: Verdict, output: Any = None, *, ok: bool = True, unknown: bool = False, background: str = "",
        background_ended: str = "",
    ) -> str:  # fmt: skip
        """Reports a call that has run, once, and returns the notice for the model to read with the result. The output may be an
        `Outcome` or a `Result`. A report that fails is logged: the tool has run, and its result is valid."""
        decision, result, ok = _report(verdict, output, Outcome(None, ok, unknown, background, background_ended))
        if decision is None:
            return ""
        try:
            return (await self._aio(verdict.session).report(decision, result, ok=ok)).notice
        except ReportError as lost:
            log.warning("%s: %s", verdict.tool, lost)
            return ""

    def tell_sync(
        self, verdict: Verdict, output: Any = None, *, ok: bool = True, unknown: bool = False, background: str = "",
        background_ended: str = "",
    ) -> str:  # fmt: skip
        """`tell` without an event loop."""
        decision, result, ok = _report(verdict, output, Outcome(None, ok, unknown, background, background_ended))
        if decision is None:
            return ""
        try:
            return self._sync(verdict.session).report(decision, result, ok=ok).notice
        except ReportError as lost:
            log.warning("%s: %s", verdict.tool, lost)
            return ""

    async def settle(self, verdict: Verdict) -> None:
        """Gives back a verdict whose call will not be made: an allowed call is reported as not executed. A used one stays as it is."""
        if verdict.use() and verdict._told() and verdict.decision is not None:
            await self._aio(verdict.session).abandon(verdict.decision)

    async def give_up(self, verdict: Verdict) -> None:
        """`settle` for a verdict that `take` has handed out."""
        if verdict._begun() and verdict._told() and verdict.decision is not None:
            await self._aio(verdict.session).abandon(verdict.decision)

    def settle_sync(self, verdict: Verdict) -> None:
        """`settle` without an event loop."""
        if verdict.use() and verdict._told() and verdict.decision is not None:
            self._sync(verdict.session).abandon(verdict.decision)

    async def perform(
        self,
        verdict: Verdict,
        run: Callable[[], Awaitable[T]],
        ok: Callable[[T], bool] = lambda _: True,
        output: Callable[[T], Any] = lambda result: result,
    ) -> tuple[T, str]:
        """Runs a call that is allowed and reports it, once, however it ends. It returns the result and the notice. What is
        cancelled or out of time has an unknown outcome."""
        verdict.begin()
        try:
            result = await run()
        except BaseException as err:
            await self.tell(verdict, ok=False, unknown=io.interrupted(err))
            raise
        return result, await self.tell(verdict, output(result), ok=ok(result))

    def perform_sync(
        self,
        verdict: Verdict,
        run: Callable[[], T],
        ok: Callable[[T], bool] = lambda _: True,
        output: Callable[[T], Any] = lambda result: result,
    ) -> tuple[T, str]:
        """`perform` without an event loop."""
        verdict.begin()
        try:
            result = run()
        except BaseException as err:
            self.tell_sync(verdict, ok=False, unknown=io.interrupted(err))
            raise
        return result, self.tell_sync(verdict, output(result), ok=ok(result))

    # Offers

    async def offered(self, context: Any = None) -> Callable[[str], bool]:
        """Which tools to offer to the model in the state of the moment. When that cannot be known, none but Interlock's own."""
        run: Run | None = None
        with contextlib.suppress(Exception):
            run = await self._aio(self.session(context)).get_run()
        return self._offers(run)

    def offered_sync(self, context: Any = None) -> Callable[[str], bool]:
        """`offered` without an event loop."""
        run: Run | None = None
        with contextlib.suppress(Exception):
            run = self._sync(self.session(context)).get_run()
        return self._offers(run)

    def _offers(self, run: Run | None) -> Callable[[str], bool]:
        def offers(tool: str) -> bool:
            try:
                name = self.name(tool)
            except Exception:
                return False
            return name in OWN_TOOLS or (run is not None and run.allows(name))

        return offers


def joined(text: str, notice: str) -> str:
    """A result with the notice for the model."""
    return f"{text}\n\n{notice}" if notice else text


def text_of(output: Any) -> str:
    """A tool's result as a text."""
    if isinstance(output, str):
        return output
    if isinstance(output, bytes):
        return output.decode(errors="replace")
    try:
        return _json.dumps(output)
    except (TypeError, ValueError):
        return str(output)


def freeze(args: Any) -> tuple[Any, bytes | None]:
    """A copy of the arguments of a call, and their JSON. A text is the JSON that the model wrote. Anything else that is no JSON is a
    ValueError."""
    if args is None or isinstance(args, (str, bytes)):
        return args, args.encode() if isinstance(args, str) else args
    frozen = copy.deepcopy(dict(args) if isinstance(args, Mapping) else args)
    return frozen, _json.encode("arguments", frozen)


def digest_of(body: bytes | None) -> str:
    """The digest of arguments, which is the same for the same JSON, however it is written. A value that is no JSON, which
    no server allows, is the same only as the same text."""
    hashed = hashlib.sha256()
    try:
        _canonical(hashed.update, _json.loads(body) if body and body.strip() else {}, 0)
    except (ValueError, RecursionError, ArithmeticError):
        return "text:" + hashlib.sha256(body or b"").hexdigest()
    return hashed.hexdigest()


def _canonical(put: Callable[[bytes], None], value: Any, depth: int) -> None:
    if depth > 100:
        raise ValueError("it is nested too deeply")
    if isinstance(value, dict):
        put(b"{")
        for key in sorted(value):
            _canonical(put, key, depth)
            _canonical(put, value[key], depth + 1)
        put(b"}")
    elif isinstance(value, list):
        put(b"[")
        for element in value:
            _canonical(put, element, depth + 1)
        put(b"]")
    elif isinstance(value, str):
        text = value.encode(errors="surrogatepass")
        put(b"s%d:" % len(text) + text)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        number = decimal.Decimal(getattr(value, "text", None) or repr(value))
        if not number.is_finite():
            raise ValueError(f"JSON has no {value}")
        sign, digits, exponent = number.as_tuple()
        plain = "".join(map(str, digits)).lstrip("0")
        kept = plain.rstrip("0")
        put(f"n{'-' if sign and kept else ''}{kept or '0'}e{int(exponent) + len(plain) - len(kept) if kept else 0};".encode())
    else:
        put(repr(value).encode())  # null, true, false


def _report(verdict: Verdict, output: Any, given: Outcome) -> tuple[Decision | None, Result, bool]:
    """The report of a call; no decision when no report is due, or it was reported before."""
    if isinstance(output, Outcome):
        given, output = _both(given, output), output.output
    result, succeeded = result_of(output)
    result = dataclasses.replace(
        result,
        outcome_unknown=result.outcome_unknown or given.unknown,
        background=result.background or given.background,
        background_ended=result.background_ended or given.background_ended,
    )
    return verdict.decision if verdict.decision is not None and verdict._told() else None, result, given.ok and succeeded


def _both(given: Outcome, said: Outcome) -> Outcome:
    """Joins the adapter's outcome and an `Outcome`: either may know that a call has failed."""
    return Outcome(
        None,
        given.ok and said.ok,
        given.unknown or said.unknown,
        given.background or said.background,
        given.background_ended or said.background_ended,
    )


def _answer(asked: Verdict, decision: Decision, dry_run: bool) -> Verdict:
    """The verdict on a question. One of a dry run is used already."""
    said = _verdict(asked.tool, asked.session, dataclasses.replace(decision, dry_run=False))
    verdict = dataclasses.replace(asked, decision=said.decision, text=said.text, approval_id=said.approval_id)
    if dry_run:
        verdict = dataclasses.replace(verdict, asks=decision.decision == "ASK")
        for once in (verdict._used, verdict._begun, verdict._told):
            once()
    return verdict


def _verdict(tool: str, session: str, decision: Decision) -> Verdict:
    try:
        decision.require()
    except AwaitingApproval as asks:
        return Verdict(tool, session, text=f"{asks.code}: {asks.message}", approval_id=asks.approval_id)
    except Denied as denied:
        return Verdict(tool, session, text=f"{denied.code}: {denied.message}")
    if not decision.allowed:  # for new kinds of refusals: no call runs without ALLOW
        return Verdict(tool, session, text=f"{UNDECIDED}: the call was not made")
    return Verdict(tool, session, decision=decision)


def _refused(asked: Verdict, err: Exception) -> Verdict:
    if isinstance(err, Denied):
        return dataclasses.replace(asked, text=f"{err.code}: {err.message}")
    log.error("the adapter has refused a call because it failed", exc_info=err)
    text = f"{UNDECIDED}: the call was not made: the adapter failed: {type(err).__name__}: {err}"
    return dataclasses.replace(asked, text=text)
