// Package sessiontree gives services the place of a session in its tree, through the
// state-store's contract. The place of a registered session never changes.
package sessiontree

import (
	"context"
	"fmt"
	"time"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// unregistered is how long it is believed that a session is not registered.
const unregistered = 2 * time.Second

// deepest bounds how far up a tree is followed; trees are not nearly as deep.
const deepest = 64

// Sessions gives the trees of sessions.
type Sessions struct {
	service statev1.SessionServiceClient
	clock   func() time.Time
	known   *snapshot.Cache[string, lineage]
}

// lineage is never wrong of a session that is registered: its parent never changes.
type lineage struct {
	names []string
	// until is when it is asked again; zero for never.
	until time.Time
}

// New makes an adapter with the credentials of the service's own connection.
func New(service statev1.SessionServiceClient, clock func() time.Time) *Sessions {
	return &Sessions{service: service, clock: clock, known: snapshot.New[string, lineage](65_536)}
}

// Forget clears the cache.
func (s *Sessions) Forget() { s.known.Clear() }

// Root returns the id of the root of a session's tree: the session itself when it is not
// registered.
func (s *Sessions) Root(ctx context.Context, namespace, session string) (string, error) {
	// Not even briefly is an old answer good enough here: a session must not decide a
	// question of its own tree.
	names, err := s.lookUp(ctx, namespace, session, func(l lineage) bool { return l.until.IsZero() })
	switch {
	case err != nil:
		return "", err
	case len(names) == 1:
		return session, nil
	default:
		return names[1], nil
	}
}

// Lineage names a session and all above it, the root first: of each its name and its id,
// for the name is the same before the session is registered and after. A session that is
// not registered has its own name alone; that is believed for a moment, unless fresh is true.
func (s *Sessions) Lineage(ctx context.Context, namespace, session string, fresh bool) ([]string, error) {
	return s.lookUp(ctx, namespace, session, func(l lineage) bool { return l.until.IsZero() || !fresh && s.clock().Before(l.until) })
}

// lookUp asks for places that are unknown, or no longer good enough.
func (s *Sessions) lookUp(ctx context.Context, namespace, session string, good func(lineage) bool) ([]string, error) {
	key := namespace + "\x00" + session
	if l, ok := s.known.Get(key); ok && good(l) {
		return l.names, nil
	}
	l, err := s.ask(rpc.InNamespace(ctx, namespace), session)
	if err != nil {
		return nil, err
	}
	s.known.Put(key, l, nil)
	return l.names, nil
}

func (s *Sessions) ask(ctx context.Context, session string) (lineage, error) {
	var names []string
	for at := session; at != ""; {
		if len(names) > 2*deepest {
			return lineage{}, fmt.Errorf("session %s is more than %d levels below its root", session, deepest)
		}
		resp, err := s.service.GetSession(ctx, &statev1.GetSessionRequest{SessionId: at})
		if fault.ReasonOf(err) == fault.NotFound && at == session {
			return lineage{names: []string{session}, until: s.clock().Add(unregistered)}, nil
		}
		if err != nil {
			return lineage{}, fmt.Errorf("session %s: %w", at, err)
		}
		found := resp.GetSession()
		names = append([]string{found.GetName(), found.GetSessionId()}, names...)
		at = found.GetParentSessionId()
	}
	return lineage{names: names}, nil
}
