package rpc_test

import (
	"context"
	"runtime"
	"strings"
	"testing"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
)

func TestTokensDoNotTravelInTheClear(t *testing.T) {
	t.Parallel()
	for target, ok := range map[string]bool{
		"127.0.0.1:7421": true, "127.1.2.3:1": true, "localhost:7421": true, "[::1]:7421": true,
		"unix:///run/x.sock": true, "unix:x.sock": true, "dns:///127.0.0.1:1": true,
		"engine:7421": false, "10.0.0.1:7421": false, "dns:///engine:7421": false, "0.0.0.0:1": false,
		"localhost.example.com:1": false, "dns://127.0.0.1/engine:1": false, "[::]:1": false,
	} {
		conn, err := rpc.Dial(target, rpc.ClientConfig{Token: "x"})
		if (err == nil) != ok {
			t.Errorf("%s: %v", target, err)
		}
		if err == nil {
			_ = conn.Close()
			continue
		}
		for _, cfg := range []rpc.ClientConfig{{Insecure: true}, {TLS: rpc.ClientTLS{Enable: true}}} {
			conn, err := rpc.Dial(target, cfg)
			if err != nil {
				t.Errorf("%s: %v", target, err)
				continue
			}
			_ = conn.Close()
		}
	}
	if _, err := rpc.Dial("localhost:1", rpc.ClientConfig{Namespace: "Not Valid"}); err == nil {
		t.Error("an invalid namespace is dialled")
	}
}

// The metadata that a service sees when a second service calls for it.
func TestForward(t *testing.T) {
	t.Parallel()
	inner := open(t, &runs{get: func(ctx context.Context, _ *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		p, _ := auth.FromContext(ctx)
		md, _ := metadata.FromIncomingContext(ctx)
		return &enginev1.GetRunResponse{Run: &enginev1.Run{
			Workflow: p.Name, SessionId: rpc.Namespace(ctx), RunId: rpc.RequestID(ctx),
			State: strings.Join(md["traceparent"], ",") + strings.Join(md["x-private"], ","),
		}}, nil
	}}, nil)
	var next grpc.ClientConnInterface
	forward := true
	outer := open(t, &runs{get: func(ctx context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		if forward {
			ctx = rpc.Forward(ctx)
		}
		return enginev1.NewRunServiceClient(next).GetRun(ctx, req)
	}}, func(cfg *rpc.Config) { cfg.Authenticator = tokensOf(t, inner.tokens) })

	const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx := with(within(t), "authorization", "Bearer "+inner.tokens[auth.Observer], rpc.NamespaceKey, "team",
		rpc.RequestIDKey, "req-1", "traceparent", traceparent, "x-private", "stays")
	// Every combination of a network and a local hop; the second hop's own
	// credentials give way to the caller's.
	for _, first := range []grpc.ClientConnInterface{outer.dial(t, rpc.ClientConfig{}), outer.server.Local(rpc.ClientConfig{})} {
		for _, second := range []grpc.ClientConnInterface{inner.dial(t, inner.as(auth.Agent)), inner.server.Local(inner.as(auth.Agent))} {
			next, forward = second, true
			got, err := enginev1.NewRunServiceClient(first).GetRun(ctx, &enginev1.GetRunRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if run := got.GetRun(); run.GetWorkflow() != "observer" || run.GetSessionId() != "team" || run.GetRunId() != "req-1" || run.GetState() != traceparent {
				t.Errorf("got %v", run)
			}

			forward = false
			got, err = enginev1.NewRunServiceClient(first).GetRun(ctx, &enginev1.GetRunRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if run := got.GetRun(); run.GetWorkflow() != "agent" || run.GetSessionId() != "default" || run.GetRunId() == "req-1" || run.GetState() != "" {
				t.Errorf("without Forward: got %v", run)
			}
		}
	}
	if ctx := context.Background(); rpc.Forward(ctx) != ctx {
		t.Error("outside of a call it changes the context")
	}
}

func TestFaultsPassThroughServices(t *testing.T) {
	t.Parallel()
	inner := open(t, &runs{get: func(context.Context, *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		return nil, fault.New(fault.RunEnded, "it has ended").Meta("k", "v")
	}}, nil)
	next := enginev1.NewRunServiceClient(inner.dial(t, inner.as(auth.Agent)))
	outer := open(t, &runs{get: func(ctx context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		return next.GetRun(ctx, req)
	}}, nil)
	outer.both(t, outer.as(auth.Agent), func(t *testing.T, conn grpc.ClientConnInterface) {
		_, err := enginev1.NewRunServiceClient(conn).GetRun(within(t), &enginev1.GetRunRequest{})
		if got := wantReason(t, err, fault.RunEnded); got.Message != "it has ended" || got.Metadata["k"] != "v" {
			t.Errorf("got %+v", got)
		}
	})
}

func TestOneTraceFromClientToServer(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	tp := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
	h := open(t, &runs{get: func(ctx context.Context, req *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
		_, span := tp.Tracer("test").Start(ctx, "store")
		span.End()
		return &enginev1.GetRunResponse{}, nil
	}}, func(cfg *rpc.Config) { cfg.TracerProvider = tp })
	cfg := h.as(auth.Agent)
	cfg.TracerProvider = tp
	h.both(t, cfg, func(t *testing.T, conn grpc.ClientConnInterface) {
		exporter.Reset()
		ctx, root := tp.Tracer("test").Start(within(t), "edge")
		if _, err := enginev1.NewRunServiceClient(conn).GetRun(ctx, &enginev1.GetRunRequest{}); err != nil {
			t.Fatal(err)
		}
		root.End()
		// The server's span ends after the client has its answer.
		byID := make(map[string]tracetest.SpanStub)
		for wait := within(t); len(byID) < 3 || (strings.HasSuffix(t.Name(), "network") && len(byID) < 4); runtime.Gosched() {
			if wait.Err() != nil {
				t.Fatalf("spans are missing, there are %d", len(byID))
			}
			for _, span := range exporter.GetSpans() {
				byID[span.SpanContext.SpanID().String()] = span
			}
		}
		// From the store's span the way leads up to the edge, through the server.
		var way []string
		for _, span := range byID {
			if span.SpanContext.TraceID() != root.SpanContext().TraceID() {
				t.Errorf("%s is in another trace", span.Name)
			}
			if span.Name == "store" {
				for at, ok := span, true; ok; at, ok = byID[at.Parent.SpanID().String()] {
					way = append(way, at.Name)
				}
			}
		}
		if n := len(way); n != len(byID) || way[n-1] != "edge" || way[1] != "interlock.engine.v1.RunService/GetRun" {
			t.Errorf("the way up is %v", way)
		}
	})
}
