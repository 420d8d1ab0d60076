package telemetry_test

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-run/interlock/pkg/telemetry"
)

// An observation in a sampled trace names that trace.
func TestMeasure(t *testing.T) {
	t.Parallel()
	id := trace.TraceID{1, 2, 3}
	for _, c := range []struct {
		flags trace.TraceFlags
		want  string
	}{{0, ""}, {trace.FlagsSampled, id.String()}} {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "h", Buckets: []float64{1}})
		span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: trace.SpanID{1}, TraceFlags: c.flags})
		telemetry.Measure(trace.ContextWithSpanContext(t.Context(), span), h, 0.5)
		m := &dto.Metric{}
		if err := h.Write(m); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, label := range m.GetHistogram().GetBucket()[0].GetExemplar().GetLabel() {
			got += label.GetValue()
		}
		if got != c.want || m.GetHistogram().GetSampleCount() != 1 {
			t.Errorf("with flags %v: exemplar %q, want %q; %d observed", c.flags, got, c.want, m.GetHistogram().GetSampleCount())
		}
	}
}
