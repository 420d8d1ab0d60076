"""Finds tools that the model's provider runs in the program's own additions to its requests."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

_MEMBERS = {"web_search_options": "web_search", "prompt": "prompt"}
"""Members of a request that bring a tool of the provider, or a stored prompt that may have some, and the kinds of those."""


def brought(body: Any) -> list[str]:
    """Returns the kinds of the tools that extra members of a request bring."""
    if not isinstance(body, Mapping):
        return []
    found = [kind for member, kind in _MEMBERS.items() if body.get(member)]
    for member in ("tools", "plugins", "mcp_servers", "functions"):
        given = body.get(member) or ()
        listed = given if isinstance(given, (list, tuple)) else [given]
        found += [_kind(tool, member) for tool in listed]
    return found


def _kind(tool: Any, member: str) -> str:
    named = (tool.get("type") or tool.get("id")) if isinstance(tool, Mapping) else None
    return str(named or member.removesuffix("s"))


def refuse(kinds: Collection[str], ungated: Collection[str]) -> None:
    """Raises a TypeError where a kind of tool is not named in `ungated`."""
    for kind in kinds:
        if kind not in ungated:
            raise TypeError(
                f"Interlock cannot judge the tool {kind!r}, which the model's provider runs, so it must not be offered; "
                "name it in `ungated` if it may be used without"
            )
