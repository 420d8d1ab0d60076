package rpc

import (
	"context"
	"fmt"
	"time"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// unregistered is how long it is believed that a session is not registered.
const unregistered = 2 * time.Second

// deepest bounds how far up a tree is followed; trees are not nearly as deep.
const deepest = 64

// Sessions tells the trees of sessions, through the state-store's contract.
type Sessions struct {
	service statev1.SessionServiceClient
	clock   func() time.Time
	known   *snapshot.Cache[string, lineage]
}

var _ app.Sessions = (*Sessions)(nil)

// lineage is never wrong of a session that is registered: its parent never changes.
type lineage struct {
	names []string
	// until is when it is asked again; zero for never.
	until time.Time
}

// NewSessions makes the adapter.
func NewSessions(service statev1.SessionServiceClient, clock func() time.Time) *Sessions {
	return &Sessions{service: service, clock: clock, known: snapshot.New[string, lineage](65_536)}
}

// Lineage implements app.Sessions. Of each session it answers the name and the id: the
// name of one is the same before it is registered and after.
func (s *Sessions) Lineage(ctx context.Context, namespace, session string) ([]string, error) {
	key := namespace + "\x00" + session
	if l, ok := s.known.Get(key); ok && (l.until.IsZero() || s.clock().Before(l.until)) {
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
			return lineage{}, fmt.Errorf("session %s has more than %d above it", session, deepest)
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
