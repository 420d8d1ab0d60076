package rpc

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// Vouching returns a connection whose calls are vouched for by the owner of a token: the
// caller acts, and the owner has seen the reported acts (S14.4). token is asked for each
// call; without one the call has no witness.
func Vouching(conn grpc.ClientConnInterface, token func() string) grpc.ClientConnInterface {
	return &vouching{conn, token}
}

type vouching struct {
	grpc.ClientConnInterface
	token func() string
}

func (v *vouching) outgoing(ctx context.Context) context.Context {
	md, _ := metadata.FromOutgoingContext(ctx)
	token := v.token()
	if token == "" || len(md[WitnessKey]) > 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, WitnessKey, "Bearer "+token)
}

// Invoke calls a unary RPC.
func (v *vouching) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return v.ClientConnInterface.Invoke(v.outgoing(ctx), method, args, reply, opts...)
}

// NewStream opens a stream.
func (v *vouching) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return v.ClientConnInterface.NewStream(v.outgoing(ctx), desc, method, opts...)
}
