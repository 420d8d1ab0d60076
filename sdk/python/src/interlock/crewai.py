"""Gates the tools of CrewAI, by its hooks.

```python
with InterlockHooks(client):
    crew.kickoff()
```

While the hooks are registered, every tool call of every crew in the process is judged: tools of agents, of MCP servers, and the tools
by which agents delegate. A refusal is the tool's result. CrewAI cannot pause a call, so one that a human must approve is refused
with the approval's id, and the model can make it again; or with `wait`, the call waits for the humans.

CrewAI takes an exception of a hook for no opinion, and runs the tool. These hooks let none out but `HookAborted`. Register hooks that
change arguments before them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from crewai.hooks.dispatch import HookAborted, InterceptionPoint, register, unregister
from crewai.hooks.tool_hooks import ToolCallHookContext
from crewai.tools.tool_failure import detect_tool_failure

from ._gate import Client, Gate, Verdict, joined, text_of
from .errors import UNDECIDED

__all__ = ["InterlockHooks"]


class InterlockHooks:
    """The hooks. They are registered by `register` or as a context manager."""

    def __init__(
        self,
        client: Client,
        *,
        session: str | Callable[[Any], str] = "",
        tool_name: Callable[[str], str] | None = None,
        wait: float = 0.0,
    ) -> None:
        """Makes the hooks.

        Args:
            client: A client, of either kind. Hooks have no event loop, so that of `interlock.sync` saves a connection.
            session: The session of a conversation, or a function of the `ToolCallHookContext` that says it, such as
                `lambda context: context.crew.name`. The client's own without it.
            tool_name: Interlock's name of a tool. CrewAI writes names in lower case with _. The tools of MCP servers have their
                own names, without that of the server.
            wait: Seconds that a call waits for humans to approve it.
        """
        self._gate = Gate(client, session=session, tool_name=tool_name)
        self._wait = wait
        self._lock = threading.Lock()
        # By the arguments, which are the same object before and after a call; they are kept, so that no others have their id.
        self._calls: dict[int, tuple[Any, Verdict]] = {}

    def register(self) -> None:
        """Registers the hooks for all crews of the process."""
        register(InterceptionPoint.PRE_TOOL_CALL, self._before)
        register(InterceptionPoint.POST_TOOL_CALL, self._after)

    def unregister(self) -> None:
        """Takes the hooks away: what runs then is not judged."""
        unregister(InterceptionPoint.PRE_TOOL_CALL, self._before)
        unregister(InterceptionPoint.POST_TOOL_CALL, self._after)

    def __enter__(self) -> InterlockHooks:
        self.register()
        return self

    def __exit__(self, kind: type[BaseException] | None, err: BaseException | None, trace: TracebackType | None) -> None:
        self.unregister()

    def _before(self, context: ToolCallHookContext) -> None:
        try:
            verdict = self._decide(context)
            with self._lock:
                self._calls[id(context.tool_input)] = (context.tool_input, verdict)
        except Exception as err:
            raise HookAborted(f"{UNDECIDED}: the call was not made: {err}", source="interlock") from err
        if not verdict.allowed:
            raise HookAborted(verdict.text, source="interlock")

    def _decide(self, context: ToolCallHookContext) -> Verdict:
        until = time.monotonic() + self._wait
        while True:
            verdict = self._gate.ask_sync(_name(context), context.tool_input, context)
            left = until - time.monotonic()
            if not verdict.waits or left <= 0:
                return verdict
            if not self._gate.wait_sync(verdict, left):
                return verdict

    def _after(self, context: ToolCallHookContext) -> str | None:
        with self._lock:
            _, verdict = self._calls.pop(id(context.tool_input), (None, None))
        if verdict is None:
            return None
        if not verdict.allowed:
            return verdict.text
        raw = context.raw_tool_result
        failed = detect_tool_failure(raw) is not None or (isinstance(raw, str) and raw.startswith("Error executing tool: "))
        notice = self._gate.tell_sync(verdict, raw, ok=not failed)
        return joined(context.tool_result or text_of(raw), notice) if notice else None


def _name(context: ToolCallHookContext) -> str:
    """The name of the tool that is called. CrewAI makes names of the tools of MCP servers of the server's command or address."""
    tool: Any = context.tool
    for one in (tool, getattr(tool, "_original_tool", None)):
        name = getattr(one, "original_tool_name", None)
        if isinstance(name, str) and name:
            return name
    return context.tool_name
