package rpc

import (
	"context"
	"slices"
	"strings"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

// method has the facts of an RPC that are known before a call.
type method struct {
	name    string
	service any
	// unary is nil for a streaming RPC.
	unary         grpc.MethodHandler
	clientStreams bool
	serverStreams bool
	open          bool
	metrics       methodMetrics
}

func (s *Server) newMethod(name string) *method {
	return &method{name: name, open: auth.Open(name), metrics: s.metrics.forMethod(name)}
}

func (m *method) isUnary() bool { return m.unary != nil }

func isHealth(name string) bool { return strings.HasPrefix(name, "/grpc.health.v1.Health/") }

// registrar notes every RPC, and where its request cannot be decoded makes that
// the caller's fault: grpc would say INTERNAL, before any interceptor.
type registrar struct{ s *Server }

// RegisterService registers a service and its RPCs.
func (r registrar) RegisterService(desc *grpc.ServiceDesc, impl any) {
	own := *desc
	own.Methods = slices.Clone(desc.Methods)
	for i := range own.Methods {
		d := &own.Methods[i]
		handler := d.Handler
		d.Handler = func(srv any, ctx context.Context, dec func(any) error, chain grpc.UnaryServerInterceptor) (any, error) {
			return handler(srv, ctx, func(req any) error {
				if err := dec(req); err != nil {
					return errMalformed(err).GRPCStatus().Err()
				}
				return nil
			}, chain)
		}
		m := r.s.newMethod("/" + desc.ServiceName + "/" + d.MethodName)
		m.service, m.unary = impl, d.Handler
		r.s.methods[m.name] = m
	}
	for _, d := range desc.Streams {
		m := r.s.newMethod("/" + desc.ServiceName + "/" + d.StreamName)
		m.clientStreams, m.serverStreams = d.ClientStreams, d.ServerStreams
		// How long a stream lasts does not mention speed.
		m.metrics.seconds = nil
		r.s.methods[m.name] = m
	}
	r.s.grpc.RegisterService(&own, impl)
}

// GetServiceInfo returns the services for reflection.
func (r registrar) GetServiceInfo() map[string]grpc.ServiceInfo { return r.s.grpc.GetServiceInfo() }

// errMalformed returns the error for bytes that are not the message that the RPC takes.
// The cause may quote them, so it is not shown.
func errMalformed(cause error) *fault.Error {
	return fault.New(fault.InvalidRequest, "the request is not a valid protobuf message of this RPC").Wrap(cause)
}

func errUnknownMethod() error {
	return fault.New(fault.Unimplemented, "this server has no such RPC; its reflection service lists the RPCs")
}
