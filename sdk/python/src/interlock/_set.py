"""Sets: messages of the contracts from and as the types of this package."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from ._words import time, word
from .gen.policy.v1 import policy_pb2, set_pb2
from .types import Attachment, AttachmentKind, DefinitionKind, DefinitionSet, SetChange, SetObject, SetShadow, ShadowedObject

_KINDS = ("workflow", "process", "policy", "schema", "component")


def attachment(to: Attachment) -> policy_pb2.Attachment:
    return policy_pb2.Attachment(kind=policy_pb2.AttachmentKind.Value("ATTACHMENT_KIND_" + to.kind.upper()), id=to.id)


def change(c: SetChange) -> set_pb2.SetChange:
    """Returns the message of a change. An unknown kind is a ValueError."""
    if c.kind not in _KINDS:
        raise ValueError(f"kind must be one of {', '.join(_KINDS)}, not {c.kind!r}")
    return set_pb2.SetChange(
        kind=set_pb2.DefinitionKind.Value("DEFINITION_KIND_" + c.kind.upper()),
        name=c.name,
        expected_version=c.expected_version,
        version=c.version,
        take=c.take,
        owns_attachments=c.attachments is not None,
        attachments=[attachment(to) for to in c.attachments or ()],
        expected_attachments=[attachment(to) for to in c.expected_attachments],
    )


def _kind(value: int) -> DefinitionKind:
    return cast("DefinitionKind", word(set_pb2.DefinitionKind, value, "DEFINITION_KIND_").lower())


def _attachments(all_of: Sequence[policy_pb2.Attachment]) -> tuple[Attachment, ...]:
    return tuple(
        Attachment(cast("AttachmentKind", word(policy_pb2.AttachmentKind, a.kind, "ATTACHMENT_KIND_").lower()), a.id)
        for a in all_of
    )


def _shadow(s: set_pb2.SetShadow) -> SetShadow:
    return SetShadow(
        started_at=time(s.started_at, s.HasField("started_at")),
        until=time(s.until, s.HasField("until")),
        started_by=s.started_by,
        repo=s.repo,
        commit=s.commit,
        objects=tuple(
            ShadowedObject(
                _kind(o.kind),
                o.name,
                o.version,
                o.digest,
                o.live_version,
                _attachments(o.attachments) if o.owns_attachments else None,
                o.judged,
            )
            for o in s.objects
        ),
    )


def definition_set(s: set_pb2.DefinitionSet) -> DefinitionSet:
    return DefinitionSet(
        name=s.name,
        version=s.version,
        objects=tuple(SetObject(_kind(o.kind), o.name, o.version, o.digest, o.owns_attachments) for o in s.objects),
        repo=s.repo,
        commit=s.commit,
        applied_at=time(s.applied_at, s.HasField("applied_at")),
        applied_by=s.applied_by,
        serial=s.serial,
        bundle_digest=s.bundle_digest,
        shadow=_shadow(s.shadow) if s.HasField("shadow") else None,
    )
