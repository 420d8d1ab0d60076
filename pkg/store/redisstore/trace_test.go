package redisstore_test

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

func TestCommitsAreTraced(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	spans := tracetest.NewSpanRecorder()
	s := open(t, redisstore.Config{URL: server.URL(), TracerProvider: trace.NewTracerProvider(trace.WithSpanProcessor(spans))})
	create := store.Batch{Puts: []store.Put{{Key: key("a"), Expect: store.Absent}}}
	if _, err := s.Commit(t.Context(), create); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Commit(t.Context(), create); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	server.Kill()
	if _, err := s.Commit(t.Context(), create); err == nil {
		t.Fatal("a killed server commits")
	}
	var got []codes.Code
	for _, span := range spans.Ended() {
		if span.Name() != "store.Commit" {
			t.Errorf("span %q", span.Name())
		}
		got = append(got, span.Status().Code)
	}
	// A conflict is an answer, not a failure.
	if want := []codes.Code{codes.Unset, codes.Unset, codes.Error}; len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
		t.Errorf("spans ended with %v, not %v", got, want)
	}
}
