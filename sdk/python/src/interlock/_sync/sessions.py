# Made from _async/sessions.py by tools/python/unasync. DO NOT EDIT.
"""Sessions: conversations of agents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from .. import _convert, _json, _who
from ..gen.state.v1 import session_pb2, session_service_pb2, session_service_pb2_grpc
from ..types import Session, SessionToken, Stopped
from .base import Base, Service, key_of, no_session

_SESSION = Service("/interlock.state.v1.SessionService/", session_service_pb2_grpc.SessionServiceStub)


class Sessions(Base):
    """Sessions."""

    def create_session(
        self,
        name: str = "",
        *,
        id: str = "",
        parent: str = "",
        skip_state_update: bool = False,
        accept_early_update: bool = False,
        labels: Mapping[str, str] | None = None,
        prompt: str = "",
        state_ref: str = "",
        subject: str = "",
        agent: str = "",
        only: Any = None,
        timeout: float | None = None,
    ) -> Session:
        """Makes a session. The same request again answers the same session, so give it a name to find it again.

        Args:
            name: At random when it is empty.
            id: Chosen by the server when it is empty.
            parent: By id or name; the session shares its state. Empty for a root. An agent creates sessions below its own.
            skip_state_update: It need not update that state before it is done.
            accept_early_update: Its updates during its own work are enough (S11.2).
            labels: Labels that a runner must have to take its tasks.
            prompt: When it is not empty, a runner starts the session's agent with it.
            state_ref: The component that its executions begin and end with.
            subject: The subject whose long-term values it uses (S12).
            agent: Name of the agent that it starts from.
            only: Entries that all calls of it and of those below it must meet (S22.24). They narrow, so agents may use them.
            timeout: Seconds that the call is tried for.
        """
        if not id and not name:
            # A repeat must find the session that the first try made.
            name = "session-" + key_of("")
        request = session_service_pb2.CreateSessionRequest(
            session_id=id, name=name, parent=parent, accept_early_update=accept_early_update, labels=labels, state_ref=state_ref,
            subject=subject, prompt=prompt, session=self.session, agent=agent,
            only=_json.encode("only", only),
            state_update=session_pb2.STATE_UPDATE_SKIP if skip_state_update else session_pb2.STATE_UPDATE_UNSPECIFIED,
        )  # fmt: skip
        answer = self._call(_SESSION, "CreateSession", request, timeout)
        return _convert.session(answer.session)

    def stop_session(
        self,
        *,
        in_place: bool = False,
        end: bool = False,
        error: str = "",
        result: Any = None,
        idempotency_key: str = "",
        timeout: float | None = None,
    ) -> Stopped:
        """Says that the agent of the client's session has stopped. One that must update the state of its tree and has not is
        asked to; then its parent is called back (S11.2).

        Args:
            in_place: The caller continues with the agent itself, see the prompt of the answer.
            end: Ends the session, also with outstanding tasks.
            error: Why the agent failed; empty when it did not.
            result: The session's result, for its parent (S15.3).
            idempotency_key: The caller's; a new one without it.
            timeout: Seconds that the call is tried for.
        """
        if not self.session:
            raise no_session("stopping")
        request = session_service_pb2.StopSessionRequest(
            session_id=self.session, session=self.session, idempotency_key=key_of(idempotency_key), in_place=in_place, end=end,
            error=error if len(error) <= 4096 else error[:4093] + "...", result=_json.encode("result", result),
        )  # fmt: skip
        answer = self._call(_SESSION, "StopSession", request, timeout)
        return Stopped(_convert.session(answer.session), answer.prompt)

    def get_session(self, id: str = "", *, timeout: float | None = None) -> Session:
        """Returns a session, by id or name; by default the client's."""
        if not (id or self.session):
            raise no_session("reading it")
        request = session_service_pb2.GetSessionRequest(session_id=id or self.session, session=self.session)
        return _convert.session((self._call(_SESSION, "GetSession", request, timeout)).session)

    def list_sessions(self, filter: str = "", *, timeout: float | None = None) -> Iterator[Session]:
        """Yields the sessions that the caller may see, newest first. The filter has key=value terms joined by " AND "."""
        request = session_service_pb2.ListSessionsRequest(page_size=1000, filter=filter, session=self.session)
        while True:
            page = self._call(_SESSION, "ListSessions", request, timeout)
            for session in page.sessions:
                yield _convert.session(session)
            request.page_token = page.next_page_token
            if not request.page_token:
                return

    def delete_session(self, id: str, *, cascade: bool = False, timeout: float | None = None) -> None:
        """Deletes a session that has ended, by id or name; with `cascade`, those below it too."""
        self._call(
            _SESSION, "DeleteSession", session_service_pb2.DeleteSessionRequest(session_id=id, cascade=cascade), timeout
        )

    def narrow_session(
        self, only: Any = None, *, id: str = "", replace: bool = False, timeout: float | None = None
    ) -> Session:
        """Adds entries that all calls of a session, by default the client's, and of those below it must meet (S22.24). With `replace`,
        for operators, they are in place of those that there are."""
        request = session_service_pb2.NarrowSessionRequest(
            session_id=id or self.session, session=self.session, only=_json.encode("only", only), replace=replace
        )
        return _convert.session((self._call(_SESSION, "NarrowSession", request, timeout)).session)

    def mint_session_token(
        self,
        id: str = "",
        *,
        session: str = "",
        branch: str = "",
        name: str = "",
        ttl: float = 0,
        only: Any = None,
        timeout: float | None = None,
    ) -> SessionToken:
        """Mints a token at a session, by default the client's. It can do no more than the caller's own (S22.20).

        Args:
            id: The session, by id or name.
            session: The session that the token is for, if that is one below. It need not be there yet if its name begins with the
                session's and a slash.
            branch: The only branch of the session's run; empty for any.
            name: Name of the principal; empty for the caller's own, or of an operator for the session's name.
            ttl: Seconds that it lasts; 0 for an hour, or for what is left of the caller's own token.
            only: Entries that its calls must meet.
            timeout: Seconds that the call is tried for.
        """
        request = session_service_pb2.MintSessionTokenRequest(
            session_id=id or self.session, session=self.session, for_session=session, branch=branch, name=name,
            ttl_seconds=int(ttl), only=_json.encode("only", only),
        )  # fmt: skip
        answer = self._call(_SESSION, "MintSessionToken", request, timeout)
        return _who.session_token(answer.token, answer.secret)

    def list_session_tokens(self, id: str = "", *, timeout: float | None = None) -> Sequence[SessionToken]:
        """Returns the tokens that were minted at a session, by default the client's, and have not expired, oldest first."""
        request = session_service_pb2.ListSessionTokensRequest(session_id=id or self.session, session=self.session)
        return tuple(map(_who.session_token, (self._call(_SESSION, "ListSessionTokens", request, timeout)).tokens))

    def revoke_session_tokens(
        self, token_id: str = "", *, id: str = "", timeout: float | None = None
    ) -> Sequence[SessionToken]:
        """Revokes a token that was minted at a session, by default the client's, with those that were minted with it. Without a
        token, it revokes all of the session and of the sessions below it. It returns the tokens of the session."""
        request = session_service_pb2.RevokeSessionTokensRequest(
            session_id=id or self.session, session=self.session, token_id=token_id
        )
        return tuple(map(_who.session_token, (self._call(_SESSION, "RevokeSessionTokens", request, timeout)).tokens))

    def session_result(self, id: str = "", *, timeout: float | None = None) -> Any:
        """Returns the result of a session, by id or name, by default the client's; None when it has given none (S15.3)."""
        request = session_service_pb2.GetSessionResultRequest(session_id=id or self.session, session=self.session)
        answer = self._call(_SESSION, "GetSessionResult", request, timeout)
        return _json.loads(answer.result) if answer.given else None

    def resume_session(self, id: str, prompt: str, *, idempotency_key: str = "", timeout: float | None = None) -> Session:
        """Has a runner continue the agent of a session that has stopped, with a prompt."""
        request = session_service_pb2.ResumeSessionRequest(
            session_id=id, session=self.session, prompt=prompt, idempotency_key=key_of(idempotency_key)
        )
        return _convert.session((self._call(_SESSION, "ResumeSession", request, timeout)).session)
