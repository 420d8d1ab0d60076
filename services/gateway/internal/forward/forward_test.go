package forward_test

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/gateway/internal/forward"
)

// patience is for what must happen; no test waits that long unless it fails.
const patience = 2 * time.Minute

type text = wrapperspb.StringValue

// handler is what the services behind do with every call.
type handler func(method string, stream grpc.ServerStream) error

// house is an edge in front of services that do what a test says.
type house struct {
	edge   *rpc.Server
	conn   *grpc.ClientConn
	tokens map[auth.Role]string
	stop   context.CancelFunc
}

// open serves both. Each role has a token, and so has an agent of one session.
func open(t *testing.T, behind handler) *house {
	t.Helper()
	h := &house{tokens: auth.Generate()}
	h.tokens[auth.Service] = auth.Mint()
	known := []auth.Authenticator{auth.One(auth.Principal{Name: "bound", Role: auth.Agent, Session: "mine"}, "token-of-a-session")}
	for role, token := range h.tokens {
		known = append(known, auth.One(auth.Principal{Name: string(role), Role: role}, token))
	}
	services := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		return behind(method, stream)
	}))
	var err error
	h.edge, err = rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, Authenticator: auth.Chain(known...)})
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, h.stop = context.WithCancel(context.Background())
	to := listen(t, services)
	forward.Register(h.edge.GRPC(), to, to, to, to)
	var served sync.WaitGroup
	served.Go(func() {
		if err := h.edge.Serve(ctx); err != nil {
			t.Error(err)
		}
	})
	h.edge.SetServing(true)
	t.Cleanup(func() { h.stop(); served.Wait() })
	h.conn = dial(t, h.edge.Addrs()[0].String())
	return h
}

func dial(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	conn, err := rpc.Dial(address, rpc.ClientConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// method is the first RPC of the contracts of a kind, and a context of a caller that
// may call it.
func (h *house) method(t *testing.T, clientStreams, serverStreams bool) (context.Context, string) {
	t.Helper()
	for _, m := range promised() {
		if m.IsStreamingClient() == clientStreams && m.IsStreamingServer() == serverStreams {
			return h.caller(t, nameOf(m)), nameOf(m)
		}
	}
	t.Fatal("there is no such RPC")
	return nil, ""
}

// caller is a context with a token that may call, and what else goes along.
func (h *house) caller(t *testing.T, method string) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	for _, role := range append(auth.Roles(), auth.Service) {
		if auth.Allowed(method, role) {
			return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+h.tokens[role],
				rpc.NamespaceKey, "team", rpc.RequestIDKey, "req_1", "traceparent", "00-0123-01", "unasked", "stays")
		}
	}
	t.Fatalf("nobody may call %s", method)
	return nil
}

// promised are the RPCs of all contracts.
func promised() (methods []protoreflect.MethodDescriptor) {
	protoregistry.GlobalFiles.RangeFiles(func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			service := file.Services().Get(i)
			for j := range service.Methods().Len() {
				if strings.HasPrefix(string(file.Package()), "interlock.") {
					methods = append(methods, service.Methods().Get(j))
				}
			}
		}
		return true
	})
	return methods
}

func nameOf(m protoreflect.MethodDescriptor) string {
	return "/" + string(m.Parent().FullName()) + "/" + string(m.Name())
}

// echo returns each message as it came, and tells with what metadata.
func echo(seen func(method string, md metadata.MD)) handler {
	return func(method string, stream grpc.ServerStream) error {
		md, _ := metadata.FromIncomingContext(stream.Context())
		seen(method, md)
		for {
			m := new(text)
			switch err := stream.RecvMsg(m); {
			case errors.Is(err, io.EOF):
				return nil
			case err != nil:
				return err
			}
			if err := stream.SendMsg(m); err != nil {
				return err
			}
		}
	}
}

