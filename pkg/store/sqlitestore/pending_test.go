package sqlitestore

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// TestPendingIsCounted tests that counts of a group that are not written yet are
// known to its later batches, also when the cache has forgotten it, or a batch
// between them is undone.
func TestPendingIsCounted(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	counted := store.Batch{Counters: []store.Counter{
		{Owner: runKey(1), Name: "n", Delta: 1, Limit: 3},
		{Owner: runKey(1), Name: "w", Delta: 2, Limit: 6, Window: time.Hour},
	}}
	refused := store.Batch{Reset: []store.Key{runKey(1)}, Counters: []store.Counter{{Owner: runKey(1), Name: "n", Delta: 4, Limit: 3}}}
	inWriter(t, s, func(w *writer) error {
		for i, between := range []func(){func() {}, w.cache.clear, func() {
			if _, err := w.apply(&refused, 0); err == nil {
				t.Error("4 of 3 were admitted")
			}
		}} {
			between()
			result, err := w.apply(&counted, 0)
			if want := int64(i + 1); err != nil || result.Counters[0] != want || result.Counters[1] != 2*want {
				t.Errorf("commit %d answered %+v, %v", i, result, err)
			}
		}
		if _, err := w.apply(&counted, 0); err == nil {
			t.Error("4 of 3 were admitted")
		}
		return nil
	})
	if counters, err := s.Counters(t.Context(), runKey(1)); err != nil || counters["n"] != 3 {
		t.Errorf("counters are %v, %v", counters, err)
	}
}

// TestTimerIsSetAgain tests that a timer which was cleared or put off is written when
// it is set as before.
func TestTimerIsSetAgain(t *testing.T) {
	t.Parallel()
	s := openHere(t, Config{})
	due := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	timer := store.Timer{TimerID: store.TimerID{Key: runKey(1), Name: "t"}, Due: due}
	for i, batch := range []store.Batch{
		{},
		{ClearTimers: []store.TimerID{timer.TimerID}},
		{Postpone: []store.Postpone{{Timer: timer, Until: due.Add(time.Hour)}}},
		{SetTimers: []store.Timer{{TimerID: timer.TimerID, Due: due.Add(time.Hour)}}},
	} {
		for _, b := range []store.Batch{batch, {SetTimers: []store.Timer{timer}}} {
			if _, err := s.Commit(t.Context(), b); err != nil {
				t.Fatal(err)
			}
		}
		if timers, err := s.Due(t.Context(), due, 10, runKey(1).Kind); err != nil || len(timers) != 1 {
			t.Errorf("after batch %d: %v, %v", i, timers, err)
		}
	}
}
