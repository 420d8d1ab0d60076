package extauthz

import (
	"context"

	"google.golang.org/grpc"

	extauthzv1 "github.com/interlock-run/interlock/gen/go/interlock/extauthz/v1"
)

const (
	serviceName = "envoy.service.auth.v3.Authorization"
	checkMethod = "/" + serviceName + "/Check"
)

// Register registers the service under Envoy's name. Its messages are those parts of Envoy's
// that this package needs; Envoy's own package has hundreds of others.
func (a *Authorization) Register(r grpc.ServiceRegistrar) {
	r.RegisterService(&grpc.ServiceDesc{
		ServiceName: serviceName,
		HandlerType: (*any)(nil),
		Methods:     []grpc.MethodDesc{{MethodName: "Check", Handler: handleCheck}},
	}, a)
}

func handleCheck(srv any, ctx context.Context, decode func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
	a := srv.(*Authorization) //nolint:forcetypeassert // Register passes no other
	check := new(extauthzv1.CheckRequest)
	if err := decode(check); err != nil {
		return nil, err
	}
	if chain == nil {
		return a.Check(ctx, check)
	}
	return chain(ctx, check, &grpc.UnaryServerInfo{Server: srv, FullMethod: checkMethod}, func(ctx context.Context, req any) (any, error) {
		return a.Check(ctx, req.(*extauthzv1.CheckRequest)) //nolint:forcetypeassert // it is check
	})
}
