package sweep

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// fake is as much of a store as sweeps use. Timers are named by their fate.
type fake struct {
	store.Store // methods that are not written here must not be called

	mu      sync.Mutex
	timers  map[store.TimerID]store.Timer
	unread  error // of Due
	failing error // of Commit
	log     bytes.Buffer
}

func newFake(names ...string) *fake {
	f := &fake{timers: map[store.TimerID]store.Timer{}}
	for i, name := range names {
		id := store.TimerID{Key: store.Key{Kind: "run", ID: fmt.Sprint(i)}, Name: name}
		f.timers[id] = store.Timer{TimerID: id, Due: time.Now()}
	}
	return f
}

func (f *fake) Gate() *store.Gate { return nil }

func (f *fake) Due(_ context.Context, now time.Time, limit int, kinds ...string) ([]store.Timer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var due []store.Timer
	for _, timer := range f.timers {
		if !timer.Due.After(now) && slices.Contains(kinds, timer.Key.Kind) {
			due = append(due, timer)
		}
	}
	slices.SortFunc(due, func(a, b store.Timer) int { return strings.Compare(a.Key.ID, b.Key.ID) })
	return due[:min(len(due), limit)], f.unread
}

func (f *fake) Commit(_ context.Context, batch store.Batch) (store.Result, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failing != nil {
		return store.Result{}, f.failing
	}
	for _, id := range batch.ClearTimers {
		delete(f.timers, id)
	}
	for _, p := range batch.Postpone {
		if known := f.timers[p.Timer.TimerID]; known.Due.Equal(p.Timer.Due) {
			known.Due = p.Until
			f.timers[known.TimerID] = known
		}
	}
	return store.Result{}, nil
}

