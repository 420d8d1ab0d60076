// Package persontoken makes and checks tokens of people who have logged in: signed, so that every
// service of an installation knows them, and short-lived, so that a person who is removed soon
// has none.
//
// A token is "ilp_" and a JWT (RFC 7519) with HMAC-SHA256. It must never be written to a file, or
// be logged.
package persontoken

import (
	"bytes"
	"context"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/typeid"
)

const (
	// Prefix distinguishes these tokens from all others, and lets secret scanners find them.
	Prefix = "ilp_"
	// MaxTTL is how long a token can last.
	MaxTTL = 15 * time.Minute
	// MaxLogin is how long tokens can be renewed after the person has logged in.
	MaxLogin = 8 * time.Hour

	// issuer is another than that of session tokens: with the same key in both, neither passes
	// for the other.
	issuer = "interlock-person"
	// minKey is the fewest bytes of a key: as many as its signatures have.
	minKey = 32
	// maxToken is the longest token that the server checks, in bytes.
	maxToken = 12 << 10
	// maxSkew is how far the clock of another service may be ahead.
	maxSkew = time.Minute
)

// Claims are the contents of a token.
type Claims struct {
	// Person is the name of the person, and so of the principal.
	Person string
	// Role is one of the person's, and Namespaces are those that the person may call in.
	Role       auth.Role
	Namespaces auth.Namespaces
	// Presence is how the person has shown to be there.
	Presence auth.Presence
	// Groups and Attributes are the person's, as operators have registered them.
	Groups     []string
	Attributes map[string]string
	// LoggedIn is when the person has shown to be there. Renewed tokens keep it.
	LoggedIn, IssuedAt, Expires time.Time
	// Credential is the id of the key that the person has logged in with.
	Credential string
	// ReadOnly limits the token to RPCs that change nothing.
	ReadOnly bool
	// ID names the token, for logs. Mint makes one when it is empty.
	ID string
}

// payload is the claims as JSON.
type payload struct {
	jwt.RegisteredClaims
	Role       auth.Role         `json:"role"`
	Namespaces auth.Namespaces   `json:"namespaces"`
	Presence   auth.Presence     `json:"presence,omitempty"`
	Groups     []string          `json:"groups,omitempty"`
	Attributes map[string]string `json:"attributes,omitempty"`
	LoggedIn   *jwt.NumericDate  `json:"auth_time"`
	Credential string            `json:"key,omitempty"`
	ReadOnly   bool              `json:"read_only,omitempty"`
}

func (p *payload) claims() Claims {
	return Claims{
		Person: p.Subject, Role: p.Role, Namespaces: p.Namespaces, Presence: p.Presence, Groups: p.Groups, Attributes: p.Attributes,
		LoggedIn: timeOf(p.LoggedIn), IssuedAt: timeOf(p.IssuedAt), Expires: timeOf(p.ExpiresAt), Credential: p.Credential, ReadOnly: p.ReadOnly, ID: p.ID,
	}
}

func timeOf(d *jwt.NumericDate) time.Time {
	if d == nil {
		return time.Time{}
	}
	return d.UTC()
}

// presences returns the ways to show presence that a token may have; the empty one is for none.
func presences() []auth.Presence {
	return []auth.Presence{"", auth.ByPasskey, auth.ByTouch, auth.ByPassphrase, auth.ByIssuer}
}

// validate returns why claims are invalid for any token, under every key.
func (c Claims) validate() error {
	switch ttl := c.Expires.Sub(c.IssuedAt); {
	case !auth.ValidName(c.Person):
		return errors.New("its person must have 1 to 256 bytes of printable text")
	case !slices.Contains(auth.GivenRoles(), c.Role):
		return fmt.Errorf("its role must be one of %v", auth.GivenRoles())
	case c.Namespaces == "":
		return errors.New("it must name a namespace")
	case !slices.Contains(presences(), c.Presence):
		return errors.New("its presence is not known")
	case c.LoggedIn.IsZero() || c.IssuedAt.IsZero() || c.Expires.IsZero() || ttl <= 0 || ttl > MaxTTL:
		return fmt.Errorf("it must last for more than 0 and at most %v", MaxTTL)
	case c.IssuedAt.Before(c.LoggedIn) || c.Expires.Sub(c.LoggedIn) > MaxLogin:
		return fmt.Errorf("it must end at most %v after the person has logged in", MaxLogin)
	}
	return nil
}

// Key signs and checks tokens. All services of an installation share it, and its holder can create
// a token for any person. The zero value signs and knows no token.
type Key struct{ secret []byte }

// NewKey returns a key that no other process has.
func NewKey() Key {
	secret := make([]byte, minKey)
	// crypto/rand.Read never fails: it ends the program when it cannot continue.
	_, _ = rand.Read(secret)
	return Key{secret}
}

// LoadKey reads a key file: base64 of at least 32 random bytes. It refuses one that others can read.
func LoadKey(file string) (Key, error) {
	data, err := auth.ReadSecret(file)
	if err != nil {
		return Key{}, err
	}
	secret, err := base64.StdEncoding.DecodeString(string(bytes.TrimSpace(data)))
	if err != nil || len(secret) < minKey {
		// The decoder's error quotes its input: a secret. Drop it.
		return Key{}, fmt.Errorf("%s is not a valid key for tokens of people: "+
			"make one with `openssl rand -base64 %d > FILE`, and run chmod 600 on it", file, minKey)
	}
	return Key{secret}, nil
}

// IsZero reports whether this is no key.
func (k Key) IsZero() bool { return len(k.secret) == 0 }

