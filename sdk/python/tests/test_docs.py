"""The examples of README.md and docs/sdk.md run, in their order, next to a real server."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import CodeType
from typing import Any

import pytest
from interlock_server import ROOT, Server
from test_gate_who import post

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


def examples(page: Path, kind: str = "python") -> list[str]:
    return re.findall(rf"(?ms)^```{kind}\n(.*?)^```$", page.read_text())


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
    assert len(blocks) == 14
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


def test_the_whole_program(server: Server, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "sdk.md").read_text()
    (source,) = re.findall(r"(?ms)^```python gate\.py\n(.*?)^```$", page)
    (printed,) = re.findall(r"(?ms)The program prints:\n\n```\n(.*?)^```$", page)
    server.cli("operator", "workflow", "register", str(ROOT / "examples" / "bugfix.json"))
    run_id = server.cli("operator", "run", "start", "bugfix")["run_id"]
    environment = os.environ | {
        "INTERLOCK_SERVER": server.grpc,
        "INTERLOCK_TOKEN": server.tokens["agent"],
        "INTERLOCK_RUN": run_id,
    }
    done = subprocess.run(
        [sys.executable, "-c", source], cwd=tmp_path, env=environment, check=False, capture_output=True, text=True
    )
    assert (done.stdout, done.stderr) == (printed, "")
    assert (tmp_path / "notes.txt").read_text() == "b\n"


async def test_people(control: str, capsys: pytest.CaptureFixture[str]) -> None:
    made = post(control + "/cases", {})
    base = f"{control}/cases/{made['id']}"
    ada = post(base + "/person", {"name": "ada", "groups": ["support"]})["token"]
    to = {"server": made["server"], "namespace": made["namespace"]}
    clients = {
        "client": interlock.Interlock(**to, token=made["token"]),
        "operator": interlock.Interlock(**to, token=made["operator_token"]),
    }
    names: dict[str, Any] = {**clients, "interlock": interlock, "token_of_ada": ada}
    blocks = examples(ROOT / "docs" / "sdk.md", "python people")
    assert len(blocks) == 2
    for block in blocks:
        await run(block, names)
    said = capsys.readouterr().out
    assert "agent ada ('ticket-7',)" in said
    assert "NARROWED  agent ada ('ticket-7',)" in said
    for client in clients.values():
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
    assert (await shipping.wait_run(timeout=120)).status == "COMPLETED"
    await shipping.close()
    await names["client"].close()
