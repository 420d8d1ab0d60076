package allinone

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/interlock-run/interlock/services/internal/daemon"
)

// issuer is an OpenID Connect issuer.
type issuer struct {
	*httptest.Server
	signer jose.Signer
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	i := &issuer{}
	if i.signer, err = jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key, KeyID: "k"}}, nil); err != nil {
		t.Fatal(err)
	}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body any = map[string]any{"issuer": i.URL, "jwks_uri": i.URL + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"}}
		if r.URL.Path == "/keys" {
			body = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(i.Close)
	return i
}

// token returns one of a subject, with a role.
func (i *issuer) token(t *testing.T, subject, role string) string {
	t.Helper()
	now := time.Now()
	claims := fmt.Sprintf(`{"iss":%q,"aud":"interlock","sub":%q,"interlock_role":%q,"iat":%d,"exp":%d}`, i.URL, subject, role, now.Unix(), now.Add(time.Hour).Unix())
	signed, err := i.signer.Sign([]byte(claims))
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Every service of `interlock up` knows the person of a token of the issuer (S24.4).
func TestPeopleOfAnIssuer(t *testing.T) {
	t.Parallel()
	i := newIssuer(t)
	c := start(t, Config{Auth: daemon.AuthFlags{OIDCIssuer: i.URL, OIDCAudience: "interlock", OIDCNameClaim: "sub", OIDCRoleClaim: "interlock_role"}})
	whoami := func(token string) (status int, who struct{ Principal, Person, Presence string }) {
		t.Helper()
		req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, c.Endpoints.HTTP+"/v1/whoami", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err == nil && resp.StatusCode == http.StatusOK {
			err = json.Unmarshal(text, &who)
		}
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return resp.StatusCode, who
	}
	call(t, c, http.MethodPost, "/v1/people", fmt.Sprintf(`{"name":"ann","roles":["approver"],"identities":["oidc:%s/8f2c"]}`, i.URL))
	if status, who := whoami(i.token(t, "8f2c", "approver")); status != http.StatusOK || who.Principal != "8f2c" || who.Person != "ann" || who.Presence != "oidc" {
		t.Errorf("ann: %d %+v", status, who)
	}
	if status, _ := whoami(i.token(t, "8f2c", "operator")); status != http.StatusUnauthorized {
		t.Errorf("ann with a role that is not registered: %d", status)
	}
	if status, who := whoami(i.token(t, "b0b0", "approver")); status != http.StatusOK || who.Person != "" {
		t.Errorf("another of the issuer: %d %+v", status, who)
	}
	if _, text := request(t, c, http.MethodGet, "/v1/people", ""); !strings.Contains(string(text), "8f2c") {
		t.Errorf("people: %s", text)
	}
}
