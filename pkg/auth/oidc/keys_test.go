package oidc

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/interlock-run/interlock/pkg/auth"
)

// A key that the issuer begins to use is known at once, one that it withdraws is
// not trusted for longer than maxAge, and callers cannot make it a flood.
func TestRotation(t *testing.T) {
	t.Parallel()
	first, second := newEC(t, "first"), newRSA(t, "second", 2048)
	i := newIssuer(t, first.public())
	a := i.authenticator(t, nil)
	ask := func(s signer) error {
		_, err := a.Authenticate(t.Context(), s.sign(t, i.claims()))
		return err
	}
	if err := ask(first); err != nil {
		t.Fatal(err)
	}
	i.set(func() { i.keys = append(i.keys, second.public()) })
	for range 20 {
		// Too early for another question.
		if err := ask(second); !errors.Is(err, auth.ErrUnauthenticated) {
			t.Fatal(err)
		}
	}
	if n := i.fetched(); n != 1 {
		t.Errorf("20 tokens of an unknown key asked the issuer %d times", n-1)
	}
	i.clock.pass(pause)
	if err := ask(second); err != nil {
		t.Error(err)
	}

	// A withdrawn key goes with the next refresh, which is made next to the calls.
	i.set(func() { i.keys = i.keys[1:] })
	if err := ask(first); err != nil {
		t.Error(err)
	}
	i.clock.pass(refreshAge)
	if err := ask(second); err != nil {
		t.Error(err)
	}
	waitIdle(a.keys)
	if err := ask(first); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("a withdrawn key: %v", err)
	}
	if err := ask(second); err != nil {
		t.Error(err)
	}
}

func TestIssuerThatIsDown(t *testing.T) {
	t.Parallel()
	es := newEC(t, "es")
	i := newIssuer(t, es.public())
	i.down = true
	a := i.authenticator(t, nil)
	ask := func(s signer) error {
		p, err := a.Authenticate(t.Context(), s.sign(t, i.claims()))
		if err != nil && p != (auth.Principal{}) {
			t.Errorf("got %+v, %v", p, err)
		}
		return err
	}
	unavailable := func(err error) bool { return err != nil && !errors.Is(err, auth.ErrUnauthenticated) }
	if err := ask(es); !unavailable(err) {
		t.Fatalf("down at the start: %v", err)
	}
	i.set(func() { i.down = false })
	if err := ask(es); !unavailable(err) {
		t.Errorf("too early to ask again: %v", err)
	}
	i.clock.pass(pause)
	if err := ask(es); err != nil {
		t.Fatalf("up: %v", err)
	}

	// Its keys serve on while it is down, but not forever.
	i.set(func() { i.down = true })
	i.clock.pass(maxAge - time.Second)
	if err := ask(es); err != nil {
		t.Errorf("down for a while: %v", err)
	}
	waitIdle(a.keys)
	i.clock.pass(pause)
	if err := ask(newEC(t, "unknown")); !unavailable(err) {
		t.Errorf("whether it has this key cannot be told: %v", err)
	}
	if err := ask(es); !unavailable(err) {
		t.Errorf("down for too long: %v", err)
	}
	// A token of another issuer needs no request.
	if _, err := a.Authenticate(t.Context(), auth.Mint()); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("a static token: %v", err)
	}
}

// All callers wait for one attempt, each for no longer than it wants.
func TestCallersWaitTogether(t *testing.T) {
	t.Parallel()
	es := newEC(t, "es")
	i := newIssuer(t, es.public())
	hold := make(chan struct{})
	i.hold = hold
	a := i.authenticator(t, nil)
	token := es.sign(t, i.claims())

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := a.Authenticate(ctx, token); !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that went away: %v", err)
	}
	results := make(chan error)
	for range 10 {
		go func() {
			_, err := a.Authenticate(t.Context(), token)
			results <- err
		}()
	}
	close(hold)
	for range 10 {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	if n := i.fetched(); n != 1 {
		t.Errorf("the keys were fetched %d times", n)
	}
}

// An issuer with wrong metadata admits no caller.
func TestWrongIssuers(t *testing.T) {
	t.Parallel()
	es, weak := newEC(t, "es"), newRSA(t, "es", 1024)
	encryption := es.public()
	encryption.Use = "enc"
	private := jose.JSONWebKey{Key: es.key, KeyID: "es", Algorithm: "ES256"}
	for name, tc := range map[string]struct {
		keys      []jose.JSONWebKey
		discovery map[string]any
		signer    signer
	}{
		"no keys":          {nil, nil, es},
		"a weak key":       {[]jose.JSONWebKey{weak.public()}, nil, weak},
		"for encryption":   {[]jose.JSONWebKey{encryption}, nil, es},
		"a private key":    {[]jose.JSONWebKey{private}, nil, es},
		"symmetric":        {[]jose.JSONWebKey{{Key: []byte("0123456789abcdef0123456789abcdef"), KeyID: "es"}}, nil, es},
		"of another name":  {[]jose.JSONWebKey{es.public()}, map[string]any{"issuer": "https://id.example.com"}, es},
		"keys in the open": {[]jose.JSONWebKey{es.public()}, map[string]any{"jwks_uri": "http://id.example.com/keys"}, es},
		"keys nowhere":     {[]jose.JSONWebKey{es.public()}, map[string]any{}, es},
	} {
		i := newIssuer(t, tc.keys...)
		if tc.discovery != nil {
			if tc.discovery["issuer"] == nil {
				tc.discovery["issuer"] = i.URL
			}
			i.discovery = tc.discovery
		}
		p, err := i.authenticator(t, nil).Authenticate(t.Context(), tc.signer.sign(t, i.claims()))
		if err == nil || errors.Is(err, auth.ErrUnauthenticated) || p != (auth.Principal{}) {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	// One that no CA of ours vouches for.
	i := newIssuer(t, es.public())
	a := i.authenticator(t, func(c *Config) { c.CAFile = "" })
	if _, err := a.Authenticate(t.Context(), es.sign(t, i.claims())); err == nil || errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("an unknown certificate: %v", err)
	}
}
