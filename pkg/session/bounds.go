package session

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// Bounds are what a session's record says about the rights of its callers: the calls that it
// is narrowed to, and its tokens (S22.20 to S22.24).
type Bounds struct {
	// Only is a list of entries that every call of the session and of those below it must
	// meet, as JSON; nil for none.
	Only json.RawMessage `json:"only,omitempty"`
	// Tokens are those that were minted by API at this session. One that has expired is dropped.
	Tokens []Token `json:"tokens,omitempty"`
	// Revoked are tokens that were minted otherwise and that no longer count.
	Revoked []RevokedToken `json:"revoked,omitempty"`
	// TokensAfter is set once all tokens were revoked: none counts that was issued until then.
	TokensAfter time.Time `json:"tokens_after,omitzero"`
}

// Token is a session token that its session's record lists.
type Token struct {
	ID string `json:"id"`
	// Name is that of the principal, and Session and Branch are where it may act.
	Name    string `json:"name"`
	Session string `json:"session"`
	Branch  string `json:"branch,omitempty"`
	// Only narrows the calls of this token; nil for none.
	Only json.RawMessage `json:"only,omitempty"`
	// Human is on whose behalf it acts, as JSON that only its writer reads; nil for the human of its session.
	Human json.RawMessage `json:"human,omitempty"`
	// MintedBy is the principal who asked for it. Via is the session token that it was asked
	// with, which was issued at ViaIssuedAt: it ends with that one.
	MintedBy    string    `json:"minted_by"`
	Via         string    `json:"via,omitempty"`
	ViaIssuedAt time.Time `json:"via_issued_at,omitzero"`
	IssuedAt    time.Time `json:"issued_at"`
	Expires     time.Time `json:"expires"`
	RevokedAt   time.Time `json:"revoked_at,omitzero"`
	RevokedBy   string    `json:"revoked_by,omitempty"`
}

// RevokedToken is a token that is not listed and was revoked. It is kept until any such token has expired.
type RevokedToken struct {
	ID    string    `json:"id"`
	By    string    `json:"by"`
	Until time.Time `json:"until"`
}

const (
	// MostTokens bounds the tokens in a session's record that have not expired.
	MostTokens = 64
	// mostRevoked bounds the revoked tokens that it does not list.
	mostRevoked = 256
	// mostTokenOnly bounds what narrows the tokens of one record together, in bytes.
	mostTokenOnly = 64 << 10
	// mostVia bounds how many tokens are minted with one another.
	mostVia = 32
)

// EventTokenMinted, EventTokenRevoked, EventTokensRevoked and EventNarrowed are the types of events about bounds.
const (
	EventTokenMinted   = "token.minted"
	EventTokenRevoked  = "token.revoked"
	EventTokensRevoked = "tokens.revoked"
	EventNarrowed      = "narrowed"
)

// Mint lists a token in the session's record.
func (s *Session) Mint(token Token, c Clock) (Result, error) {
	r := s.begin(c)
	next := r.Session
	next.dropExpired(c.Now)
	if len(next.Tokens) >= MostTokens { // one that is revoked need not be shown
		if i := slices.IndexFunc(next.Tokens, func(t Token) bool { return !t.RevokedAt.IsZero() }); i >= 0 {
			next.Tokens = slices.Delete(next.Tokens, i, i+1)
		}
	}
	size := len(token.Only)
	for i := range next.Tokens {
		size += len(next.Tokens[i].Only)
	}
	switch {
	case len(next.Tokens) >= MostTokens:
		return Result{}, fmt.Errorf("session %q has %d tokens that have not expired, which is the limit; revoke some, or mint them for shorter", s.Name, MostTokens)
	case size > mostTokenOnly:
		return Result{}, fmt.Errorf("the tokens of session %q are narrowed by more than %d bytes together; narrow the session, or revoke some", s.Name, mostTokenOnly)
	}
	next.Tokens = append(next.Tokens, token)
	r.announceToken(EventTokenMinted, token.ID)
	r.Changed = true
	return *r, nil
}

// RevokeToken ends one token: of a listed one it returns whether it was valid until now. One that is not listed
// ends too, if it is of this session or one below.
func (s *Session) RevokeToken(id, by string, listed bool, keep time.Duration, c Clock) (Result, error) {
	r := s.begin(c)
	next := r.Session
	next.dropExpired(c.Now)
	switch i := slices.IndexFunc(next.Tokens, func(t Token) bool { return t.ID == id }); {
	case i >= 0 && !next.Tokens[i].RevokedAt.IsZero():
		return unchanged(s), nil
	case i >= 0:
		next.Tokens[i].RevokedAt, next.Tokens[i].RevokedBy = c.Now, by
	case listed:
		return Result{}, fmt.Errorf("session %q has no token %q: it has expired, or was minted at another session", s.Name, id)
	case slices.ContainsFunc(next.Revoked, func(t RevokedToken) bool { return t.ID == id }):
		return unchanged(s), nil
	case len(next.Revoked) >= mostRevoked:
		return Result{}, fmt.Errorf("session %q has %d revoked tokens that it does not list, which is the limit; revoke all of its tokens instead", s.Name, mostRevoked)
	default:
		next.Revoked = append(next.Revoked, RevokedToken{ID: id, By: by, Until: c.Now.Add(keep)})
	}
	r.announceToken(EventTokenRevoked, id)
	r.Changed = true
	return *r, nil
}

