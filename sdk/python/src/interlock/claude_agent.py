"""Gates the tools of the Claude Agent SDK, by its hooks.

```python
options = guarded(ClaudeAgentOptions(...), client)
async for message in query(prompt="...", options=options): ...
```

Every tool is judged: built-in tools, tools of the program and of MCP servers, and those of subagents. `can_use_tool` is not called
for what settings or `allowed_tools` allow already, so it gates nothing.

A call that a human must approve is deferred: the run stops, and `ResultMessage.deferred_tool_use` has the call. When the approval is
decided, continue with `resume(options)`, where `options.resume` is the id of the session. Claude Code asks the hook again, and
Interlock decides again: about the arguments of that moment, and nothing runs that nobody has approved.

Claude Code runs hooks at once, and one that changes a call's arguments would change them after they were judged. So the
`PreToolUse` hooks of the options are run before the call is judged, by the adapter. Hooks of settings files and of plugins are not:
leave `setting_sources` empty, or keep hooks out of them that return `updatedInput`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import re
from collections.abc import AsyncIterator, Callable
from typing import Any, Literal

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher, Message, ResultMessage, query

from ._gate import Client, Gate, Verdict

__all__ = ["guarded", "resume"]

Hooks = dict[Any, list[HookMatcher]]


def guarded(
    options: ClaudeAgentOptions,
    client: Client,
    *,
    session: str | Callable[[Any], str] = "",
    tool_name: Callable[[str], str] | None = None,
    timeout: float = 60.0,
) -> ClaudeAgentOptions:
    """Options with the hooks of Interlock before those that they have.

    Args:
        options: The options; they stay as they are.
        client: A client, of either kind.
        session: The session of a conversation, or a function of a hook's input that says it; its `session_id` is the conversation
            of Claude Code. The client's own without it.
        tool_name: Interlock's name of a tool. The tools of MCP servers are `mcp__SERVER__TOOL`.
        timeout: Seconds that Claude Code waits for a decision; more than the client's timeout.
    """
    theirs = dict(options.hooks or {})
    adapter = _Adapter(Gate(client, session=session, tool_name=tool_name), theirs.pop("PreToolUse", []))

    def matcher(hook: Any, on_failure: Literal["continue", "block"]) -> HookMatcher:
        return HookMatcher(matcher=None, hooks=[hook], timeout=timeout, on_failure=on_failure)

    # A hook that fails or is late blocks: without that, Claude Code would count it as no opinion.
    hooks: dict[Any, list[HookMatcher]] = {
        "PreToolUse": [matcher(adapter.before, "block")],
        "PostToolUse": [matcher(adapter.after, "continue")],
        "PostToolUseFailure": [matcher(adapter.failed, "continue")],
    }
    for event, matchers in theirs.items():
        hooks.setdefault(event, []).extend(matchers)
    return dataclasses.replace(options, hooks=hooks)


async def resume(options: ClaudeAgentOptions) -> AsyncIterator[Message]:
    """Resumes the session of `options.resume`, whose last call was deferred, and yields what `query` yields. When nobody has
    decided yet, the call is deferred again."""
    over = asyncio.Event()

    async def prompt() -> AsyncIterator[dict[str, Any]]:
        # There is no message of a user, which would come after the call that waits. Without any prompt the run would end.
        await over.wait()
        nothing: tuple[dict[str, Any], ...] = ()
        for message in nothing:
            yield message

    try:
        async for message in query(prompt=prompt(), options=options):
            if isinstance(message, ResultMessage):
                over.set()
            yield message
    finally:
        over.set()


class _Adapter:
    def __init__(self, gate: Gate, others: list[HookMatcher]) -> None:
        self._gate = gate
        self._others = others
        self._running: dict[str, Verdict] = {}

    async def before(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        answer, changed = await self._before(given, tool_use_id, context)
        if answer is not None:
            return answer
        verdict = await self._gate.ask(given["tool_name"], changed, given)
        if verdict.waits:
            return _decided("defer", verdict.text)
        if verdict.decision is None:
            return _decided("deny", verdict.text)
        self._running[given["tool_use_id"]] = verdict
        # What the workflow names is granted. What no list speaks of stays with the permissions of Claude Code.
        made = _decided("allow", "Interlock allows it")
        if not verdict.decision.tools_restricted:
            del made["hookSpecificOutput"]["permissionDecision"]
        made["hookSpecificOutput"]["updatedInput"] = changed
        return made

    async def _before(self, given: Any, tool_use_id: str | None, context: Any) -> tuple[dict[str, Any] | None, Any]:
        """Runs the other hooks. It returns the answer of one that does not let the call pass, and the arguments."""
        tool_input = given["tool_input"]
        for matcher in self._others:
            if not _matches(matcher.matcher, given["tool_name"]):
                continue
            theirs: list[Any] = list(matcher.hooks)
            for hook in theirs:
                try:
                    answer: Any = await hook({**given, "tool_input": tool_input}, tool_use_id, context)
                except Exception:
                    if matcher.on_failure == "block":
                        raise
                    continue
                answer = answer or {}
                said = answer.get("hookSpecificOutput") or {}
                if (
                    said.get("permissionDecision") in {"deny", "ask", "defer"}
                    or answer.get("decision") == "block"
                    or answer.get("continue_") is False
                ):
                    return answer, tool_input
                tool_input = said.get("updatedInput", tool_input)
        return None, tool_input

    async def after(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        return await self._report("PostToolUse", given, given.get("tool_response"), ok=True)

    async def failed(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        return await self._report("PostToolUseFailure", given, given.get("error"), ok=False)

    async def _report(self, event: str, given: Any, output: Any, *, ok: bool) -> dict[str, Any]:
        verdict = self._running.pop(given["tool_use_id"], None)
        notice = await self._gate.tell(verdict, output, ok=ok) if verdict else ""
        if not notice:
            return {}
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": notice}}


def _matches(matcher: str | None, tool: str) -> bool:
    """Whether a matcher of Claude Code is for a tool: names with | between them, or else a regular expression."""
    if not matcher or matcher == "*":
        return True
    if re.fullmatch(r"[\w|]+", matcher):
        return tool in matcher.split("|")
    return re.search(matcher, tool) is not None


def _decided(decision: str, reason: str) -> dict[str, Any]:
    return {
        "hookSpecificOutput": {
            "hookEventName": "PreToolUse",
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }
