"""The calls of sdk/conformance/governance.yaml, by their names there, as calls of the Python SDK."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import interlock


async def govern(
    do: Callable[..., Awaitable[Any]], every: Callable[[Any], Awaitable[list[Any]]], client: Any, name: str, args: dict[str, Any]
) -> Any:
    """Makes a call that is about who may do what. `do` calls a method of the client, of either kind, and `every` reads a
    list of it."""
    if name in {"attach_policy", "detach_policy"}:
        places = [interlock.Attachment(**place) for place in args["to" if name == "attach_policy" else "from"]]
        return await do(getattr(client, name), args["name"], *places)
    if name == "add_exception":
        until = datetime.now(timezone.utc) + timedelta(minutes=args["minutes"])
        return await do(client.add_exception, args["policy"], args["rule"], until=until, reason=args["reason"], **args["scope"])
    if name in {"confirm_exception", "end_exception"}:
        return await do(getattr(client, name), args["exception"])
    if name == "create_halt":
        return await do(client.create_halt, args["kind"], args.get("name", ""), reason=args["reason"])
    if name == "lift_halt":
        return await do(client.lift_halt, args["halt"], reason=args["reason"])
    if name == "create_freeze":
        until = datetime.now(timezone.utc) + timedelta(minutes=args["minutes"])
        return await do(client.create_freeze, args["workflow"], until=until, reason=args["reason"])
    if name == "lift_freeze":
        return await do(client.lift_freeze, args["freeze"], reason=args["reason"])
    if name == "mint_session_token":
        return await do(client.mint_session_token, **{"ttl" if k == "ttl_seconds" else k: v for k, v in args.items()})
    if name == "create_agent":
        return await do(client.create_agent, args["name"], model_ref="model", instructions="Work.")
    if name == "approval_statement":
        said = await do(client.approval_statement, args["approval"], args["approve"], note=args.get("note", ""))
        return {"shown": said.shown, "presence": said.presence, "statement": said.statement.decode()}
    if name in {"create_schedule", "update_schedule"}:
        given = {k: args.pop(k) for k in ("paused", "expected_version") if k in args}
        return await do(getattr(client, name), interlock.ScheduleSpec(**args), **given)
    if name == "list_schedules":
        return await every(client.list_schedules())
    return await do(getattr(client, name), **args)


CALLS = {
    "add_exception", "approval_statement", "attach_policy", "confirm_exception", "create_agent", "create_freeze",
    "create_halt", "create_schedule", "delete_agent", "delete_schedule", "delete_session", "detach_policy", "end_exception",
    "get_schedule", "get_session", "lift_freeze", "lift_halt", "list_exceptions", "list_freezes", "list_halts",
    "list_refusals", "list_schedules", "list_session_tokens", "mint_session_token", "narrow_session", "pause_schedule",
    "policy_usage", "resume_schedule", "revoke_session_tokens", "schedule_times", "trigger_schedule", "update_schedule",
    "who_am_i",
}  # fmt: skip
