package storeguard

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// silent is a store that does not answer until it is told to.
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

// A silent store costs callers the timeout at first and then nothing; one call at a time
// finds out that it is back.
func TestSilentStore(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inner := &silent{}
		st := Wrap(inner, 2*time.Second)
		get := func() (time.Duration, error) {
			began := time.Now()
			_, err := st.Get(t.Context(), store.Key{})
			return time.Since(began), err
		}
		for range opens {
			if took, err := get(); took != 2*time.Second || !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("took %s, %v", took, err)
			}
		}
		for range 100 {
			if took, err := get(); took != 0 || !errors.Is(err, store.ErrUnavailable) {
				t.Fatalf("while it is down: took %s, %v", took, err)
			}
		}
		if inner.calls != opens {
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

// A write that ran out of time may have been applied, and a caller that left is told so.
func TestOutcomesKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		st := Wrap(&silent{}, time.Second)
		if _, err := st.Commit(t.Context(), store.Batch{}); !errors.Is(err, store.ErrUncertain) || errors.Is(err, store.ErrUnavailable) {
			t.Errorf("a late commit answered %v", err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 2 * opens {
			if _, err := st.Get(ctx, store.Key{}); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller that left: %v", err)
			}
		}
	})
}
