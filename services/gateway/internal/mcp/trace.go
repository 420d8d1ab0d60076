package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/wire"
)

const tracerName = "github.com/interlock-run/interlock/services/gateway/internal/mcp"

// inTrace puts a request into its own trace, and begins its span: the one that its _meta names,
// or else that of its HTTP request. The context of an older session is that of the request it
// began with. end ends the span.
func (s *Server) inTrace(ctx context.Context, method string, req sdk.Request) (_ context.Context, end func()) {
	byHTTP, byClient := traceOf(req)
	parent := byClient
	if !parent.IsValid() {
		parent = byHTTP
	}
	ctx = trace.ContextWithRemoteSpanContext(ctx, parent)
	if s.cfg.Tracer == nil {
		return ctx, func() {}
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	if byClient.IsValid() && byHTTP.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: byHTTP}))
	}
	ctx, span := s.cfg.Tracer.Tracer(tracerName).Start(ctx, "mcp "+method, options...)
	return ctx, func() { span.End() }
}

// traceOf returns the trace of the HTTP request, and the one that the client names.
func traceOf(req sdk.Request) (byHTTP, byClient trace.SpanContext) {
	read := func(carrier propagation.TextMapCarrier) trace.SpanContext {
		return trace.SpanContextFromContext(propagation.TraceContext{}.Extract(context.Background(), carrier))
	}
	if extra := req.GetExtra(); extra != nil && extra.Header != nil {
		byHTTP = read(propagation.HeaderCarrier(extra.Header))
	}
	if named, is := metaOf(req)[wire.Traceparent].(string); is {
		byClient = read(propagation.MapCarrier{wire.Traceparent: named})
	}
	return byHTTP, byClient
}

// metaOf returns the _meta of a request that is judged; nil for none.
func metaOf(req sdk.Request) sdk.Meta {
	switch r := req.(type) {
	case *sdk.CallToolRequest:
		if r.Params != nil {
			return r.Params.Meta
		}
	case *sdk.ReadResourceRequest:
		if r.Params != nil {
			return r.Params.Meta
		}
	case *sdk.GetPromptRequest:
		if r.Params != nil {
			return r.Params.Meta
		}
	}
	return nil
}
