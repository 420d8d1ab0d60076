package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"runtime"
	"runtime/debug"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/telemetry"
)

// The chain is one function per kind of call, not a stack of interceptors: the steps of a
// call are read top to bottom, and a call costs few allocations.

// unary returns the chain of a unary call, over sockets and within the process.
func (s *Server) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (resp any, err error) {
	begin := time.Now()
	m := s.lookup(info.FullMethod)
	ctx = s.withCall(ctx)
	callOf(ctx).request = req
	if message, ok := req.(proto.Message); ok {
		ctx = telemetry.About(ctx, message)
	}
	defer func() {
		if p := recover(); p != nil {
			resp, err = nil, panicked(p)
		}
		err = s.finish(ctx, m, begin, err)
	}()
	if ctx, err = s.admit(ctx, m); err != nil {
		return nil, err
	}
	if err = bind(ctx, req); err != nil {
		return nil, err
	}
	if err = s.checkMessage(req, true); err != nil {
		return nil, err
	}
	if _, set := ctx.Deadline(); !set {
		// Over sockets arrive has set one already.
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.cfg.DefaultDeadline)
		defer cancel()
	}
	if onlyStops(info.FullMethod) {
		ctx = store.WithStop(ctx)
	}
	ctx, leave, err := s.cfg.Gate.Enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	resp, err = handler(ctx, req)
	if err == nil && s.cfg.Used != nil && !m.open {
		s.cfg.Used(ctx, m.name, Namespace(ctx))
	}
	return resp, turned(ctx, err)
}

// turned describes why a call was cancelled, when that was the end of an era of the
// store.
func turned(ctx context.Context, err error) error {
	if err != nil && store.Turned(ctx) && endedByContext(err) {
		return store.ErrTurned
	}
	return err
}

// stream runs the chain of a streaming call.
func (s *Server) stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handler grpc.StreamHandler) (err error) {
	begin := time.Now()
	m := s.lookup(info.FullMethod)
	ctx := s.withCall(ss.Context())
	defer func() {
		if p := recover(); p != nil {
			err = panicked(p)
		}
		err = s.finish(ctx, m, begin, err)
	}()
	if ctx, err = s.admit(ctx, m); err != nil {
		return err
	}
	ctx, leave, err := s.cfg.Gate.Enter(ctx)
	if err != nil {
		return err
	}
	defer leave()
	if !m.serverStreams || m.clientStreams {
		return turned(ctx, handler(srv, &serverStream{ServerStream: ss, ctx: ctx, server: s, method: m}))
	}
	// A stream that only the server feeds, like Watch, loses no data and would delay a
	// drain until its time is over. The client comes back to another replica.
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(s.draining, func() { cancel(errDraining) })()
	err = handler(srv, &serverStream{ServerStream: ss, ctx: ctx, server: s, method: m})
	if errors.Is(context.Cause(ctx), errDraining) && (err == nil || endedByContext(err)) {
		return fault.New(fault.Unavailable, "this server is shutting down; connect again")
	}
	return turned(ctx, err)
}

var errDraining = errors.New("rpc: draining")

func endedByContext(err error) bool {
	reason := fault.ReasonOf(err)
	return reason == fault.Cancelled || reason == fault.DeadlineExceeded
}

// lookup never returns nil.
func (s *Server) lookup(fullMethod string) *method {
	if m, ok := s.methods[fullMethod]; ok {
		return m
	}
	return s.unknown
}

// finish returns the end of every call: an error becomes a status, once, and details that
// clients must not see are logged, once.
func (s *Server) finish(ctx context.Context, m *method, begin time.Time, err error) error {
	if err == nil {
		m.metrics.done(ctx, codes.OK, begin)
		return nil
	}
	f := fault.From(err)
	st := f.GRPCStatus()
	switch st.Code() {
	case codes.Internal:
		id := RequestID(ctx)
		// A copy: the fault may be one that many calls share.
		shown := *f
		shown.Metadata = maps.Clone(f.Metadata)
		st = shown.Meta("request_id", id).GRPCStatus()
		s.logFault(ctx, slog.LevelError, m, f, id)
	case codes.Unavailable:
		// An outage fails every call; one line a second is logged.
		if f.Err != nil && s.warned.pass(time.Now()) {
			s.logFault(ctx, slog.LevelWarn, m, f, RequestID(ctx))
		}
	default:
	}
	if refusedBefore(m, f.Reason) && (f.Reason != fault.NotFound || !dryRun(ctx)) {
		s.logRefused(ctx, m, f)
	}
	m.metrics.done(ctx, st.Code(), begin)
	s.metrics.fault(f.Reason)
	return st.Err()
}

func (s *Server) logFault(ctx context.Context, level slog.Level, m *method, f *fault.Error, requestID string) {
	attrs := []slog.Attr{
		slog.String("method", m.name), slog.String("reason", string(f.Reason)),
		slog.String("request_id", requestID), slog.String("error", f.Error()),
	}
	var p *panicError
	if errors.As(f, &p) {
		attrs = append(attrs, slog.String("stack", string(p.stack)))
	}
	s.cfg.Logger.LogAttrs(ctx, level, "call failed", attrs...)
}

// panicError is a panic of a handler.
type panicError struct {
	what  string
	stack []byte
}

func (e *panicError) Error() string { return "panic: " + e.what }

// panicked describes a panic without parts of a payload: the runtime's own errors in
// full, of other values only the type.
func panicked(p any) error {
	what := fmt.Sprintf("a value of type %T", p)
	if err, ok := p.(runtime.Error); ok {
		what = err.Error()
	}
	return fault.New(fault.Internal, "panic").Wrap(&panicError{what: what, stack: debug.Stack()})
}

// serverStream gives a handler the admitted context, and checks the messages that it
// receives.
type serverStream struct {
	grpc.ServerStream
	ctx    context.Context // streams keep their context
	server *Server
	method *method
}

// Context returns the stream's context.
func (ss *serverStream) Context() context.Context { return ss.ctx }

// RecvMsg receives a message and checks it. Messages of a client's stream are
// not validated here: one bad message of many must not end the stream, so their
// handler calls Validate and answers for each.
func (ss *serverStream) RecvMsg(msg any) error {
	if err := ss.ServerStream.RecvMsg(msg); err != nil {
		if status.Code(err) == codes.Internal {
			return errMalformed(err)
		}
		return err
	}
	if err := bind(ss.ctx, msg); err != nil {
		return err
	}
	return ss.server.checkMessage(msg, !ss.method.clientStreams)
}