// TestEveryRPCIsForwarded: a new RPC is not forgotten here, the caller's own
// credentials go along, and the message stays as it was.
func TestEveryRPCIsForwarded(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	called := map[string]metadata.MD{}
	h := open(t, echo(func(method string, md metadata.MD) {
		mu.Lock()
		defer mu.Unlock()
		called[method] = md
	}))
	services := map[string]bool{}
	for _, m := range promised() {
		name := nameOf(m)
		services[string(m.Parent().FullName())] = true
		ctx := h.caller(t, name)
		stream, err := h.conn.NewStream(ctx, &grpc.StreamDesc{ClientStreams: m.IsStreamingClient(), ServerStreams: m.IsStreamingServer()}, name)
		if err != nil {
			t.Fatal(err)
		}
		answer := new(text)
		if err := errors.Join(stream.SendMsg(&text{Value: "of " + name}), stream.CloseSend(), stream.RecvMsg(answer)); err != nil || answer.Value != "of "+name {
			t.Errorf("%s: %q, %v", name, answer.Value, err)
		}
		mu.Lock()
		sent, _ := metadata.FromOutgoingContext(ctx)
		for _, key := range []string{"authorization", rpc.NamespaceKey, rpc.RequestIDKey, "traceparent"} {
			if got := called[name].Get(key); !slices.Equal(got, sent.Get(key)) {
				t.Errorf("%s arrived with %s %q, want %q", name, key, got, sent.Get(key))
			}
		}
		if got := called[name].Get("unasked"); len(got) > 0 {
			t.Errorf("%s arrived with what is not Interlock's: %q", name, got)
		}
		mu.Unlock()
	}
	if len(called) < 75 || len(services) < 12 {
		t.Errorf("only %d RPCs of %d services were looked at", len(called), len(services))
	}
	h.lists(t, services)
}

// lists fails when reflection or health do not know a service.
func (h *house) lists(t *testing.T, services map[string]bool) {
	t.Helper()
	ctx := h.caller(t, "/grpc.health.v1.Health/Check")
	stream, err := reflectionpb.NewServerReflectionClient(h.conn).ServerReflectionInfo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	ask := &reflectionpb.ServerReflectionRequest{MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{}}
	if err := stream.Send(ask); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, service := range answer.GetListServicesResponse().GetService() {
		listed[service.GetName()] = true
	}
	for name := range services {
		resp, err := healthpb.NewHealthClient(h.conn).Check(ctx, &healthpb.HealthCheckRequest{Service: name})
		if err != nil || resp.GetStatus() != healthpb.HealthCheckResponse_SERVING || !listed[name] {
			t.Errorf("%s: health %v, %v; listed by reflection: %v", name, resp, err, listed[name])
		}
	}
}

// TestErrorsKeepTheirDetails: what a service refuses is told as it told it.
func TestErrorsKeepTheirDetails(t *testing.T) {
	t.Parallel()
	refusal := fault.New(fault.InvalidRequest, "no such tool").Violate("/tool", "NAME", "is unknown").Meta("limit", "7")
	h := open(t, func(string, grpc.ServerStream) error { return refusal.GRPCStatus().Err() })
	for _, kind := range []grpc.StreamDesc{{}, {ServerStreams: true}, {ServerStreams: true, ClientStreams: true}} {
		ctx, method := h.method(t, kind.ClientStreams, kind.ServerStreams)
		stream, err := h.conn.NewStream(ctx, &kind, method)
		if err != nil {
			t.Fatal(err)
		}
		_ = stream.SendMsg(&text{Value: "x"}) // a stream that has ended says why when it is read
		_ = stream.CloseSend()
		got := fault.From(stream.RecvMsg(new(text)))
		if got.Reason != refusal.Reason || got.Message != refusal.Message || len(got.Violations) != 1 || got.Metadata["limit"] != "7" {
			t.Errorf("%s: %+v", method, got)
		}
	}
}

// TestStreams: messages come and go in order, in both directions at once, and a
// status at the end is the caller's.
func TestStreams(t *testing.T) {
	t.Parallel()
	over := fault.New(fault.Unavailable, "over").GRPCStatus().Err()
	h := open(t, func(_ string, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(new(text)); err != nil {
			return err
		}
		for _, word := range []string{"one", "two"} {
			if err := stream.SendMsg(&text{Value: word}); err != nil {
				return err
			}
		}
		return over
	})
	ctx, method := h.method(t, false, true)
	stream, err := h.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.SendMsg(new(text)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"one", "two"} {
		if got := new(text); stream.RecvMsg(got) != nil || got.Value != want {
			t.Errorf("got %q, want %q", got.Value, want)
		}
	}
	if err := stream.RecvMsg(new(text)); fault.ReasonOf(err) != fault.Unavailable || fault.From(err).Message != "over" {
		t.Errorf("it ended with %v", err)
	}
}

