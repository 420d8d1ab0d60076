"""The agent of docs/agent-examples.md runs, and prints what the page has."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from interlock_server import BINARY, ROOT


def test_the_example_agent() -> None:
    env = {**os.environ, "INTERLOCK_BINARY": str(BINARY), "PYTHON": sys.executable}
    done = subprocess.run(
        [ROOT / "examples" / "agents" / "run", "python"], env=env, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (documented,) = re.findall(r"(?ms)^```text\n(.*?)^```$", (ROOT / "docs" / "agent-examples.md").read_text())
    assert re.sub(r"\(\d\d:\d\d:\d\d, ", "(..., ", done.stdout) == documented
    assert 'denied: Tool "Bash" is not allowed in state "plan".' in done.stdout
    assert "waits for a human\n  approved; now in deploy\n" in done.stdout
    assert done.stdout.count("deployed version 2") == 1
    assert done.stdout.endswith("deployments: 1\n")
