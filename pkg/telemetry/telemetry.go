// Package telemetry sets up the telemetry of a process of Interlock: traces by OTLP, JSON
// logs, and the defaults of its memory use.
//
// It exports only if the standard OpenTelemetry environment says where to, and its logs
// must never hold input of users or agents, nor credentials.
package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// provider is the process's own, nil without an exporter.
var provider atomic.Pointer[sdktrace.TracerProvider]

// Setup begins to export traces by OTLP over gRPC when the environment asks for it:
// OTEL_EXPORTER_OTLP_ENDPOINT or OTEL_EXPORTER_OTLP_TRACES_ENDPOINT is set,
// OTEL_TRACES_EXPORTER is not "none" and OTEL_SDK_DISABLED is not "true". The other
// variables of the OpenTelemetry specification hold as well (headers, certificates,
// OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES). Otherwise it does not export, and is
// free. W3C trace context is propagated in any case.
//
// A collector that cannot be reached is not an error: spans are then dropped. shutdown
// sends the rest; it is never nil.
func Setup(ctx context.Context, service, version string) (shutdown func(context.Context) error, err error) {
	otel.SetTextMapPropagator(propagation.TraceContext{})
	nothing := func(context.Context) error { return nil }
	wanted, err := wantsTraces(os.Getenv)
	if err != nil || !wanted {
		return nothing, err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		slog.Default().Warn("telemetry could not be exported", "error", err)
	}))
	// The environment is last, so that it wins.
	res, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", service), attribute.String("service.version", version)),
		resource.WithFromEnv())
	if err != nil {
		return nothing, fmt.Errorf("read the telemetry resource: %w", err)
	}
	exporter, err := otlptracegrpc.New(ctx)
	if err != nil {
		return nothing, fmt.Errorf("set up the OTLP exporter: %w", err)
	}
	tp := sdktrace.NewTracerProvider(sdktrace.WithResource(res), sdktrace.WithBatcher(quiet{exporter}))
	otel.SetTracerProvider(tp)
	provider.Store(tp)
	return func(ctx context.Context) error {
		provider.CompareAndSwap(tp, nil)
		if err := tp.Shutdown(ctx); err != nil {
			return fmt.Errorf("send the last traces: %w", err)
		}
		return nil
	}, nil
}

// TracerProvider returns the provider of Setup, and nil without an exporter: give it to
// the configurations of rpc as it is.
func TracerProvider() trace.TracerProvider {
	if tp := provider.Load(); tp != nil {
		return tp
	}
	return nil
}

// wantsTraces reads the environment.
func wantsTraces(getenv func(string) string) (bool, error) {
	first := func(names ...string) string {
		for _, name := range names {
			if v := strings.TrimSpace(getenv(name)); v != "" {
				return v
			}
		}
		return ""
	}
	if strings.EqualFold(first("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := first("OTEL_TRACES_EXPORTER"); exporter {
	case "", "otlp":
	case "none":
		return false, nil
	default:
		return false, fmt.Errorf("OTEL_TRACES_EXPORTER=%s is not supported; use otlp or none", exporter)
	}
	if first("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT") == "" {
		return false, nil
	}
	protocol := first("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
	if protocol != "" && protocol != "grpc" {
		return false, errors.New("only OTEL_EXPORTER_OTLP_PROTOCOL=grpc is supported, not " + protocol)
	}
	return true, nil
}