// Derive returns a key for another use, of 32 bytes. It does not reveal this one.
func (k Key) Derive(use string) ([32]byte, error) {
	derived, err := hkdf.Key(sha256.New, k.secret, nil, "interlock person "+use, sha256.Size)
	if err != nil {
		return [32]byte{}, fmt.Errorf("derive a key: %w", err)
	}
	return [32]byte(derived), nil
}

// Mint makes a token. Times have whole seconds.
func (k Key) Mint(c Claims) (string, error) {
	if k.IsZero() {
		return "", errors.New("mint a token: there is no key for tokens of people")
	}
	if err := c.validate(); err != nil {
		return "", fmt.Errorf("mint a token: %w", err)
	}
	if c.ID == "" {
		c.ID = typeid.New("tok")
	}
	signed, err := jwt.NewWithClaims(jwt.SigningMethodHS256, &payload{
		RegisteredClaims: jwt.RegisteredClaims{
			Issuer: issuer, Subject: c.Person, ID: c.ID, IssuedAt: jwt.NewNumericDate(c.IssuedAt), ExpiresAt: jwt.NewNumericDate(c.Expires),
		},
		Role: c.Role, Namespaces: c.Namespaces, Presence: c.Presence, Groups: c.Groups, Attributes: c.Attributes, LoggedIn: jwt.NewNumericDate(c.LoggedIn), Credential: c.Credential, ReadOnly: c.ReadOnly,
	}).SignedString(k.secret)
	if err != nil {
		return "", fmt.Errorf("mint a token: %w", err)
	}
	if len(Prefix)+len(signed) > maxToken {
		return "", errors.New("mint a token: it would be too long; give the person fewer groups and attributes")
	}
	return Prefix + signed, nil
}

// Check returns the claims of a token, or why it is refused: an auth.Refusal when the key has signed
// it, else auth.ErrUnauthenticated.
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
		return Claims{}, auth.Refused("it has expired; log in again")
	case err != nil:
		return Claims{}, auth.ErrUnauthenticated
	case c.IssuedAt.After(now.Add(maxSkew)):
		return Claims{}, auth.Refused("it was made in the future; set the clocks of the machines that make and check it")
	}
	if err := c.validate(); err != nil {
		return Claims{}, auth.Refused("%v; log in again", err)
	}
	return c, nil
}

// Authenticator authenticates people by their tokens. It is safe for concurrent use.
type Authenticator struct {
	key   Key
	names *auth.Tokens
	now   func() time.Time

	mu sync.Mutex
	// known are tokens that were checked. A principal holds a pointer, and requests with the same
	// token have the same principal.
	known map[[sha256.Size]byte]known
}

type known struct {
	principal auth.Principal
	expires   time.Time
}

// maxKnown bounds the tokens that are remembered.
const maxKnown = 1024

var _ auth.Authenticator = (*Authenticator)(nil)

// New makes an authenticator. Names that the tokens file gives to agents are refused; names may be
// nil.
func New(key Key, names *auth.Tokens) *Authenticator {
	return &Authenticator{key: key, names: names, now: time.Now, known: map[[sha256.Size]byte]known{}}
}

// Authenticate returns the person whose token it is.
func (a *Authenticator) Authenticate(_ context.Context, token string) (auth.Principal, error) {
	if !strings.HasPrefix(token, Prefix) || len(token) > maxToken {
		return auth.Principal{}, auth.ErrUnauthenticated
	}
	digest, now := sha256.Sum256([]byte(token)), a.now()
	if p, ok := a.remembered(digest, now); ok {
		return p, nil
	}
	c, err := a.key.Check(token, now)
	if err != nil {
		return auth.Principal{}, err
	}
	if err := CheckName(c.Person, a.names); err != nil {
		return auth.Principal{}, auth.Refused("%v", err)
	}
	p := c.principal()
	a.remember(digest, known{p, c.Expires}, now)
	return p, nil
}

func (c Claims) principal() auth.Principal {
	attributes := make(map[string]any, len(c.Attributes))
	for name, value := range c.Attributes {
		attributes[name] = value
	}
	return auth.Principal{
		Name: c.Person, Role: c.Role, Namespaces: c.Namespaces, Kind: auth.OfPerson, TokenID: c.ID, Person: c.Person, Presence: c.Presence, Credential: c.Credential, ReadOnly: c.ReadOnly,
		Human: &auth.Human{
			Name: c.Person, Groups: c.Groups, GroupsKnown: true, Attributes: attributes, Source: auth.Registered,
			AuthenticatedAt: c.LoggedIn, Expires: c.Expires,
		},
	}
}

func (a *Authenticator) remembered(digest [sha256.Size]byte, now time.Time) (auth.Principal, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, ok := a.known[digest]
	return k.principal, ok && now.Before(k.expires)
}

func (a *Authenticator) remember(digest [sha256.Size]byte, k known, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.known) >= maxKnown {
		for old, of := range a.known {
			if !now.Before(of.expires) {
				delete(a.known, old)
			}
		}
	}
	if len(a.known) < maxKnown {
		a.known[digest] = k
	}
}

// CheckName refuses a name that is not a person's: that of a role, of Interlock itself, or of an agent
// of the tokens file.
func CheckName(name string, names *auth.Tokens) error {
	var nobody *auth.Tokens
	if _, taken := nobody.Reserved(name); taken {
		return fmt.Errorf("the name %q is that of a role or of Interlock itself; choose another", name)
	}
	if role, taken := names.Reserved(name); taken && (role.Drives() || role == auth.Service) {
		return fmt.Errorf("the name %q belongs to a principal of the role %s; choose another", name, role)
	}
	return nil
}
