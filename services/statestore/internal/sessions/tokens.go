package sessions

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/auth/sessiontoken"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/internal/idempotency"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// NewToken says what a token is for.
type NewToken struct {
	// Session is the session at which it is minted, and For the one that it is for; empty for the same.
	Session, For string
	Branch, Name string
	// Seconds it lasts; 0 for the default.
	Seconds int64
	Only    []byte
	// Human is the person of the deployment on whose behalf it acts; empty for that of the caller's token or of the session.
	Human string
}

// defaultTTL is how long a token lasts that is minted without a time, in seconds.
const defaultTTL = 3600

// Mint makes a token for a session or one below it, with no more rights than its caller's (S22.20). It returns the
// token, and the secret that is it.
func (ss *Sessions) Mint(ctx context.Context, caller ports.Caller, req NewToken) (*session.Token, string, error) {
	if ss.ports.Config.Minter == nil {
		return nil, "", fault.New(fault.FailedPrecondition, "this server has no key of session tokens: start the state-store with --token-key, as the other services")
	}
	m, err := ss.bounded(ctx, caller, req.Session, "mint tokens for")
	if err != nil {
		return nil, "", err
	}
	now := ss.ports.Now()
	token, parent, err := ss.tokenFor(ctx, caller, m, req)
	if err != nil {
		return nil, "", err
	}
	if token.Only, err = ports.Narrowing(req.Only); err != nil {
		return nil, "", err
	}
	human, err := humanFor(caller, m, req.Human)
	if err != nil {
		return nil, "", err
	}
	if human != nil {
		if token.Human, err = json.Marshal(ledger.HumanOf(human)); err != nil {
			return nil, "", fault.From(err)
		}
	}
	seconds, err := lasting(caller.Principal, req.Seconds, now)
	if err != nil {
		return nil, "", err
	}
	claims := sessiontoken.Claims{
		ID: token.ID, Name: token.Name, Namespace: caller.Namespace, Session: token.Session, Branch: token.Branch, Parent: parent, Human: human,
	}
	var secret string
	_, err = ss.members.Step(ctx, caller, m.Key, idempotency.Key{}, func(m *member.Member, c session.Clock) (session.Result, error) {
		if m.Status == session.Ended {
			return session.Result{}, fault.New(fault.SessionEnded, "session %q has ended, and no token is minted for it; resume it first", ports.Clip(m.Name))
		}
		token.IssuedAt = c.Now
		claims.IssuedAt = c.Now.Truncate(time.Second)
		claims.Expires = claims.IssuedAt.Add(time.Duration(seconds) * time.Second)
		token.Expires = claims.Expires
		var err error
		if secret, err = ss.ports.Config.Minter.Mint(claims); err != nil {
			return session.Result{}, fault.New(fault.InvalidRequest, "%v", err)
		}
		r, err := m.Mint(*token, c)
		if err != nil {
			return r, fault.New(fault.FailedPrecondition, "%v", err)
		}
		return r, nil
	})
	if err != nil {
		return nil, "", err
	}
	return token, secret, nil
}

// humanFor returns on whose behalf a token acts: the person whom an operator names or whose token the caller has sent along, or
// that of the caller's own session token; nil for the human of the session. Of groups and attributes a token has none.
func humanFor(caller ports.Caller, m *member.Member, named string) (*auth.Human, error) {
	var human *auth.Human
	switch {
	case named != "" && caller.Agent():
		return nil, fault.New(fault.PermissionDenied, "only an operator says on whose behalf a token acts; send the person's own token in X-Interlock-For").
			Violate("/human", "ROLE", "needs an operator")
	case named != "" && caller.For != nil:
		return nil, fault.New(fault.InvalidRequest, "give the human or the person's own token, not both").Violate("/human", "CONFLICT", "is given twice")
	case named != "" && !auth.ValidName(named):
		return nil, fault.New(fault.InvalidRequest, "the human must be 1 to 256 bytes of printable text, without a blank at an end").Violate("/human", "NAME", "is no name")
	case named != "":
		human = &auth.Human{Name: named, Source: auth.Registered}
	case caller.For != nil:
		human = caller.For
	case caller.Principal.Kind == auth.OfSession:
		human = caller.Principal.Human
	}
	if human == nil {
		return nil, nil
	}
	of := &auth.Human{Name: human.Name, Issuer: human.Issuer, Source: human.Source, Expires: human.Expires}
	if own := m.OnBehalfOf(); own != nil && !own.Same(ledger.HumanOf(of)) {
		return nil, fault.New(fault.FailedPrecondition, "session %q works for another person than the one that the token would act for; mint it at a session of that person", ports.Clip(m.Name))
	}
	if before := caller.Principal.Human; caller.Principal.Kind == auth.OfSession && before != nil && (before.Name != of.Name || before.Issuer != of.Issuer) {
		return nil, fault.New(fault.PermissionDenied, "your own token acts for another person, and mints tokens for that one alone")
	}
	return of, nil
}

