package sdk

import (
	"context"
	"encoding/json"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// Caller is a client as the server knows it.
type Caller struct {
	// Principal is its name, and Role its role.
	Principal, Role string
	// Token is the kind of its token: static, session, oidc or person; empty without one. TokenID names it
	// and does not reveal it.
	Token, TokenID string
	// Namespace is that of this call, and Namespaces are those that it may call in: "*" is every one.
	Namespace  string
	Namespaces []string
	// SessionID is the session that it acts in, and Branch the only branch that it may act in; empty for none and any.
	SessionID, Branch string
	// Person is the person that it is, and Presence how that person has shown to be there; empty for none.
	Person, Presence string
	// Relay is the program that has passed on the person's request; empty for none.
	Relay string
	// Via is how the call came, as in Identity.
	Via string
	// ExpiresAt is when its token ends; zero where that is not known.
	ExpiresAt time.Time
	// Human is on whose behalf it acts; nil where that is not known.
	Human *Human
	// Agent is the one that the session has started from; empty for none.
	Agent string
	// Lineage has the names of the sessions above its own and of that, the root first.
	Lineage []string
	// May describes what it may do, in a sentence.
	May string
}

// WhoAmI returns who the caller is to the server, and on whose behalf it acts.
func (g *identityGroup) WhoAmI(ctx context.Context) (Caller, error) {
	r, err := retry(ctx, g.policy.WhoAmI, &policyv1.WhoAmIRequest{SessionId: g.session})
	return Caller{
		Principal: r.GetPrincipal(), Role: r.GetRole(), Token: r.GetToken(), TokenID: r.GetTokenId(), Namespace: r.GetNamespace(),
		Namespaces: r.GetNamespaces(), SessionID: r.GetSessionId(), Branch: r.GetBranch(), Person: r.GetPerson(), Presence: r.GetPresence(),
		Relay: r.GetRelay(), Via: r.GetVia(), ExpiresAt: timeOf(r.GetExpires()), Human: humanOf(r.GetHuman()), Agent: r.GetAgent(),
		Lineage: r.GetLineage(), May: r.GetMay(),
	}, err
}

// Identity is who made a call, and for whom, as the record of its decision keeps it.
type Identity struct {
	// Principal is the name of the caller, and Role its role.
	Principal, Role string
	// Token is the kind of its token: static, session, oidc or person; empty without one.
	Token string
	// Via is how the call came: hook, mcp, rest, grpc, authzen or ext_authz; empty where no service vouches for that.
	Via string
	// Person is the person that the principal is; empty for none.
	Person string
	// Human is on whose behalf the call was made; nil where that is not known.
	Human *Human
	// Agent is the one that the session has started from, and AgentVersion its version.
	Agent        string
	AgentVersion int64
	// RootSession is the name of the root of the session's tree, and Lineage the names of the sessions above the
	// call's own and of that, the root first.
	RootSession string
	Lineage     []string
	// Attributes of the human that the deployment keeps in the log.
	Attributes map[string]string
}

func identityOf(i *policyv1.Identity) *Identity {
	if i == nil {
		return nil
	}
	return &Identity{
		Principal: i.GetPrincipal(), Role: i.GetRole(), Token: i.GetToken(), Via: i.GetVia(), Person: i.GetPerson(), Human: humanOf(i.GetHuman()),
		Agent: i.GetAgent(), AgentVersion: i.GetAgentVersion(), RootSession: i.GetRootSession(), Lineage: i.GetLineage(), Attributes: i.GetAttributes(),
	}
}

// SessionToken is a token that is bound to a session (S22.20).
type SessionToken struct {
	ID string
	// Name of the principal.
	Name string
	// Session is the only one that it may act in, and Branch the only branch of that session's run; empty for any.
	Session, Branch string
	// Only has the entries that its calls must meet in addition to those of its session: a JSON list; nil for none.
	Only json.RawMessage
	// MintedBy asked for it, with the session token MintedWith, with which it ends; empty for none.
	MintedBy, MintedWith string
	IssuedAt, ExpiresAt  time.Time
	// RevokedAt and RevokedBy say that it was revoked.
	RevokedAt time.Time
	RevokedBy string
	// Secret is the token itself; only of one that was just minted.
	Secret string
}

// NewToken describes a session token. The zero value is as wide as the caller's own.
type NewToken struct {
	// Session that the token is for, if that is one below: by id or name. It need not be there yet if its name begins
	// with the session's and a slash.
	Session string
	// Branch is the only branch of the session's run; empty for any.
	Branch string
	// Name of the principal; empty for the caller's own, or of an operator for the session's name.
	Name string
	// TTL is how long the token lasts; 0 for an hour, or for what is left of the caller's own token.
	TTL time.Duration
	// Only has entries that its calls must meet: JSON, or a value that encodes to a list; nil for none.
	Only any
}

// MintSessionToken mints a token at a session, by default the client's. It can do no more than the
// caller's own.
func (g *identityGroup) MintSessionToken(ctx context.Context, id string, t NewToken) (SessionToken, error) {
	only, err := encode("only", t.Only)
	if err != nil {
		return SessionToken{}, err
	}
	r, err := retry(ctx, g.sessions.MintSessionToken, &statev1.MintSessionTokenRequest{
		SessionId: first(id, g.session), Session: g.session, ForSession: t.Session, Branch: t.Branch, Name: t.Name,
		TtlSeconds: int64(t.TTL / time.Second), Only: only,
	})
	token := tokenOf(r.GetToken())
	token.Secret = r.GetSecret()
	return token, err
}

// ListSessionTokens returns the tokens that were minted at a session, by default the client's, and have not expired.
func (g *identityGroup) ListSessionTokens(ctx context.Context, id string) ([]SessionToken, error) {
	r, err := retry(ctx, g.sessions.ListSessionTokens, &statev1.ListSessionTokensRequest{SessionId: first(id, g.session), Session: g.session})
	return each(r.GetTokens(), tokenOf), err
}

// RevokeSessionTokens revokes a token that was minted at a session, by default the client's, with those that were minted
// with it. Without a token, it revokes all of the session and of the sessions below it. It returns the tokens of the session.
func (g *identityGroup) RevokeSessionTokens(ctx context.Context, id, tokenID string) ([]SessionToken, error) {
	r, err := retry(ctx, g.sessions.RevokeSessionTokens, &statev1.RevokeSessionTokensRequest{
		SessionId: first(id, g.session), Session: g.session, TokenId: tokenID,
	})
	return each(r.GetTokens(), tokenOf), err
}

func tokenOf(t *statev1.SessionToken) SessionToken {
	return SessionToken{
		ID: t.GetTokenId(), Name: t.GetName(), Session: t.GetSession(), Branch: t.GetBranch(), Only: t.GetOnly(), MintedBy: t.GetMintedBy(),
		MintedWith: t.GetMintedWith(), IssuedAt: timeOf(t.GetIssuedAt()), ExpiresAt: timeOf(t.GetExpiresAt()), RevokedAt: timeOf(t.GetRevokedAt()),
		RevokedBy: t.GetRevokedBy(),
	}
}

// NarrowSession adds entries that all calls of a session, by default the client's, and of those below it must meet: JSON, or a
// value that encodes to a list (S22.24). With replace, as an operator, they are in place of those that there are.
func (g *identityGroup) NarrowSession(ctx context.Context, id string, only any, replace bool) (Session, error) {
	entries, err := encode("only", only)
	if err != nil {
		return Session{}, err
	}
	r, err := retry(ctx, g.sessions.NarrowSession, &statev1.NarrowSessionRequest{
		SessionId: first(id, g.session), Session: g.session, Only: entries, Replace: replace,
	})
	return sessionOf(r.GetSession()), err
}

// Refusal is a caller that was refused before there was a decision.
type Refusal struct {
	Time time.Time
	// Principal and Role are empty when they are not known.
	Principal, Role string
	// Face is grpc, or http for REST, MCP, hooks and AuthZEN; Method is the method that was called.
	Face, Method string
	// Reason is the code of the refusal, such as "UNAUTHENTICATED".
	Reason string
	// SessionID is the session of the credentials. AskedSessionID, AskedRunID and AskedNamespace are what the call asked for.
	SessionID, AskedSessionID, AskedRunID, AskedNamespace string
	// From is the address that the call came from; empty when it is not known.
	From string
	// More counts the refusals for the same reason since the one before.
	More int64
}

// ListRefusals returns the last callers that were refused before there was a decision, newest first: at most 100 in a
// namespace. It is for people.
func (g *identityGroup) ListRefusals(ctx context.Context) ([]Refusal, error) {
	resp, err := retry(ctx, g.decisions.ListRefusals, &policyv1.ListRefusalsRequest{})
	return each(resp.GetRefusals(), func(r *policyv1.Refusal) Refusal {
		of := r.GetRefused()
		return Refusal{
			Time: timeOf(r.GetTime()), Principal: r.GetPrincipal(), Role: of.GetRole(), Face: of.GetFace(), Method: of.GetMethod(), Reason: of.GetReason(),
			SessionID: of.GetSessionId(), AskedSessionID: of.GetAskedSessionId(), AskedRunID: of.GetAskedRunId(), AskedNamespace: of.GetAskedNamespace(),
			From: of.GetFrom(), More: of.GetMore(),
		}
	}), err
}
