package rpc_test

import (
	"context"
	"testing"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// TestRaw: a raw message goes to and fro as it is, and neither the caller's binding
// nor the rules of the RPC are applied to it; its identity is checked all the same.
func TestRaw(t *testing.T) {
	t.Parallel()
	server, err := rpc.NewServer(rpc.Config{
		Listen:        []string{"127.0.0.1:0"},
		Authenticator: auth.One(auth.Principal{Name: "agent", Role: auth.Agent, Session: "mine"}, "token-of-a-session"),
	})
	if err != nil {
		t.Fatal(err)
	}
	contract := enginev1.RunService_ServiceDesc
	method := contract.Methods[0].MethodName
	server.GRPC().RegisterService(&grpc.ServiceDesc{ServiceName: contract.ServiceName, Methods: []grpc.MethodDesc{{
		MethodName: method,
		Handler: func(_ any, ctx context.Context, decode func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
			request := new(rpc.Raw)
			if err := decode(request); err != nil {
				return nil, err
			}
			return chain(ctx, request, &grpc.UnaryServerInfo{FullMethod: "/" + contract.ServiceName + "/" + method},
				func(_ context.Context, request any) (any, error) { return request, nil })
		},
	}}}, nil)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	for _, token := range []string{"token-of-a-session", ""} {
		conn, err := rpc.Dial(server.Addrs()[0].String(), rpc.ClientConfig{Token: token})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		for _, sent := range []string{"\xff no message", ""} {
			var got string
			err := conn.Invoke(within(t), "/"+contract.ServiceName+"/"+method, &sent, &got, grpc.ForceCodecV2(onWire{}))
			if token == "" {
				wantReason(t, err, fault.Unauthenticated)
			} else if err != nil || got != sent {
				t.Errorf("%q came back as %q, %v", sent, got, err)
			}
		}
	}
}
