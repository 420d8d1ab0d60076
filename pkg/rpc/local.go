package rpc

import (
	"context"
	"maps"
	"net"
	"sync"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/test/bufconn"
	"google.golang.org/protobuf/proto"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/internal/dial"
)

// Local returns a client of this server within the process. Calls pass the same chain as
// calls over sockets: identity, roles, limits, validation, faults, metrics.
//
// A unary call runs in the caller's goroutine, without HTTP/2 and wake-ups. Its messages
// are copied, so neither side sees later changes of the other. It returns when its
// handler does: handlers respect their context. A stream runs over an in-memory
// connection. Of the call options Header and Trailer are supported.
//
// Of the configuration Token and Namespace are used, for calls whose context
// brings none.
func (s *Server) Local(cfg ClientConfig) grpc.ClientConnInterface {
	return &local{server: s, caller: cfg.caller()}
}

type local struct {
	server *Server
	caller dial.Caller
}

var _ grpc.ClientConnInterface = (*local)(nil)

// Invoke calls a unary RPC.
func (l *local) Invoke(ctx context.Context, name string, args, reply any, opts ...grpc.CallOption) error {
	s := l.server
	request, response, err := messages(args, reply)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return status.FromContextError(err).Err()
	}
	if !s.gate.enter() {
		return fault.New(fault.Unavailable, "this server is shutting down").GRPCStatus().Err()
	}
	defer s.gate.leave()

	m := s.lookup(name)
	transport := &localTransport{method: name}
	sctx := l.arrive(ctx, transport)
	if tp := s.cfg.TracerProvider; tp != nil && !isHealth(name) {
		var span trace.Span
		sctx, span = tp.Tracer(tracerName).Start(parentOf(sctx), name[1:], trace.WithSpanKind(trace.SpanKindServer))
		defer span.End()
	}
	answer, err := l.handle(sctx, m, name, request)
	for _, opt := range opts {
		switch o := opt.(type) {
		case grpc.HeaderCallOption:
			*o.HeaderAddr = transport.header
		case grpc.TrailerCallOption:
			*o.TrailerAddr = transport.trailer
		}
	}
	if cut := ctx.Err(); cut != nil {
		// Over a socket the caller would not have waited for the answer.
		return status.FromContextError(cut).Err()
	}
	if err != nil {
		return err
	}
	proto.Reset(response)
	proto.Merge(response, answer)
	return nil
}

// handle runs the chain and the handler.
func (l *local) handle(ctx context.Context, m *method, name string, request proto.Message) (proto.Message, error) {
	s := l.server
	info := &grpc.UnaryServerInfo{FullMethod: name}
	if !m.isUnary() {
		_, err := s.unary(ctx, request, info, func(context.Context, any) (any, error) { return nil, errUnknownMethod() })
		return nil, err
	}
	// The request is encoded and decoded as on the wire: that is a copy too, and
	// text that is not UTF-8 is refused here as there.
	data, err := proto.Marshal(request)
	if err != nil {
		return nil, errMalformed(err).GRPCStatus().Err()
	}
	if len(data) > transportLimit(s.cfg) {
		return nil, fault.New(fault.TooLarge, "the message has %d bytes and the limit is %d; send less",
			len(data), s.cfg.MaxRecvBytes).GRPCStatus().Err()
	}
	answer, err := m.unary(m.service, ctx, func(into any) error {
		message, ok := into.(proto.Message)
		if !ok {
			return errUnknownMethod()
		}
		return proto.Unmarshal(data, message)
	}, s.unary)
	if err != nil {
		return nil, err
	}
	message, ok := answer.(proto.Message)
	if !ok || !message.ProtoReflect().IsValid() {
		return nil, fault.New(fault.Internal, "a handler returned no message").GRPCStatus().Err()
	}
	return message, nil
}

// NewStream calls a streaming RPC.
func (l *local) NewStream(ctx context.Context, desc *grpc.StreamDesc, name string, opts ...grpc.CallOption) (grpc.ClientStream, error) {
	conn, err := l.server.local.connect()
	if err != nil {
		return nil, err
	}
	return conn.NewStream(l.caller.Outgoing(ctx), desc, name, opts...)
}

