package storeguard

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// silent is a store that does not answer until it is allowed to.
type silent struct {
	store.Store
	answers bool
	calls   int
}

func (s *silent) Get(ctx context.Context, _ store.Key) (store.Record, error) {
	s.calls++
	if s.answers {
		return store.Record{}, store.ErrNotFound
	}
	<-ctx.Done()
	return store.Record{}, ctx.Err()
}

func (s *silent) Commit(ctx context.Context, _ store.Batch) (store.Result, error) {
	<-ctx.Done()
	return store.Result{}, errors.Join(store.ErrUncertain, ctx.Err())
}

// A silent store costs callers the timeout at first and later no time; one call at a time
// finds out that it is back.
func TestSilentStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &silent{}
		st := Wrap(inner, Config{Timeout: 2 * time.Second})
		get := func() (time.Duration, error) {
			began := time.Now()
			_, err := st.Get(t.Context(), store.Key{})
			return time.Since(began), err
		}
		for range downAfter {
			if took, err := get(); took != 2*time.Second || !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("took %s, %v", took, err)
			}
		}
		for range 100 {
			if took, err := get(); took != 0 || !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("while it is down: took %s, %v", took, err)
			}
		}
		if inner.calls != downAfter {
			t.Errorf("%d calls reached it", inner.calls)
		}
		inner.answers = true
		<-time.After(probeEvery)
		for range 2 {
			if _, err := get(); !errors.Is(err, store.ErrNotFound) {
				t.Fatalf("back again: %v", err)
			}
		}
	})
}

// A write that ran out of time may have been applied, and a caller that left gets that error.
func TestOutcomesKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := Wrap(&silent{}, Config{Timeout: time.Second})
		if _, err := st.Commit(t.Context(), store.Batch{}); !errors.Is(err, store.ErrUncertain) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a late commit answered %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 * downAfter {
			if _, err := st.Get(ctx, store.Key{}); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that left: %v", err)
			}
		}
	})
}

// Each call is reported once it has ended: also one that was not tried, and without a timeout.
func TestCallsAreObserved(t *testing.T) {
	t.Parallel()
	for _, timeout := range []time.Duration{0, 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			var methods []string
			var last error
			inner := &silent{answers: true}
			st := Wrap(inner, Config{Timeout: timeout, Measure: func(_ context.Context, method string, took time.Duration, err error) {
				methods, last = append(methods, fmt.Sprint(method, " ", took)), err
			}})
			_, err := st.Get(t.Context(), store.Key{})
			if !errors.Is(last, store.ErrNotFound) || !errors.Is(err, last) {
				t.Errorf("told of %v, answered %v", last, err)
			}
			inner.answers = false
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			_, err = st.Commit(ctx, store.Batch{})
			if !errors.Is(last, store.ErrUncertain) || !errors.Is(err, last) {
				t.Errorf("told of %v, answered %v", last, err)
			}
			if want := []string{"Get 0s", "Commit 1s"}; !slices.Equal(methods, want) {
				t.Errorf("told of %q, want %q", methods, want)
			}
		})
	}
}
