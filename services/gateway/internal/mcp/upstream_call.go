package mcp

import (
	"context"
	"errors"
	"fmt"
	"slices"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// begin answers the session for one call of the server, which ends with done. env
// is the environment that the server must have, or nil for whatever it has: when it
// has another one, calls under way finish first, and it is started anew.
func (u *upstream) begin(ctx context.Context, env environment) (session *sdk.ClientSession, done func(), err error) {
	select {
	case u.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, errNotReady
	}
	defer func() { <-u.gate }()
	if env != nil {
		if err := u.demand(ctx, env); err != nil {
			return nil, nil, err
		}
	}
	if session, err = u.connected(ctx); err != nil {
		return nil, nil, err
	}
	u.count(1)
	return session, func() { u.count(-1) }, nil
}

func (u *upstream) count(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.calls += n
	u.wake()
}

// demand has the server started with another environment, once no call is under
// way. The caller holds the gate, so none begins meanwhile.
func (u *upstream) demand(ctx context.Context, env environment) error {
	for {
		u.mu.Lock()
		same, busy, moved := slices.Equal(u.wanted, env), u.calls > 0, u.moved
		if !same && !busy {
			u.wanted = env
		}
		u.mu.Unlock()
		switch {
		case same:
			return nil
		case !busy:
			select {
			case u.renew <- struct{}{}:
			default:
			}
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return errors.New("calls of it that are under way have not finished")
		}
	}
}

// connected is the live session with the wanted environment. It waits for a server
// that starts for the first time or anew, and answers at once for one that is down.
func (u *upstream) connected(ctx context.Context) (*sdk.ClientSession, error) {
	for {
		u.mu.Lock()
		session, err, moved := u.session, u.err, u.moved
		if !slices.Equal(u.env, u.wanted) {
			session, err = nil, errStarting
		}
		u.mu.Unlock()
		if session != nil {
			return session, nil
		}
		if !errors.Is(err, errStarting) {
			return nil, fmt.Errorf("%w; Interlock starts it again, try later", err)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, errNotReady
		}
	}
}
