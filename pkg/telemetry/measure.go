package telemetry

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
)

// Measure adds a value to a histogram, with the trace of the context as its exemplar when
// that is sampled: who looks at a slow bucket finds a slow call.
func Measure(ctx context.Context, histogram prometheus.Observer, value float64) {
	if span := trace.SpanContextFromContext(ctx); span.IsSampled() {
		if with, can := histogram.(prometheus.ExemplarObserver); can {
			with.ObserveWithExemplar(value, prometheus.Labels{"trace_id": span.TraceID().String()})
			return
		}
	}
	histogram.Observe(value)
}
