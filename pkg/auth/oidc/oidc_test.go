package oidc

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"

	"github.com/interlock-run/interlock/pkg/auth"
)

// refused is the reason that a caller gets, or "" when the token is of another issuer.
func refused(t *testing.T, p auth.Principal, err error) string {
	t.Helper()
	if p != (auth.Principal{}) || !errors.Is(err, auth.ErrUnauthenticated) {
		t.Fatalf("got %+v, %v", p, err)
	}
	var refusal *auth.Refusal
	if errors.As(err, &refusal) {
		return refusal.Why
	}
	return ""
}

func TestTokensOfTheIssuer(t *testing.T) {
	t.Parallel()
	rs, es := newRSA(t, "rs", 2048), newEC(t, "es")
	i := newIssuer(t, rs.public(), es.public())
	a := i.authenticator(t, nil)
	for name, token := range map[string]string{
		"RS256":             rs.sign(t, i.claims()),
		"ES256":             es.sign(t, i.claims()),
		"several audiences": es.sign(t, i.claims("aud", []string{"other", "interlock"})),
		"no key id":         sign(t, es.method, es.key, "", i.claims()),
		"clock ahead":       es.sign(t, i.claims("nbf", i.clock.time().Add(maxSkew).Unix())),
		"no nbf":            es.sign(t, i.claims("nbf", nil)),
	} {
		if got, err := a.Authenticate(t.Context(), token); known(got) != approver || err != nil {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	if n := i.fetched(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

// Tokens that the issuer has signed, and that are refused, with the reason.
func TestTokensThatAreRefused(t *testing.T) {
	t.Parallel()
	es := newEC(t, "es")
	i := newIssuer(t, es.public())
	a := i.authenticator(t, func(c *Config) { c.Logger = slog.New(slog.DiscardHandler) })
	now := i.clock.time()
	for name, tc := range map[string]struct {
		changes []any
		why     string
	}{
		"expired":            {[]any{"exp", now.Add(-time.Second).Unix()}, "expired"},
		"no expiry":          {[]any{"exp", nil}, "expired"},
		"not valid yet":      {[]any{"nbf", now.Add(maxSkew + time.Second).Unix()}, "not valid yet"},
		"other audience":     {[]any{"aud", "other"}, "audience"},
		"audience in part":   {[]any{"aud", "interlock-2"}, "audience"},
		"no audience":        {[]any{"aud", nil}, "audience"},
		"no role":            {[]any{"interlock_role", nil}, "gives no role"},
		"unknown role":       {[]any{"interlock_role", "root"}, "gives no role"},
		"role of other case": {[]any{"interlock_role", "Approver"}, "gives no role"},
		"role of services":   {[]any{"interlock_role", "service"}, "gives no role"},
		"role is not text":   {[]any{"interlock_role", 7}, "gives no role"},
		"several roles":      {[]any{"interlock_role", []string{"agent", "approver"}}, "roles agent and approver"},
		"no name":            {[]any{"sub", nil}, "is not a valid name"},
		"empty name":         {[]any{"sub", ""}, "is not a valid name"},
		"name is not text":   {[]any{"sub", 7}, "wrong"},
		"hidden name":        {[]any{"sub", "a\u202eb"}, "is not a valid name"},
		"name of a role":     {[]any{"sub", "Operator"}, "belongs to"},
		"name of agents":     {[]any{"sub", "agent"}, "belongs to"},
		"name of nobody":     {[]any{"sub", "anonymous"}, "belongs to"},
	} {
		p, err := a.Authenticate(t.Context(), es.sign(t, i.claims(tc.changes...)))
		if why := refused(t, p, err); !strings.Contains(why, tc.why) {
			t.Errorf("%s: %q, want %q", name, why, tc.why)
		}
	}
}

// Tokens that the issuer has not signed.
func TestTokensOfOthers(t *testing.T) {
	t.Parallel()
	rs, es := newRSA(t, "rs", 2048), newEC(t, "es")
	i := newIssuer(t, rs.public(), es.public())
	a := i.authenticator(t, nil)
	good := es.sign(t, i.claims())
	parts := strings.Split(good, ".")
	other := strings.Split(es.sign(t, i.claims("interlock_role", "operator")), ".")
	secret, err := x509.MarshalPKIXPublicKey(rs.key.Public())
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{
		"nothing":               "",
		"static token":          auth.Mint(),
		"other issuer":          es.sign(t, i.claims("iss", "https://id.example.com")),
		"no issuer":             es.sign(t, i.claims("iss", nil)),
		"issuer with a slash":   es.sign(t, i.claims("iss", i.URL+"/")),
		"alg none":              sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "es", i.claims()),
		"HS256 by a public key": sign(t, jwt.SigningMethodHS256, secret, "rs", i.claims()),
		"no signature":          parts[0] + "." + parts[1] + ".",
		"other claims":          parts[0] + "." + other[1] + "." + parts[2],
		"other key, same id":    newEC(t, "es").sign(t, i.claims()),
		"other key, no id":      newEC(t, "").sign(t, i.claims()),
		"id of another kind":    sign(t, es.method, es.key, "rs", i.claims()),
		"unknown key":           newEC(t, "unknown").sign(t, i.claims()),
		"its own key in it":     withHeader(t, newEC(t, "es"), i.claims()),
		"whole JSON":            `{"payload":"` + parts[1] + `","protected":"` + parts[0] + `","signature":"` + parts[2] + `"}`,
		"long":                  es.sign(t, i.claims("x", strings.Repeat("x", maxToken))),
		"claims are a list":     parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte("[]")) + "." + parts[2],
	} {
		p, err := a.Authenticate(t.Context(), token)
		if why := refused(t, p, err); len(why) > 0 && strings.Contains(why, token) {
			t.Errorf("%s: the reason quotes the token", name)
		}
	}
	if got, err := a.Authenticate(t.Context(), good); known(got) != approver || err != nil {
		t.Errorf("afterwards: %+v, %v", got, err)
	}
}

// withHeader is a token that brings the key that it is signed by.
func withHeader(t *testing.T, s signer, claims jwt.MapClaims) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: s.key},
		(&jose.SignerOptions{EmbedJWK: true}).WithHeader("kid", s.id))
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestNamesAndRoles(t *testing.T) {
	t.Parallel()
	es := newEC(t, "es")
	i := newIssuer(t, es.public())
	tokens, err := auth.ParseTokens([]byte(`{"tokens":[{"name":"Alice@Example.com","role":"operator","token":"aaaaaaaaaaaaaaaaaaaaaaaa"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	groups := map[string]auth.Role{"sre": auth.Operator, "leads": auth.Approver, "owners": auth.Approver, "cn=a=b": auth.Observer}
	for name, tc := range map[string]struct {
		change  func(*Config)
		changes []any
		want    auth.Principal
		why     string
	}{
		"list": {
			nil,
			[]any{"interlock_role", []any{"x", 7, "observer"}},
			auth.Principal{Name: "user-1", Role: auth.Observer},
			"",
		},
		"mapped": {
			func(c *Config) { c.RoleClaim, c.Roles = "groups", groups },
			[]any{"groups", []string{"all", "sre"}},
			auth.Principal{Name: "user-1", Role: auth.Operator},
			"",
		},
		"two to one role": {
			func(c *Config) { c.RoleClaim, c.Roles = "groups", groups },
			[]any{"groups", []string{"owners", "leads"}},
			approver, "",
		},
		"two to two roles": {
			func(c *Config) { c.RoleClaim, c.Roles = "groups", groups },
			[]any{"groups", []string{"sre", "leads"}},
			auth.Principal{},
			"roles operator and approver",
		},
		"a role's name is not mapped": {
			func(c *Config) { c.Roles = groups }, nil, auth.Principal{}, "gives no role",
		},
		"nested": {
			func(c *Config) { c.RoleClaim = "realm_access.roles" },
			[]any{"realm_access", map[string]any{"roles": []string{"offline_access", "approver"}}},
			approver, "",
		},
		"nested in no object": {
			func(c *Config) { c.RoleClaim = "realm_access.roles" },
			[]any{"realm_access", "approver"},
			auth.Principal{},
			"gives no role",
		},
		"a namespace": { // S22.31
			func(c *Config) { c.NamespaceClaim = "tenant" },
			[]any{"interlock_role", "approver", "tenant", "a"},
			auth.Principal{Name: "user-1", Role: auth.Approver, Namespaces: "a"},
			"",
		},
		"namespaces": {
			func(c *Config) { c.NamespaceClaim = "tenant" },
			[]any{"interlock_role", "approver", "tenant", []string{"b", "a"}},
			auth.Principal{Name: "user-1", Role: auth.Approver, Namespaces: "a b"},
			"",
		},
		"no namespace": {
			func(c *Config) { c.NamespaceClaim = "tenant" },
			[]any{"interlock_role", "approver"},
			auth.Principal{Name: "user-1", Role: auth.Approver, Namespaces: "default"},
			"",
		},
		"a list for all": { // S22.33
			func(c *Config) { c.Namespaces = "shop" }, nil, auth.Principal{Name: "user-1", Role: auth.Approver, Namespaces: "shop"}, "",
		},
		"a list where the claim is missing": {
			func(c *Config) { c.Namespaces, c.NamespaceClaim = "shop", "tenant" }, nil,
			auth.Principal{Name: "user-1", Role: auth.Approver, Namespaces: "shop"},
			"",
		},
		"all namespaces": {
			func(c *Config) { c.NamespaceClaim = "tenant" }, []any{"interlock_role", "approver", "tenant", "*"}, auth.Principal{}, "must be a namespace",
		},
		"an empty list of namespaces": {
			func(c *Config) { c.NamespaceClaim = "tenant" }, []any{"interlock_role", "approver", "tenant", []string{}}, auth.Principal{}, "must be a namespace",
		},
		"a list with a number": {
			func(c *Config) { c.NamespaceClaim = "tenant" }, []any{"interlock_role", "approver", "tenant", []any{"a", 1}}, auth.Principal{}, "must be a namespace",
		},
		"a URL": {
			func(c *Config) { c.RoleClaim = "https://example.com/role" },
			[]any{"https://example.com/role", "approver"},
			approver, "",
		},
		"e-mail": {
			func(c *Config) { c.NameClaim = "email" },
			[]any{"email", "bob@example.com", "email_verified", true},
			auth.Principal{Name: "bob@example.com", Role: auth.Approver},
			"",
		},
		"e-mail verified in words": {
			func(c *Config) { c.NameClaim = "email" },
			[]any{"email", "bob@example.com", "email_verified", "true"},
			auth.Principal{Name: "bob@example.com", Role: auth.Approver},
			"",
		},
		"e-mail not verified": {
			func(c *Config) { c.NameClaim = "email" },
			[]any{"email", "bob@example.com", "email_verified", false},
			auth.Principal{},
			"not verified",
		},
		"e-mail perhaps verified": {
			func(c *Config) { c.NameClaim = "email" },
			[]any{"email", "bob@example.com"},
			auth.Principal{},
			"not verified",
		},
		"name of the tokens file": {
			func(c *Config) { c.NameClaim, c.Names = "email", tokens },
			[]any{"email", "alice@example.com", "email_verified", true},
			auth.Principal{},
			"belongs to",
		},
	} {
		var log bytes.Buffer
		a := i.authenticator(t, func(c *Config) {
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			if tc.change != nil {
				tc.change(c)
			}
		})
		token := es.sign(t, i.claims(tc.changes...))
		got, err := a.Authenticate(t.Context(), token)
		if tc.why == "" {
			tc.want.Namespaces = cmp.Or(tc.want.Namespaces, "default")
			if known(got) != tc.want || err != nil || log.Len() > 0 {
				t.Errorf("%s: %+v, %v, %s", name, got, err, &log)
			}
			continue
		}
		if why := refused(t, got, err); !strings.Contains(why, tc.why) || !strings.Contains(log.String(), tc.why) {
			t.Errorf("%s: %q, want %q; log: %s", name, why, tc.why, &log)
		}
		if strings.Contains(log.String(), token[:40]) {
			t.Errorf("%s: the token is logged", name)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		cfg  Config
		want string
	}{
		"no issuer":        {Config{Audience: "a"}, "https://id.example.com"},
		"in the clear":     {Config{Issuer: "http://id.example.com", Audience: "a"}, "https://"},
		"no URL":           {Config{Issuer: "id.example.com", Audience: "a"}, "URL"},
		"with a password":  {Config{Issuer: "https://a:b@id.example.com", Audience: "a"}, "URL"},
		"no audience":      {Config{Issuer: "https://id.example.com"}, "audience"},
		"no such role":     {Config{Issuer: "https://id.example.com", Audience: "a", Roles: map[string]auth.Role{"x": "king"}}, `"king"`},
		"role of services": {Config{Issuer: "https://id.example.com", Audience: "a", Roles: map[string]auth.Role{"x": auth.Service}}, `"service"`},
		"no CA":            {Config{Issuer: "https://id.example.com", Audience: "a", CAFile: "nowhere.pem"}, "nowhere.pem"},
		"CA is not PEM":    {Config{Issuer: "https://id.example.com", Audience: "a", CAFile: "oidc_test.go"}, "PEM"},
	} {
		if _, err := New(tc.cfg); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, local := range []string{"http://127.0.0.1:8080/realms/x", "http://localhost:8080", "http://[::1]:1"} {
		if _, err := New(Config{Issuer: local, Audience: "a"}); err != nil {
			t.Errorf("%s: %v", local, err)
		}
	}
}
