package auth_test

import (
	"context"
	"errors"
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
)

// answers is an authenticator that always returns the same.
type answers struct {
	p   auth.Principal
	err error
}

func (a answers) Authenticate(context.Context, string) (auth.Principal, error) { return a.p, a.err }

func TestChain(t *testing.T) {
	t.Parallel()
	var (
		alice   = answers{p: auth.Principal{Name: "alice", Role: auth.Approver}}
		bob     = answers{p: auth.Principal{Name: "bob", Role: auth.Operator}}
		unknown = answers{err: auth.ErrUnauthenticated}
		expired = answers{err: auth.Refused("it has %s", "expired")}
		other   = answers{err: auth.Refused("other")}
		// A principal that comes with an error must never count.
		down = answers{p: bob.p, err: errors.New("down")}
	)
	for name, tc := range map[string]struct {
		chain []auth.Authenticator
		want  auth.Principal
		err   error
	}{
		"nobody":             {nil, auth.Principal{}, auth.ErrUnauthenticated},
		"first":              {[]auth.Authenticator{alice, bob}, alice.p, nil},
		"the next":           {[]auth.Authenticator{unknown, bob}, bob.p, nil},
		"refused, then met":  {[]auth.Authenticator{expired, bob}, bob.p, nil},
		"down":               {[]auth.Authenticator{unknown, down, bob}, auth.Principal{}, down.err},
		"nobody knows it":    {[]auth.Authenticator{unknown, unknown}, auth.Principal{}, auth.ErrUnauthenticated},
		"the reason":         {[]auth.Authenticator{unknown, expired, unknown}, auth.Principal{}, expired.err},
		"the first reason":   {[]auth.Authenticator{expired, other}, auth.Principal{}, expired.err},
		"a nil tokens file":  {[]auth.Authenticator{(*auth.Tokens)(nil), bob}, bob.p, nil},
		"only what it knows": {[]auth.Authenticator{auth.One(bob.p, tokenB)}, auth.Principal{}, auth.ErrUnauthenticated},
	} {
		got, err := auth.Chain(tc.chain...).Authenticate(t.Context(), tokenA)
		if got != tc.want || !errors.Is(err, tc.err) || err != nil && err.Error() != tc.err.Error() {
			t.Errorf("%s: got %+v, %v", name, got, err)
		}
	}
}

func TestRefusalsAreUnauthenticated(t *testing.T) {
	t.Parallel()
	err := auth.Refused("it has %s", "expired")
	var refusal *auth.Refusal
	if !errors.Is(err, auth.ErrUnauthenticated) || !errors.As(err, &refusal) || refusal.Why != "it has expired" {
		t.Errorf("got %v", err)
	}
}

func TestOne(t *testing.T) {
	t.Parallel()
	p, token := auth.Principal{Name: "service", Role: auth.Service}, auth.Mint()
	one := auth.One(p, token)
	if got, err := one.Authenticate(t.Context(), token); got != p || err != nil {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, wrong := range []string{"", token + "x", token[:len(token)-1], auth.Mint()} {
		if got, err := one.Authenticate(t.Context(), wrong); got != (auth.Principal{}) || !errors.Is(err, auth.ErrUnauthenticated) {
			t.Errorf("%q is %+v, %v", wrong, got, err)
		}
	}
	if _, err := auth.One(p, "").Authenticate(t.Context(), ""); err == nil {
		t.Error("an empty token lets in")
	}
}