// talk opens a stream in both directions and sees that it answers.
func (h *house) talk(t *testing.T) (stream grpc.ClientStream, hangUp context.CancelFunc) {
	t.Helper()
	ctx, method := h.method(t, true, true)
	ctx, hangUp = context.WithCancel(ctx)
	t.Cleanup(hangUp)
	stream, err := h.conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"one", "two"} {
		got := new(text)
		if err := errors.Join(stream.SendMsg(&text{Value: word}), stream.RecvMsg(got)); err != nil || got.Value != word {
			t.Fatalf("%q, %v", got.Value, err)
		}
	}
	return stream, hangUp
}

func TestBothWays(t *testing.T) {
	t.Parallel()
	h := open(t, echo(func(string, metadata.MD) {}))
	stream, _ := h.talk(t)
	// What was sent before the end is still answered.
	if err := errors.Join(stream.SendMsg(&text{Value: "last"}), stream.CloseSend()); err != nil {
		t.Fatal(err)
	}
	if got := new(text); stream.RecvMsg(got) != nil || got.Value != "last" {
		t.Errorf("got %q", got.Value)
	}
	if err := stream.RecvMsg(new(text)); !errors.Is(err, io.EOF) {
		t.Errorf("it ended with %v", err)
	}
	// A drain ends it as the caller would.
	drained, _ := h.talk(t)
	h.stop()
	if err := drained.RecvMsg(new(text)); !errors.Is(err, io.EOF) {
		t.Errorf("the drain ended it with %v", err)
	}
}

// TestCallersThatLeave: the service learns that a caller is gone, and by when it
// wants its answer.
func TestCallersThatLeave(t *testing.T) {
	t.Parallel()
	entered, left := make(chan bool, 1), make(chan error, 1)
	h := open(t, func(_ string, stream grpc.ServerStream) error {
		_, bounded := stream.Context().Deadline()
		entered <- bounded
		<-stream.Context().Done()
		left <- stream.Context().Err()
		return stream.Context().Err()
	})
	for _, kind := range []grpc.StreamDesc{{}, {ServerStreams: true}, {ServerStreams: true, ClientStreams: true}} {
		ctx, method := h.method(t, kind.ClientStreams, kind.ServerStreams)
		ctx, cancel := context.WithCancel(ctx)
		stream, err := h.conn.NewStream(ctx, &kind, method)
		if err != nil {
			t.Fatal(err)
		}
		if err := stream.SendMsg(new(text)); err != nil {
			t.Fatal(err)
		}
		if !<-entered {
			t.Errorf("%s: the deadline did not go along", method)
		}
		cancel()
		if err := <-left; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: the service saw %v", method, err)
		}
	}
}

// TestWhatIsNotServed: only the contracts can be reached, whatever the services have
// besides, and a bound token may use them.
func TestWhatIsNotServed(t *testing.T) {
	t.Parallel()
	reached := make(chan string, 1)
	h := open(t, echo(func(method string, _ metadata.MD) { reached <- method }))
	ctx, known := h.method(t, false, false)
	service, _, _ := strings.Cut(known[1:], "/")
	for _, method := range []string{"/" + service + "/Nothing", "/interlock.engine.v1.Secrets/Get", "/other.Service/Get"} {
		if err := h.conn.Invoke(ctx, method, new(text), new(text)); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", method, err)
		}
	}
	if len(reached) > 0 {
		t.Errorf("%s came to a service", <-reached)
	}
	for _, m := range promised() {
		if auth.Allowed(nameOf(m), auth.Agent) && !m.IsStreamingClient() && !m.IsStreamingServer() {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer token-of-a-session")
			if err := h.conn.Invoke(ctx, nameOf(m), new(text), new(text)); err != nil || <-reached != nameOf(m) {
				t.Errorf("%s: %v", nameOf(m), err)
			}
			return
		}
	}
}

// listen serves what stands behind the edge.
func listen(t *testing.T, services *grpc.Server) *grpc.ClientConn {
	t.Helper()
	lis, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = services.Serve(lis) }()
	t.Cleanup(services.Stop)
	return dial(t, lis.Addr().String())
}
