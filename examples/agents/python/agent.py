"""The agent of docs/agent-examples.md in Python. Run it with `make example-agent-py`."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import interlock

Turn = dict[str, Any]  # the model's answer: a tool call, or an event of the workflow


def model(file: str) -> Callable[[str], Turn | None]:
    """A scripted model: it gives its next turn, regardless of its input."""
    turns = iter(Path(file).read_text().splitlines())
    return lambda told: next((json.loads(line) for line in turns), None)


def perform(tool: str, args: dict[str, str]) -> str:
    """Runs a tool. It is called only for calls that are allowed."""
    path = Path(args.get("file_path", ""))
    if tool == "Read":
        return path.read_text()
    if tool == "Edit":
        path.write_text(path.read_text().replace(args["old_string"], args["new_string"], 1))
        return "edited"
    if tool == "Bash":
        return subprocess.run(["bash", "-c", args["command"]], capture_output=True, text=True, check=True).stdout
    raise ValueError(f"there is no tool {tool}")


async def act(client: interlock.Interlock, turn: Turn) -> str:
    """Makes one turn, and returns the message to the model about it."""
    try:
        if "tool" in turn:
            result = await client.guard(turn["tool"], turn["input"], lambda: perform(turn["tool"], turn["input"]))
            return f"{result.value}\n{result.notice}".strip()
        run = await client.transition(turn["event"])
        return run.status if run.ended else f"now in {run.state}"
    except interlock.Denied as denied:
        return f"denied: {denied.message}"
    except interlock.Rejected as rejected:
        return f"refused: {rejected.message}"
    except interlock.AwaitingApproval as asks:
        print("  waits for a human")
        approval, _ = await asyncio.gather(client.wait_approval(asks.approval_id), human(asks.approval_id))
        if not approval.granted:
            return f"not approved: {approval.outcome}"
        run = await client.wait_run(until=lambda run: run.status != "AWAITING_APPROVAL")  # it moves a moment after the decision
        return f"approved; now in {run.state}"


async def human(approval_id: str) -> None:
    """Another person, with a token of the role approver, who approves."""
    async with interlock.Interlock(os.environ["INTERLOCK_SERVER"], token=os.environ["APPROVER_TOKEN"]) as client:
        await client.decide_approval(approval_id, True)


async def main() -> None:
    async with interlock.Interlock.from_env() as client:
        next_turn = model(sys.argv[1])
        told = (await client.load("release", workspace=str(Path.cwd()))).instructions
        while turn := next_turn(told):
            print(turn["say"])
            args = turn.get("input", {})
            print(f"  > {turn.get('event') or turn['tool']} {args.get('command') or args.get('file_path', '')}".rstrip())
            told = await act(client, turn)
            print(f"  {told}")


asyncio.run(main())
