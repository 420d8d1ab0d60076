package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"net"
	"net/http"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

const (
	keyID    = "sdkhost"
	audience = "interlock"
	tokenTTL = time.Hour
)

// issuer is the OpenID Connect issuer of the people of all cases.
type issuer struct {
	url    string
	key    *ecdsa.PrivateKey
	server *http.Server
}

// person is whom a token is for.
type person struct {
	Name string `json:"name"`
	// Actor acts for the person (RFC 8693), and is the caller then; empty for none.
	Actor string `json:"actor"`
	// Role of its calls; empty for a person on whose behalf others act, and who calls nothing.
	Role string `json:"role"`
	// Groups are not known when they are absent.
	Groups     []string       `json:"groups"`
	Attributes map[string]any `json:"attributes"`
	// Namespaces that it may call in: "own" and "other" of the case, or others; by default its own. An empty list is
	// a token that names none.
	Namespaces []string `json:"namespaces"`
	// Ended is true for a token whose time is over.
	Ended bool `json:"ended"`
}

// startIssuer serves the issuer on loopback.
func startIssuer() (*issuer, error) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	i := &issuer{url: "http://" + lis.Addr().String()}
	if i.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{
			"issuer": i.url, "jwks_uri": i.url + "/keys", "id_token_signing_alg_values_supported": []string{"ES256"},
		})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		public := jose.JSONWebKey{Key: i.key.Public(), KeyID: keyID, Algorithm: string(jose.ES256), Use: "sig"}
		_ = json.NewEncoder(w).Encode(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{public}})
	})
	i.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = i.server.Serve(lis) }()
	return i, nil
}

// flags are those by which a server accepts the issuer's tokens.
func (i *issuer) flags() []string {
	return []string{
		"--oidc-issuer", i.url, "--oidc-audience", audience, "--oidc-groups-claim", "groups", "--oidc-namespace-claim", "namespaces",
		"--oidc-attributes", "department,level", "--log-attributes", "department",
	}
}

// token signs a token of a person.
func (i *issuer) token(p person) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: keyID}}, nil)
	if err != nil {
		return "", err
	}
	now := time.Now()
	expires := now.Add(tokenTTL)
	if p.Ended {
		expires = now.Add(-tokenTTL)
	}
	claims := map[string]any{
		"iss": i.url, "sub": p.Name, "aud": audience, "iat": now.Add(-2 * tokenTTL).Unix(), "auth_time": now.Unix(), "exp": expires.Unix(),
	}
	if len(p.Namespaces) > 0 {
		claims["namespaces"] = p.Namespaces
	}
	if p.Role != "" {
		claims["interlock_role"] = p.Role
	}
	if p.Actor != "" {
		claims["act"] = map[string]string{"sub": p.Actor}
	}
	if p.Groups != nil {
		claims["groups"] = p.Groups
	}
	for name, value := range p.Attributes {
		claims[name] = value
	}
	return jwt.Signed(signer).Claims(claims).Serialize()
}
