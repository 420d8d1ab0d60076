package telemetry

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"go.uber.org/goleak"
	"google.golang.org/grpc"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestWantsTraces(t *testing.T) {
	t.Parallel()
	const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317"
	for env, want := range map[string]string{
		"":       "no",
		endpoint: "yes",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://127.0.0.1:4317": "yes",
		"OTEL_EXPORTER_OTLP_ENDPOINT=\t":                           "no",
		"OTEL_TRACES_EXPORTER=otlp":                                "no",
		endpoint + ";OTEL_TRACES_EXPORTER=none":                    "no",
		endpoint + ";OTEL_TRACES_EXPORTER=otlp":                    "yes",
		endpoint + ";OTEL_TRACES_EXPORTER=zipkin":                  "error",
		endpoint + ";OTEL_SDK_DISABLED=TRUE":                       "no",
		endpoint + ";OTEL_SDK_DISABLED=false":                      "yes",
		endpoint + ";OTEL_EXPORTER_OTLP_PROTOCOL=grpc":             "yes",
		endpoint + ";OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf":    "error",
	} {
		values := make(map[string]string)
		for _, pair := range strings.Split(env, ";") {
			name, value, _ := strings.Cut(pair, "=")
			values[name] = value
		}
		wanted, err := wantsTraces(func(name string) string { return values[name] })
		got := map[bool]string{true: "yes", false: "no"}[wanted]
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", env, got, want)
		}
	}
}

// sink is a collector that remembers the names of spans and their services.
type sink struct {
	collector.UnimplementedTraceServiceServer
	mu    sync.Mutex
	spans []string
}

func (s *sink) Export(_ context.Context, req *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, resource := range req.GetResourceSpans() {
		service := ""
		for _, attribute := range resource.GetResource().GetAttributes() {
			if attribute.GetKey() == "service.name" {
				service = attribute.GetValue().GetStringValue()
			}
		}
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				s.spans = append(s.spans, service+" "+span.GetName())
			}
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// It changes the environment and the process's provider, so it is not parallel.
func TestSetupExportsToTheCollectorOfTheEnvironment(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	shutdown, err := Setup(t.Context(), "engine", "v1")
	if err != nil || TracerProvider() != nil {
		t.Fatalf("without an environment it exports: %v", err)
	}
	if err := shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}

	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	spans := new(sink)
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, spans)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(lis)
	}()
	defer func() {
		server.Stop()
		<-served
	}()

	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://"+lis.Addr().String())
	before := otel.GetTracerProvider()
	defer otel.SetTracerProvider(before)
	shutdown, err = Setup(t.Context(), "engine", "v1")
	if err != nil {
		t.Fatal(err)
	}
	_, span := TracerProvider().Tracer("test").Start(t.Context(), "transition")
	span.End()
	if _, ok := otel.GetTextMapPropagator().(propagation.TraceContext); !ok {
		t.Error("W3C trace context is not propagated")
	}
	if err := shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(spans.spans, ","); got != "engine transition" {
		t.Errorf("exported %q", got)
	}
	if TracerProvider() != nil {
		t.Error("it is still there after shutdown")
	}
}

func TestTraceIDsInLogs(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := NewLogger(&out, nil)
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	log.InfoContext(trace.ContextWithSpanContext(t.Context(), sc), "with")
	log.With("a", 1).WithGroup("g").InfoContext(trace.ContextWithSpanContext(t.Context(), sc), "derived")
	log.InfoContext(t.Context(), "without")
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	for i, want := range []bool{true, true, false} {
		if got := strings.Contains(lines[i], sc.TraceID().String()) && strings.Contains(lines[i], sc.SpanID().String()); got != want {
			t.Errorf("line %d: %s", i, lines[i])
		}
	}
}
