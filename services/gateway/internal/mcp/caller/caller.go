// Package caller identifies the sender of a request to the MCP edge, and the run or session
// that it works on: by the headers and the URL of the request, never by its MCP session.
package caller

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// gRPC metadata that the services read.
const (
	authorizationKey = "authorization"
	namespaceKey     = rpc.NamespaceKey
)

// Caller is the sender of a request.
type Caller struct {
	Identity
	// Alone callers have the upstream servers to themselves: no other session calls
	// them.
	Alone bool
	// Peer is whom servers may ask on this connection; nil if there is none.
	Peer *upstream.Peer
	// Call is the call of a tool that is being answered; nil otherwise.
	Call *sdk.CallToolRequest
}

// Outgoing returns ctx for a call to a service on behalf of the caller.
func (c Caller) Outgoing(ctx context.Context) context.Context {
	var pairs []string
	if c.Token != "" {
		pairs = append(pairs, authorizationKey, "Bearer "+c.Token)
	}
	if c.Namespace != "" {
		pairs = append(pairs, namespaceKey, c.Namespace)
	}
	if c.For != "" {
		pairs = append(pairs, rpc.ForKey, c.For)
	}
	if len(pairs) == 0 {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}
