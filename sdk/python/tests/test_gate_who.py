"""Gates that act for people, and narrow their sessions."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

import interlock
from interlock._gate import Gate, Verdict

ONLY_SUPPORT = {"name": "support", "role": "agent", "deny": [{"capability": "mcp:crm", "unless": {"human.groups": "support"}}]}


def post(url: str, body: Any) -> Any:
    request = urllib.request.Request(url, method="POST", data=json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read())


@pytest.fixture
def hosted(control: str) -> Iterator[dict[str, Any]]:
    made = post(control + "/cases", {"policies": [ONLY_SUPPORT]})
    made["base"] = f"{control}/cases/{made['id']}"
    yield made
    urllib.request.urlopen(urllib.request.Request(made["base"], method="DELETE"), timeout=60).close()


def person(hosted: dict[str, Any], name: str, *groups: str) -> str:
    token: str = post(hosted["base"] + "/person", {"name": name, "groups": groups})["token"]
    return token


@pytest.mark.parametrize("looped", [True, False])
async def test_a_gate_acts_for_people(looped: bool, hosted: dict[str, Any]) -> None:
    client = interlock.Interlock(hosted["server"], token=hosted["token"], namespace=hosted["namespace"])
    gate = Gate(
        client, session=lambda at: at["thread"], human=lambda at: at["user"], only=[{"tools": ["mcp__crm__open", "Read"]}]
    )

    async def ask(tool: str, at: Any) -> Verdict:
        return await gate.ask(tool, {}, at) if looped else gate.ask_sync(tool, {}, at)

    ada = {"thread": "for-ada", "user": person(hosted, "ada", "support")}
    bob = {"thread": "for-bob", "user": person(hosted, "bob", "sales")}
    assert (await ask("mcp__crm__open", ada)).allowed
    assert (await client.for_session("for-ada").get_session()).human.name == "ada"  # type: ignore[union-attr]
    denied = await ask("mcp__crm__open", bob)
    assert denied.text.startswith("POLICY_DENIED")
    assert (await ask("mcp__crm__drop", ada)).text.startswith("NARROWED")
    for nobody in ({"thread": "for-ada"}, {"thread": "for-ada", "user": None}, {"thread": "for-ada", "user": "no-token"}):
        assert not (await ask("mcp__crm__open", nobody)).allowed
    await client.close()
