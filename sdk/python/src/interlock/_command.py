"""Commands in jails."""

from __future__ import annotations

import functools
import json
import shlex
import subprocess
from collections.abc import Sequence

from .types import Command, Decision

_PROBE = 10.0
"""Seconds that a probe may take."""


def line_of(command: str | Sequence[str]) -> str:
    """The command line that has these words."""
    return command if isinstance(command, str) else shlex.join(command)


def command_of(line: str, decision: Decision, program: str) -> Command:
    """The command that runs a decided line."""
    if decision.jail is None:
        return Command(("/bin/bash", "--noprofile", "--norc", "-c", line), decision)
    return Command((program, "jail", "--run", decision.run_id, "--call", decision.call_id, "--", line), decision)


@functools.cache
def probed(program: str) -> int:
    """Asks Interlock's program once for the level of this machine's jails; 0 if there is no answer."""
    try:
        asked = subprocess.run(
            [program, "jail", "probe", "--json"], capture_output=True, stdin=subprocess.DEVNULL, timeout=_PROBE
        )
    except (OSError, subprocess.SubprocessError, ValueError):
        return 0
    return level_of(asked.stdout) if asked.returncode == 0 else 0


def level_of(out: bytes) -> int:
    """Reads the answer of a probe."""
    try:
        level = json.loads(out)["level"]
    except (ValueError, KeyError, TypeError):
        return 0
    return max(0, min(level, 3)) if isinstance(level, int) else 0
