"""Operations of a JSON Patch (RFC 6902). Paths are JSON Pointers (RFC 6901)."""

from __future__ import annotations

from typing import Any

__all__ = ["Op", "add", "copy", "move", "remove", "replace", "test"]

Op = dict[str, Any]
"""One operation, as RFC 6902 writes it."""


def add(path: str, value: Any) -> Op:
    """Sets a member, or inserts an element: "/list/-" appends."""
    return {"op": "add", "path": path, "value": value}


def replace(path: str, value: Any) -> Op:
    """Sets a value that must exist already."""
    return {"op": "replace", "path": path, "value": value}


def remove(path: str) -> Op:
    """Removes a value that must exist."""
    return {"op": "remove", "path": path}


def test(path: str, value: Any) -> Op:
    """Lets the whole patch fail unless the value at the path is this one."""
    return {"op": "test", "path": path, "value": value}


def move(source: str, path: str) -> Op:
    """Moves the value at the source to the path."""
    return {"op": "move", "from": source, "path": path}


def copy(source: str, path: str) -> Op:
    """Copies the value at the source to the path."""
    return {"op": "copy", "from": source, "path": path}
