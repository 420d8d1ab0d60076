package rpc

import (
	"context"

	"google.golang.org/grpc/metadata"
)

// InNamespace returns ctx for calls that a service makes for itself: in a namespace, and
// without the metadata of the call that ctx belongs to. The connection adds its own
// credentials.
func InNamespace(ctx context.Context, namespace string) context.Context {
	return metadata.NewOutgoingContext(ctx, metadata.Pairs(NamespaceKey, namespace))
}
