package workflow_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// chronicle follows a run by its history alone: where each lane stands, by the
// branch's path.
type chronicle struct {
	m     *workflow.Machine
	at    map[string]string
	joins int
}

func newChronicle(m *workflow.Machine, started workflow.HistoryEntry) *chronicle {
	return &chronicle{m: m, at: map[string]string{"": started.To}}
}

// add takes one more entry, and describes contradictions to those before.
func (c *chronicle) add(e *workflow.HistoryEntry) error {
	lane := e.Branch
	if was, known := c.at[lane]; !known || was != e.From {
		return fmt.Errorf("%s %s comes from %q in branch %q, where the run is in %q", e.Type, e.Event, e.From, lane, was)
	}
	switch e.Type {
	case workflow.EventForked:
		c.fork(lane, e)
	case workflow.EventForced, workflow.EventCancelled:
		c.leave(lane)
	case workflow.EventPaused, workflow.EventHeld, workflow.EventHoldLifted, workflow.EventResumed, workflow.EventBound, workflow.EventInvoked:
		if e.To != e.From {
			return fmt.Errorf("%s leads from %q to %q", e.Type, e.From, e.To)
		}
	default:
	}
	c.at[lane] = e.To
	for _, j := range e.Joins {
		if lane == "" {
			return fmt.Errorf("%s joins outside of any branch", e.Event)
		}
		lane = outerOf(lane)
		c.leave(lane)
		c.at[lane] = j.To
		c.joins++
	}
	return nil
}

func (c *chronicle) fork(lane string, e *workflow.HistoryEntry) {
	if fork := c.m.State(e.From).Fork(e.Event); fork != nil {
		for _, b := range fork.Branches {
			c.at[inner(lane, b.Name)] = b.Initial
		}
	}
}

// leave forgets the branches inside of a lane.
func (c *chronicle) leave(lane string) {
	maps.DeleteFunc(c.at, func(name, _ string) bool {
		return name != lane && (lane == "" || strings.HasPrefix(name, lane+"/"))
	})
}

// agrees compares the history with the run itself.
func (c *chronicle) agrees(run *workflow.Run) error {
	for _, at := range run.Lanes() {
		if c.at[at.Branch] != at.State {
			return fmt.Errorf("by its history branch %q is in %q, and it is in %q", at.Branch, c.at[at.Branch], at.State)
		}
	}
	return nil
}

func inner(lane, name string) string {
	if lane == "" {
		return name
	}
	return lane + "/" + name
}

func outerOf(lane string) string {
	return lane[:max(0, strings.LastIndex(lane, "/"))]
}

// entriesOf are the numbers of the entries that a run's active lanes are in, the
// run's own first.
func entriesOf(run *workflow.Run) []int64 {
	numbers := []int64{run.Entry}
	if run.Fork != nil {
		for _, at := range run.Lanes() {
			numbers = append(numbers, at.Entry)
		}
	}
	return numbers
}

// checkEntries: no two lanes are in the same entry, a new entry has a new number, and
// ended ones are reported (S2.10).
func checkEntries(before, after *workflow.Run) error {
	then, now := entriesOf(before), entriesOf(after)
	if sorted := slices.Compact(slices.Sorted(slices.Values(now))); len(sorted) != len(now) || sorted[len(sorted)-1] > after.Entries {
		return fmt.Errorf("lanes are in the entries %v, the highest is %d", now, after.Entries)
	}
	if after.Entries < before.Entries {
		return fmt.Errorf("%d entries became %d", before.Entries, after.Entries)
	}
	var left []int64
	for _, n := range then {
		if !slices.Contains(now, n) {
			left = append(left, n)
		}
	}
	for _, n := range now {
		if !slices.Contains(then, n) && n <= before.Entries {
			return fmt.Errorf("entry %d was given before: %d were", n, before.Entries)
		}
	}
	if got := workflow.EntriesLeft(before, after); !slices.Equal(got, left) {
		return fmt.Errorf("entries %v became %v, and %v are said to be over", then, now, got)
	}
	return nil
}

// checkStatus: a lane that cannot move waits, a run is HELD exactly while it has holds, an
// ended one keeps no waits (S6.1, S6.2).
func checkStatus(run *workflow.Run) error {
	open := run.Fork != nil || run.Child != nil
	if run.Status.Ended() && (open || run.Interrupt != nil) {
		return fmt.Errorf("%s, and there is more to do: %+v", run.Status, run)
	}
	if held := run.Status == workflow.Held; run.Held() != held {
		return fmt.Errorf("%s with holds %+v", run.Status, run.Holds)
	}
	waits, asks := run.Child != nil, run.Approval.Pending()
	for f := run.Fork; f != nil; {
		i := slices.IndexFunc(f.Branches, func(b workflow.BranchProgress) bool { return b.Name == f.Current })
		if i < 0 {
			waits, asks = true, false
			break
		}
		b := &f.Branches[i]
		if b.Status != workflow.BranchActive || b.SessionID != "" {
			return fmt.Errorf("unbound callers are sent to branch %s, which is %s for %q", b.Name, b.Status, b.SessionID)
		}
		waits, asks, f = b.Child != nil, b.Approval.Pending(), b.Fork
	}
	want := workflow.Running
	switch {
	case asks:
		want = workflow.AwaitingApproval
	case waits:
		want = workflow.Waiting
	}
	if moves := !run.Status.Ended() && !run.Status.Stopped(); moves && run.Status != want {
		return fmt.Errorf("the run is %s, and its unbound callers wait: %t, for humans: %t", run.Status, waits, asks)
	}
	return nil
}
