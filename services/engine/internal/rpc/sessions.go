package rpc

import (
	"context"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/engine/internal/app"
)

// Sessions tells the trees of sessions, through the state-store's contract and with
// the engine's own credentials.
type Sessions struct{ service statev1.SessionServiceClient }

var _ app.Sessions = (*Sessions)(nil)

// NewSessions makes the adapter.
func NewSessions(service statev1.SessionServiceClient) *Sessions { return &Sessions{service} }

// Root implements app.Sessions.
func (s *Sessions) Root(ctx context.Context, namespace, session string) (string, error) {
	resp, err := s.service.GetSession(rpc.InNamespace(ctx, namespace), &statev1.GetSessionRequest{SessionId: session})
	if fault.ReasonOf(err) == fault.NotFound {
		return session, nil
	}
	if err != nil {
		return "", err
	}
	return resp.GetSession().GetRootSessionId(), nil
}
