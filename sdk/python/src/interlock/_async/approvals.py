"""Approvals: questions to humans."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from datetime import datetime, timezone
from typing import Any

from .. import _convert, _json, _who
from ..errors import Fault
from ..gen.approval.v1 import approval_pb2, approval_service_pb2, approval_service_pb2_grpc
from ..types import Approval, ApprovalStatement, ApprovalStats, Lease
from .base import Base, Service, key_of

_APPROVAL = Service("/interlock.approval.v1.ApprovalService/", approval_service_pb2_grpc.ApprovalServiceStub)


def _lease(lease: Mapping[str, Any] | None) -> approval_pb2.LeaseTerms | None:
    if lease is None:
        return None
    return approval_pb2.LeaseTerms(**{**lease, "only": _json.encode("lease", lease.get("only"))})


class Approvals(Base):
    """Approvals. Agents ask by the calls that they make, and learn the decision; operators and approvers decide."""

    async def get_approval(self, approval_id: str, *, timeout: float | None = None) -> Approval:
        """Returns an approval as it stands."""
        request = approval_service_pb2.GetApprovalRequest(approval_id=approval_id)
        return _convert.approval((await self._call(_APPROVAL, "GetApproval", request, timeout)).approval)

    async def approval_stats(self, *, since: datetime | None = None, timeout: float | None = None) -> ApprovalStats:
        """Counts the questions that people were asked since then, by default in the last 30 days, and their answers, for operators,
        approvers and observers."""
        request = approval_service_pb2.GetApprovalStatsRequest()
        if since is not None:
            request.since.FromDatetime(since.astimezone(timezone.utc))
        return _convert.approval_stats(await self._call(_APPROVAL, "GetApprovalStats", request, timeout))

    async def list_approvals(self, filter: str = "", *, timeout: float | None = None) -> AsyncIterator[Approval]:
        """Yields the approvals of the namespace, newest first, for operators, approvers and observers. The filter has key=value
        terms joined by " AND ", such as `status=PENDING`: status, run_id, before, id_prefix."""
        request = approval_service_pb2.ListApprovalsRequest(page_size=1000, filter=filter)
        while True:
            page = await self._call(_APPROVAL, "ListApprovals", request, timeout)
            for approval in page.approvals:
                yield _convert.approval(approval)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    async def decide_approval(
        self,
        approval_id: str,
        approve: bool,
        *,
        note: str = "",
        digest: str = "",
        edited_data: Any = None,
        lease: Mapping[str, Any] | None = None,
        signature: Mapping[str, Any] | None = None,
        idempotency_key: str = "",
        timeout: float | None = None,
    ) -> Approval:
        """Casts the caller's vote, for operators and approvers.

        Args:
            approval_id: The approval.
            approve: True to grant, False to reject.
            note: A text for the agent.
            digest: The digest of the request that the human has seen: a vote on another one has no effect.
            edited_data: Replaces the data, where it is editable.
            lease: Approves later calls that are like this one too (S9.6): `pattern` of commands, or `only`, a condition on what calls
                do; `calls` and `minutes`.
            signature: The signature of the vote: `statement` of `approval_statement`, and `ssh` or `passkey`, as the contract's
                DecisionSignature has them.
            idempotency_key: The caller's, so that a repeat after a restart is no second vote; a new one without it.
            timeout: Seconds that the call is tried for.
        """
        request = approval_service_pb2.DecideApprovalRequest(
            approval_id=approval_id, approve=approve, note=note, digest=digest, edited_data=_json.encode("data", edited_data),
            idempotency_key=key_of(idempotency_key),
            lease=_lease(lease), signature=None if signature is None else approval_pb2.DecisionSignature(**signature),
        )  # fmt: skip
        return _convert.approval((await self._call(_APPROVAL, "DecideApproval", request, timeout)).approval)

    async def approval_statement(
        self,
        approval_id: str,
        approve: bool,
        *,
        note: str = "",
        digest: str = "",
        edited_data: Any = None,
        lease: Mapping[str, Any] | None = None,
        timeout: float | None = None,
    ) -> ApprovalStatement:
        """Returns the statement of a vote, for the caller's person to sign. Without a digest it is of the present request."""
        seen = digest or (await self.get_approval(approval_id, timeout=timeout)).digest
        item = approval_service_pb2.DecideApprovalsItem(approval_id=approval_id, digest=seen)
        request = approval_service_pb2.GetApprovalStatementRequest(
            approve=approve, note=note, edited_data=_json.encode("data", edited_data), items=[item], lease=_lease(lease)
        )
        return _who.approval_statement(await self._call(_APPROVAL, "GetApprovalStatement", request, timeout))

    async def cancel_approval(self, approval_id: str, *, reason: str = "", timeout: float | None = None) -> Approval:
        """Withdraws a question, where the caller's role may do that."""
        request = approval_service_pb2.CancelApprovalRequest(approval_id=approval_id, reason=reason)
        return _convert.approval((await self._call(_APPROVAL, "CancelApproval", request, timeout)).approval)

    async def watch_approvals(self, *, timeout: float | None = None) -> AsyncIterator[Approval]:
        """Yields every approval of the namespace that changes from now on, for operators, approvers and observers. After a broken
        connection, those that wait are yielded again, so that none is missed."""
        request = approval_service_pb2.WatchApprovalsRequest()
        async for answer in self._stream(_APPROVAL, "WatchApprovals", request, timeout):
            if answer is not None:
                yield _convert.approval(answer.approval)
                continue
            async for approval in self.list_approvals("status=PENDING"):
                yield approval

    async def wait_approval(self, approval_id: str, *, timeout: float | None = None) -> Approval:
        """Waits until humans have decided an approval, however long that takes, and returns it. After `timeout` seconds it raises
        a `Fault` with `DEADLINE_EXCEEDED`. Then make exactly the same call again: if it was granted, it is allowed once."""
        request = approval_service_pb2.WatchApprovalRequest(approval_id=approval_id)
        try:
            async for answer in self._stream(_APPROVAL, "WatchApproval", request, timeout):
                if answer is not None and answer.approval.status not in (0, approval_pb2.APPROVAL_STATUS_PENDING):
                    return _convert.approval(answer.approval)
        except Fault as fault:
            if fault.reason != "DEADLINE_EXCEEDED":
                raise
            raise Fault(fault.reason, f"approval {approval_id} is not decided yet") from fault
        raise Fault("INTERNAL", "the stream has ended without a decision")

    async def list_leases(self, run_id: str = "", *, timeout: float | None = None) -> AsyncIterator[Lease]:
        """Yields the leases that last, newest first: approvals of later calls that are like one that was approved."""
        request = approval_service_pb2.ListLeasesRequest(page_size=1000, run_id=run_id)
        while True:
            page = await self._call(_APPROVAL, "ListLeases", request, timeout)
            for lease in page.leases:
                yield _convert.lease(lease)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    async def revoke_lease(self, lease_id: str, *, timeout: float | None = None) -> Lease:
        """Ends a lease, for operators and approvers."""
        request = approval_service_pb2.RevokeLeaseRequest(lease_id=lease_id)
        return _convert.lease((await self._call(_APPROVAL, "RevokeLease", request, timeout)).lease)
