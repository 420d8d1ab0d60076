// Package oidc authenticates callers by the tokens of one OpenID Connect issuer:
// signed JWTs whose claims name a principal and its role.
//
// It must never accept a caller whose token it could not check: while the issuer is down
// its keys are used for as long as they can be trusted, and then every token is refused.
// It never logs a token.
package oidc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"time"

	coreos "github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"

	"github.com/interlock-run/interlock/pkg/auth"
)

const (
	// maxToken is the longest token that the server checks, in bytes.
	maxToken = 16 << 10
	// maxSkew is how far the issuer's clock may be ahead.
	maxSkew = time.Minute
)

// algorithms are asymmetric: a verifier of tokens must not be able to create one.
var algorithms = []string{
	coreos.RS256, coreos.RS384, coreos.RS512, coreos.PS256, coreos.PS384, coreos.PS512,
	coreos.ES256, coreos.ES384, coreos.ES512, coreos.EdDSA,
}

// Config of an issuer.
type Config struct {
	// Issuer is its URL, https or on loopback, exactly as in its tokens. It is not
	// asked before the first of them comes.
	Issuer string
	// Audience must be among those of a token: this installation's client id.
	Audience string
	// NameClaim names the principal; "sub" when it is empty. Choose one that the issuer
	// never gives to two people, and that users cannot change: names keep a person from
	// deciding an approval that they asked for, and a person with a second name, also in
	// a tokens file, counts as another person. "email" counts only when "email_verified"
	// is true.
	NameClaim string
	// RoleClaim has the role: a text, or a list of which one is mapped;
	// "interlock_role" when it is empty. "realm_access.roles" is the member of a
	// member, unless there is a claim of just that name.
	RoleClaim string
	// NamespaceClaim has the namespaces that the caller may call in: a text, or a list. A token without it may call
	// in Namespaces. When it is empty, every token may call there.
	NamespaceClaim string
	// Namespaces are those of tokens without a claim that names any; "default" when it is empty.
	Namespaces auth.Namespaces
	// Roles maps values of that claim to roles; when it is empty the values are
	// the names of the five roles: root is given by a map only.
	Roles map[string]auth.Role
	// GroupsClaim has the groups of people: a text, or a list of texts, with dots as in RoleClaim. Without it, the
	// groups of no person are known.
	GroupsClaim string
	// Attributes are the claims that conditions may look at.
	Attributes []string
	// CAFile has the CA of the issuer's certificate (PEM); the system's when it is
	// empty.
	CAFile string
	// Names are those of the tokens file, which no token of the issuer may take.
	Names *auth.Tokens
	// Logger is slog.Default() when it is nil.
	Logger *slog.Logger
}

func (c Config) withDefaults() Config {
	if c.NameClaim == "" {
		c.NameClaim = "sub"
	}
	if c.RoleClaim == "" {
		c.RoleClaim = "interlock_role"
	}
	if len(c.Roles) == 0 {
		c.Roles = make(map[string]auth.Role)
		for _, role := range auth.Roles() {
			c.Roles[string(role)] = role
		}
	}
	if c.Namespaces == "" {
		c.Namespaces = auth.NamespacesOf("default")
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func (c Config) check() error {
	if err := checkURL(c.Issuer); err != nil {
		return fmt.Errorf("the issuer: %w", err)
	}
	for _, claim := range c.Attributes {
		if !attributeName(claim) {
			return fmt.Errorf("the attribute %q: a name has 1 to 64 letters, digits and _ . : / -, without a dot at an end", claim)
		}
	}
	if c.Audience == "" {
		return errors.New("the issuer's tokens need an audience: its client id for this installation")
	}
	for value, role := range c.Roles {
		if role == auth.Service || !role.Valid() {
			return fmt.Errorf("%q is mapped to %q: the roles are %v", value, role, auth.GivenRoles())
		}
	}
	return nil
}

func attributeName(s string) bool {
	return s != "" && len(s) <= 64 && !strings.HasPrefix(s, ".") && !strings.HasSuffix(s, ".") && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("_.:/-", c)
	})
}

