package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/types/dynamicpb"

	problem "github.com/interlock-run/interlock/pkg/fault"
)

// wire is a message as it stands on the wire.
type wire struct{ bytes []byte }

// wireCodec carries them.
type wireCodec struct{}

func (wireCodec) Name() string { return "proto" }

func (wireCodec) Marshal(v any) (mem.BufferSlice, error) {
	w, ok := v.(*wire)
	if !ok {
		return nil, fmt.Errorf("marshal %T", v)
	}
	return mem.BufferSlice{mem.SliceBuffer(w.bytes)}, nil
}

func (wireCodec) Unmarshal(data mem.BufferSlice, v any) error {
	w, ok := v.(*wire)
	if !ok {
		return fmt.Errorf("unmarshal %T", v)
	}
	w.bytes = data.Materialize()
	return nil
}

var _ encoding.CodecV2 = wireCodec{}

// proxy passes RPCs on to the server, but for the faults.
type proxy struct {
	troubles
	upstream *grpc.ClientConn
	server   *grpc.Server
	lis      *resettable
	address  string
}

func newProxy(target string, credentials grpc.DialOption) (*proxy, error) {
	upstream, err := grpc.NewClient(target, credentials, grpc.WithDefaultCallOptions(grpc.ForceCodecV2(wireCodec{})))
	if err != nil {
		return nil, err
	}
	p := &proxy{upstream: upstream}
	p.server = grpc.NewServer(grpc.ForceServerCodecV2(wireCodec{}), grpc.UnknownServiceHandler(p.handle))
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		_ = upstream.Close()
		return nil, err
	}
	p.address = lis.Addr().String()
	p.lis = &resettable{Listener: lis, open: map[string]net.Conn{}}
	go func() { _ = p.server.Serve(p.lis) }()
	return p, nil
}

func (p *proxy) close() {
	p.lis.resetAll()
	p.server.Stop()
	_ = p.upstream.Close()
}

// handle passes one RPC on.
func (p *proxy) handle(_ any, down grpc.ServerStream) error {
	ctx := down.Context()
	method, _ := grpc.MethodFromServerStream(down)
	var request wire
	if err := down.RecvMsg(&request); err != nil {
		return err
	}
	f, change := p.next(attemptOf(method, request.bytes))
	switch f.Do {
	case refuse:
		return status.Error(codes.Unavailable, "the proxy refuses it")
	case internal:
		return status.Error(codes.Internal, "the proxy fails it")
	case resetBefore:
		return p.reset(ctx)
	case hangBefore:
		change(func(a *attempt) { a.Hangs = true })
		<-ctx.Done()
		return ctx.Err()
	}
	up, err := p.upstream.NewStream(outgoing(ctx), &grpc.StreamDesc{ServerStreams: true}, method)
	if err != nil {
		return err
	}
	if err := errors.Join(up.SendMsg(&request), up.CloseSend()); err != nil {
		return err
	}
	for passed := 0; ; passed++ {
		if f.Do == cut && passed == f.Messages {
			return p.reset(ctx)
		}
		var answer wire
		err := up.RecvMsg(&answer)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil || f.Do == resetAfter || f.Do == hangAfter || f.Do == uncertain {
			if f.Do == hangAfter {
				change(func(a *attempt) { a.Hangs = true })
			}
			err = p.spoil(ctx, f, method, &answer, err)
		}
		if err != nil {
			return err
		}
		if err := down.SendMsg(&answer); err != nil {
			return err
		}
		change(func(a *attempt) { a.Answered = true })
	}
}

// spoil applies a fault to an answer.
func (p *proxy) spoil(ctx context.Context, f fault, method string, answer *wire, err error) error {
	switch f.Do {
	case resetAfter:
		return p.reset(ctx)
	case hangAfter:
		<-ctx.Done()
		return ctx.Err()
	case uncertain:
		st, _ := status.New(codes.Unavailable, "it may have been made").WithDetails(
			&errdetails.ErrorInfo{Reason: string(problem.CommitUncertain), Domain: problem.Domain})
		return st.Err()
	case empty:
		answer.bytes = nil
		return nil
	case garble:
		answer.bytes = []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}
		return nil
	case alter:
		answer.bytes, err = altered(method, answer.bytes, f.Fields)
		return err
	default:
		return err
	}
}