// RevokeTokens ends all tokens of the session, and of those below it, that were issued until now.
func (s *Session) RevokeTokens(by string, c Clock) Result {
	r := s.begin(c)
	next := r.Session
	next.dropExpired(c.Now)
	for i := range next.Tokens {
		if t := &next.Tokens[i]; t.RevokedAt.IsZero() {
			t.RevokedAt, t.RevokedBy = c.Now, by
		}
	}
	next.Revoked, next.TokensAfter = nil, c.Now
	r.announce(EventTokensRevoked)
	r.Changed = true
	return *r
}

// Narrow replaces what the session is narrowed to; nil for nothing.
func (s *Session) Narrow(only json.RawMessage, c Clock) Result {
	if string(s.Only) == string(only) {
		return unchanged(s)
	}
	r := s.begin(c)
	r.Session.Only = only
	r.announce(EventNarrowed)
	r.Changed = true
	return *r
}

// clone returns bounds whose lists can be changed.
func (b Bounds) clone() Bounds {
	b.Tokens, b.Revoked = slices.Clone(b.Tokens), slices.Clone(b.Revoked)
	return b
}

// dropExpired forgets tokens that no longer count in any case.
func (b *Bounds) dropExpired(now time.Time) {
	b.Tokens = slices.DeleteFunc(b.Tokens, func(t Token) bool { return !now.Before(t.Expires) })
	b.Revoked = slices.DeleteFunc(b.Revoked, func(t RevokedToken) bool { return !now.Before(t.Until) })
}

// Bound is the bounds of one session of a lineage.
type Bound struct {
	Session string
	Bounds
}

// Holder is a session token as its holder presents it.
type Holder struct {
	ID       string
	IssuedAt time.Time
	// Session, Branch and Expires are those of the token.
	Session, Branch string
	Expires         time.Time
}

// StandingOf returns the entries that narrow a token, and why it does not count, which is empty for one that
// does. lineage has the sessions of the token: its own and all above it. listed reports ids of tokens that count
// only while a session's record lists them.
func StandingOf(lineage []Bound, holder Holder, listed func(id string) bool) (only []json.RawMessage, why string) {
	id, issued := holder.ID, holder.IssuedAt
	for depth := 0; ; depth++ {
		if depth > mostVia {
			return nil, "it was minted with more than " + strconv.Itoa(mostVia) + " others in a row"
		}
		token, why := find(lineage, id, issued, listed(id))
		if why != "" {
			return nil, why
		}
		if token == nil {
			return only, ""
		}
		if depth == 0 && (token.Session != holder.Session || token.Branch != holder.Branch || holder.Expires.After(token.Expires)) {
			return nil, "it is not the one that was minted under its id"
		}
		if token.Only != nil {
			only = append(only, token.Only)
		}
		if token.Via == "" {
			return only, ""
		}
		id, issued = token.Via, token.ViaIssuedAt
	}
}

// find returns the token of an id as it is listed, nil for one that need not be, or why it does not count.
func find(lineage []Bound, id string, issued time.Time, listed bool) (token *Token, why string) {
	for i := range lineage {
		b := &lineage[i]
		if at := slices.IndexFunc(b.Tokens, func(t Token) bool { return t.ID == id }); at >= 0 {
			token = &b.Tokens[at]
			if !token.RevokedAt.IsZero() {
				return nil, fmt.Sprintf("%s has revoked it", strconv.Quote(token.RevokedBy))
			}
			issued = token.IssuedAt
		}
		if at := slices.IndexFunc(b.Revoked, func(t RevokedToken) bool { return t.ID == id }); at >= 0 {
			return nil, fmt.Sprintf("%s has revoked it", strconv.Quote(b.Revoked[at].By))
		}
	}
	if listed && token == nil {
		return nil, "no session that it is for lists it: its session was deleted, or it is of another server"
	}
	for i := range lineage {
		if b := &lineage[i]; !b.TokensAfter.IsZero() && !issued.After(b.TokensAfter) {
			return nil, fmt.Sprintf("all tokens of session %s that were issued until %s are revoked",
				strconv.Quote(b.Session), b.TokensAfter.UTC().Format(time.RFC3339))
		}
	}
	return token, ""
}
