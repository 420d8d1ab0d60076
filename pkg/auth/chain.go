package auth

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/auth/tokenfile"
)

// Chain asks one authenticator after another whose token it is. One that does not know it
// leaves it to the next; one that cannot determine that denies, so that no caller passes
// as another one while it is down. For an unknown token, the error is the first reason
// given, or ErrUnauthenticated.
func Chain(all ...Authenticator) Authenticator { return chain(all) }

type chain []Authenticator

// Authenticate implements Authenticator.
func (c chain) Authenticate(ctx context.Context, token string) (Principal, error) {
	unknown := ErrUnauthenticated
	for _, a := range c {
		p, err := a.Authenticate(ctx, token)
		switch {
		case err == nil:
			return p.Rooted(), nil
		case !errors.Is(err, ErrUnauthenticated):
			return Principal{}, err
		}
		if why := (*Refusal)(nil); !errors.As(unknown, &why) {
			unknown = err
		}
	}
	return Principal{}, unknown
}

// Human implements Humans: it asks one authenticator after another, as Authenticate does.
func (c chain) Human(ctx context.Context, token string) (*Human, error) {
	unknown := ErrUnauthenticated
	for _, a := range c {
		h, err := HumanOf(ctx, a, token)
		switch {
		case err == nil:
			return h, nil
		case !errors.Is(err, ErrUnauthenticated):
			return nil, err
		}
		if why := (*Refusal)(nil); !errors.As(unknown, &why) {
			unknown = err
		}
	}
	return nil, unknown
}

// One knows a single token: that of services which run in one process, made when it
// starts and known to it alone.
func One(p Principal, token string) Authenticator {
	return &Tokens{callers: callers{files: []hashes{{byDigest: map[tokenfile.Digest]Principal{tokenfile.DigestOf("", token): p}}}}}
}
