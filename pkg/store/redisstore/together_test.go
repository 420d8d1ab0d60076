package redisstore_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// TestTogetherAsAlone tests that batches which share a flight are answered, and leave
// behind, the same as one after the other: the script's memory between them
// is never seen.
func TestTogetherAsAlone(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	config := redisstore.Config{URL: redistest.Shared(t).URL(), Clock: func() time.Time { return now }}
	together, alone := open(t, config), open(t, config)
	round := 0
	randtest.Check(t, func(t *rapid.T) {
		round++
		for range rapid.IntRange(4, 12).Draw(t, "flights") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			batches := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) store.Batch { return drawBatch(t, round, now) }), 4, 12).Draw(t, "batches")
			got, errs := together.Together(batches)
			for i := range batches {
				want, err := alone.Commit(t.Context(), batches[i])
				if !reflect.DeepEqual(got[i], want) || fmt.Sprint(errs[i]) != fmt.Sprint(err) {
					t.Fatalf("batch %d of %d: together %+v, %v; alone %+v, %v", i, len(batches), got[i], errs[i], want, err)
				}
			}
			if got, want := left(t, together, now, round), left(t, alone, now, round); got != want {
				t.Fatalf("together left %s, alone %s", got, want)
			}
		}
	})
}

// left is the data that batches of a round have left behind, next to their answers.
func left(t *rapid.T, s *redisstore.Store, now time.Time, round int) string {
	timers, err := s.Due(t.Context(), now, 100, key("").Kind)
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprint(timers)
	for i := range 2 {
		counters, err := s.Counters(t.Context(), ownerOf(round, i))
		if err != nil {
			t.Fatal(err)
		}
		text += fmt.Sprint(counters)
	}
	return text
}

func ownerOf(round, i int) store.Key { return key(fmt.Sprintf("%d.%d", round, i)) }

// drawBatch is anything that two batches of a round can both have to do with.
func drawBatch(t *rapid.T, round int, now time.Time) store.Batch {
	owned := func(label string) store.Key {
		return ownerOf(round, rapid.IntRange(0, 1).Draw(t, label))
	}
	var b store.Batch
	if rapid.IntRange(0, 3).Draw(t, "checks") == 0 {
		b.Checks = []store.Check{{Key: owned("checked"), Version: rapid.Int64Range(0, 3).Draw(t, "version")}}
	}
	switch rapid.IntRange(0, 5).Draw(t, "change") {
	case 0:
		b.Puts = []store.Put{{Key: owned("put"), Expect: store.AnyVersion, History: []byte("h")}}
	case 1:
		b.Deletes = []store.Check{{Key: owned("deleted"), Version: store.AnyVersion}}
	case 2:
		b.Reset = []store.Key{owned("reset")}
	}
	for range rapid.IntRange(0, 3).Draw(t, "counters") {
		c := store.Counter{Owner: owned("owner"), Name: "n", Delta: rapid.Int64Range(-1, 3).Draw(t, "delta"), Limit: rapid.SampledFrom([]int64{9, 100}).Draw(t, "limit")}
		if rapid.Bool().Draw(t, "windowed") {
			c.Name, c.Window = "w", time.Duration(rapid.SampledFrom([]int{60, 60, 60, 30}).Draw(t, "window"))*time.Second
			if c.Delta < 0 {
				c.Admitted = now.Add(-time.Duration(rapid.IntRange(0, 50).Draw(t, "ago")) * time.Second)
			}
		}
		b.Counters = append(b.Counters, c)
	}
	if rapid.Bool().Draw(t, "timer") {
		b.SetTimers = []store.Timer{{TimerID: store.TimerID{Key: owned("timed"), Name: "t"}, Due: now.Truncate(time.Minute), Data: []byte("d")}}
	}
	return b
}
