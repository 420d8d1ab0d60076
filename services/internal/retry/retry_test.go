package retry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// errLost is an error as those that race get it.
var errLost = fmt.Errorf("commit: %w", &store.ConflictError{Key: store.Key{Kind: "run", ID: "r"}, Want: 1, Have: 2})

func TestDo(t *testing.T) {
	t.Parallel()
	failure := fault.New(fault.NotFound, "there is no run")
	for name, tc := range map[string]struct {
		losses int
		err    error // after them
		calls  int
		want   fault.Reason
		result int
	}{
		"at once":                         {0, nil, 1, "", 1},
		"after races":                     {3, nil, 4, "", 4},
		"at the last attempt":             {attempts - 1, nil, attempts, "", attempts},
		"never":                           {attempts, nil, attempts, fault.VersionConflict, 0},
		"another error ends it":           {2, failure, 3, fault.NotFound, 3},
		"an error of a store ends it too": {1, store.ErrUnavailable, 2, fault.Unavailable, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				calls := 0
				got, err := Do(t.Context(), "run r", func() (int, error) {
					if calls++; calls <= tc.losses {
						return calls, errLost
					}
					return calls, tc.err
				})
				if calls != tc.calls || fault.ReasonOf(err) != tc.want || got != tc.result {
					t.Errorf("after %d calls %d, %v; want %d calls, %d, %s", calls, got, err, tc.calls, tc.result, tc.want)
				}
				if Lost(err) {
					t.Errorf("the caller of Do would try again: %v", err)
				}
			})
		})
	}
}

func TestDoSaysWhatIsContended(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		err := Run(t.Context(), "run r", func() error { return errLost })
		const want = "run r was changed by too many concurrent requests; try again"
		if fault.From(err).Message != want {
			t.Errorf("it says %v", err)
		}
	})
}

// The first two tries follow each other at once; then there are pauses, which grow.
func TestTriesAreSpaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var at []time.Time
		_ = Run(t.Context(), "it", func() error {
			at = append(at, time.Now())
			return errLost
		})
		for i := range at[1:] {
			waited := at[i+1].Sub(at[i])
			if i == 0 && waited > 0 || waited >= time.Millisecond<<min(i, anyContenders) && waited > 0 {
				t.Errorf("after %d lost races it waited %s", i+1, waited)
			}
		}
		if len(at) != attempts || time.Since(at[0]) < time.Millisecond {
			t.Errorf("%d tries in %s", len(at), time.Since(at[0]))
		}
	})
}

func TestContextEndsTries(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]func(context.Context, func() error) error{
		"Run":   func(ctx context.Context, try func() error) error { return Run(ctx, "it", try) },
		"Until": Until,
		"Turns": func(ctx context.Context, try func() error) error { return NewTurns().Run(ctx, 3, "it", try) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				defer cancel()
				err := do(ctx, func() error { return errLost })
				if fault.ReasonOf(err) != fault.DeadlineExceeded || time.Now() != deadline(ctx) {
					t.Errorf("%v, %s from the deadline", err, time.Until(deadline(ctx)))
				}
				gone, leave := context.WithCancel(t.Context())
				leave()
				calls := 0
				err = do(gone, func() error { calls++; return errLost })
				if !errors.Is(err, context.Canceled) || fault.ReasonOf(err) != fault.Cancelled || calls > 2 {
					t.Errorf("after %d calls: %v", calls, err)
				}
			})
		})
	}
}

func deadline(ctx context.Context) time.Time {
	at, _ := ctx.Deadline()
	return at
}

func TestUntilHasNoBound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		err := Until(t.Context(), func() error {
			if calls++; calls < 1000 {
				return errLost
			}
			return nil
		})
		if err != nil || calls != 1000 {
			t.Errorf("%d calls: %v", calls, err)
		}
	})
}

// Of callers that contend for one place one tries again at a time; another place is
// free.
func TestTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns()
		var mu sync.Mutex
		inTurn, most, through := map[int]int{}, map[int]int{}, 0
		for i := range 40 {
			place := 7 + i%2*64 + i%4/2 // 64 places: 7 and 71 are one, 8 and 72 another
			first := true
			go func() {
				err := turns.Run(t.Context(), place, "it", func() error {
					if first {
						first = false
						return errLost
					}
					mu.Lock()
					inTurn[place%64]++
					most[place%64] = max(most[place%64], inTurn[place%64])
					mu.Unlock()
					time.Sleep(time.Second) // of the bubble's clock
					mu.Lock()
					inTurn[place%64]--
					through++
					mu.Unlock()
					return nil
				})
				if err != nil {
					t.Error(err)
				}
			}()
		}
		before := time.Now()
		time.Sleep(20 * time.Second)
		synctest.Wait()
		if through != 40 || most[7] != 1 || most[8] != 1 || time.Since(before) != 20*time.Second {
			t.Errorf("%d are through, %v at once", through, most)
		}
		tries := 0
		err := turns.Run(t.Context(), 7, "session s", func() error { tries++; return errLost })
		if fault.ReasonOf(err) != fault.VersionConflict || tries != 257 {
			t.Errorf("after %d tries: %v", tries, err)
		}
	})
}

func TestFault(t *testing.T) {
	t.Parallel()
	if err := Fault(nil); err != nil {
		t.Errorf("of nil: %v", err)
	}
	if err := Fault(errLost); err != errLost { //nolint:errorlint // the very same
		t.Errorf("of a lost race: %v", err)
	}
	var f *fault.Error
	if err := Fault(store.ErrUnavailable); !errors.As(err, &f) || f.Reason != fault.Unavailable {
		t.Errorf("of an error: %v", err)
	}
}
