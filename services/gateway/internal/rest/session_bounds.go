package rest

import (
	"net/http"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// NarrowRequest says which calls a session is narrowed to.
type NarrowRequest struct {
	Only    jsontext.Value `json:"only,omitzero" doc:"Entries that all calls must meet: a list, written as the calls of a state. They are added to those that there are."`
	Replace bool           `json:"replace,omitzero" doc:"The entries replace those that there are; without entries, the session is not narrowed any more. Operators only."`
}

// boundRoutes adds the routes of what a session is narrowed to, and of its tokens.
func (h *sessions) boundRoutes(add func(route), id param) {
	add(route{
		method: http.MethodPost, path: "/v1/sessions/{session_id}/narrow", id: "narrowSession", summary: "Narrow the calls of a session",
		about:  "For the session and all below it. An agent adds entries to its own session and to those below it, and an operator replaces them, too.",
		params: []param{id, sessionParam}, body: jsonBody, request: reflect.TypeFor[NarrowRequest](),
		answers: answers[jsonview.Session](http.StatusOK), serve: taking(h.narrow),
	})
	add(route{
		method: http.MethodPost, path: "/v1/sessions/{session_id}/tokens", id: "mintSessionToken", summary: "Mint a token for a session",
		about:  "For the session or one below it, with no more rights than the caller's own.",
		params: []param{id, sessionParam, forParam}, body: optionalJSON, request: reflect.TypeFor[MintTokenRequest](),
		fields:  map[string]string{"for_session": "session"},
		answers: answers[MintedToken](http.StatusCreated), serve: taking(h.mint),
	})
	add(route{
		method: http.MethodGet, path: "/v1/sessions/{session_id}/tokens", id: "listSessionTokens", summary: "Tokens that were minted at a session",
		about:  "Without those that have expired.",
		params: []param{id, sessionParam}, answers: answers[SessionTokenList](http.StatusOK), serve: h.tokens,
	})
	add(route{
		method: http.MethodDelete, path: "/v1/sessions/{session_id}/tokens", id: "revokeSessionTokens", summary: "Revoke all tokens of a session",
		about:  "And of all sessions below it.",
		params: []param{id, sessionParam}, answers: noContent(), serve: h.revokeTokens,
	})
	add(route{
		method: http.MethodDelete, path: "/v1/sessions/{session_id}/tokens/{token_id}", id: "revokeSessionToken", summary: "Revoke a token of a session",
		params: []param{id, inPath("token_id", "Id of the token."), sessionParam}, answers: noContent(), serve: h.revokeTokens,
	})
}

func (h *sessions) narrow(c *call, in NarrowRequest) (*answer, error) {
	return answerSession(h.sessions.NarrowSession(c.ctx, &statev1.NarrowSessionRequest{
		SessionId: c.path("session_id"), Session: c.header(headerSession), Only: in.Only, Replace: in.Replace,
	}))
}
