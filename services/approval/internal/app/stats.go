package app

import (
	"context"
	"slices"
	"time"
)

const (
	// mostAsked is how many approvals are looked at for counts, and askedAtOnce those of one page.
	mostAsked, askedAtOnce = 10_000, 1000
	// askedFor is the time that is counted by default.
	askedFor = 30 * 24 * time.Hour
)

// Asked returns the approvals that were asked for since then, the newest first; zero for the last 30 days. complete is false
// when there are more than it looks at.
func (a *App) Asked(ctx context.Context, caller Caller, since time.Time) (all []*Record, complete bool, err error) {
	if since.IsZero() {
		since = a.now().Add(-askedFor)
	}
	query := Query{Limit: askedAtOnce}
	for {
		page, next, err := a.List(ctx, caller, query)
		if err != nil {
			return nil, false, err
		}
		all = append(all, page...)
		old := slices.IndexFunc(all, func(r *Record) bool { return r.CreatedAt.Before(since) })
		switch {
		case old >= 0:
			return all[:old], true, nil
		case next == "":
			return all, true, nil
		case len(all) >= mostAsked:
			return all, false, nil
		}
		query.After = next
	}
}
