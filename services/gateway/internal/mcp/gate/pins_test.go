package gate

import (
	"context"
	"testing"

	"google.golang.org/grpc/metadata"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
)

// A gateway reports as itself, in the namespace that the caller has, and in no other.
func TestPinsAreReportedInTheCallersNamespace(t *testing.T) {
	t.Parallel()
	known := map[string]auth.Principal{"free": {Role: auth.Agent}, "bound": {Role: auth.Agent, Namespace: "team"}, "listed": {Role: auth.Agent, Namespaces: "team"}, "several": {Role: auth.Agent, Namespaces: "a b"}}
	p := &pins{identify: func(_ context.Context, token string) (auth.Principal, error) {
		who, ok := known[token]
		if !ok {
			return who, auth.ErrUnauthenticated
		}
		return who, nil
	}}
	for _, tc := range []struct {
		token, namespace, want string
		refused                fault.Reason
	}{
		{token: "free", want: "default"},
		{token: "free", namespace: "other", want: "other"},
		{token: "bound", want: "team"},
		{token: "bound", namespace: "team", want: "team"},
		{token: "bound", namespace: "other", refused: fault.PermissionDenied},
		{token: "listed", want: "team"},
		{token: "listed", namespace: "other", refused: fault.PermissionDenied}, // S22.34
		{token: "several", namespace: "b", want: "b"},
		{token: "several", refused: fault.PermissionDenied},
		{token: "unknown", refused: fault.Unauthenticated},
		{namespace: "other", want: "other"}, // where tokens are not needed
	} {
		ctx, err := p.on(t.Context(), caller.Caller{Identity: caller.Identity{Token: tc.token, Namespace: tc.namespace}})
		if tc.refused != "" {
			if fault.ReasonOf(err) != tc.refused {
				t.Errorf("%+v: %v", tc, err)
			}
			continue
		}
		sent, _ := metadata.FromOutgoingContext(ctx)
		if err != nil || sent.Get(rpc.NamespaceKey)[0] != tc.want || len(sent.Get("authorization")) > 0 {
			t.Errorf("%+v: sends %v: %v", tc, sent, err)
		}
	}
}
