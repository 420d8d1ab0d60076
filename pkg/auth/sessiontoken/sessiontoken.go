// Package sessiontoken makes and checks tokens for agents that may act in one session
// only: signed, so that the program that starts an agent can give it one without a server
// knowing of it before, and short-lived. One is taken back by the record of its session, which the
// services read (S22.21), or by another key.
//
// A token is "ils_" and a JWT (RFC 7519) with HMAC-SHA256. It must never be more
// than an agent, for longer than 30 days, or be logged.
package sessiontoken

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/typeid"
)

const (
	// Prefix distinguishes these tokens from all others, and lets secret scanners find
	// them.
	Prefix = "ils_"
	// MaxTTL is how long a token can last.
	MaxTTL = 30 * 24 * time.Hour

	issuer = "interlock"
	// maxToken is the longest token that the server checks, in bytes.
	maxToken = 4096
	// The contracts' own bounds, in bytes.
	maxSession, maxBranch = 256, 1024
	// maxSkew is how far the clock of the minter may be ahead.
	maxSkew = 5 * time.Minute
)

// Claims are the contents of a token.
type Claims struct {
	// Name is the principal's; several sessions may share one.
	Name string
	// Namespace and Session are where the agent may act, and Branch, when not
	// empty, the only branch of the session's run.
	Namespace, Session, Branch string
	// Parent, when not empty, is the session that Session is below.
	Parent            string
	IssuedAt, Expires time.Time
	// Human is on whose behalf the agent acts: its name, issuer, source and expiry; nil for the human of the session.
	Human *auth.Human
	// ID names the token, for logs. Mint makes one when it is empty.
	ID string
}

// payload is the claims as JSON.
type payload struct {
	jwt.RegisteredClaims
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Session   string `json:"session"`
	Branch    string `json:"branch,omitempty"`
	Parent    string `json:"parent,omitempty"`
	Human     *human `json:"human,omitempty"`
}

// human is Claims.Human as JSON.
type human struct {
	Name    string      `json:"name"`
	Issuer  string      `json:"issuer,omitempty"`
	Source  auth.Source `json:"source"`
	Expires *time.Time  `json:"expires,omitempty"`
}

func humanOf(h *auth.Human) *human {
	if h == nil {
		return nil
	}
	of := &human{Name: h.Name, Issuer: h.Issuer, Source: h.Source}
	if !h.Expires.IsZero() {
		of.Expires = new(h.Expires.UTC())
	}
	return of
}

func (h *human) read() *auth.Human {
	if h == nil {
		return nil
	}
	of := &auth.Human{Name: h.Name, Issuer: h.Issuer, Source: h.Source}
	if h.Expires != nil {
		of.Expires = h.Expires.UTC()
	}
	return of
}

func (p *payload) claims() Claims {
	c := Claims{Name: p.Name, Namespace: p.Namespace, Session: p.Session, Branch: p.Branch, Parent: p.Parent, Human: p.Human.read(), ID: p.ID}
	if p.IssuedAt != nil {
		c.IssuedAt = p.IssuedAt.UTC()
	}
	if p.ExpiresAt != nil {
		c.Expires = p.ExpiresAt.UTC()
	}
	return c
}

// validate returns why claims are invalid for any token, under every key.
func (c Claims) validate() error {
	switch ttl := c.Expires.Sub(c.IssuedAt); {
	case !auth.ValidName(c.Name):
		return errors.New("its name must be 1 to 256 bytes of printable text")
	case strings.ContainsFunc(c.Name, notInName):
		return fmt.Errorf("its name %+q may have only ASCII letters, digits and . _ : / @ -, so that no name looks like another", c.Name)
	case c.Namespace == "":
		return errors.New("it must name a namespace")
	case c.Session == "" || len(c.Session) > maxSession:
		return fmt.Errorf("its session must have 1 to %d bytes", maxSession)
	case len(c.Parent) > maxSession:
		return fmt.Errorf("its parent must have at most %d bytes", maxSession)
	case c.Parent == c.Session:
		return errors.New("its parent must be another session than its own")
	case len(c.Branch) > maxBranch:
		return fmt.Errorf("its branch must have at most %d bytes", maxBranch)
	case c.Human != nil && (!auth.ValidName(c.Human.Name) || !c.Human.Source.AtLeast(auth.Claimed)):
		return errors.New("its human must have a name of 1 to 256 bytes of printable text, and a source")
	case c.IssuedAt.IsZero() || c.Expires.IsZero() || ttl <= 0 || ttl > MaxTTL:
		return fmt.Errorf("it must last for more than 0 and at most %d hours", int(MaxTTL.Hours()))
	}
	return nil
}

// notInName reports characters outside of those that look like no other.
func notInName(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("._:/@-", c)
}

