package app

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sweep"
)

// restoredName is the timer by which an approval is asked again that was restored from a
// backup.
const restoredName = "restored"

// restored is the data of that timer.
type restored struct {
	// Of is the time of the backup.
	Of time.Time `json:"of"`
}

// AskAgain returns the timer that a restore sets on a record, if that is an approval which
// waits for people: they may have decided it since the backup was made.
func AskAgain(record store.Record, of, now time.Time) (timer store.Timer, waits bool, err error) {
	if record.Key.Kind != KindApproval || record.Labels["status"] != string(consent.Pending) {
		return timer, false, nil
	}
	timer = store.Timer{TimerID: store.TimerID{Key: record.Key, Name: restoredName}, Due: now}
	if timer.Data, err = json.Marshal(restored{of.UTC()}); err != nil {
		return timer, false, fmt.Errorf("encode timer: %w", err)
	}
	return timer, true, nil
}

// askAgain announces an approval once more.
func (a *App) askAgain(ctx context.Context, timer store.Timer) error {
	var r restored
	if err := json.Unmarshal(timer.Data, &r); err != nil {
		return fault.From(fmt.Errorf("decode timer: %w", err))
	}
	before, err := a.load(ctx, timer.Key)
	if fault.ReasonOf(err) == fault.NotFound {
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: timer.Key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	now := a.now()
	due := pass(before.Approval, now) // it may have expired, which is announced instead
	result := due.Approval.Restore(r.Of)
	if !due.Changed && !result.Changed {
		return sweep.Clear(ctx, a.store, timer.TimerID, store.Check{Key: timer.Key, Version: before.Version})
	}
	t := &transaction{
		app: a, before: before, after: before.with(result.Approval), at: now, clear: []store.TimerID{timer.TimerID},
	}
	t.announce(interlock, due.Events)
	t.announce(interlock, result.Events)
	_, err = t.commit(ctx)
	switch {
	case retry.Lost(err):
		return nil // the next sweep tries again
	case err != nil:
		return err
	}
	if t.decided() {
		a.tellEngineBehind(ctx, t.after)
	}
	return nil
}
