package telemetry

import (
	"context"
	"testing"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// Of calls the code of the status is exported, and not its text; of the store both.
func TestStatusOfSpans(t *testing.T) {
	t.Parallel()
	exporter := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(quiet{exporter}))
	for _, scope := range []string{otelgrpc.ScopeName, "the store"} {
		_, span := provider.Tracer(scope).Start(context.Background(), scope)
		span.SetStatus(codes.Error, "PAYLOAD")
		span.End()
	}
	spans := exporter.GetSpans()
	if len(spans) != 2 || spans[0].Status != (sdktrace.Status{Code: codes.Error}) ||
		spans[1].Status != (sdktrace.Status{Code: codes.Error, Description: "PAYLOAD"}) {
		t.Errorf("exported %+v", spans)
	}
}
