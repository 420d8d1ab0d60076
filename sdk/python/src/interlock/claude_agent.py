"""Gates the tools of the Claude Agent SDK, by its hooks.

```python
options = guarded(ClaudeAgentOptions(...), client)
async for message in query(prompt="...", options=options): ...
```

Every tool is judged: built-in tools, tools of the program and of MCP servers, those of subagents, and shell commands in the texts of
skills and slash commands. `can_use_tool` is not called for calls that settings or `allowed_tools` allow already, so it does not
gate them.

A call that a human must approve is deferred: the run stops, and `ResultMessage.deferred_tool_use` has the call. When the approval is
decided, continue with `resume(options)`, where `options.resume` is the id of the session. Claude Code asks the hook again, and
Interlock decides again: about the arguments of that moment, and no call runs without an approval.

Claude Code runs hooks at once, and one that changes a call's arguments would change them after they were judged. So the
`PreToolUse` hooks of the options are run before the call is judged, by the adapter. Arguments that `can_use_tool` or a
`PermissionRequest` hook of the options changes are judged again. Hooks of settings files and of plugins are not run before:
leave `setting_sources` empty, or keep hooks out of them that return `updatedInput`. A call whose arguments were changed all the same
is reported as failed.

`query` of this module is that of the SDK; when it is left, it reports the calls whose end Claude Code has not said. With a
`ClaudeSDKClient`, call `settle(options)` after `disconnect`.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Literal

import claude_agent_sdk
from claude_agent_sdk import (
    CanUseTool,
    ClaudeAgentOptions,
    HookMatcher,
    Message,
    PermissionResultAllow,
    PermissionResultDeny,
    ResultMessage,
    ToolPermissionContext,
)
from claude_agent_sdk._cli_version import __cli_version__

from ._gate import Client, Gate, Outcome, Verdict, digest_of, freeze

__all__ = ["guarded", "query", "resume", "settle"]

Hooks = dict[Any, list[HookMatcher]]

SKILL_COMMANDS_SINCE = (2, 1, 332)
"""The Claude Code that has the hook for shell commands in the texts of skills. Before, they are switched off."""


def guarded(
    options: ClaudeAgentOptions,
    client: Client,
    *,
    session: str | Callable[[Any], str] = "",
    tool_name: Callable[[str], str] | None = None,
    human: str | Callable[[Any], str] = "",
    only: Any = None,
    timeout: float = 60.0,
    skill_commands: bool | None = None,
) -> ClaudeAgentOptions:
    """Options with the hooks of Interlock before those that they have.

    Args:
        options: The options; they stay as they are.
        client: A client, of either kind.
        session: The session of a conversation, or a function of a hook's input that says it; its `session_id` is the conversation
            of Claude Code. The client's own without it.
        tool_name: Interlock's name of a tool. The tools of MCP servers are `mcp__SERVER__TOOL`.
        human: The own token of the person on whose behalf a conversation is, or a function that says it, of the same as
            that of `session`; that of the client without it.
        only: Entries that all calls of each session must meet: sessions are narrowed before their first call (S22.24).
        timeout: Seconds that Claude Code waits for a decision; more than the client's timeout.
        skill_commands: Whether shell commands in the texts of skills and slash commands may run, each after a decision. Without
            it they may where the Claude Code that the SDK brings asks about them, from 2.1.332 on. False switches them off. Say
            True only for a Claude Code of your own that asks.
    """
    if options.permission_prompt_tool_name is not None:
        raise TypeError(
            "Interlock cannot judge the arguments that permission_prompt_tool_name may change: leave it out, and use can_use_tool"
        )
    _check_hooks_run(options)
    theirs = dict(options.hooks or {})
    adapter = _Adapter(Gate(client, session=session, tool_name=tool_name, human=human, only=only), theirs.pop("PreToolUse", []))
    if requests := theirs.get("PermissionRequest"):
        theirs["PermissionRequest"] = [
            dataclasses.replace(one, hooks=[adapter.requested(hook) for hook in one.hooks]) for one in requests
        ]

    def matcher(hook: Any, on_failure: Literal["continue", "block"] = "continue") -> HookMatcher:
        return HookMatcher(matcher=None, hooks=[hook], timeout=timeout, on_failure=on_failure)

    # A hook that fails or is late blocks: without that, Claude Code would count it as no opinion.
    hooks: dict[Any, list[HookMatcher]] = {
        "PreToolUse": [matcher(adapter.before, "block")],
        "PostToolUse": [matcher(adapter.after)],
        "PostToolUseFailure": [matcher(adapter.failed)],
        "PermissionDenied": [matcher(adapter.not_made)],
        "Stop": [matcher(adapter.stopped)],
        "SubagentStop": [matcher(adapter.stopped)],
    }
    asks = skill_commands if skill_commands is not None else options.cli_path is None and _version() >= SKILL_COMMANDS_SINCE
    if asks:
        hooks["PreSkillShellCommand"] = [matcher(adapter.skill, "block")]
    for event, matchers in theirs.items():
        hooks.setdefault(event, []).extend(matchers)
    permission = adapter.permission(options.can_use_tool) if options.can_use_tool else None
    return dataclasses.replace(options, hooks=hooks, settings=_with_hooks(options, skill_commands=asks), can_use_tool=permission)


async def query(*, prompt: Any, options: ClaudeAgentOptions, **more: Any) -> AsyncIterator[Message]:
    """`claude_agent_sdk.query`, after which no call is left without a report."""
    _check_hooks_run(options)
    messages = claude_agent_sdk.query(prompt=prompt, options=options, **more)
    try:
        async for message in messages:
            yield message
    finally:
        try:
            close: Any = getattr(messages, "aclose", None)
            if close:
                await close()
        finally:
            await settle(options)


async def resume(options: ClaudeAgentOptions) -> AsyncIterator[Message]:
    """Resumes the session of `options.resume`, whose last call was deferred, and yields the messages of `query`. When no
    human has decided yet, the call is deferred again."""
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


async def settle(options: ClaudeAgentOptions) -> None:
    """Reports the calls by guarded options whose end Claude Code has not said, because it was ended: their
    outcome is unknown. Call it when none of its conversations runs."""
    for matchers in (options.hooks or {}).values():
        for matcher in matchers:
            for hook in matcher.hooks:
                adapter = getattr(hook, "__self__", None)
                if isinstance(adapter, _Adapter):
                    await adapter.settle()


class _Adapter:
    def __init__(self, gate: Gate, others: list[HookMatcher]) -> None:
        self._gate = gate
        self._others = others
        self._running: dict[tuple[str, str], tuple[Verdict, Any]] = {}
        """The calls that were allowed, by conversation and id, and the events that they were judged by."""

    async def before(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        answer, changed = await self._before(given, tool_use_id, context)
        asks = _said(answer).get("permissionDecision") == "ask"
        if answer is not None and not asks:
            return answer
        verdict = await self._judge(given, changed)
        if verdict.waits:
            return _decided("defer", verdict.text)
        if verdict.decision is None:
            return _decided("deny", verdict.text)
        # Tools that the workflow names are granted. Tools in no list stay with the permissions of Claude Code.
        made = _decided("allow", "Interlock allows it")
        if asks:
            made = _decided("ask", _said(answer).get("permissionDecisionReason") or "")
        elif not verdict.decision.tools_restricted:
            del made["hookSpecificOutput"]["permissionDecision"]
        made["hookSpecificOutput"]["updatedInput"] = verdict.args
        return made

    async def _judge(self, given: Any, args: Any) -> Verdict:
        """Decides a call, and keeps the verdict of one that is allowed until the call has ended."""
        key = _key(given)
        verdict = await self._gate.ask(given["tool_name"], args, given, call_id=key[1], folder=given.get("cwd") or "")
        if verdict.use():
            if key in self._running:
                await self._tell(key, ok=False, unknown=True)
            self._running[key] = (verdict, given)
        return verdict

    async def _before(self, given: Any, tool_use_id: str | None, context: Any) -> tuple[dict[str, Any] | None, Any]:
        """Runs the other hooks. It returns the answer of one that does not simply let the call pass, and the arguments. One that asks
        the user makes no decision: the call is judged all the same."""
        tool_input, asks = given["tool_input"], None
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
                answer, said = answer or {}, _said(answer)
                if said.get("permissionDecision") in {"deny", "defer"}:
                    return answer, tool_input
                if answer.get("decision") == "block" or answer.get("continue_") is False:
                    # Claude Code makes the call of a hook that only ends the conversation.
                    why = answer.get("reason") or answer.get("stopReason") or "a hook has refused the call"
                    return {**answer, **_decided("deny", str(why))}, tool_input
                tool_input = said.get("updatedInput") or tool_input
                asks = answer if said.get("permissionDecision") == "ask" else asks
        return asks, tool_input

    def permission(self, theirs: CanUseTool) -> CanUseTool:
        """The permissions of the program, whose changes of arguments are judged."""

        async def can_use_tool(tool: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> Any:
            key = next((key for key in self._running if key[1] == context.tool_use_id and self._is(key, tool, tool_input)), None)
            answer = await theirs(tool, tool_input, context)
            if not isinstance(answer, PermissionResultAllow):
                await self._drop(key)
                return answer
            refusal, args = await self._changed(key, answer.updated_input)
            return PermissionResultDeny(message=refusal) if refusal else dataclasses.replace(answer, updated_input=args)

        return can_use_tool

    def requested(self, theirs: Any) -> Any:
        """A hook of the program that answers for permissions, whose changes of arguments are judged."""

        async def hook(given: Any, tool_use_id: str | None, context: Any) -> Any:
            session, tool, tool_input = str(given["session_id"]), given["tool_name"], given["tool_input"]
            key = next((key for key in self._running if key[0] == session and self._is(key, tool, tool_input)), None)
            answer = await theirs(given, tool_use_id, context)
            decision = _said(answer).get("decision") or {}
            if decision.get("behavior") != "allow":
                return answer
            refusal, args = await self._changed(key, decision.get("updatedInput"))
            made = {**decision} if args is None else {**decision, "updatedInput": args}
            if refusal:
                made = {"behavior": "deny", "message": refusal}
            return {**answer, "hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": made}}

        return hook

    def _is(self, key: tuple[str, str], tool: str, args: Any) -> bool:
        """Whether a call that was allowed is of a tool and has these arguments."""
        verdict, given = self._running[key]
        return bool(given["tool_name"] == tool) and _same(verdict, args)

    async def _changed(self, key: tuple[str, str] | None, args: Any) -> tuple[str, Any]:
        """Judges arguments that were changed after the decision. It returns why they are refused, or those to run: None for the call
        as it is."""
        if key is None or key not in self._running:
            return "NOT_JUDGED: the call was not made: Interlock has no decision on it. Make the call again.", None
        verdict, given = self._running[key]
        if args is None:
            return "", None
        if digest_of(freeze(args)[1]) == verdict.digest:
            return "", verdict.args
        await self._drop(key)
        again = await self._judge(given, args)
        return "" if again.allowed else again.text, again.args

    async def _drop(self, key: tuple[str, str] | None) -> None:
        """Gives back a call that is not made."""
        verdict, _ = self._running.pop(key, (None, None)) if key else (None, None)
        if verdict is not None:
            await self._gate.give_up(verdict)

    async def skill(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """Judges a shell command in the text of a skill. Claude Code does not say how it ends, and defers none."""
        verdict = await self._gate.ask(given["tool_name"], given["tool_input"], given, folder=given.get("cwd") or "")
        if verdict.decision is None or not verdict.use():
            return _decided("deny", verdict.text, "PreSkillShellCommand")
        await self._gate.tell(verdict, unknown=True)
        return {}

    async def after(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        outcome = _outcome(given)
        verdict, _ = self._running.get(_key(given), (None, None))
        if verdict is not None and not _same(verdict, given.get("tool_input")):
            outcome = dataclasses.replace(outcome, ok=False, unknown=True)
        return await self._tell(_key(given), outcome, event="PostToolUse")

    async def failed(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        interrupted = bool(given.get("is_interrupt"))
        return await self._tell(_key(given), Outcome(given.get("error"), False, interrupted), event="PostToolUseFailure")

    async def not_made(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """Gives back a call that the permissions of Claude Code have refused."""
        await self._drop(_key(given))
        return {}

    async def stopped(self, given: Any, tool_use_id: str | None, context: Any) -> dict[str, Any]:
        """Reports the calls of an agent that has stopped without a word on how they ended."""
        await self.settle(given["session_id"], given.get("agent_id") or "")
        return {}

    async def settle(self, session: str | None = None, agent: str = "") -> None:
        for key, (_, of) in list(self._running.items()):
            if session is None or (key[0] == session and (of.get("agent_id") or "") == agent):
                await self._tell(key, ok=False, unknown=True)

    async def _tell(
        self, key: tuple[str, str], output: Any = None, *, ok: bool = True, unknown: bool = False, event: str = ""
    ) -> dict[str, Any]:
        verdict, _ = self._running.pop(key, (None, None))
        notice = await self._gate.tell(verdict, output, ok=ok, unknown=unknown) if verdict else ""
        return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": notice}} if notice else {}


def _key(given: Any) -> tuple[str, str]:
    return str(given["session_id"]), str(given["tool_use_id"])


def _same(verdict: Verdict, args: Any) -> bool:
    """Whether a call was made with the arguments that were judged; Claude Code may add some of its own."""
    if not isinstance(args, dict) or not isinstance(verdict.args, dict):
        return True
    try:
        return digest_of(freeze({name: args.get(name) for name in verdict.args})[1]) == verdict.digest
    except (TypeError, ValueError):
        return False


_SHELLS = {"Bash", "PowerShell"}
_STARTS = {"Monitor", "Agent", "Task"}
_SHOWS = {"TaskOutput", "BashOutput"}
_STOPS = {"TaskStop", "KillShell", "KillBash"}
_ENDS = {"completed", "failed", "killed", "stopped"}
_IDS = ("backgroundTaskId", "taskId", "task_id", "agentId", "shellId", "shell_id")
_CONTINUES = ("backgroundTaskId", "backgroundedByUser", "timedOutAfterMs", "assistantAutoBackgrounded")
"""The mark in the result of a command whose program runs on (S14.5)."""


def _outcome(given: Any) -> Outcome:
    """Reads the event of a call that Claude Code counts as made, as `interlock hook` does: a command may still be running, and its
    status need not be 0."""
    tool, result = given["tool_name"], given.get("tool_response")
    said: dict[str, Any] = result if isinstance(result, dict) else {}
    unknown = left = ended = ""
    if tool in _SHELLS:
        left = _id(said) or ("?" if any(said.get(name) not in (None, False) for name in _CONTINUES) else "")
        unknown = left or ("?" if said.get("interrupted") not in (None, False) else "")
    elif tool in _STARTS and said.get("status") not in _ENDS:
        left = _id(said)
    elif tool in _SHOWS:
        of: dict[str, Any] = said["task"] if isinstance(said.get("task"), dict) else said
        ended = _id(of) if of.get("status") in _ENDS else ""
    elif tool in _STOPS:
        asked = given.get("tool_input")
        ended = _id(said) or _id(asked if isinstance(asked, dict) else {})
    # A status that Claude Code takes for an answer, such as diff's 1, is not that of a success.
    ok = not (tool in _SHELLS and said.get("returnCodeInterpretation"))
    return Outcome(result, ok, bool(unknown), left[:256], ended[:256])


def _id(said: dict[str, Any]) -> str:
    return next((str(said[name]) for name in _IDS if said.get(name)), "")


def _version() -> tuple[int, ...]:
    """The version of the Claude Code that the SDK brings."""
    return tuple(int(part) for part in re.findall(r"\d+", __cli_version__)[:3])


_MINIMAL = "CLAUDE_CODE_SIMPLE"
"""The variable of the mode in which Claude Code runs no hooks, that of `--bare`."""


def _check_hooks_run(options: ClaudeAgentOptions) -> None:
    """Refuses options by which Claude Code runs no hooks."""
    env = {**os.environ, **options.env, **(_settings(options).get("env") or {})}
    if "bare" in options.extra_args or str(env.get(_MINIMAL) or "").strip().lower() in {"1", "true", "yes", "on"}:
        raise TypeError(f"Interlock cannot judge the calls of a Claude Code that runs no hooks: leave out --bare and {_MINIMAL}")


def _settings(options: ClaudeAgentOptions) -> dict[str, Any]:
    """The settings that options name, as a text or by a file."""
    text = (options.settings or "{}").strip()
    if not text.startswith("{"):
        text = (Path(options.cwd or "") / text).read_text(encoding="utf-8-sig")
    made: dict[str, Any] = json.loads(text)
    return made


def _with_hooks(options: ClaudeAgentOptions, *, skill_commands: bool) -> str:
    """The settings of options, by which hooks run despite the settings files, and, without `skill_commands`, no shell commands in
    the texts of skills and slash commands."""
    settings = _settings(options)
    settings["env"] = {**(settings.get("env") or {}), _MINIMAL: "0"}
    if not skill_commands:
        settings["disableSkillShellExecution"] = True
    return json.dumps(settings)


def _matches(matcher: str | None, tool: str) -> bool:
    """Whether a matcher of Claude Code is for a tool: names with | between them, or else a regular expression."""
    if not matcher or matcher == "*":
        return True
    if re.fullmatch(r"[\w|]+", matcher):
        return tool in matcher.split("|")
    return re.search(matcher, tool) is not None


def _said(answer: Any) -> dict[str, Any]:
    """The answer of a hook about its event."""
    return (answer or {}).get("hookSpecificOutput") or {}


def _decided(decision: str, reason: str, event: str = "PreToolUse") -> dict[str, Any]:
    return {
        "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": decision,
            "permissionDecisionReason": reason,
        }
    }
