"""What the adapters of frameworks share: a decision that is never an exception, and one report of each call that ran.

Frameworks differ in what an exception of a hook means; some run the tool then. So nothing here raises an Exception before the
tool has run: whatever goes wrong is a refusal.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from . import _json
from ._async.client import Interlock
from ._sync.client import Interlock as SyncInterlock
from .errors import UNDECIDED, AwaitingApproval, Denied, ReportError
from .types import Decision, Result, Run

if TYPE_CHECKING:
    from typing import TypeAlias

log = logging.getLogger("interlock")
T = TypeVar("T")

Client: TypeAlias = "Interlock | SyncInterlock"

OWN_TOOLS = frozenset({"transition", "get_state"})
"""Tools of Interlock itself, which are always allowed."""


@dataclass(frozen=True)
class Verdict:
    """What becomes of a tool call."""

    tool: str
    session: str = ""
    decision: Decision | None = None
    """Set when the call may be made; only then."""
    text: str = ""
    """Why it may not be made, for the model."""
    approval_id: str = ""
    """The approval that it waits for; empty when it is simply refused."""

    @property
    def allowed(self) -> bool:
        return self.decision is not None

    @property
    def waits(self) -> bool:
        return self.decision is None and bool(self.approval_id)


class Gate:
    """Decides and reports for an adapter."""

    def __init__(
        self,
        client: Client,
        *,
        session: str | Callable[[Any], str] = "",
        tool_name: Callable[[str], str] | None = None,
    ) -> None:
        self._client = client
        self._twin: Client | None = None
        self._session = session
        self._tool_name = tool_name

    def session(self, context: Any = None) -> str:
        """The session of a conversation; empty for the client's own. Its exceptions are those of the caller's function."""
        return self._session(context) if callable(self._session) else self._session

    def name(self, tool: str) -> str:
        """Interlock's name of a tool."""
        return self._tool_name(tool) if self._tool_name else tool

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

    async def ask(self, tool: str, args: Any, context: Any = None, *, dry_run: bool = False) -> Verdict:
        """Decides one call."""
        session = name = ""
        try:
            session, name = self.session(context), self.name(tool)
            return _verdict(name, session, await self._aio(session).check(name, _arguments(args), dry_run=dry_run))
        except Exception as err:
            return _refused(name or tool, session, err)

    def ask_sync(self, tool: str, args: Any, context: Any = None, *, dry_run: bool = False) -> Verdict:
        """`ask` without an event loop."""
        session = name = ""
        try:
            session, name = self.session(context), self.name(tool)
            return _verdict(name, session, self._sync(session).check(name, _arguments(args), dry_run=dry_run))
        except Exception as err:
            return _refused(name or tool, session, err)

    def wait_sync(self, verdict: Verdict, timeout: float) -> bool:
        """Waits until humans have decided about a call that waits, and says whether they have."""
        try:
            self._sync(verdict.session).wait_approval(verdict.approval_id, timeout=timeout)
        except Exception:
            return False
        return True

    async def tell(self, verdict: Verdict, output: Any = None, *, ok: bool = True) -> str:
        """Reports a call that has run and returns what the model should be told with the result. A report that fails is logged:
        the tool has run, and its result is valid."""
        assert verdict.decision is not None
        try:
            return await self._aio(verdict.session).report(verdict.decision, _result(output), ok=ok)
        except ReportError as lost:
            log.warning("%s: %s", verdict.tool, lost)
            return ""

    def tell_sync(self, verdict: Verdict, output: Any = None, *, ok: bool = True) -> str:
        """`tell` without an event loop."""
        assert verdict.decision is not None
        try:
            return self._sync(verdict.session).report(verdict.decision, _result(output), ok=ok)
        except ReportError as lost:
            log.warning("%s: %s", verdict.tool, lost)
            return ""

    async def perform(
        self,
        verdict: Verdict,
        run: Callable[[], Awaitable[T]],
        ok: Callable[[T], bool] = lambda _: True,
        output: Callable[[T], Any] = lambda result: result,
    ) -> tuple[T, str]:
        """Runs a call that is allowed and reports it, once, however it ends. It returns the result and the notice."""
        try:
            result = await run()
        except BaseException:
            await self.tell(verdict, ok=False)
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
        try:
            result = run()
        except BaseException:
            self.tell_sync(verdict, ok=False)
            raise
        return result, self.tell_sync(verdict, output(result), ok=ok(result))

    async def offered(self, context: Any = None) -> Callable[[str], bool]:
        """Which tools to offer to the model in the state of the moment. When that cannot be known, none but Interlock's own."""
        run: Run | None = None
        with contextlib.suppress(Exception):
            run = await self._aio(self.session(context)).get()
        return self._offers(run)

    def offered_sync(self, context: Any = None) -> Callable[[str], bool]:
        """`offered` without an event loop."""
        run: Run | None = None
        with contextlib.suppress(Exception):
            run = self._sync(self.session(context)).get()
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
    """A result with what the model should be told with it."""
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


def _result(output: Any) -> Result:
    if isinstance(output, Result):
        return output
    return Result(output="" if output is None else text_of(output))


def _arguments(args: Any) -> Mapping[str, Any] | bytes | None:
    """The arguments of a call. A text is the JSON that the model wrote."""
    if isinstance(args, str):
        return args.encode()
    return args  # type: ignore[no-any-return]


def _verdict(tool: str, session: str, decision: Decision) -> Verdict:
    try:
        decision.require()
    except AwaitingApproval as asks:
        return Verdict(tool, session, text=f"{asks.code}: {asks.message}", approval_id=asks.approval_id)
    except Denied as denied:
        return Verdict(tool, session, text=f"{denied.code}: {denied.message}")
    if not decision.allowed:  # for whoever adds a decision to refuse: no call runs without ALLOW
        return Verdict(tool, session, text=f"{UNDECIDED}: the call was not made")
    return Verdict(tool, session, decision=decision)


def _refused(tool: str, session: str, err: Exception) -> Verdict:
    if isinstance(err, Denied):
        return Verdict(tool, session, text=f"{err.code}: {err.message}")
    log.error("the adapter has refused a call because it failed", exc_info=err)
    return Verdict(tool, session, text=f"{UNDECIDED}: the call was not made: the adapter failed: {type(err).__name__}: {err}")
