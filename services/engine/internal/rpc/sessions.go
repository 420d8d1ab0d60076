package rpc

import (
	"context"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// Sessions creates sessions through the state-store's contract.
type Sessions struct {
	sessions statev1.SessionServiceClient
}

var _ ports.Sessions = (*Sessions)(nil)

// NewSessions makes an adapter with the credentials of the service's own connection.
func NewSessions(sessions statev1.SessionServiceClient) *Sessions { return &Sessions{sessions} }

// Open implements ports.Sessions.
func (s *Sessions) Open(ctx context.Context, namespace, name string, only []byte) error {
	_, err := s.sessions.CreateSession(rpc.InNamespace(ctx, namespace), &statev1.CreateSessionRequest{Name: name, Only: only})
	return err
}
