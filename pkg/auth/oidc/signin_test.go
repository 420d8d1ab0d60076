package oidc

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// door is where an issuer signs people in: it answers each code once, to who knows the
// verifier of its challenge.
type door struct {
	*issuer
	t      *testing.T
	change func(answer map[string]any)
	status int
	asked  url.Values // of the authorization
	form   url.Values // of the exchange
}

func newDoor(t *testing.T, key signer) *door {
	i := newIssuer(t, key.public())
	d := &door{issuer: i, t: t}
	inner := i.Config.Handler
	i.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/token" {
			inner.ServeHTTP(w, r)
			return
		}
		_ = r.ParseForm()
		d.form = r.PostForm
		sum := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
		if base64.RawURLEncoding.EncodeToString(sum[:]) != d.asked.Get("code_challenge") || d.status != 0 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(max(d.status, http.StatusBadRequest))
			_, _ = w.Write([]byte(`{"error":"invalid_grant"}`))
			return
		}
		answer := map[string]any{
			"token_type": "Bearer", "expires_in": 600, "access_token": "opaque",
			"id_token": key.sign(t, i.claims("nonce", d.asked.Get("nonce"))),
		}
		if d.change != nil {
			d.change(answer)
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	})
	i.discovery = map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/authorize", "token_endpoint": i.URL + "/token",
	}
	return d
}

func (d *door) signIn() *SignIn {
	d.t.Helper()
	s, err := d.authenticator(d.t, nil).SignIn(Client{Secret: "hush", RedirectURL: "https://gate.example/ui/oidc/callback", Scopes: []string{"email"}})
	if err != nil {
		d.t.Fatal(err)
	}
	return s
}

func (d *door) begin(s *SignIn) Attempt {
	d.t.Helper()
	to, attempt, err := s.Begin(context.Background())
	if err != nil {
		d.t.Fatal(err)
	}
	at, err := url.Parse(to)
	if err != nil || !strings.HasPrefix(to, d.URL+"/authorize?") {
		d.t.Fatalf("browsers are sent to %q (%v)", to, err)
	}
	d.asked = at.Query()
	return attempt
}

func TestSignIn(t *testing.T) {
	key := newEC(t, "k")
	d := newDoor(t, key)
	s := d.signIn()
	a := d.begin(s)
	if d.asked.Get("code_challenge_method") != "S256" || d.asked.Get("client_id") != "interlock" ||
		d.asked.Get("scope") != "openid email" || d.asked.Get("state") != a.State || d.asked.Get("response_type") != "code" {
		t.Errorf("the issuer is asked %v", d.asked)
	}
	tokens, err := s.Finish(t.Context(), a, a.State, "code")
	if err != nil || len(tokens) != 2 || tokens[1].Text != "opaque" || tokens[1].Expires.IsZero() {
		t.Fatalf("got %v, %v", tokens, err)
	}
	if who, err := s.issuer.Authenticate(t.Context(), tokens[0].Text); err != nil || known(who) != approver {
		t.Errorf("the token is of %v, %v", who, err)
	}
	if d.form.Get("grant_type") != "authorization_code" || d.form.Get("redirect_uri") != "https://gate.example/ui/oidc/callback" {
		t.Errorf("the exchange said %v", d.form)
	}
}

func TestSignInRefused(t *testing.T) {
	key := newEC(t, "k")
	for name, change := range map[string]func(d *door, a *Attempt){
		"another state":     func(_ *door, a *Attempt) { a.State = "other" },
		"another verifier":  func(_ *door, a *Attempt) { a.Verifier = strings.Repeat("x", 43) },
		"another nonce":     func(_ *door, a *Attempt) { a.Nonce = "other" },
		"no token":          func(d *door, _ *Attempt) { d.change = func(answer map[string]any) { delete(answer, "id_token") } },
		"another's token":   func(d *door, _ *Attempt) { forged(d, newEC(t, "k")) },
		"another audience":  func(d *door, _ *Attempt) { forged(d, key, "aud", "other") },
		"an expired token":  func(d *door, _ *Attempt) { forged(d, key, "exp", d.clock.time().Unix()-1) },
		"the issuer denies": func(d *door, _ *Attempt) { d.status = http.StatusUnauthorized },
	} {
		t.Run(name, func(t *testing.T) {
			d := newDoor(t, key)
			s := d.signIn()
			a := d.begin(s)
			state := a.State
			change(d, &a)
			if tokens, err := s.Finish(t.Context(), a, state, "code"); !errors.Is(err, auth.ErrUnauthenticated) || tokens != nil {
				t.Errorf("got %v, %v", tokens, err)
			}
		})
	}
}

func forged(d *door, key signer, changes ...any) {
	d.change = func(answer map[string]any) {
		answer["id_token"] = key.sign(d.t, d.claims(append([]any{"nonce", d.asked.Get("nonce")}, changes...)...))
	}
}

func TestSignInWhileTheIssuerIsDown(t *testing.T) {
	d := newDoor(t, newEC(t, "k"))
	s := d.signIn()
	a := d.begin(s)
	d.status = http.StatusBadGateway
	if _, err := s.Finish(t.Context(), a, a.State, "code"); err == nil || errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("a failing issuer gives %v", err)
	}
	d.set(func() { d.discovery["token_endpoint"] = "http://id.example/token" })
	d.clock.pass(refreshAge)
	if _, _, err := s.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "https://") {
		t.Errorf("an endpoint in the clear gives %v", err)
	}
	if _, err := s.issuer.SignIn(Client{RedirectURL: "http://gate.example/"}); err == nil {
		t.Error("coming back in the clear was taken")
	}
}
