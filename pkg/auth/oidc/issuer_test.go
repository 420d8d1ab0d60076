package oidc

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/golang-jwt/jwt/v5"
	"go.uber.org/goleak"

	"github.com/interlock-run/interlock/pkg/auth"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) time() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// issuer is an OpenID Connect issuer over TLS.
type issuer struct {
	*httptest.Server
	clock *clock
	ca    string

	mu        sync.Mutex
	keys      []jose.JSONWebKey
	discovery map[string]any // instead of its own
	down      bool
	hold      chan struct{} // answers wait for it
	fetches   int
}

func newIssuer(t *testing.T, keys ...jose.JSONWebKey) *issuer {
	t.Helper()
	i := &issuer{keys: keys, clock: &clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.answer(func() any {
		if i.discovery != nil {
			return i.discovery
		}
		// It would sign with anything; that is not for it to say.
		return map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys?set=1",
			"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"},
		}
	}))
	mux.HandleFunc("GET /keys", i.answer(func() any {
		i.fetches++
		return jose.JSONWebKeySet{Keys: i.keys}
	}))
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	i.ca = filepath.Join(t.TempDir(), "ca.pem")
	block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
	if err := os.WriteFile(i.ca, block, 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

func (i *issuer) answer(body func() any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		hold := i.hold
		i.mu.Unlock()
		if hold != nil {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.down {
			http.Error(w, "down", http.StatusBadGateway)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body())
	}
}

func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

// fetched is how often its keys were.
func (i *issuer) fetched() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// authenticator accepts its tokens.
func (i *issuer) authenticator(t *testing.T, change func(*Config)) *Authenticator {
	t.Helper()
	cfg := Config{Issuer: i.URL, Audience: "interlock", CAFile: i.ca}
	if change != nil {
		change(&cfg)
	}
	a, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	a.now = i.clock.time
	// Work that was begun next to a call ends before the test does.
	t.Cleanup(func() { waitIdle(a.keys) })
	return a
}

func waitIdle(k *keys) {
	k.mu.Lock()
	attempt := k.attempt
	k.mu.Unlock()
	if attempt != nil {
		<-attempt
	}
}

// signer is a key of an issuer.
type signer struct {
	id     string
	method jwt.SigningMethod
	key    crypto.Signer
}

func newRSA(t *testing.T, id string, bits int) signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return signer{id, jwt.SigningMethodRS256, key}
}

func newEC(t *testing.T, id string) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{id, jwt.SigningMethodES256, key}
}

// public is the key as its issuer publishes it.
func (s signer) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: s.key.Public(), KeyID: s.id, Algorithm: s.method.Alg(), Use: "sig"}
}

// sign makes a token.
func (s signer) sign(t *testing.T, claims jwt.MapClaims) string {
	t.Helper()
	return sign(t, s.method, s.key, s.id, claims)
}

func sign(t *testing.T, method jwt.SigningMethod, key any, id string, claims jwt.MapClaims) string {
	t.Helper()
	token := jwt.NewWithClaims(method, claims)
	if id != "" {
		token.Header["kid"] = id
	}
	signed, err := token.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return signed
}

// claims are those of an approver, with some changed; nil leaves one out.
func (i *issuer) claims(changes ...any) jwt.MapClaims {
	now := i.clock.time()
	c := jwt.MapClaims{
		"iss": i.URL, "aud": "interlock", "sub": "user-1", "interlock_role": "approver",
		"iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	for n := 0; n < len(changes); n += 2 {
		name := changes[n].(string)
		if c[name] = changes[n+1]; changes[n+1] == nil {
			delete(c, name)
		}
	}
	return c
}

var approver = auth.Principal{Name: "user-1", Role: auth.Approver, Namespaces: "default"}

// known is a caller without the facts about its token and its person.
func known(p auth.Principal) auth.Principal {
	return auth.Principal{Name: p.Name, Role: p.Role, Namespaces: p.Namespaces}
}
