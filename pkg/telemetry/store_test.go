package telemetry

import (
	"context"
	"fmt"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlock-run/interlock/pkg/store"
)

// failing is a store whose every commit ends with err.
type failing struct {
	store.Store
	err error
}

func (f failing) Commit(context.Context, store.Batch) (store.Result, error) {
	return store.Result{}, f.err
}

func TestStoreSpans(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		want codes.Code
	}{
		{nil, codes.Unset},
		{&store.ConflictError{}, codes.Unset},
		{&store.LimitError{}, codes.Unset},
		{fmt.Errorf("%w: gone", store.ErrUnavailable), codes.Error},
		{fmt.Errorf("%w: gone", store.ErrUncertain), codes.Error},
	} {
		spans := tracetest.NewSpanRecorder()
		st := Store(failing{err: c.err}, trace.NewTracerProvider(trace.WithSpanProcessor(spans)))
		if _, err := st.Commit(t.Context(), store.Batch{}); err != c.err { //nolint:errorlint // the very same
			t.Errorf("the error %v became %v", c.err, err)
		}
		ended := spans.Ended()
		if len(ended) != 1 || ended[0].Name() != "store.Commit" || ended[0].Status().Code != c.want {
			t.Errorf("after %v: %v", c.err, ended)
		}
	}
}

func TestStoreWithoutTracesIsTheStoreItself(t *testing.T) {
	t.Parallel()
	st := failing{}
	if Store(st, nil) != store.Store(st) {
		t.Error("a store is wrapped for nothing")
	}
}

// noting is a store that notes the events of commits.
type noting struct {
	store.Store
	events []store.Event
}

func (n *noting) Commit(_ context.Context, batch store.Batch) (store.Result, error) {
	n.events = batch.Events
	return store.Result{}, nil
}

// Events have the trace of their commit when it is sampled; those of the caller stay as they
// are, for it may repeat the commit in another trace.
func TestEventsHaveTheTraceOfTheirCommit(t *testing.T) {
	t.Parallel()
	for name, sampler := range map[string]trace.Sampler{"sampled": trace.AlwaysSample(), "not sampled": trace.NeverSample()} {
		spans, inner := tracetest.NewSpanRecorder(), &noting{}
		st := Store(inner, trace.NewTracerProvider(trace.WithSpanProcessor(spans), trace.WithSampler(sampler)))
		events := []store.Event{{ID: "1"}, {ID: "2"}}
		if _, err := st.Commit(t.Context(), store.Batch{Events: events}); err != nil {
			t.Fatal(err)
		}
		want := ""
		for _, span := range spans.Ended() {
			want = fmt.Sprintf("00-%s-%s-01", span.SpanContext().TraceID(), span.SpanContext().SpanID())
		}
		if (want != "") != (name == "sampled") || inner.events[0].Trace != want || inner.events[1].Trace != want || events[0].Trace != "" {
			t.Errorf("%s: committed %+v, want the trace %q; the caller's are %+v", name, inner.events, want, events)
		}
	}
}
