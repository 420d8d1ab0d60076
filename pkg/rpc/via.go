package rpc

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/internal/dial"
)

// The ways by which calls come to Interlock.
const (
	ViaHook     = "hook"
	ViaMCP      = "mcp"
	ViaREST     = "rest"
	ViaGRPC     = "grpc"
	ViaAuthZEN  = "authzen"
	ViaExtAuthz = "ext_authz"
)

var ways = []string{ViaHook, ViaMCP, ViaREST, ViaGRPC, ViaAuthZEN, ViaExtAuthz}

const (
	// viaKey says how a call came to the gateway, and gateKey has the token of the gateway that says so.
	viaKey  = "interlock-via"
	gateKey = "interlock-gate"
	// ForKey has the token of the person on whose behalf the caller acts, as "Bearer <token>".
	ForKey = dial.ForKey
)

// Through returns a connection whose calls say how they came to this gateway. Another process counts that only if
// token returns the token of a service, a runtime or an operator; it is nil within one process.
func Through(conn grpc.ClientConnInterface, via string, token func() string) grpc.ClientConnInterface {
	return &through{conn, via, token}
}

type through struct {
	grpc.ClientConnInterface
	via   string
	token func() string
}

func (t *through) outgoing(ctx context.Context) context.Context {
	pairs := []string{viaKey, t.via}
	if t.token != nil {
		if token := t.token(); token != "" {
			pairs = append(pairs, gateKey, "Bearer "+token)
		}
	}
	return metadata.AppendToOutgoingContext(ctx, pairs...)
}

// Invoke calls a unary RPC.
func (t *through) Invoke(ctx context.Context, method string, args, reply any, opts ...grpc.CallOption) error {
	return t.ClientConnInterface.Invoke(t.outgoing(ctx), method, args, reply, opts...)
}

// NewStream opens a stream.
func (t *through) NewStream(ctx context.Context, desc *grpc.StreamDesc, method string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	return t.ClientConnInterface.NewStream(t.outgoing(ctx), desc, method, opts...)
}

// Via returns how the call of ctx came to Interlock. It is empty where a caller says it and nobody vouches for that.
func Via(ctx context.Context) string {
	given := metadata.ValueFromIncomingContext(ctx, viaKey)
	switch {
	case len(given) == 0:
		return ViaGRPC
	case len(given) > 1 || !slices.Contains(ways, given[0]) || !vouchedFor(ctx):
		return ""
	default:
		return given[0]
	}
}

// vouchedFor reports whether Interlock's own code says how a call came: in this process, or with the token of such a
// gateway, or by a caller or a witness whose reports count as observed.
func vouchedFor(ctx context.Context) bool {
	if from, ok := peer.FromContext(ctx); ok && from.Addr == (localAddr{}) || auth.Vouched(ctx) {
		return true
	}
	p, err := bearer(ctx, gateKey)
	return err == nil && p.MayCallIn(Namespace(ctx)) && (p.Role == auth.Service || p.Role == auth.Operator || p.Role == auth.Runtime)
}

// bearer returns the principal whose token the metadata of a key have.
func bearer(ctx context.Context, key string) (auth.Principal, error) {
	token, ok := bearerToken(ctx, key)
	if c := callOf(ctx); ok && c != nil && c.authenticator != nil {
		return c.authenticator.Authenticate(ctx, token)
	}
	return auth.Principal{}, auth.ErrUnauthenticated
}

func bearerToken(ctx context.Context, key string) (string, bool) {
	const scheme = "Bearer "
	given := metadata.ValueFromIncomingContext(ctx, key)
	if len(given) != 1 || len(given[0]) < len(scheme) || !strings.EqualFold(given[0][:len(scheme)], scheme) {
		return "", false
	}
	return given[0][len(scheme):], true
}

// OnBehalfOf returns the person whose token the caller has sent along as that on whose behalf it acts; nil for none. A token
// that is no person's is refused: the caller means somebody, and nobody is known.
func OnBehalfOf(ctx context.Context) (*auth.Human, error) {
	if len(metadata.ValueFromIncomingContext(ctx, ForKey)) == 0 {
		return nil, nil
	}
	token, ok := bearerToken(ctx, ForKey)
	if !ok {
		return nil, fault.New(fault.Unauthenticated, "the metadata %q must be \"Bearer <token>\", once, with the token of the person on whose behalf you act", ForKey)
	}
	var authenticator auth.Authenticator
	if c := callOf(ctx); c != nil {
		authenticator = c.authenticator
	}
	// The facts about a person of this deployment are those of operators of the person's namespaces.
	p, err := bearer(ctx, ForKey)
	switch {
	case err == nil && p.ReadOnly:
		return nil, fault.New(fault.Unauthenticated, "the token in %q only reads, and so does not let you act on behalf of %s; send one of a log-in that decides", ForKey, p.Name)
	case err == nil && p.Kind == auth.OfPerson && !p.MayCallIn(Namespace(ctx)):
		return nil, fault.New(fault.PermissionDenied, "%s, on whose behalf you act, may not call in the namespace %s", p.Name, Namespace(ctx))
	}
	h, err := auth.HumanOf(ctx, authenticator, token)
	if err != nil {
		cause := fault.From(Unauthenticated(err))
		return nil, fault.New(cause.Reason, "the token in %q, of the person on whose behalf you act: %s", ForKey, cause.Message)
	}
	return h, nil
}
