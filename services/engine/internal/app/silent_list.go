package app

import (
	"context"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// leastSilent and mostSilent are how many silent runs of a shard are looked at for one list, of all namespaces.
const leastSilent, mostSilent = 256, 65_536

// Silent returns active runs that have made no progress for StaleFor, the most silent first: one page, of at most Limit.
func (rd *Reads) Silent(ctx context.Context, caller ports.Caller, q ListQuery) (views []*View, next string, err error) {
	driven, err := rd.ownRun(ctx, caller)
	if err != nil {
		return nil, "", err
	}
	since := rd.ports.Clock().UTC().Add(-q.StaleFor)
	for limit := leastSilent; ; limit *= 16 { // the first of each shard may be those of other namespaces
		notes, err := rd.ports.Store.Due(ctx, since, limit, ledger.KindActivity)
		if err != nil {
			return nil, "", fault.From(err)
		}
		last := len(notes) < limit || limit >= mostSilent
		notes = slices.DeleteFunc(notes, func(note store.Timer) bool { return note.Key.Namespace != caller.Namespace })
		views, err = rd.silent(ctx, caller, q, driven, notes)
		if err != nil || last || len(views) == q.Limit {
			return views, "", err
		}
	}
}

// silent returns the runs of notes that a query asks for.
func (rd *Reads) silent(ctx context.Context, caller ports.Caller, q ListQuery, driven *workflow.Run, notes []store.Timer) (views []*View, err error) {
	slices.SortStableFunc(notes, func(a, b store.Timer) int { return a.Due.Compare(b.Due) })
	for _, note := range notes {
		if len(views) == q.Limit {
			break
		}
		run, err := rd.runs.load(ctx, runKey(note.Key.Namespace, note.Key.ID))
		if fault.ReasonOf(err) == fault.NotFound {
			continue
		}
		if err != nil {
			return nil, err
		}
		if run.Status.Ended() || !q.matches(run) || !caller.Who().Owns(run, driven) {
			continue
		}
		view, err := rd.views.of(ctx, caller.Namespace, run.At(""), "")
		if err != nil {
			return nil, err
		}
		view.LastActivity = note.Due
		views = append(views, view)
	}
	return views, nil
}

// Active returns how many runs of all namespaces are active, and when the most silent of them made progress last; zero for none.
func (rd *Reads) Active(ctx context.Context) (number int64, since time.Time, err error) {
	backlog, err := rd.ports.Store.Backlog(ctx, ledger.KindActivity)
	if err != nil || backlog.Timers[ledger.KindActivity] == 0 {
		return 0, since, err
	}
	notes, err := rd.ports.Store.Due(ctx, rd.ports.Clock().UTC(), 1, ledger.KindActivity)
	for i := range notes {
		if since.IsZero() || notes[i].Due.Before(since) {
			since = notes[i].Due
		}
	}
	return backlog.Timers[ledger.KindActivity], since, err
}
