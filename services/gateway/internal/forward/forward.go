// Package forward serves the services' contracts at the edge and passes every
// call on, so that callers need one address. It must never decide anything, nor
// look into a message: the caller's own credentials go along, and the services
// judge them.
package forward

import (
	"context"
	"errors"
	"io"
	"sync"

	"google.golang.org/grpc"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// Register adds the contracts to a server of pkg/rpc, passed on to these
// connections. No other service can be reached through it.
func Register(r grpc.ServiceRegistrar, engine, policy, state, approval grpc.ClientConnInterface) {
	for _, row := range []struct {
		contract grpc.ServiceDesc
		behind   grpc.ClientConnInterface
	}{
		{enginev1.WorkflowService_ServiceDesc, engine},
		{enginev1.RunService_ServiceDesc, engine},
		{enginev1.ProcessService_ServiceDesc, engine},
		{enginev1.ScheduleService_ServiceDesc, engine},
		{policyv1.PolicyEnforcerService_ServiceDesc, policy},
		{policyv1.PolicyService_ServiceDesc, policy},
		{policyv1.SetService_ServiceDesc, policy},
		{policyv1.DecisionService_ServiceDesc, policy},
		{policyv1.UpstreamService_ServiceDesc, policy},
		{identityv1.HaltService_ServiceDesc, policy},
		{identityv1.NamespaceService_ServiceDesc, policy},
		{policyv1.BreakGlassService_ServiceDesc, policy},
		{statev1.SchemaService_ServiceDesc, state},
		{statev1.StateService_ServiceDesc, state},
		{statev1.SessionService_ServiceDesc, state},
		{statev1.TaskService_ServiceDesc, state},
		{statev1.ComponentService_ServiceDesc, state},
		{statev1.AgentService_ServiceDesc, state},
		{approvalv1.ApprovalService_ServiceDesc, approval},
		{identityv1.PersonService_ServiceDesc, approval},
		{identityv1.LoginService_ServiceDesc, approval},
		// For gateways behind this one, and for repairs.
		{peerv1.RunPeerService_ServiceDesc, engine},
		{peerv1.UpstreamPeerService_ServiceDesc, policy},
		{peerv1.ApprovalPeerService_ServiceDesc, approval},
	} {
		r.RegisterService(proxied(row.contract, row.behind), nil)
	}
}

// proxied returns a contract whose every RPC is made on the connection behind.
func proxied(contract grpc.ServiceDesc, behind grpc.ClientConnInterface) *grpc.ServiceDesc {
	edge := &grpc.ServiceDesc{ServiceName: contract.ServiceName, Metadata: contract.Metadata}
	for _, m := range contract.Methods {
		name := "/" + contract.ServiceName + "/" + m.MethodName
		edge.Methods = append(edge.Methods, grpc.MethodDesc{MethodName: m.MethodName, Handler: unary(name, behind)})
	}
	for _, s := range contract.Streams {
		name := "/" + contract.ServiceName + "/" + s.StreamName
		s.Handler = stream(name, s, behind)
		edge.Streams = append(edge.Streams, s)
	}
	return edge
}

// unary passes a call of one message and one answer on.
func unary(name string, behind grpc.ClientConnInterface) grpc.MethodHandler {
	call := func(ctx context.Context, request any) (any, error) {
		answer := new(rpc.Raw)
		return answer, behind.Invoke(rpc.Forward(ctx), name, request, answer, rpc.CarryRaw())
	}
	return func(
		server any, ctx context.Context, decode func(any) error, chain grpc.UnaryServerInterceptor,
	) (any, error) {
		request := new(rpc.Raw)
		if err := decode(request); err != nil {
			return nil, err
		}
		if chain == nil {
			return call(ctx, request)
		}
		return chain(ctx, request, &grpc.UnaryServerInfo{Server: server, FullMethod: name}, call)
	}
}

// stream passes a call on that streams in either direction or both.
func stream(name string, kind grpc.StreamDesc, behind grpc.ClientConnInterface) grpc.StreamHandler {
	return func(_ any, caller grpc.ServerStream) error {
		ctx, cancel := context.WithCancel(rpc.Forward(caller.Context()))
		defer cancel()
		opened, err := behind.NewStream(ctx, &kind, name, rpc.CarryRaw())
		if err != nil {
			return err
		}
		service := &service{ClientStream: opened}
		if !kind.ClientStreams {
			if err := service.feed(caller); err != nil {
				return err
			}
			return copyAll(caller.SendMsg, service.RecvMsg)
		}
		go func() {
			// A caller whose stream breaks ends the service's, too. One that has sent
			// everything still gets the answers that are under way.
			if service.feed(caller) != nil {
				cancel()
			}
		}()
		answered := make(chan error, 1)
		go func() { answered <- copyAll(caller.SendMsg, service.RecvMsg) }()
		select {
		case err := <-answered:
			return err
		case <-rpc.Draining(ctx):
			service.end() // sent messages are still answered
			return <-answered
		}
	}
}

// service is a stream to the service behind. Its sending side may be ended during a send:
// later messages are dropped.
type service struct {
	grpc.ClientStream
	mu    sync.Mutex
	ended bool
}

func (s *service) send(m any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return io.EOF
	}
	return s.SendMsg(m)
}

func (s *service) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	_ = s.CloseSend() // RecvMsg returns the failure
}

// feed sends the caller's messages, to the caller's end. A service that takes no more has
// a status, which is the caller's answer.
func (s *service) feed(caller grpc.ServerStream) error {
	if err := copyAll(s.send, caller.RecvMsg); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	s.end()
	return nil
}

// copyAll passes messages on until there are no more, which is no error.
func copyAll(send, receive func(any) error) error {
	for {
		m := new(rpc.Raw)
		switch err := receive(m); {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		}
		if err := send(m); err != nil {
			return err
		}
	}
}
