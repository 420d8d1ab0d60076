package sessiontoken

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/randtest"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newKey(t *testing.T) Key {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token.key")
	if err := CreateKey(file); err != nil {
		t.Fatal(err)
	}
	key, err := LoadKey(file)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func valid() Claims {
	return Claims{
		Name: "agent", Namespace: "team", Session: "ses_1", Branch: "build/left",
		IssuedAt: now, Expires: now.Add(time.Hour), ID: "tok_1",
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

func TestTokensBindToTheirSession(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	token := mint(t, key, valid())
	if !strings.HasPrefix(token, Prefix) {
		t.Errorf("minted %q", token)
	}
	got, err := at(key, nil, now).Authenticate(t.Context(), token)
	want := auth.Principal{
		Name: "agent", Role: auth.Agent, Session: "ses_1", Branch: "build/left", Namespace: "team",
		Kind: auth.OfSession, TokenID: "tok_1", IssuedAt: valid().IssuedAt, Expires: valid().Expires,
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
	read, err := Read(token)
	if diff := cmp.Diff(valid(), read); err != nil || diff != "" {
		t.Errorf("%v\n%s", err, diff)
	}
}

func TestNamesOfTokens(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	c := valid()
	c.Name = "azAZ09._:/@-"
	if _, err := key.Mint(c); err != nil {
		t.Errorf("%q: %v", c.Name, err)
	}
	c.Name = "\u0430gent"
	if _, err := key.Mint(c); err == nil || !strings.Contains(err.Error(), `"\u0430gent" may have only ASCII letters`) {
		t.Errorf("the error hides what is wrong: %v", err)
	}
}

func TestTokensEnd(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	token := mint(t, key, valid())
	for after, ok := range map[time.Duration]bool{
		-maxSkew: true, -maxSkew - time.Second: false, 0: true, time.Hour - time.Second: true, time.Hour: false, 48 * time.Hour: false,
	} {
		p, err := at(key, nil, now.Add(after)).Authenticate(t.Context(), token)
		if ok != (err == nil) || !ok && (p != auth.Principal{} || !errors.Is(err, auth.ErrUnauthenticated)) {
			t.Errorf("after %v: %+v, %v", after, p, err)
		}
	}
	_, err := at(key, nil, now.Add(time.Hour)).Authenticate(t.Context(), token)
	var refusal *auth.Refusal
	if !errors.As(err, &refusal) || !strings.Contains(refusal.Why, "expired") || strings.Contains(refusal.Why, token) {
		t.Errorf("got %v", err)
	}
	// Another key's token reveals no reason, expired or not.
	if _, err := at(newKey(t), nil, now.Add(time.Hour)).Authenticate(t.Context(), token); errors.As(err, &refusal) {
		t.Errorf("got %v", err)
	}
}

// sign makes tokens that Mint would not.
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
	key := newKey(t)
	with := func(name string, value any) jwt.MapClaims {
		c := jwt.MapClaims{
			"iss": "interlock", "name": "agent", "namespace": "default", "session": "s",
			"iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
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
		"other key":      mint(t, newKey(t), valid()),
		"no prefix":      strings.TrimPrefix(good, Prefix),
		"other prefix":   "ilk_" + strings.TrimPrefix(good, Prefix),
		"nothing":        Prefix,
		"two parts":      parts[0] + "." + parts[1],
		"no signature":   parts[0] + "." + parts[1] + ".",
		"four parts":     good + ".x",
		"other payload":  parts[0] + "." + strings.Split(mint(t, key, valid()), ".")[1] + "." + parts[2],
		"padded":         good + "=",
		"alg none":       sign(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, with("", "")),
		"alg HS512":      sign(t, jwt.SigningMethodHS512, key.secret, with("", "")),
		"other issuer":   sign(t, jwt.SigningMethodHS256, key.secret, with("iss", "https://id.example.com")),
		"no expiry":      sign(t, jwt.SigningMethodHS256, key.secret, with("exp", nil)),
		"no issue time":  sign(t, jwt.SigningMethodHS256, key.secret, with("iat", nil)),
		"forever":        sign(t, jwt.SigningMethodHS256, key.secret, with("exp", now.Add(MaxTTL+time.Second).Unix())),
		"no session":     sign(t, jwt.SigningMethodHS256, key.secret, with("session", nil)),
		"no namespace":   sign(t, jwt.SigningMethodHS256, key.secret, with("namespace", nil)),
		"empty session":  sign(t, jwt.SigningMethodHS256, key.secret, with("session", "")),
		"session number": sign(t, jwt.SigningMethodHS256, key.secret, with("session", 7)),
		"no name":        sign(t, jwt.SigningMethodHS256, key.secret, with("name", nil)),
		"lookalike name": sign(t, jwt.SigningMethodHS256, key.secret, with("name", "\u0430gent")),
		"name of others": sign(t, jwt.SigningMethodHS256, key.secret, with("name", "operator")),
		"long":           Prefix + strings.Repeat("a", maxToken),
	} {
		p, err := at(key, nil, now).Authenticate(t.Context(), token)
		if p != (auth.Principal{}) || !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	if _, err := (Key{}).Check(good, now); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("no key checks it: %v", err)
	}
}

// No change of any character makes another token.
func TestTokensCannotBeChanged(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	a := at(key, nil, now)
	token := mint(t, key, valid())
	randtest.Check(t, func(rt *rapid.T) {
		i := rapid.IntRange(0, len(token)-1).Draw(rt, "at")
		c := rapid.SampledFrom([]byte("ABCxyz019-_.=")).Draw(rt, "character")
		changed := token[:i] + string(c) + token[i+1:]
		if p, err := a.Authenticate(t.Context(), changed); err == nil && changed != token {
			rt.Fatalf("%d %q: %+v", i, c, p)
		}
	})
}

func TestMintRefuses(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	for name, change := range map[string]func(*Claims){
		"no name":        func(c *Claims) { c.Name = "" },
		"lookalike name": func(c *Claims) { c.Name = "\u0430gent" },
		"name of words":  func(c *Claims) { c.Name = "an agent" },
		"quoted name":    func(c *Claims) { c.Name = "agent'" },
		"hidden name":    func(c *Claims) { c.Name = "a\u202eb" },
		"no session":     func(c *Claims) { c.Session = "" },
		"long session":   func(c *Claims) { c.Session = strings.Repeat("s", 257) },
		"long branch":    func(c *Claims) { c.Branch = strings.Repeat("b", 1025) },
		"no namespace":   func(c *Claims) { c.Namespace = "" },
		"ended":          func(c *Claims) { c.Expires = c.IssuedAt },
		"over 30 days":   func(c *Claims) { c.Expires = c.IssuedAt.Add(MaxTTL + time.Second) },
		"no times":       func(c *Claims) { c.IssuedAt, c.Expires = time.Time{}, time.Time{} },
		"no expiry":      func(c *Claims) { c.Expires = time.Time{} },
		"long id as all": func(c *Claims) { c.ID = strings.Repeat("i", maxToken) },
	} {
		c := valid()
		change(&c)
		if token, err := key.Mint(c); err == nil {
			t.Errorf("%s: %q", name, token)
		}
	}
	c := valid()
	c.ID = ""
	first, second := mint(t, key, c), mint(t, key, c)
	if first == second {
		t.Error("two tokens have the same id")
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	tokens, err := auth.ParseTokens([]byte(`{"tokens":[` +
		`{"name":"alice","role":"approver","token":"aaaaaaaaaaaaaaaaaaaaaaaa"},` +
		`{"name":"worker","role":"agent","token":"bbbbbbbbbbbbbbbbbbbbbbbb"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	key := newKey(t)
	for name, ok := range map[string]bool{
		"agent": true, "worker": true, "reviewer": true,
		"alice": false, "Alice": false, "operator": false, "approver": false, "service": false, "anonymous": false,
	} {
		c := valid()
		c.Name = name
		p, err := at(key, tokens, now).Authenticate(t.Context(), mint(t, key, c))
		if ok != (err == nil && p.Name == name) || !ok && !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

// The name of an agent of other namespaces is that agent's: policies and limits are about names.
func TestNamesOfOtherNamespaces(t *testing.T) {
	t.Parallel()
	tokens, err := auth.ParseTokens([]byte(`{"tokens":[` +
		`{"name":"theirs","role":"agent","namespaces":["other"],"token":"aaaaaaaaaaaaaaaaaaaaaaaa"},` +
		`{"name":"agent","role":"agent","namespaces":["other"],"token":"bbbbbbbbbbbbbbbbbbbbbbbb"},` +
		`{"name":"of-two","role":"agent","namespaces":["other"],"token":"cccccccccccccccccccccccc"},` +
		`{"name":"of-two","role":"agent","namespaces":["team"],"token":"dddddddddddddddddddddddd"},` +
		`{"name":"of-all","role":"runtime","namespaces":["*"],"token":"eeeeeeeeeeeeeeeeeeeeeeee"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	key := newKey(t)
	for name, ok := range map[string]bool{"theirs": false, "THEIRS": false, "of-two": true, "of-all": true, "agent": true, "new": true} {
		c := valid()
		c.Name, c.Namespace = name, "team"
		p, err := at(key, tokens, now).Authenticate(t.Context(), mint(t, key, c))
		if ok != (err == nil && p.Name == name) || ok != (CheckName(name, "team", tokens) == nil) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "token.key")
	if err := CreateKey(file); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := CreateKey(file); err != nil {
		t.Error(err)
	}
	if again, err := os.ReadFile(file); err != nil || string(again) != string(first) {
		t.Errorf("a second start changes the key: %v", err)
	}
	for name, content := range map[string]string{
		"short": "c2VjcmV0c2VjcmV0c2VjcmV0c2VjcmV0", "not base64": strings.Repeat("secret ", 20), "empty": "",
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKey(file); err == nil || !strings.Contains(err.Error(), "openssl rand") || strings.Contains(err.Error(), "ecret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := LoadKey(file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a key that all can read: %v", err)
	}
}

func TestReadOfWhatIsNoToken(t *testing.T) {
	t.Parallel()
	for _, token := range []string{"", "ilk_secretsecretsecret", Prefix, Prefix + "secret", Prefix + "a.b.c", Prefix + strings.Repeat("a", maxToken)} {
		if c, err := Read(token); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.20q: %+v, %v", token, c, err)
		}
	}
}
