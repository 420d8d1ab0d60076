"""The examples of README.md and docs/sdk.md run, in their order, next to a real server."""

from __future__ import annotations

import ast
import json
import re
import subprocess
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from interlock_server import ROOT, Server

import interlock
import interlock.sync
from interlock.testing import Fake

WORKFLOW = {
    "id": "editing",
    "initial": "looking",
    "meta": {"enforcement": "while_running"},  # the page loads it again in the same session
    "states": {
        "looking": {"allowed_tools": ["Read", "Edit", "Bash", "Deploy"], "on": {"READY": "looking", "DONE": "done"}},
        "done": {"type": "final"},
    },
}
POLICY = {"name": "docs", "role": "agent", "meta": {"tools": ["Deploy"]}, "ask": [{"capability": "tool:Deploy"}]}
SHIPPING = {
    "id": "shipping",
    "initial": "testing",
    "evidence": {"tests": {"tool": "Bash", "command": "make test"}},
    "guards": {"tested": {"evidence": "tests"}},
    "states": {
        "testing": {
            "allowed_tools": ["Bash"],
            "on": {"SHIP": {"target": "shipped", "guard": "tested", "requires_approval": True}},
        },
        "shipped": {"type": "final"},
    },
}
SCHEMA = {
    "type": "object",
    "required": ["status", "findings"],
    "properties": {"status": {"enum": ["pending", "running", "completed"]}, "findings": {"type": "array"}},
}


def examples(page: Path) -> list[str]:
    return re.findall(r"(?ms)^```python\n(.*?)^```$", page.read_text())


def prepare(server: Server) -> None:
    for name, content in (("workflow", WORKFLOW), ("shipping", SHIPPING), ("policy", POLICY), ("schema", SCHEMA)):
        (server.folder / f"docs-{name}.json").write_text(json.dumps(content))
    server.cli("operator", "workflow", "register", str(server.folder / "docs-workflow.json"))
    server.cli("operator", "workflow", "register", str(server.folder / "docs-shipping.json"))
    server.cli("operator", "policy", "put", str(server.folder / "docs-policy.json"))
    server.cli("operator", "policy", "attach", "docs", "--workflow", "editing")
    server.cli("operator", "schema", "register", "review", str(server.folder / "docs-schema.json"))


def approver(server: Server) -> Any:
    def approve(approval_id: str) -> None:
        client = interlock.sync.Interlock(server.grpc, token=server.tokens["approver"])
        client.decide_approval(approval_id, True)
        client.close()

    return approve


async def run(source: str, names: dict[str, Any]) -> None:
    code: CodeType = compile(source, "<example>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    done = eval(code, names)
    if done is not None:
        await done


async def test_the_page(server: Server, tmp_path: Path) -> None:
    prepare(server)
    blocks = examples(ROOT / "docs" / "sdk.md")
    assert len(blocks) == 13
    client = interlock.Interlock(server.grpc, token=server.tokens["agent"], session="docs")
    await client.load("editing")
    names: dict[str, Any] = {"token": server.tokens["agent"], "folder": tmp_path, "approve": approver(server)}
    for block in blocks:
        # Each is part of a function that has a client.
        await run(block, {**names, "interlock": interlock} if "client = " in block else names)
        names |= {"interlock": interlock, "client": client}
    with Fake() as fake:
        await names["test_the_edit"](fake)
    assert (tmp_path / "main.go").read_text() == "b"
    await client.close()


async def test_the_readme(server: Server, monkeypatch: Any) -> None:
    prepare(server)
    monkeypatch.setenv("INTERLOCK_SERVER", server.grpc)
    monkeypatch.setenv("INTERLOCK_TOKEN", server.tokens["agent"])
    monkeypatch.setenv("INTERLOCK_SESSION", "readme")
    async with interlock.Interlock.from_env() as client:
        await client.load("editing")
    guarding, proving = examples(Path(__file__).parents[1] / "README.md")
    edited: list[Any] = []
    names: dict[str, Any] = {"interlock": interlock, "edit": lambda **args: edited.append(args) or "edited"}
    names["args"] = {"file_path": "a.go", "old_string": "a", "new_string": "b"}
    await run(guarding, names)
    assert edited == [names["args"]]
    assert names["result"].value == "edited"
    shipping = interlock.Interlock(server.grpc, token=server.tokens["runtime"], session="readme-shipping")
    server.cli("operator", "run", "start", "shipping", "--session", "readme-shipping")
    with pytest.raises(interlock.Rejected):
        await shipping.transition("SHIP")
    more = {"client": shipping, "folder": str(server.folder), "notify": approver(server)}
    await run(proving, {**names, **more, "run_tests": lambda: subprocess.run(["true"], check=False)})
    assert (await shipping.wait_run(timeout=30)).status == "COMPLETED"
    await shipping.close()
    await names["client"].close()
