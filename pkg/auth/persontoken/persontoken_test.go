package persontoken

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"

	"github.com/interlock-run/interlock/pkg/auth"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func valid() Claims {
	return Claims{
		Person: "ann", Role: auth.Approver, Namespaces: auth.NamespacesOf("team", "other"), Presence: auth.ByPasskey,
		Groups: []string{"sre"}, Attributes: map[string]string{"site": "berlin"},
		LoggedIn: now.Add(-time.Hour), IssuedAt: now, Expires: now.Add(time.Minute), ID: "tok_1",
	}
}

func mint(t *testing.T, key Key, c Claims) string {
	t.Helper()
	token, err := key.Mint(c)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func at(key Key, names *auth.Tokens, now time.Time) *Authenticator {
	a := New(key, names)
	a.now = func() time.Time { return now }
	return a
}

func TestTokensNameAPerson(t *testing.T) {
	t.Parallel()
	key := NewKey()
	token := mint(t, key, valid())
	if !strings.HasPrefix(token, Prefix) {
		t.Errorf("minted %q", token)
	}
	a := at(key, nil, now)
	got, err := a.Authenticate(t.Context(), token)
	if err != nil {
		t.Fatal(err)
	}
	want := auth.Principal{
		Name: "ann", Role: auth.Approver, Namespaces: "other team", Kind: auth.OfPerson, TokenID: "tok_1", Person: "ann", Presence: auth.ByPasskey,
		Human: &auth.Human{
			Name: "ann", Groups: []string{"sre"}, GroupsKnown: true, Attributes: map[string]any{"site": "berlin"}, Source: auth.Registered,
			AuthenticatedAt: now.Add(-time.Hour), Expires: now.Add(time.Minute),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	reads := valid()
	reads.ReadOnly = true
	if p, err := a.Authenticate(t.Context(), mint(t, key, reads)); err != nil || !p.ReadOnly {
		t.Errorf("a read-only token: %+v, %v", p, err)
	}
	// Requests with one token are of one principal.
	if again, err := a.Authenticate(t.Context(), token); err != nil || again != got {
		t.Errorf("%+v, %v", again, err)
	}
}

// A token that is remembered ends, too.
func TestTokensEnd(t *testing.T) {
	t.Parallel()
	key := NewKey()
	token := mint(t, key, valid())
	clock := now
	a := New(key, nil)
	a.now = func() time.Time { return clock }
	for _, row := range []struct {
		after time.Duration
		ok    bool
	}{{-maxSkew - time.Second, false}, {-maxSkew, true}, {0, true}, {time.Minute - time.Second, true}, {time.Minute, false}, {time.Hour, false}} {
		clock = now.Add(row.after)
		p, err := a.Authenticate(t.Context(), token)
		if row.ok != (err == nil) || !row.ok && (p != auth.Principal{} || !errors.Is(err, auth.ErrUnauthenticated)) {
			t.Errorf("after %v: %+v, %v", row.after, p, err)
		}
	}
	var refusal *auth.Refusal
	if _, err := a.Authenticate(t.Context(), token); !errors.As(err, &refusal) || !strings.Contains(refusal.Why, "log in again") {
		t.Errorf("got %v", err)
	}
	if _, err := at(NewKey(), nil, now.Add(time.Hour)).Authenticate(t.Context(), token); errors.As(err, &refusal) {
		t.Errorf("another key's token reveals a reason: %v", err)
	}
}

func sign(t *testing.T, method jwt.SigningMethod, secret any, claims jwt.MapClaims) string {
	t.Helper()
	signed, err := jwt.NewWithClaims(method, claims).SignedString(secret)
	if err != nil {
		t.Fatal(err)
	}
	return Prefix + signed
}

func TestTokensThatNobodyMinted(t *testing.T) {
	t.Parallel()
	key := NewKey()
	with := func(name string, value any) jwt.MapClaims {
		c := jwt.MapClaims{
			"iss": issuer, "sub": "ann", "role": "approver", "namespaces": "*", "presence": "passkey",
			"iat": now.Unix(), "auth_time": now.Unix(), "exp": now.Add(time.Minute).Unix(),
		}
		if value == nil {
			delete(c, name)
		} else {
			c[name] = value
		}
		return c
	}
	good := sign(t, jwt.SigningMethodHS256, key.secret, with("", ""))
	if _, err := at(key, nil, now).Authenticate(t.Context(), good); err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good, ".")
	for name, token := range map[string]string{
		"other key":        mint(t, NewKey(), valid()),
		"no prefix":        strings.TrimPrefix(good, Prefix),
		"session's prefix": "ils_" + strings.TrimPrefix(good, Prefix),
		"nothing":          Prefix,
		"no signature":     parts[0] + "." + parts[1] + ".",
		"other payload":    parts[0] + "." + strings.Split(mint(t, key, valid()), ".")[1] + "." + parts[2],
		"padded":           good + "=",
		"alg none":         sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, with("", "")),
		"alg HS512":        sign(t, jwt.SigningMethodHS512, key.secret, with("", "")),
		"session's issuer": sign(t, jwt.SigningMethodHS256, key.secret, with("iss", "interlock")),
		"no expiry":        sign(t, jwt.SigningMethodHS256, key.secret, with("exp", nil)),
		"no issue time":    sign(t, jwt.SigningMethodHS256, key.secret, with("iat", nil)),
		"no log-in":        sign(t, jwt.SigningMethodHS256, key.secret, with("auth_time", nil)),
		"later log-in":     sign(t, jwt.SigningMethodHS256, key.secret, with("auth_time", now.Add(time.Second).Unix())),
		"old log-in":       sign(t, jwt.SigningMethodHS256, key.secret, with("auth_time", now.Add(time.Minute-MaxLogin-time.Second).Unix())),
		"too long":         sign(t, jwt.SigningMethodHS256, key.secret, with("exp", now.Add(MaxTTL+time.Second).Unix())),
		"no person":        sign(t, jwt.SigningMethodHS256, key.secret, with("sub", nil)),
		"no role":          sign(t, jwt.SigningMethodHS256, key.secret, with("role", nil)),
		"service":          sign(t, jwt.SigningMethodHS256, key.secret, with("role", "service")),
		"no namespace":     sign(t, jwt.SigningMethodHS256, key.secret, with("namespaces", nil)),
		"other presence":   sign(t, jwt.SigningMethodHS256, key.secret, with("presence", "telepathy")),
		"name of a role":   sign(t, jwt.SigningMethodHS256, key.secret, with("sub", "operator")),
		"long":             Prefix + strings.Repeat("a", maxToken),
	} {
		p, err := at(key, nil, now).Authenticate(t.Context(), token)
		if p != (auth.Principal{}) || !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if _, err := (Key{}).Check(good, now); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("no key checks it: %v", err)
	}
	if token, err := (Key{}).Mint(valid()); err == nil {
		t.Errorf("no key mints %q", token)
	}
}

func TestMintRefuses(t *testing.T) {
	t.Parallel()
	key := NewKey()
	for name, change := range map[string]func(*Claims){
		"no person":      func(c *Claims) { c.Person = "" },
		"no role":        func(c *Claims) { c.Role = "" },
		"service":        func(c *Claims) { c.Role = auth.Service },
		"no namespace":   func(c *Claims) { c.Namespaces = "" },
		"no log-in":      func(c *Claims) { c.LoggedIn = time.Time{} },
		"ended":          func(c *Claims) { c.Expires = c.IssuedAt },
		"too long":       func(c *Claims) { c.Expires = c.IssuedAt.Add(MaxTTL + time.Second) },
		"renewed for 8h": func(c *Claims) { c.LoggedIn = c.Expires.Add(-MaxLogin - time.Second) },
		"many groups":    func(c *Claims) { c.Groups = []string{strings.Repeat("g", maxToken)} },
	} {
		c := valid()
		change(&c)
		if token, err := key.Mint(c); err == nil {
			t.Errorf("%s: %q", name, token)
		}
	}
}

// A person has no name of an agent, a role or Interlock, but may have tokens in the file.
func TestNames(t *testing.T) {
	t.Parallel()
	tokens, err := auth.ParseTokens([]byte(`{"tokens":[` +
		`{"name":"alice","role":"approver","token":"aaaaaaaaaaaaaaaaaaaaaaaa"},` +
		`{"name":"worker","role":"agent","token":"bbbbbbbbbbbbbbbbbbbbbbbb"},` +
		`{"name":"engine","role":"service","token":"cccccccccccccccccccccccc"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, ok := range map[string]bool{
		"ann": true, "alice": true, "worker": false, "Worker": false, "engine": false,
		"operator": false, "Agent": false, "anonymous": false, "interlock": false,
	} {
		if err := CheckName(name, tokens); ok != (err == nil) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestLoadKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), mode); err != nil {
			t.Fatal(err)
		}
		return file
	}
	good := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("k", minKey)))
	key, err := LoadKey(write("good", good+"\n", 0o600))
	if err != nil || key.IsZero() {
		t.Fatal(err)
	}
	if _, err := at(key, nil, now).Authenticate(t.Context(), mint(t, key, valid())); err != nil {
		t.Error(err)
	}
	for name, file := range map[string]string{
		"short": write("short", "c2VjcmV0c2VjcmV0", 0o600), "no base64": write("words", strings.Repeat("secret ", 20), 0o600),
	} {
		if _, err := LoadKey(file); err == nil || strings.Contains(err.Error(), "c2Vj") || strings.Contains(err.Error(), "secret secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := LoadKey(write("open", good, 0o644)); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that all can read: %v", err)
	}
}
