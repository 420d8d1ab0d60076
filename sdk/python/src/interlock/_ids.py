"""Ids of calls and keys of requests."""

from __future__ import annotations

import secrets
import time

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def call_id() -> str:
    """A new id of a tool call: a UUIDv7 (RFC 9562) as the TypeID specification writes it."""
    value = (time.time_ns() // 1_000_000) << 80 | secrets.randbits(80)
    value = value & ~(0xF << 76) | 0x7 << 76
    value = value & ~(0x3 << 62) | 0x2 << 62
    return "call_" + "".join(_ALPHABET[value >> shift & 31] for shift in range(125, -1, -5))


def idempotency_key() -> str:
    """A new key, for one request and its repeats."""
    return secrets.token_hex(16)
