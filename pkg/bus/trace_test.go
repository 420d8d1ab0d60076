package bus

import (
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlock-run/interlock/pkg/store"
)

const decidedIn = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

// published is the trace that the newest message of the stream has.
func (r *rig) published() string {
	r.tb.Helper()
	js := r.js()
	defer js.Conn().Close()
	stream, err := js.Stream(r.tb.Context(), DefaultStream)
	if err != nil {
		r.tb.Fatal(err)
	}
	msg, err := stream.GetMsg(r.tb.Context(), stream.CachedInfo().State.LastSeq)
	if err != nil {
		r.tb.Fatal(err)
	}
	return strings.Join(msg.Header[headerTrace], ",")
}

// A message continues the trace that its event was decided in, and with a tracer the
// publication is a span of that trace.
func TestTraceOfAPublication(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	for name, c := range map[string]struct {
		tracer *sdktrace.TracerProvider
		trace  string
		spans  int
	}{
		"no tracer": {nil, decidedIn, 0},
		"no trace":  {sdktrace.NewTracerProvider(), "", 0},
		"a trace":   {sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)), decidedIn, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, st := newRig(t), newMemStore(1)
			cfg := r.config("a")
			if c.tracer != nil {
				cfg.Tracer = c.tracer
			}
			_, _ = run(t, st, cfg)
			src := newSource(t, st)
			ev := src.event("run_1")
			ev.Trace = c.trace
			if _, err := st.Commit(t.Context(), store.Batch{Events: []store.Event{ev}}); err != nil {
				t.Fatal(err)
			}
			r.awaitAll(src)
			got := r.published()
			if c.spans == 0 {
				if got != c.trace {
					t.Errorf("published in %q, want %q", got, c.trace)
				}
				return
			}
			eventually(t, "the span has ended", func() bool { return len(spans.Ended()) == 1 })
			span := spans.Ended()[0]
			want := "00-" + span.Parent().TraceID().String() + "-" + span.SpanContext().SpanID().String() + "-01"
			if got != want || span.Parent().SpanID().String() != "b7ad6b7169203331" || span.Name() != "events.publish" || span.Status().Code != codes.Unset {
				t.Errorf("published in %q, want %q; the span is %v below %v", got, want, span, span.Parent())
			}
		})
	}
}

// A publication that NATS does not take fails.
func TestTraceOfARefusedEvent(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	relay, err := NewRelay(newMemStore(1), Config{
		Holder: "a", Log: quiet(), Tracer: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)),
	})
	if err != nil {
		t.Fatal(err)
	}
	e := &entry{OutboxEntry: store.OutboxEntry{Trace: decidedIn}}
	relay.begin(e)
	relay.refused(e, store.ErrUnavailable)
	e.end("")
	if ended := spans.Ended(); len(ended) != 1 || ended[0].Status().Code != codes.Error {
		t.Errorf("the spans are %v", ended)
	}
}
