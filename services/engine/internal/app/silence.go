package app

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// addSilences sets, parks and clears the timers of the silence of the lanes of a run (S25.5).
func (ch *Changes) addSilences(ctx context.Context, s *step, now time.Time, batch *store.Batch) error {
	before, after := attended(s.from, s.before), attended(s.m, &s.out.Run)
	for i := range before {
		if !slices.ContainsFunc(after, func(v workflow.View) bool { return v.Branch == before[i].Branch }) {
			batch.ClearTimers = append(batch.ClearTimers, ledger.SilenceTimerID(s.key, before[i].Branch))
		}
	}
	for i := range after {
		at := &after[i]
		was := sameVisit(before, at)
		full := ledger.SilenceTimer(s.key, at.Branch, s.m.State(at.State).Stale, false, now)
		switch {
		case at.Status != workflow.Running && was == nil:
		case at.Status != workflow.Running && s.lookedAt(): // the whole time is left when its clock runs on
			batch.ClearTimers = append(batch.ClearTimers, full.TimerID)
		case at.Status != workflow.Running && was.Status == workflow.Running:
			if err := ch.parkSilence(ctx, full.TimerID, now, batch); err != nil {
				return err
			}
		case at.Status != workflow.Running:
		case was != nil && was.Status != workflow.Running && !s.lookedAt():
			left, err := ch.silenceLeft(ctx, full, now)
			if err != nil {
				return err
			}
			batch.SetTimers = append(batch.SetTimers, left)
		case was == nil || was.Status != workflow.Running || s.progressed(was, at):
			batch.SetTimers = append(batch.SetTimers, full)
		}
	}
	return nil
}

// attended returns the lanes in states with a bound on silence in which an agent works, or which stand still.
func attended(m definition.Compiled, run *workflow.Run) []workflow.View {
	if run == nil || m.Machine == nil || !m.KnowsSilence() || run.Status.Ended() {
		return nil
	}
	return slices.DeleteFunc(run.Lanes(), func(at workflow.View) bool {
		return m.State(at.State).Stale == nil || at.Status != workflow.Running && at.Clock.Running()
	})
}

// sameVisit returns the lane as it was before, if it has not come to another state.
func sameVisit(before []workflow.View, at *workflow.View) *workflow.View {
	for i := range before {
		if was := &before[i]; was.Branch == at.Branch && was.State == at.State && was.Clock.Since.Equal(at.Clock.Since) {
			return was
		}
	}
	return nil
}

// lookedAt reports that an operator has looked at the run, and let it go on.
func (s *step) lookedAt() bool {
	looked := func(run *workflow.Run) bool {
		return run.HeldFor(workflow.HoldOperator) || run.HeldFor(workflow.HoldStale)
	}
	return s.before != nil && looked(s.before) && !s.out.Run.Held()
}

// progressed reports that the step is progress of a lane that may go on in its state.
func (s *step) progressed(was, at *workflow.View) bool {
	return was.Entry != at.Entry || s.out.Entry.Cause == nil && s.out.Entry.Branch == at.Branch
}

// parkSilence lets a timer stand still, with the time that is left: an agent can bring that about at will.
func (ch *Changes) parkSilence(ctx context.Context, id store.TimerID, now time.Time, batch *store.Batch) error {
	timers, err := ch.ports.Store.Timers(ctx, id)
	for _, timer := range timers {
		batch.Unchanged = append(batch.Unchanged, timer)
		batch.SetTimers = append(batch.SetTimers, ledger.ParkSilence(timer, now))
	}
	return retry.Fault(err)
}

// silenceLeft returns a timer that runs on with the time that was left, or the full one where it has not stood still.
func (ch *Changes) silenceLeft(ctx context.Context, full store.Timer, now time.Time) (store.Timer, error) {
	timers, err := ch.ports.Store.Timers(ctx, full.TimerID)
	for _, timer := range timers {
		if left, stood := ledger.ResumeSilence(timer, now); stood {
			return left, nil
		}
	}
	return full, retry.Fault(err)
}