// tokenFor returns a token without its times, and the parent that it names.
func (ss *Sessions) tokenFor(ctx context.Context, caller ports.Caller, m *member.Member, req NewToken) (token *session.Token, parent string, err error) {
	p := caller.Principal
	token = &session.Token{
		ID: sessiontoken.NewListedID(), Session: m.Name, Branch: req.Branch, MintedBy: p.Name, Name: req.Name,
	}
	if req.For != "" && req.For != m.Name && req.For != m.ID {
		if token.Session, err = ss.below(ctx, caller, m, req.For); err != nil {
			return nil, "", err
		}
		parent = m.Name
	}
	switch {
	case !caller.Agent():
		if token.Name == "" {
			token.Name = token.Session
		}
		if err := sessiontoken.CheckName(token.Name, caller.Namespace, ss.ports.Config.Names); err != nil {
			return nil, "", fault.New(fault.InvalidRequest, "%v", err).Violate("/name", "NAME", "belongs to another")
		}
	case token.Name == "" || token.Name == p.Name:
		token.Name = p.Name
	default:
		return nil, "", fault.New(fault.PermissionDenied, "a token that an agent mints has the agent's own name, %q: policies and limits are about names; "+
			"an operator can choose another", ports.Clip(p.Name)).Violate("/name", "NAME", "is not the caller's")
	}
	if p.Kind != auth.OfSession {
		return token, parent, nil
	}
	token.Via, token.ViaIssuedAt = p.TokenID, p.IssuedAt
	if p.Branch != "" && (parent != "" || p.Branch != req.Branch || !m.Named(p.Session)) {
		return nil, "", fault.New(fault.PermissionDenied, "this token is bound to branch %q of the run of session %q, and mints tokens of that branch alone",
			ports.Clip(p.Branch), ports.Clip(p.Session))
	}
	if p.Parent == "" {
		return token, parent, nil
	}
	if m.Named(p.Session) && parent == "" {
		return token, p.Parent, nil
	}
	// Below the caller's session, the token must stay below the parent in the caller's token, too.
	return token, parent, ss.underParent(ctx, caller, m)
}

// underParent refuses sessions that are not in the tree of the parent in the caller's token.
func (ss *Sessions) underParent(ctx context.Context, caller ports.Caller, m *member.Member) error {
	above, err := ss.names.Find(ctx, caller.Namespace, caller.Principal.Parent)
	if err == nil {
		var covered bool
		if covered, err = ss.rights.Covers(ctx, above, m); covered || err != nil {
			return err
		}
	} else if fault.ReasonOf(err) != fault.NotFound {
		return err
	}
	return fault.New(fault.PermissionDenied, "this token names %q as the parent of its session, and session %q is not below that one; an operator can mint the token",
		ports.Clip(caller.Principal.Parent), ports.Clip(m.Name))
}

// below returns the name of a session that is below another one: by its tree, or by a name that no session has yet.
func (ss *Sessions) below(ctx context.Context, caller ports.Caller, m *member.Member, name string) (string, error) {
	if err := ports.PlainName("session", name); err != nil {
		return "", err
	}
	of, err := ss.names.Find(ctx, caller.Namespace, name)
	switch {
	case err == nil:
		covered, err := ss.rights.Covers(ctx, m, of)
		if covered || err != nil {
			return of.Name, err
		}
	case fault.ReasonOf(err) != fault.NotFound:
		return "", err
	case strings.HasPrefix(name, m.Name+"/"):
		return name, ss.free(ctx, caller, name)
	}
	return "", fault.New(fault.PermissionDenied, "session %q is not below %q; name that session, one below it, or a new name with the beginning %q",
		ports.Clip(name), ports.Clip(m.Name), ports.Clip(m.Name)+"/")
}

// free refuses the name of a session that was deleted.
func (ss *Sessions) free(ctx context.Context, caller ports.Caller, name string) error {
	taken, err := ss.names.Taken(ctx, caller.Namespace, name)
	if err == nil && taken {
		err = fault.New(fault.NameTaken, "session %q was deleted, and its name is not given again; choose another", ports.Clip(name))
	}
	return err
}

// lasting returns how long a token lasts, in seconds: not longer than the token of its caller.
func lasting(p auth.Principal, asked int64, now time.Time) (int64, error) {
	seconds := asked
	if seconds == 0 {
		seconds = defaultTTL
	}
	if p.Expires.IsZero() {
		return seconds, nil
	}
	left := int64(p.Expires.Sub(now) / time.Second)
	switch {
	case left <= 0:
		return 0, fault.New(fault.Unauthenticated, "the token of the caller has expired")
	case asked == 0:
		return min(seconds, left), nil
	case asked > left:
		return 0, fault.New(fault.PermissionDenied, "the token would last for %d seconds, and the caller's own ends in %d; ask for fewer", asked, left).
			Violate("/ttl_seconds", "RANGE", "is longer than the caller's own token lasts")
	}
	return seconds, nil
}

// Tokens returns a session whose tokens the caller may see.
func (ss *Sessions) Tokens(ctx context.Context, caller ports.Caller, name string) (*member.Member, error) {
	return ss.bounded(ctx, caller, name, "list tokens of")
}

// Revoke ends one token that was minted at a session or is for it, or all tokens of the session and of those below it
// (S22.21).
func (ss *Sessions) Revoke(ctx context.Context, caller ports.Caller, name, tokenID string) (*member.Member, error) {
	m, err := ss.bounded(ctx, caller, name, "revoke tokens of")
	if err != nil {
		return nil, err
	}
	if tokenID != "" {
		if err := ports.PlainName("token_id", tokenID); err != nil {
			return nil, err
		}
	}
	return ss.members.Step(ctx, caller, m.Key, idempotency.Key{}, func(m *member.Member, c session.Clock) (session.Result, error) {
		if tokenID == "" {
			return m.RevokeTokens(caller.Principal.Name, c), nil
		}
		r, err := m.RevokeToken(tokenID, caller.Principal.Name, sessiontoken.Listed(tokenID), sessiontoken.MaxTTL, c)
		if err != nil {
			reason := fault.FailedPrecondition
			if sessiontoken.Listed(tokenID) {
				reason = fault.NotFound
			}
			return r, fault.New(reason, "%v", err)
		}
		return r, nil
	})
}
