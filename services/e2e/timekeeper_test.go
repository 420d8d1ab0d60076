package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// timing is a workflow that time alone takes to its end, by a reminder, two delays and a silence; or by its deadline, where
// a jump of the clock makes all due at once.
const timing = `{
  "id": "timing", "initial": "a", "meta": {"deadline": {"after": "30m", "target": "late"}},
  "states": {
    "a": {"remind": ["1s"], "after": {"2s": "b"}},
    "b": {"stale": {"after": "1s", "do": {"target": "c"}}},
    "c": {"after": {"1s": "done"}},
    "done": {"type": "final"}, "late": {"type": "final", "outcome": "failure"}
  }
}`

// timed is what happens to each run, in this order, up to its deadline.
var timed = []string{"started ", "reminded ", "transitioned $after:2s", "transitioned $stale", "transitioned $after:1s"}

const deadlineEvent = "transitioned $deadline"

// timekeeper starts runs that only time moves.
type timekeeper struct {
	c     *caller
	count atomic.Int64 // acknowledged starts
	// all counts the runs, ended those that have ended, and fired the changes by clocks.
	all, ended, fired int
}

func newTimekeeper(t testing.TB, c *caller) *timekeeper {
	t.Helper()
	c.register(t, timing)
	return &timekeeper{c: c}
}

func (k *timekeeper) load(ctx context.Context, group *sync.WaitGroup) {
	group.Go(func() {
		for ctx.Err() == nil {
			if _, err := k.c.runs.StartRun(ctx, &enginev1.StartRunRequest{Workflow: "timing"}); err == nil {
				k.count.Add(1)
			}
			for range 20 {
				pace(ctx)
			}
		}
	})
}

// verify demands that each clock of each run has done its work once and in order, or is not due yet.
func (k *timekeeper) verify(t *testing.T) {
	t.Helper()
	var all []*enginev1.Run
	eventually(t, "every clock that is due has done its work", func() (err error) {
		if all, err = k.runs(t); err != nil {
			return err
		}
		return k.overdue(t, all)
	})
	if int64(len(all)) < k.count.Load() {
		t.Errorf("%d runs are there of %d that were acknowledged", len(all), k.count.Load())
	}
	k.all = len(all)
	for _, run := range all {
		var got []string
		for _, e := range k.c.history(t, run.GetRunId()) {
			got = append(got, strings.ToLower(strings.TrimPrefix(e.GetType().String(), "HISTORY_TYPE_"))+" "+e.GetEvent())
		}
		k.fired += max(0, len(got)-1)
		undisturbed := got
		if len(got) > 0 && got[len(got)-1] == deadlineEvent {
			undisturbed = got[:len(got)-1]
		}
		if len(undisturbed) > len(timed) || !slices.Equal(undisturbed, timed[:len(undisturbed)]) {
			t.Errorf("run %s: time has brought about %q, want a part of %q", run.GetRunId(), got, timed)
		}
		if run.GetStatus() != running {
			k.ended++
		}
	}
	if k.ended == 0 {
		t.Error("no run has ended: this test tests nothing")
	}
}

func (k *timekeeper) runs(t *testing.T) (all []*enginev1.Run, err error) {
	t.Helper()
	req := &enginev1.ListRunsRequest{PageSize: 500, Filter: "workflow=timing"}
	for {
		page, err := k.c.runs.ListRuns(within(t), req)
		if err != nil {
			return nil, err
		}
		all = append(all, page.GetRuns()...)
		if req.PageToken = page.GetNextPageToken(); req.PageToken == "" {
			return all, nil
		}
	}
}

// overdue returns an error for the first run whose clock should have done more. One whose clock was set while the time of
// day was ahead is excused.
func (k *timekeeper) overdue(t *testing.T, all []*enginev1.Run) error {
	t.Helper()
	for _, run := range all {
		if run.GetStatus() != running {
			continue
		}
		entries := k.c.history(t, run.GetRunId())
		if last := entries[len(entries)-1].GetTime().AsTime(); !last.After(time.Now()) {
			return fmt.Errorf("run %s is in %s since %s", run.GetRunId(), run.GetState(), last)
		}
	}
	return nil
}
