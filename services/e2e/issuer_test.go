package e2e

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// idp is an OpenID Connect issuer over TLS.
type idp struct {
	*httptest.Server
	key *rsa.PrivateKey
	ca  string
}

func newIDP(t *testing.T) *idp {
	t.Helper()
	i := &idp{key: must[*rsa.PrivateKey](t)(rsa.GenerateKey(rand.Reader, 2048))}
	mux := http.NewServeMux()
	give := func(path string, body func() any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body())
		})
	}
	give("/.well-known/openid-configuration", func() any {
		return map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"}}
	})
	give("/keys", func() any {
		return map[string]any{"keys": []any{map[string]any{
			"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k", "n": base64.RawURLEncoding.EncodeToString(i.key.N.Bytes()),
			"e": base64.RawURLEncoding.EncodeToString(big.NewInt(int64(i.key.E)).Bytes()),
		}}}
	})
	i.Server = httptest.NewTLSServer(mux)
	t.Cleanup(i.Close)
	i.ca = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.Certificate().Raw})
	if err := os.WriteFile(i.ca, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return i
}

// flags are those of a server that knows the issuer.
func (i *idp) flags() []string {
	return []string{
		"--oidc-issuer", i.URL, "--oidc-audience", "interlock", "--oidc-ca", i.ca, "--oidc-groups-claim", "groups", "--oidc-attributes", "dept",
	}
}

// token returns a token of a person, with further claims.
func (i *idp) token(t *testing.T, name string, claims map[string]any) string {
	t.Helper()
	now := time.Now()
	all := map[string]any{"iss": i.URL, "aud": "interlock", "sub": name, "iat": now.Unix(), "exp": now.Add(time.Hour).Unix()}
	for claim, value := range claims {
		all[claim] = value
	}
	part := func(v any) string { return base64.RawURLEncoding.EncodeToString(must[[]byte](t)(json.Marshal(v))) }
	text := part(map[string]any{"alg": "RS256", "kid": "k", "typ": "JWT"}) + "." + part(all)
	sum := sha256.Sum256([]byte(text))
	signature := must[[]byte](t)(rsa.SignPKCS1v15(rand.Reader, i.key, crypto.SHA256, sum[:]))
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}
