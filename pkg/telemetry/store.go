package telemetry

import (
	"context"
	"errors"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-run/interlock/pkg/store"
)

// Store makes a span of every round trip that a call makes to the store, so that
// a trace goes from the edge to the storage. Without a provider it answers the
// store as it is. Background work (Tail, Due, leases) is not traced.
func Store(st store.Store, provider trace.TracerProvider) store.Store {
	if provider == nil {
		return st
	}
	return &tracedStore{Store: st, tracer: provider.Tracer("github.com/interlock-run/interlock/pkg/store")}
}

type tracedStore struct {
	store.Store
	tracer trace.Tracer
}

var _ store.Store = (*tracedStore)(nil)

// span runs one round trip. Keys are left out: ids may be user data.
func (s *tracedStore) span(ctx context.Context, name, kind string, do func(context.Context) error) {
	ctx, span := s.tracer.Start(ctx, "store."+name, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("interlock.kind", kind)))
	defer span.End()
	// A conflict or a limit is an answer, not a failure.
	if err := do(ctx); errors.Is(err, store.ErrUnavailable) || errors.Is(err, store.ErrUncertain) {
		span.SetStatus(codes.Error, err.Error())
	}
}

func (s *tracedStore) Get(ctx context.Context, key store.Key) (record store.Record, err error) {
	s.span(ctx, "Get", key.Kind, func(ctx context.Context) error {
		record, err = s.Store.Get(ctx, key)
		return err
	})
	return record, err
}

func (s *tracedStore) List(ctx context.Context, query store.Query) (page store.Page, err error) {
	s.span(ctx, "List", query.Kind, func(ctx context.Context) error {
		page, err = s.Store.List(ctx, query)
		return err
	})
	return page, err
}

func (s *tracedStore) History(ctx context.Context, key store.Key, after int64, limit int) (entries []store.HistoryEntry, err error) {
	s.span(ctx, "History", key.Kind, func(ctx context.Context) error {
		entries, err = s.Store.History(ctx, key, after, limit)
		return err
	})
	return entries, err
}

func (s *tracedStore) Counters(ctx context.Context, owner store.Key) (counters map[string]int64, err error) {
	s.span(ctx, "Counters", owner.Kind, func(ctx context.Context) error {
		counters, err = s.Store.Counters(ctx, owner)
		return err
	})
	return counters, err
}

func (s *tracedStore) Answer(ctx context.Context, owner store.Key, name string) (answer []byte, err error) {
	s.span(ctx, "Answer", owner.Kind, func(ctx context.Context) error {
		answer, err = s.Store.Answer(ctx, owner, name)
		return err
	})
	return answer, err
}

func (s *tracedStore) AnswerVersion(ctx context.Context, owner store.Key, name string) (version int64, err error) {
	s.span(ctx, "AnswerVersion", owner.Kind, func(ctx context.Context) error {
		version, err = s.Store.AnswerVersion(ctx, owner, name)
		return err
	})
	return version, err
}

func (s *tracedStore) Probe(ctx context.Context, batch store.Batch) (err error) {
	s.span(ctx, "Probe", kindOf(&batch), func(ctx context.Context) error {
		err = s.Store.Probe(ctx, batch)
		return err
	})
	return err
}

// kindOf returns the kind of the first record of a batch.
func kindOf(batch *store.Batch) string {
	switch {
	case len(batch.Puts) > 0:
		return batch.Puts[0].Key.Kind
	case len(batch.Checks) > 0:
		return batch.Checks[0].Key.Kind
	default:
		return ""
	}
}

func (s *tracedStore) Commit(ctx context.Context, batch store.Batch) (result store.Result, err error) {
	s.span(ctx, "Commit", kindOf(&batch), func(ctx context.Context) error {
		batch.Events = inTrace(ctx, batch.Events)
		result, err = s.Store.Commit(ctx, batch)
		return err
	})
	return result, err
}

// inTrace gives events the trace of the context, so that their publication is part of it. The
// caller's are as they were.
func inTrace(ctx context.Context, events []store.Event) []store.Event {
	if len(events) == 0 || !trace.SpanContextFromContext(ctx).IsSampled() {
		return events
	}
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	traced := slices.Clone(events)
	for i := range traced {
		traced[i].Trace = carrier.Get("traceparent")
	}
	return traced
}
