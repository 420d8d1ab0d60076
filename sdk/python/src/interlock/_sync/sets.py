# Made from _async/sets.py by tools/python/unasync. DO NOT EDIT.
"""Sets: definitions that are applied in one commit."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from .. import _set
from ..gen.policy.v1 import set_service_pb2, set_service_pb2_grpc
from ..types import DefinitionSet, SetChange
from .base import Base, Service

_SET = Service("/interlock.policy.v1.SetService/", set_service_pb2_grpc.SetServiceStub)


class Sets(Base):
    """Sets."""

    def apply_set(
        self,
        name: str,
        *changes: SetChange,
        expected_version: int = 0,
        repo: str = "",
        commit: str = "",
        dry_run: bool = False,
        bundle: bytes = b"",
        shadow: timedelta | None = None,
        now: bool = False,
        timeout: float | None = None,
    ) -> DefinitionSet:
        """Changes all objects of a set in one commit, or none, for operators (S26.5). Versions are registered before, with
        `staged`. With a shadow, the changes are judged next to the live versions for that time, and nothing else changes; `now`
        ends the shadow of the set. `VERSION_CONFLICT` when an object is not as expected, or belongs to another set."""
        request = set_service_pb2.ApplySetRequest(
            name=name, expected_version=expected_version, changes=[_set.change(c) for c in changes], repo=repo, commit=commit,
            dry_run=dry_run, bundle=bundle, now=now,
        )  # fmt: skip
        if shadow is not None:
            request.shadow.FromTimedelta(shadow)
        return _set.definition_set((self._call(_SET, "ApplySet", request, timeout)).set)

    def get_set(self, name: str, *, timeout: float | None = None) -> DefinitionSet:
        """Returns a set. `NOT_FOUND` when it was never applied."""
        request = set_service_pb2.GetSetRequest(name=name)
        return _set.definition_set((self._call(_SET, "GetSet", request, timeout)).set)

    def list_sets(self, *, timeout: float | None = None) -> Sequence[DefinitionSet]:
        """Returns the sets of the namespace, by name."""
        answer = self._call(_SET, "ListSets", set_service_pb2.ListSetsRequest(), timeout)
        return tuple(_set.definition_set(s) for s in answer.sets)
