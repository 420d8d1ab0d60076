package sqlitestore

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

func openQuiet(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func quietTimer(id string, due time.Time) store.Timer {
	return store.Timer{TimerID: store.TimerID{Key: store.Key{Namespace: "n", Kind: "k", ID: id}, Name: "t"}, Due: due}
}

// Looks that find nothing are answered from memory, and no timer that is set or postponed after one is missed.
func TestLooksThatFindNothing(t *testing.T) {
	t.Parallel()
	s := openQuiet(t)
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	due := func(after time.Duration) int {
		t.Helper()
		timers, err := s.Due(t.Context(), start.Add(after), 10, "k")
		if err != nil {
			t.Fatal(err)
		}
		return len(timers)
	}
	commit := func(b store.Batch) {
		t.Helper()
		if _, err := s.Commit(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	until := func() int64 {
		s.writer.quiet.mu.Lock()
		defer s.writer.quiet.mu.Unlock()
		return s.writer.quiet.until["k"]
	}
	if n := due(0); n != 0 || until() != never {
		t.Fatalf("%d timers, quiet until %d", n, until())
	}
	late, soon := quietTimer("late", start.Add(time.Hour)), quietTimer("soon", start.Add(time.Minute))
	commit(store.Batch{SetTimers: []store.Timer{late}})
	commit(store.Batch{SetTimers: []store.Timer{soon}})
	if until() != micros(soon.Due) || due(59*time.Second) != 0 || due(time.Minute) != 1 || due(time.Hour) != 2 {
		t.Errorf("quiet until %d", until())
	}
	commit(store.Batch{ClearTimers: []store.TimerID{soon.TimerID}})
	if n := due(2 * time.Minute); n != 0 || until() != micros(late.Due) {
		t.Errorf("%d timers, quiet until %d", n, until())
	}
	commit(store.Batch{Postpone: []store.Postpone{{Timer: late, Until: start.Add(30 * time.Minute)}}})
	if due(29*time.Minute) != 0 || due(30*time.Minute) != 1 || due(time.Minute) != 0 {
		t.Error("a timer that was put forward is missed, or fires early")
	}
	// A commit that is refused changes nothing, and its timers are not waited for.
	_, err := s.Commit(t.Context(), store.Batch{SetTimers: []store.Timer{soon}, Checks: []store.Check{{Key: soon.Key, Version: 7}}})
	if err == nil || due(2*time.Minute) != 0 {
		t.Errorf("a refused commit sets a timer: %v", err)
	}
}

// A look that began before a commit does not hide the timers of that commit.
func TestLateLooksDoNotHideTimers(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{true, false} {
		q := newQuiet()
		if known {
			q.learn("k", never, 0)
		}
		_, before := q.at("k", 1)
		q.set("k", 20)
		q.set("k", 10)
		q.publish()
		q.learn("k", never, before)
		if none, _ := q.at("k", 10); none {
			t.Error("the timer is hidden")
		}
		_, after := q.at("k", 9)
		q.set("k", 5)
		q.revert()
		q.publish()
		q.learn("k", 10, after)
		if none, _ := q.at("k", 9); !none {
			t.Error("a transaction that was rolled back counts")
		}
	}
}

// A timer that is due is found by the first look after its commit, whatever looks run beside it.
func TestNoTimerIsMissed(t *testing.T) {
	t.Parallel()
	s := openQuiet(t)
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	ctx, stop := context.WithCancel(t.Context())
	var lookers sync.WaitGroup
	for range 2 {
		lookers.Go(func() {
			for ctx.Err() == nil {
				if _, err := s.Due(ctx, now, 10, "k"); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for i := range 200 {
		timer := quietTimer(fmt.Sprint(i), now)
		if _, err := s.Commit(t.Context(), store.Batch{SetTimers: []store.Timer{timer}}); err != nil {
			t.Fatal(err)
		}
		if timers, err := s.Due(t.Context(), now, 10, "k"); err != nil || len(timers) != 1 {
			t.Fatalf("%d timers after commit %d, %v", len(timers), i, err)
		}
		if _, err := s.Commit(t.Context(), store.Batch{ClearTimers: []store.TimerID{timer.TimerID}}); err != nil {
			t.Fatal(err)
		}
	}
	stop()
	lookers.Wait()
}
