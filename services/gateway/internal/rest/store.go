package rest

import (
	"context"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// withoutStore puts clients that answer 503 where there are none.
func (e *edge) withoutStore() {
	if e.Schemas == nil {
		e.Schemas = statev1.NewSchemaServiceClient(noStore{})
	}
	if e.States == nil {
		e.States = statev1.NewStateServiceClient(noStore{})
	}
	if e.Sessions == nil {
		e.Sessions = statev1.NewSessionServiceClient(noStore{})
	}
	if e.Tasks == nil {
		e.Tasks = statev1.NewTaskServiceClient(noStore{})
	}
	if e.Components == nil {
		e.Components = statev1.NewComponentServiceClient(noStore{})
	}
}

// noStore is a connection to a state-store that this server does not have.
type noStore struct{}

var _ grpc.ClientConnInterface = noStore{}

// Invoke refuses a call.
func (noStore) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	return fault.New(fault.Unavailable, "this server has no state-store")
}

// NewStream refuses a streaming call.
func (noStore) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, fault.New(fault.Unavailable, "this server has no state-store")
}
