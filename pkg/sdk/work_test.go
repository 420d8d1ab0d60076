package sdk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/internal/randtest"

	"github.com/interlock-run/interlock/pkg/fault"
)

// finished ends a context when the tasks are over, or after a day.
func finished(t testing.TB, f *fakeTasks) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
	go func() {
		defer cancel()
		for f.left() > 0 && pause(ctx, time.Second) == nil {
		}
	}()
	return ctx
}

// S11.5: whatever breaks, each task is done once and acknowledged, and never more
// are at work than the runner takes.
func TestWork(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(rt *rapid.T) {
		inFlight := rapid.IntRange(0, 3).Draw(rt, "in flight")
		lasts := rapid.SliceOfN(rapid.IntRange(0, 200), 1, 8).Draw(rt, "seconds")
		var ids []string
		for i := range lasts {
			ids = append(ids, fmt.Sprint("task_", i))
		}
		tasks := tasksNamed(ids...)
		tasks.breaks = rapid.SliceOfN(rapid.IntRange(0, 3), 0, 5).Draw(rt, "breaks")
		tasks.way.ahead = rapid.SliceOfN(rapid.SampledFrom([]trouble{none, lostRequest, lostAnswer, uncertain}), 0, 8).Draw(rt, "outcomes")
		tasks.lost.ahead = rapid.SliceOfN(rapid.SampledFrom([]trouble{none, lostRequest, lostAnswer}), 0, 8).Draw(rt, "extends")
		var running, most, ran atomic.Int64
		var err error
		synctest.Test(t, func(t *testing.T) {
			c := New(connect(t, fakes{tasks: tasks}), Options{})
			err = c.Work(finished(t, tasks), Runner{Name: "r", MaxInFlight: inFlight}, func(ctx context.Context, task Task) error {
				ran.Add(1)
				most.Store(max(most.Load(), running.Add(1)))
				defer running.Add(-1)
				var i int
				if _, err := fmt.Sscanf(task.ID, "task_%d", &i); err != nil {
					return err
				}
				return pause(ctx, time.Duration(lasts[i])*time.Second)
			})
		})
		acked, fails := tasks.outcome()
		slices.Sort(acked)
		if !errors.Is(err, context.Canceled) || !slices.Equal(acked, ids) || len(fails) > 0 || ran.Load() != int64(len(ids)) {
			rt.Fatalf("%v: done %v and failed %v in %d tries", err, acked, fails, ran.Load())
		}
		if most.Load() > int64(max(1, inFlight)) {
			rt.Fatalf("%d at once, at most %d", most.Load(), inFlight)
		}
	})
}

// All places are used again after a stream has broken under running tasks.
func TestWorkFillsItsPlacesAgain(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tasks := tasksNamed("a", "b", "c", "d", "e", "f")
		tasks.breaks = []int{3}
		release := make(chan struct{})
		var running atomic.Int64
		ctx := finished(t, tasks)
		var group sync.WaitGroup
		group.Go(func() {
			_ = New(connect(t, fakes{tasks: tasks}), Options{}).Work(ctx, Runner{Name: "r", MaxInFlight: 3}, func(context.Context, Task) error {
				running.Add(1)
				defer running.Add(-1)
				<-release
				return nil
			})
		})
		for range 2 {
			_ = pause(t.Context(), time.Minute)
			if n := running.Load(); n != 3 {
				t.Errorf("%d at work, want 3", n)
			}
			for range 3 {
				release <- struct{}{}
			}
		}
		group.Wait()
		// One stream for all places, then others for those that came free.
		asked, again := tasks.asked.all(), int32(0)
		for _, places := range asked[1:] {
			again += places
		}
		if asked[0] != 3 || again != 3 {
			t.Errorf("the streams ask for %v", asked)
		}
	})
}

func TestWorkTask(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tasks := tasksNamed("a")
		c := New(connect(t, fakes{tasks: tasks}), Options{})
		_ = c.Work(finished(t, tasks), Runner{Name: "r"}, func(_ context.Context, task Task) error {
			if task.Kind != "CALLBACK" || task.SessionID != "ses_a" || task.Prompt != "continue" || task.Given != 1 ||
				task.Callbacks[0].StateUpdate != "COMPLETED" || string(task.Execution.Values) != `{"n":1}` {
				t.Errorf("%+v", task)
			}
			return nil
		})
	})
}