// arrive turns the caller's context into the handler's: outgoing metadata become
// incoming. Cancellation, deadline and trace go along.
func (l *local) arrive(ctx context.Context, transport *localTransport) context.Context {
	out, _ := metadata.FromOutgoingContext(l.caller.Outgoing(ctx))
	// Metadata of the call that the caller serves are not passed on unasked.
	ctx = metadata.NewOutgoingContext(ctx, nil)
	ctx = metadata.NewIncomingContext(ctx, out)
	ctx = peer.NewContext(ctx, &peer.Peer{Addr: localAddr{}})
	return grpc.NewContextWithServerTransportStream(ctx, transport)
}

const tracerName = "github.com/interlock-run/interlock/pkg/rpc"

// parentOf returns ctx with the span to continue from: the caller's own, or else the one
// that it forwards.
func parentOf(ctx context.Context) context.Context {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	md, _ := metadata.FromIncomingContext(ctx)
	return propagation.TraceContext{}.Extract(ctx, carrier(md))
}

func messages(args, reply any) (request, response proto.Message, err error) {
	request, ok := args.(proto.Message)
	response, also := reply.(proto.Message)
	if !ok || !also {
		return nil, nil, fault.New(fault.Internal, "not protobuf messages").GRPCStatus().Err()
	}
	return request, response, nil
}

// carrier is metadata as a propagator reads it.
type carrier metadata.MD

func (c carrier) Get(key string) string {
	if v := metadata.MD(c).Get(key); len(v) > 0 {
		return v[0]
	}
	return ""
}

func (c carrier) Set(key, value string) { metadata.MD(c).Set(key, value) }

func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for k := range c {
		keys = append(keys, k)
	}
	return keys
}

// localTransport keeps the headers and trailers that a handler sets.
type localTransport struct {
	method          string
	mu              sync.Mutex
	header, trailer metadata.MD
}

func (t *localTransport) Method() string                  { return t.method }
func (t *localTransport) SendHeader(md metadata.MD) error { return t.SetHeader(md) }

func (t *localTransport) SetHeader(md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.header = metadata.Join(t.header, maps.Clone(md))
	return nil
}

func (t *localTransport) SetTrailer(md metadata.MD) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.trailer = metadata.Join(t.trailer, maps.Clone(md))
	return nil
}

type localAddr struct{}

func (localAddr) Network() string { return "local" }
func (localAddr) String() string  { return "local" }

// memory is the in-memory connection that streams run over, made when the first
// one is opened.
type memory struct {
	server *Server
	mu     sync.Mutex
	closed bool
	conn   *grpc.ClientConn
	served chan struct{}
}

func newMemory(s *Server) *memory { return &memory{server: s} }

func (m *memory) connect() (*grpc.ClientConn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.server.draining.Err() != nil {
		return nil, fault.New(fault.Unavailable, "this server is shutting down").GRPCStatus().Err()
	}
	if m.conn != nil {
		return m.conn, nil
	}
	lis := bufconn.Listen(64 << 10)
	options := append(append(dial.Options(), traced(m.server.cfg.TracerProvider)...),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return lis.DialContext(ctx) }))
	conn, err := grpc.NewClient("passthrough:///local", options...)
	if err != nil {
		return nil, fault.From(err).GRPCStatus().Err()
	}
	m.conn, m.served = conn, make(chan struct{})
	go func() {
		defer close(m.served)
		// It ends, with ErrServerStopped, when the server does.
		_ = m.server.grpc.Serve(memoryListener{lis})
	}()
	return conn, nil
}

func (m *memory) shut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	if m.conn != nil {
		_ = m.conn.Close()
		<-m.served
	}
}

type memoryListener struct{ net.Listener }

func (l memoryListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err // grpc looks at it
	}
	return memoryConn{conn}, nil
}

// gate counts the calls within the process, so that draining waits for them.
type gate struct {
	mu     sync.RWMutex
	closed bool
	calls  sync.WaitGroup
}

func (g *gate) enter() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.closed {
		return false
	}
	g.calls.Add(1)
	return true
}

func (g *gate) leave() { g.calls.Done() }

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
}

func (g *gate) wait() { g.calls.Wait() }
