"""JSON whose numbers stay as they were written."""

from __future__ import annotations

import json
import math
from typing import Any


class Number(float):
    """A number that also remembers how it was written: no digit of a document is lost by reading and writing it."""

    text: str

    def __new__(cls, text: str) -> Number:
        self = super().__new__(cls, text)
        self.text = text
        return self


def loads(data: bytes | str) -> Any:
    """The value of a JSON text; None for an empty one."""
    return json.loads(data, parse_float=Number) if data else None


def dumps(value: Any) -> str:
    """The JSON text of a value. A value that JSON cannot hold is a TypeError or a ValueError."""
    parts: list[str] = []
    _write(parts.append, value, 0)
    return "".join(parts)


def _write(put: Any, value: Any, depth: int) -> None:
    if depth > 100:
        raise ValueError("it is nested too deeply")
    if isinstance(value, Number):
        put(value.text)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"JSON has no {value}")
    elif isinstance(value, dict):
        put("{")
        for i, (key, member) in enumerate(value.items()):
            if not isinstance(key, str):
                raise TypeError(f"{key!r} cannot be the name of a member")
            put("," if i else "")
            put(json.dumps(key, ensure_ascii=False))
            put(":")
            _write(put, member, depth + 1)
        put("}")
    elif isinstance(value, (list, tuple)):
        put("[")
        for i, element in enumerate(value):
            put("," if i else "")
            _write(put, element, depth + 1)
        put("]")
    else:
        put(json.dumps(value, ensure_ascii=False))


def encode(what: str, value: Any) -> bytes:
    """A value as JSON, empty for None. Bytes are JSON already: the server reads them strictly."""
    if value is None:
        return b""
    if isinstance(value, bytes):
        return value
    try:
        return dumps(value).encode()
    except (TypeError, ValueError, RecursionError) as err:
        raise ValueError(f"encode the {what}: {err}") from err