// S11.5: what has not run is given again, and what has failed has failed.
func TestWorkFails(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tasks := tasksNamed("a", "b")
		tasks.way.ahead = []trouble{lostRequest}
		c := New(connect(t, fakes{tasks: tasks}), Options{})
		_ = c.Work(finished(t, tasks), Runner{Name: "r"}, func(_ context.Context, task Task) error {
			switch {
			case task.ID == "a" && task.Given == 1:
				return fmt.Errorf("no agent here: %w", ErrNotRun)
			case task.ID == "a":
				return nil
			default:
				return errors.New(strings.Repeat("é", 5000))
			}
		})
		acked, fails := tasks.outcome()
		if !slices.Equal(acked, []string{"a"}) || len(fails) != 2 {
			t.Fatalf("done %v, failed %v", acked, fails)
		}
		for _, fail := range fails {
			if fail.GetRetry() != (fail.GetTaskId() == "a") || len([]rune(fail.GetError())) > 4096 || fail.GetError() == "" {
				t.Errorf("failed as %v", fail)
			}
		}
	})
}

// S11.3: a runner that has lost a task is told, and says no more of it.
func TestWorkLosesAClaim(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*fakeTasks){
		"it was given to another": func(f *fakeTasks) {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.tasks[0].token++
			f.tasks[0].over = true
		},
		"the server is gone": func(f *fakeTasks) {
			f.lost.mu.Lock()
			defer f.lost.mu.Unlock()
			f.lost.ahead = slices.Repeat([]trouble{lostRequest}, 10_000)
		},
		"the server is silent": func(f *fakeTasks) {
			f.lost.mu.Lock()
			defer f.lost.mu.Unlock()
			f.lost.ahead = slices.Repeat([]trouble{silence}, 10_000)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				tasks := tasksNamed("a")
				tasks.once = true
				c := New(connect(t, fakes{tasks: tasks}), Options{})
				ctx, stop := context.WithCancel(t.Context())
				_ = c.Work(ctx, Runner{Name: "r"}, func(ctx context.Context, _ Task) error {
					defer stop()
					_ = pause(t.Context(), time.Minute) // past the first claim
					if ctx.Err() != nil {
						t.Error("lost while it was kept")
					}
					lose(tasks)
					lost := time.Now()
					<-ctx.Done()
					if waited := time.Since(lost); context.Cause(ctx) != ErrClaimLost || waited > 2*claimTTL { //nolint:errorlint // that very value
						t.Errorf("%v after %s", context.Cause(ctx), waited)
					}
					return ctx.Err()
				})
				if acked, fails := tasks.outcome(); len(acked)+len(fails) > 0 {
					t.Errorf("said of a task that is another's: done %v, failed %v", acked, fails)
				}
			})
		})
	}
}

// When a runner is stopped, what is under way comes to its end, under its claim.
func TestWorkStops(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tasks := tasksNamed("a", "b")
		c := New(connect(t, fakes{tasks: tasks}), Options{})
		down := errors.New("shutting down")
		ctx, stop := context.WithCancelCause(t.Context())
		err := c.Work(ctx, Runner{Name: "r", MaxInFlight: 2}, func(ctx context.Context, task Task) error {
			if task.ID == "b" {
				_ = pause(t.Context(), time.Second)
				stop(down)
			}
			<-ctx.Done()
			_ = pause(t.Context(), 10*claimTTL) // takes its time
			if task.ID == "b" {
				return nil
			}
			return context.Cause(ctx)
		})
		acked, fails := tasks.outcome()
		if err != down || !slices.Equal(acked, []string{"b"}) || len(fails) != 1 || fails[0].GetError() != down.Error() { //nolint:errorlint // the very error
			t.Errorf("%v: done %v, failed %v", err, acked, fails)
		}
	})
}

// A refusal ends the work, and the tasks with it.
func TestWorkRefused(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tasks := tasksNamed("a")
		tasks.refuse = fault.New(fault.PermissionDenied, "runners are operators")
		c := New(connect(t, fakes{tasks: tasks}), Options{})
		if err := c.Work(t.Context(), Runner{Name: "r"}, func(context.Context, Task) error { return nil }); Reason(err) != fault.PermissionDenied {
			t.Error(err)
		}
	})
}

func TestWorkPanic(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		tasks := tasksNamed("a")
		w := &worker{client: New(connect(t, fakes{tasks: tasks}), Options{}), do: func(context.Context, Task) error { panic("boom") }}
		task := taskOf(tasks.give(map[*givenTask]int64{}, 1, 1)[0])
		func() {
			defer func() {
				if p := recover(); p != "boom" {
					t.Errorf("the panic became %v", p)
				}
			}()
			w.perform(t.Context(), task)
		}()
		if _, fails := tasks.outcome(); len(fails) != 1 || fails[0].GetRetry() {
			t.Errorf("failed as %v", fails)
		}
	})
}

// A clock that differs from the server's does not lose claims.
func TestClaimedUntil(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		for expires, want := range map[time.Duration]time.Duration{claimTTL: claimTTL, time.Second: time.Second, -time.Hour: attemptTime, 0: attemptTime} {
			if got := time.Until(claimedUntil(time.Now().Add(expires))); got != want {
				t.Errorf("a claim until %s lasts %s", expires, got)
			}
		}
	})
}
