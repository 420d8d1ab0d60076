// Package sharedread reads the shared state of a session, through the contract of the state-store.
package sharedread

import (
	"context"
	"fmt"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// Shared reads shared states, through the state-store's contract.
type Shared struct {
	sessions statev1.SessionServiceClient
	states   statev1.StateServiceClient
}

// NewShared makes an adapter with the credentials of the service's own connection.
func NewShared(sessions statev1.SessionServiceClient, states statev1.StateServiceClient) *Shared {
	return &Shared{sessions, states}
}

// Reads returns the values of a session's state at pointers as they are now; without a
// state id when the session shares none.
func (s *Shared) Reads(ctx context.Context, namespace, session string, pointers []string) (*consent.Reads, error) {
	ctx = rpc.InNamespace(ctx, namespace)
	of, err := s.sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: session})
	if fault.ReasonOf(err) == fault.NotFound || err == nil && of.GetSession().GetWorkflowStateId() == "" {
		return &consent.Reads{}, nil
	}
	if err != nil {
		return nil, err
	}
	id := of.GetSession().GetWorkflowStateId()
	got, err := s.states.GetState(ctx, &statev1.GetStateRequest{StateId: id, Pointers: pointers})
	if fault.ReasonOf(err) == fault.NotFound {
		return &consent.Reads{}, nil
	}
	if err != nil {
		return nil, err
	}
	reads := &consent.Reads{StateID: id, Version: got.GetState().GetVersion()}
	for _, part := range got.GetParts() {
		var v document.Value
		if part.GetFound() {
			var problem *document.Problem
			if v, problem = document.Parse(part.GetValue(), document.Limits{Bytes: len(part.GetValue()) + 1}); problem != nil {
				return nil, fmt.Errorf("read %s of state %s: %s", part.GetPointer(), id, problem.Message)
			}
		}
		reads.Values = append(reads.Values, consent.ReadOf(part.GetPointer(), v))
	}
	if len(reads.Values) != len(pointers) {
		return nil, fmt.Errorf("state %s: %d of %d values were read", id, len(reads.Values), len(pointers))
	}
	return reads, nil
}
