"""The examples of README.md and docs/sdk.md run, in their order, next to a real server."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from types import CodeType
from typing import Any

from interlock_server import ROOT, Server

import interlock
import interlock.sync
from interlock.gen.approval.v1 import approval_service_pb2, approval_service_pb2_grpc

WORKFLOW = {
    "id": "editing",
    "initial": "looking",
    "meta": {"enforcement": "while_running"},  # the page loads it again in the same session
    "states": {
        "looking": {"allowed_tools": ["Read", "Edit", "Deploy"], "on": {"READY": "looking", "DONE": "done"}},
        "done": {"type": "final"},
    },
}
POLICY = {"name": "docs", "role": "agent", "meta": {"tools": ["Deploy"]}, "ask": [{"capability": "tool:Deploy"}]}
SCHEMA = {
    "type": "object",
    "required": ["status", "findings"],
    "properties": {"status": {"enum": ["pending", "running", "completed"]}, "findings": {"type": "array"}},
}


def examples(page: Path) -> list[str]:
    return re.findall(r"(?ms)^```python\n(.*?)^```$", page.read_text())


def prepare(server: Server) -> None:
    for name, content in (("workflow", WORKFLOW), ("policy", POLICY), ("schema", SCHEMA)):
        (server.folder / f"docs-{name}.json").write_text(json.dumps(content))
    server.cli("operator", "workflow", "register", str(server.folder / "docs-workflow.json"))
    server.cli("operator", "policy", "put", str(server.folder / "docs-policy.json"))
    server.cli("operator", "policy", "attach", "docs", "--workflow", "editing")
    server.cli("operator", "schema", "register", "review", str(server.folder / "docs-schema.json"))


def approver(server: Server) -> Any:
    def approve(approval_id: str) -> None:
        client = interlock.sync.Interlock(server.grpc, token=server.tokens["approver"])
        stub = approval_service_pb2_grpc.ApprovalServiceStub(client.conn)
        request = approval_service_pb2.DecideApprovalRequest(approval_id=approval_id, approve=True)
        stub.DecideApproval(request, metadata=client.metadata)
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
    assert len(blocks) == 9
    client = interlock.Interlock(server.grpc, token=server.tokens["agent"], session="docs")
    await client.load("editing")
    names: dict[str, Any] = {"token": server.tokens["agent"], "folder": tmp_path, "approve": approver(server)}
    for block in blocks:
        # Each is part of a function that has a client.
        await run(block, {**names, "interlock": interlock} if "client = " in block else names)
        names |= {"interlock": interlock, "client": client}
    assert (tmp_path / "main.go").read_text() == "b"
    await client.close()


async def test_the_readme(server: Server, monkeypatch: Any) -> None:
    prepare(server)
    monkeypatch.setenv("INTERLOCK_SERVER", server.grpc)
    monkeypatch.setenv("INTERLOCK_TOKEN", server.tokens["agent"])
    monkeypatch.setenv("INTERLOCK_SESSION", "readme")
    async with interlock.Interlock.from_env() as client:
        await client.load("editing")
    (block,) = examples(Path(__file__).parents[1] / "README.md")
    edited: list[Any] = []
    names: dict[str, Any] = {"interlock": interlock, "edit": lambda **args: edited.append(args) or "edited"}
    names["args"] = {"file_path": "a.go", "old_string": "a", "new_string": "b"}
    await run(block, names)
    assert edited == [names["args"]]
    assert names["result"].value == "edited"
    await names["client"].close()