// due are the names of the timers, and in how long they are due.
func (f *fake) due() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var all []string
	for id, timer := range f.timers {
		all = append(all, fmt.Sprintf("%s%s in %s", id.Key.ID, id.Name, time.Until(timer.Due)))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// sweeper clears the timers "ok", waits in "slow" until its limit, and fails the others.
func (f *fake) sweeper() *Sweeper {
	return &Sweeper{
		Store: f, Clock: time.Now, Log: slog.New(slog.NewTextHandler(&f.log, nil)), Kinds: []string{"run"},
		Interval: time.Second, Page: 10,
		Fire: func(ctx context.Context, timer store.Timer) error {
			switch timer.Name {
			case "ok":
				return Clear(ctx, f, timer.TimerID)
			case "later":
				return ErrLater
			case "slow":
				<-ctx.Done()
				return fault.From(ctx.Err())
			case "down":
				return fault.New(fault.Unavailable, "the service is down")
			default:
				return errors.New("broken")
			}
		},
	}
}

func TestOnce(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		timers []string
		set    func(*Sweeper, *fake)
		due    string
		took   time.Duration
		log    []string // parts of it, in their order
	}{
		"all are fired": {timers: []string{"ok", "ok", "ok"}},
		"those of the page": {
			timers: []string{"ok", "ok", "ok"}, set: func(s *Sweeper, _ *fake) { s.Page = 2 }, due: "2ok in 0s",
		},
		"those of the kinds": {
			timers: []string{"ok"}, set: func(s *Sweeper, _ *fake) { s.Kinds = []string{"session"} }, due: "0ok in 0s",
		},
		"those that fail are put off, and one line is logged": {
			timers: []string{"ok", "no", "no", "ok"}, due: "1no in 30s, 2no in 30s",
			log: []string{"could not be fired", "number=2 first=no of=/run/1 cause=broken"},
		},
		"as long as is said": {
			timers: []string{"no"}, due: "0no in 1m0s",
			set: func(s *Sweeper, _ *fake) {
				s.Again = func(store.Timer, time.Time) time.Duration { return time.Minute }
			},
			log: []string{"could not be fired"},
		},
		"nothing to do yet": {timers: []string{"later", "ok"}, due: "0later in 30s"},
		"those that can be read": {
			timers: []string{"ok"}, set: func(_ *Sweeper, f *fake) { f.unread = store.ErrUnavailable },
			log: []string{"timers cannot be read"},
		},
		"one cannot be put off": {
			timers: []string{"later", "no"}, set: func(_ *Sweeper, f *fake) { f.failing = store.ErrUnavailable },
			due: "0later in 0s, 1no in 0s", log: []string{"number=2 first=later"},
		},
		"limits": {
			timers: []string{"slow", "ok"}, set: func(s *Sweeper, _ *fake) { s.Limit = 5 * time.Second },
			due: "0slow in 30s", took: 5 * time.Second, log: []string{"number=1", "DEADLINE_EXCEEDED"},
		},
		"several at once": {
			timers: []string{"slow", "slow", "slow", "ok"}, took: 10 * time.Second,
			set: func(s *Sweeper, _ *fake) { s.Limit, s.Slots = 5*time.Second, 2 },
			due: "0slow in 25s, 1slow in 25s, 2slow in 30s", log: []string{"number=3"},
		},
		"continues without a service": {
			timers: []string{"down", "ok"}, due: "0down in 30s", log: []string{"number=1"},
		},
		"stops without a service that all need": {
			timers: []string{"ok", "down", "ok", "no"}, set: func(s *Sweeper, _ *fake) { s.Stop = true },
			due: "1down in 30s, 2ok in 0s, 3no in 0s", log: []string{"number=1 first=down"},
		},
		"takes back those under way": {
			timers: []string{"slow", "down", "ok"}, set: func(s *Sweeper, _ *fake) { s.Stop, s.Slots = true, 2 },
			due: "0slow in 0s, 1down in 30s, 2ok in 0s", log: []string{"number=1 first=down"},
		},
		"stops when one takes too long": {
			timers: []string{"slow", "ok"}, set: func(s *Sweeper, _ *fake) { s.Stop, s.Limit = true, time.Second },
			due: "0slow in 30s, 1ok in -1s", took: time.Second, log: []string{"number=1 first=slow"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFake(tc.timers...)
				s := f.sweeper()
				if tc.set != nil {
					tc.set(s, f)
				}
				began := time.Now()
				s.Once(t.Context())
				if got := f.due(); got != tc.due || time.Since(began) != tc.took {
					t.Errorf("after %s: %q, want %q", time.Since(began), got, tc.due)
				}
				rest := f.log.String()
				for _, part := range tc.log {
					_, after, found := strings.Cut(rest, part)
					if !found {
						t.Errorf("%q is not in %q of the log\n%s", part, rest, f.log.String())
					}
					rest = after
				}
				if lines := strings.Count(f.log.String(), "\n"); lines != min(len(tc.log), 1) {
					t.Errorf("%d lines are logged:\n%s", lines, f.log.String())
				}
			})
		})
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("no")
		s := f.sweeper()
		var fired []string
		began := time.Now()
		s.Fire = func(context.Context, store.Timer) error {
			fired = append(fired, time.Since(began).String())
			return errors.New("broken")
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s.Run(ctx)
		if got := strings.Join(fired, " "); got != "0s 30s" && got != "0s 30s 1m0s" || time.Since(began) != time.Minute {
			t.Errorf("it was fired after %s, until %s", got, time.Since(began))
		}
	})
}

// A sweep whose process ends puts off no timer and logs no line.
func TestEndOfAProcess(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("slow", "ok")
		s := f.sweeper()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s.Once(ctx)
		if got := f.due(); got != "0slow in -1s, 1ok in -1s" || f.log.Len() > 0 {
			t.Errorf("%s\n%s", got, f.log.String())
		}
	})
}

func TestClear(t *testing.T) {
	t.Parallel()
	for want, err := range map[fault.Reason]error{
		"":                nil,
		fault.Unavailable: store.ErrUnavailable,
	} {
		f := newFake()
		f.failing = err
		if err := Clear(t.Context(), f, store.TimerID{}); fault.ReasonOf(err) != want {
			t.Errorf("%v, want %q", err, want)
		}
	}
	f := newFake()
	f.failing = &store.ConflictError{}
	if err := Clear(t.Context(), f, store.TimerID{}); err != nil {
		t.Errorf("of a timer that may have been set anew: %v", err)
	}
}
