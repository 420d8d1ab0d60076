package sweep

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// told is the report of a Watch.
func told(w *Watch) string {
	var all []string
	for _, l := range w.Lateness() {
		all = append(all, fmt.Sprintf("%s %d late by %s, fired %d, failed %d", l.Label, l.Overdue, l.Oldest, l.Fired, l.Failed))
	}
	return strings.Join(all, "; ")
}

// run sweeps until the test ends.
func run(t *testing.T, s *Sweeper) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
}

func after(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// Timers that fire when they should are not late. One that fails is, for as long as it
// fails, although the store says that it is due later.
func TestWatchOfFailingTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("ok", "later", "no")
		s := f.sweeper()
		s.Watch = &Watch{}
		run(t, s)
		for _, step := range []struct {
			after time.Duration
			want  string
		}{
			{time.Millisecond, "run 1 late by 1ms, fired 2, failed 1"},
			{10 * time.Second, "run 1 late by 10.001s, fired 2, failed 1"},
			{time.Hour, "run 1 late by 1h0m10.001s, fired 122, failed 121"},
		} {
			after(step.after)
			if got := told(s.Watch); got != step.want {
				t.Errorf("after %s: %s, want %s", step.after, got, step.want)
			}
		}
		if s.Watch.Late("run") != time.Hour+10*time.Second+time.Millisecond || s.Watch.Late("none") != 0 {
			t.Errorf("run is late by %s, and what is unknown by %s", s.Watch.Late("run"), s.Watch.Late("none"))
		}
		// Another process clears it.
		f.mu.Lock()
		clear(f.timers)
		f.mu.Unlock()
		after(3 * time.Minute)
		if got := told(s.Watch); !strings.HasPrefix(got, "run 0 late by 0s") {
			t.Errorf("when it was cleared: %s", got)
		}
	})
}

// Timers that wait for those before them are late, also while a sweep hangs.
func TestWatchOfLateTimers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFake("slow", "ok", "ok")
		s := f.sweeper()
		s.Watch, s.Label = &Watch{}, func(timer store.Timer) string { return timer.Name }
		f.mu.Lock()
		for id, timer := range f.timers {
			timer.Due = timer.Due.Add(-time.Minute)
			f.timers[id] = timer
		}
		f.mu.Unlock()
		s.Kinds, s.Limit = []string{"run"}, time.Hour
		run(t, s)
		after(time.Minute)
		if got, want := told(s.Watch), "run 0 late by 0s, fired 0, failed 0; slow 1 late by 1m59s, fired 0, failed 0; "+
			"ok 2 late by 1m59s, fired 0, failed 0"; got != want {
			t.Errorf("while it hangs: %s, want %s", got, want)
		}
		after(time.Hour)
		if got, want := told(s.Watch), "run 0 late by 0s, fired 0, failed 0; slow 1 late by 1h2m0s, fired 0, failed 1; "+
			"ok 0 late by 0s, fired 2, failed 0"; got != want {
			t.Errorf("later: %s, want %s", got, want)
		}
	})
}

// The watched timers are bounded, and none is watched without a reader.
func TestWatchIsBounded(t *testing.T) {
	t.Parallel()
	var nobody *Watch
	if p := nobody.join([]string{"run"}); p != nil || nobody.Lateness() != nil {
		t.Error("a nil watch watches")
	}
	w := &Watch{}
	p := w.join([]string{"run"})
	for i := range 2 * mostFailing {
		timer := store.Timer{TimerID: store.TimerID{Key: store.Key{Kind: "run", ID: fmt.Sprint(i)}}, Due: time.Now()}
		p.failed(timer, "run", time.Now(), time.Hour)
	}
	if l := w.Lateness(); len(l) != 1 || l[0].Overdue != mostFailing || l[0].Failed != 2*mostFailing {
		t.Errorf("%+v", l)
	}
}
