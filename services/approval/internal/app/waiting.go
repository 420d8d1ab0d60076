package app

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/typeid"
)

// waitingPage is of how many approvals in each shard, those that are due first, the age is
// looked at.
const waitingPage = 64

// Waiting returns how many approvals wait for a decision, and since when the oldest of them
// does, by the timers of a few: each that waits has one timer.
func (a *App) Waiting(ctx context.Context) (number int64, since time.Time, err error) {
	backlog, err := a.store.Backlog(ctx, KindApproval)
	if err != nil || backlog.Timers[KindApproval] == 0 {
		return 0, time.Time{}, err
	}
	timers, err := a.store.Due(ctx, time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC), waitingPage, KindApproval)
	if err != nil {
		return 0, time.Time{}, err
	}
	for i := range timers {
		if at := typeid.Time(timers[i].Key.ID); !at.IsZero() && (since.IsZero() || at.Before(since)) {
			since = at
		}
	}
	return backlog.Timers[KindApproval], since, nil
}
