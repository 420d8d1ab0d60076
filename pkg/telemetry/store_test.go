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

// spanning is a store that spans shards.
type spanning struct{ store.Store }

func (spanning) Spans() bool { return true }

func TestTracedStoreSpansWhatTheStoreDoes(t *testing.T) {
	t.Parallel()
	if !Store(spanning{}, trace.NewTracerProvider()).Spans() {
		t.Error("a store that spans shards does no more")
	}
}