// checkURL refuses URLs that would be read over a network in the clear.
func checkURL(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("%q is not a URL like https://id.example.com", raw)
	}
	ip := net.ParseIP(u.Hostname())
	local := u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
	if u.Scheme != "https" && (u.Scheme != "http" || !local) {
		return fmt.Errorf("%q must begin with https://", raw)
	}
	return nil
}

// Authenticator authenticates callers by an issuer's tokens.
type Authenticator struct {
	cfg    Config
	keys   *keys
	now    func() time.Time
	warned throttle
}

var _ auth.Authenticator = (*Authenticator)(nil)

// New makes an authenticator. It does not call the issuer.
func New(cfg Config) (*Authenticator, error) {
	cfg = cfg.withDefaults()
	if err := cfg.check(); err != nil {
		return nil, err
	}
	client, err := newClient(cfg.CAFile)
	if err != nil {
		return nil, err
	}
	a := &Authenticator{cfg: cfg, now: time.Now}
	a.keys = &keys{issuer: cfg.Issuer, client: client, now: func() time.Time { return a.now() }}
	return a, nil
}

// Authenticate returns the principal of a token. Tokens of other issuers give
// ErrUnauthenticated; any other error means that the issuer could not be asked.
func (a *Authenticator) Authenticate(ctx context.Context, token string) (auth.Principal, error) {
	verified, err := a.verify(ctx, token, a.cfg.Audience)
	if err != nil {
		return auth.Principal{}, err
	}
	return a.principal(verified)
}

// verify checks that the issuer has signed a token for an audience, and that it is good now.
func (a *Authenticator) verify(ctx context.Context, token, audience string) (*coreos.IDToken, error) {
	signed, ok := a.parse(token)
	if !ok {
		return nil, auth.ErrUnauthenticated
	}
	header := signed.Signatures[0].Header
	candidates, err := a.keys.find(ctx, header.KeyID, header.Algorithm)
	if errors.Is(err, errNoKey) {
		return nil, auth.Refused("its issuer has no such key")
	}
	if err != nil {
		return nil, err
	}
	verifier := coreos.NewVerifier(a.cfg.Issuer, signature{signed, candidates}, &coreos.Config{
		ClientID: audience, SupportedSigningAlgs: algorithms, Now: a.now,
	})
	verified, err := verifier.Verify(ctx, token)
	if expired := (*coreos.TokenExpiredError)(nil); errors.As(err, &expired) {
		return nil, auth.Refused("it has expired; sign in again")
	}
	if err != nil {
		return nil, auth.Refused("its signature, audience or dates are wrong")
	}
	return verified, nil
}

// parse returns a token that says of itself that the issuer has made it. No key
// is fetched for any other, nor for one that says how to sign it by itself.
func (a *Authenticator) parse(token string) (*jose.JSONWebSignature, bool) {
	if len(token) > maxToken || strings.Count(token, ".") != 2 {
		return nil, false
	}
	allowed := make([]jose.SignatureAlgorithm, len(algorithms))
	for i, name := range algorithms {
		allowed[i] = jose.SignatureAlgorithm(name)
	}
	signed, err := jose.ParseSignedCompact(token, allowed)
	if err != nil || len(signed.Signatures) != 1 {
		return nil, false
	}
	c, err := readClaims(signed.UnsafePayloadWithoutVerification())
	return signed, err == nil && c["iss"] == a.cfg.Issuer
}

// signature is a token with the keys that may have signed it.
type signature struct {
	signed *jose.JSONWebSignature
	keys   []jose.JSONWebKey
}

// VerifySignature implements coreos.KeySet.
func (s signature) VerifySignature(context.Context, string) ([]byte, error) {
	for i := range s.keys {
		if payload, err := s.signed.Verify(&s.keys[i]); err == nil {
			return payload, nil
		}
	}
	return nil, errors.New("oidc: none of the issuer's keys has signed it")
}
