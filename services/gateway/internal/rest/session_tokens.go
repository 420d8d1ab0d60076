package rest

import (
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// MintTokenRequest says what a session token is for.
type MintTokenRequest struct {
	Session    string         `json:"session,omitzero" doc:"The session that it is for, if that is one below. It need not be there yet if its name begins with the session's and a slash."`
	Branch     string         `json:"branch,omitzero" doc:"The only branch of the session's run."`
	Name       string         `json:"name,omitzero" doc:"Name of the principal: for an agent, its own."`
	TTLSeconds int64          `json:"ttl_seconds,omitzero" doc:"How long it lasts: an hour when absent, and at most as long as the caller's own token, and 2592000."`
	Only       jsontext.Value `json:"only,omitzero" doc:"Entries that its calls must meet in addition to those of its session."`
	Human      string         `json:"human,omitzero" doc:"The person of the deployment on whose behalf the token acts, by an operator's word; by default that of X-Interlock-For, or of the session."`
}

// MintedToken is a new session token.
type MintedToken struct {
	Token string `json:"token" doc:"The token itself. It is not shown again."`
	jsonview.SessionToken
}

// SessionTokenList has the tokens of a session, oldest first.
type SessionTokenList struct {
	Tokens       []jsonview.SessionToken `json:"tokens"`
	RevokedUntil time.Time               `json:"revoked_until,omitzero" doc:"All tokens of the session and of those below it that were issued until then are revoked."`
}

func (h *sessions) mint(c *call, in MintTokenRequest) (*answer, error) {
	resp, err := h.sessions.MintSessionToken(c.ctx, &statev1.MintSessionTokenRequest{
		SessionId: c.path("session_id"), Session: c.header(headerSession), ForSession: in.Session, Branch: in.Branch, Name: in.Name,
		TtlSeconds: in.TTLSeconds, Only: in.Only, Human: in.Human,
	})
	if err != nil {
		return nil, err
	}
	token := jsonview.SessionTokenOf(resp.GetToken())
	return ok(MintedToken{resp.GetSecret(), token}).at("/v1/sessions/"+url.PathEscape(c.path("session_id"))+"/tokens/"+token.TokenID, true), nil
}

func (h *sessions) tokens(c *call) (*answer, error) {
	resp, err := h.sessions.ListSessionTokens(c.ctx, &statev1.ListSessionTokensRequest{SessionId: c.path("session_id"), Session: c.header(headerSession)})
	if err != nil {
		return nil, err
	}
	return ok(SessionTokenList{Tokens: jsonview.Each(resp.GetTokens(), jsonview.SessionTokenOf), RevokedUntil: jsonview.Time(resp.GetRevokedUntil())}), nil
}

// revokeTokens ends the token in the path, or all.
func (h *sessions) revokeTokens(c *call) (*answer, error) {
	return done(h.sessions.RevokeSessionTokens(c.ctx, &statev1.RevokeSessionTokensRequest{
		SessionId: c.path("session_id"), Session: c.header(headerSession), TokenId: c.path("token_id"),
	}))
}