// reset resets the connection that an RPC came over.
func (p *proxy) reset(ctx context.Context) error {
	if from, ok := peer.FromContext(ctx); ok {
		p.lis.reset(from.Addr.String())
	}
	return status.Error(codes.Unavailable, "the connection was reset")
}

// outgoing returns the server's view of a caller: its metadata and its deadline.
func outgoing(ctx context.Context) context.Context {
	md, _ := metadata.FromIncomingContext(ctx)
	md = md.Copy()
	for key := range md {
		if strings.HasPrefix(key, ":") || strings.HasPrefix(key, "grpc-") || key == "content-type" || key == "user-agent" || key == "te" {
			delete(md, key)
		}
	}
	return metadata.NewOutgoingContext(ctx, md)
}

// methodOf finds the contract of "/package.Service/Method".
func methodOf(method string) (protoreflect.MethodDescriptor, error) {
	name := protoreflect.FullName(strings.ReplaceAll(strings.TrimPrefix(method, "/"), "/", "."))
	found, err := protoregistry.GlobalFiles.FindDescriptorByName(name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", method, err)
	}
	m, ok := found.(protoreflect.MethodDescriptor)
	if !ok {
		return nil, fmt.Errorf("%s is not a method", method)
	}
	return m, nil
}

// attemptOf returns a request as it is noted.
func attemptOf(method string, request []byte) attempt {
	a := attempt{RPC: method[strings.LastIndexByte(method, '/')+1:]}
	m, err := methodOf(method)
	if err != nil {
		return a
	}
	msg := dynamicpb.NewMessage(m.Input())
	if proto.Unmarshal(request, msg) != nil {
		return a
	}
	a.Request, _ = protojson.MarshalOptions{UseProtoNames: true}.Marshal(msg)
	text := func(name protoreflect.Name) string {
		if field := m.Input().Fields().ByName(name); field != nil && field.Kind() == protoreflect.StringKind {
			return msg.Get(field).String()
		}
		return ""
	}
	a.Key = cmp.Or(text("call_id"), text("idempotency_key"), text("name"))
	a.Tool = text("tool")
	if field := m.Input().Fields().ByName("ok"); field != nil {
		a.OK = msg.Get(field).Bool()
	}
	return a
}

// altered returns an answer with fields of protobuf's JSON set, or removed by null.
func altered(method string, answer, fields []byte) ([]byte, error) {
	m, err := methodOf(method)
	if err != nil {
		return nil, err
	}
	changes := dynamicpb.NewMessage(m.Output())
	if err := protojson.Unmarshal(fields, changes); err != nil {
		return nil, err
	}
	names, err := memberNames(fields)
	if err != nil {
		return nil, err
	}
	msg := dynamicpb.NewMessage(m.Output())
	if err := proto.Unmarshal(answer, msg); err != nil {
		return nil, err
	}
	for _, name := range names {
		field := m.Output().Fields().ByName(protoreflect.Name(name))
		if field == nil {
			return nil, fmt.Errorf("%s has no field %s", m.Output().FullName(), name)
		}
		if changes.Has(field) {
			msg.Set(field, changes.Get(field))
		} else {
			msg.Clear(field)
		}
	}
	return proto.Marshal(msg)
}

// resettable is a listener whose connections can be reset.
type resettable struct {
	net.Listener
	mu   sync.Mutex
	down bool
	open map[string]net.Conn
}

// Accept resets connections at once while the proxy is down.
func (r *resettable) Accept() (net.Conn, error) {
	for {
		conn, err := r.Listener.Accept()
		if err != nil {
			return nil, err
		}
		r.mu.Lock()
		if !r.down {
			r.open[conn.RemoteAddr().String()] = conn
			r.mu.Unlock()
			return conn, nil
		}
		r.mu.Unlock()
		abort(conn)
	}
}

func (r *resettable) reset(remote string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if conn := r.open[remote]; conn != nil {
		abort(conn)
		delete(r.open, remote)
	}
}

func (r *resettable) resetAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for remote, conn := range r.open {
		abort(conn)
		delete(r.open, remote)
	}
}

// setDown takes the server away, or gives it back.
func (r *resettable) setDown(down bool) {
	r.mu.Lock()
	r.down = down
	r.mu.Unlock()
	if down {
		r.resetAll()
	}
}

// abort closes a connection with a reset.
func abort(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