// Mint makes a token. Times have whole seconds.
func (k Key) Mint(c Claims) (string, error) {
	if err := c.validate(); err != nil {
		return "", fmt.Errorf("mint a token: %w", err)
	}
	if c.ID == "" {
		c.ID = typeid.New(typeid.Token)
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, &payload{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, ID: c.ID, IssuedAt: jwt.NewNumericDate(c.IssuedAt), ExpiresAt: jwt.NewNumericDate(c.Expires),
		},
		Name: c.Name, Namespace: c.Namespace, Session: c.Session, Branch: c.Branch, Parent: c.Parent, Human: humanOf(c.Human),
	}).SignedString(k.secret)
	if err != nil {
		return "", fmt.Errorf("mint a token: %w", err)
	}
	if len(Prefix)+len(signed) > maxToken {
		return "", errors.New("mint a token: it would be too long; choose shorter names")
	}
	return Prefix + signed, nil
}

// Check returns the claims of a token, or why it is refused: an auth.Refusal when the key
// has signed it, else auth.ErrUnauthenticated. The claims of a token that has expired are
// answered too.
func (k Key) Check(token string, now time.Time) (Claims, error) {
	inner, ours := strings.CutPrefix(token, Prefix)
	if !ours || len(token) > maxToken || len(k.secret) < minKey {
		return Claims{}, auth.ErrUnauthenticated
	}
	var p payload
	_, err := jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithStrictDecoding(),
		jwt.WithIssuer(issuer), jwt.WithExpirationRequired(), jwt.WithTimeFunc(func() time.Time { return now }),
	).ParseWithClaims(inner, &p, func(*jwt.Token) (any, error) { return k.secret, nil })
	c := p.claims()
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return c, auth.Refused("it has expired; an operator can mint another")
	case err != nil:
		return Claims{}, auth.ErrUnauthenticated
	case c.IssuedAt.After(now.Add(maxSkew)):
		return c, auth.Refused("it was made in the future; set the clocks of the machines that make and check it")
	}
	if err := c.validate(); err != nil {
		return c, auth.Refused("%v; an operator can mint another", err)
	}
	return c, nil
}

// Read returns the claims of a token without checking it: they may be false.
func Read(token string) (Claims, error) {
	inner, ours := strings.CutPrefix(token, Prefix)
	if !ours || len(token) > maxToken {
		return Claims{}, fmt.Errorf("this is not a session token: those begin with %s", Prefix)
	}
	var p payload
	if _, _, err := jwt.NewParser().ParseUnverified(inner, &p); err != nil {
		// The parser's error may quote its input.
		return Claims{}, errors.New("this is not a session token: it is cut off or damaged")
	}
	return p.claims(), nil
}

// Authenticator authenticates callers by their session tokens.
type Authenticator struct {
	key   Key
	names *auth.Tokens
	now   func() time.Time
}

var _ auth.Authenticator = (*Authenticator)(nil)

// New makes an authenticator. Names that the tokens file gives to others than
// agents are refused; names may be nil.
func New(key Key, names *auth.Tokens) *Authenticator {
	return &Authenticator{key: key, names: names, now: time.Now}
}

// Authenticate returns an agent that is bound to its session.
func (a *Authenticator) Authenticate(_ context.Context, token string) (auth.Principal, error) {
	c, err := a.key.Check(token, a.now())
	if err != nil {
		return auth.Principal{}, err
	}
	if err := CheckName(c.Name, c.Namespace, a.names); err != nil {
		return auth.Principal{}, auth.Refused("%v", err)
	}
	return auth.Principal{
		Name: c.Name, Role: auth.Agent, Session: c.Session, Branch: c.Branch, Parent: c.Parent, Namespace: c.Namespace,
		Kind: auth.OfSession, TokenID: c.ID, IssuedAt: c.IssuedAt, Expires: c.Expires, Human: c.Human,
	}, nil
}

// CheckName refuses a name for a namespace that belongs to a caller that is not an agent, or to an agent of other namespaces.
func CheckName(name, namespace string, names *auth.Tokens) error {
	switch role, taken := names.Reserved(name); {
	case taken && !role.Drives():
		return fmt.Errorf("the name %q belongs to a principal of the role %s; choose another", name, role)
	case names.Elsewhere(name, namespace):
		return fmt.Errorf("the name %q belongs to an agent of another namespace; choose another", name)
	}
	return nil
}

// NewListedID makes the id of a token that counts only while its session's record lists it.
func NewListedID() string { return typeid.New(typeid.ListedToken) }

// Listed reports the id of such a token.
func Listed(id string) bool { return strings.HasPrefix(id, typeid.ListedToken+"_") }
