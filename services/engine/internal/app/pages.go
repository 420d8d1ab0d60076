package app

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const (
	// pageBytes ends a page early: contexts and data are user's, up to 1 MiB each,
	// and an answer must stay within what clients take.
	pageBytes = 8 << 20
	// readAhead is how many records are read from the store at once.
	readAhead = 64
)

// ListQuery selects runs; empty fields select all.
type ListQuery struct {
	Status   workflow.Status
	Workflow string
	After    string
	Limit    int
}

// List answers a page of runs, oldest first, and where the next one begins after:
// empty when there is none. A page of large runs has less than Limit of them.
func (a *App) List(ctx context.Context, namespace string, q ListQuery) (views []*View, next string, err error) {
	query := store.Query{Namespace: namespace, Kind: KindRun, Labels: map[string]string{}, After: q.After}
	if q.Status != "" {
		query.Labels["status"] = string(q.Status)
	}
	if q.Workflow != "" {
		query.Labels["workflow"] = q.Workflow
	}
	for size := 0; ; {
		query.Limit = min(q.Limit-len(views), readAhead)
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			if size += len(record.Data); size > a.pageBytes && len(views) > 0 {
				return views, views[len(views)-1].Run.ID, nil
			}
			view, err := a.viewOf(ctx, record)
			if err != nil {
				return nil, "", err
			}
			views = append(views, view)
		}
		if page.Next == "" || len(views) >= q.Limit {
			return views, page.Next, nil
		}
		query.After = page.Next
	}
}

func (a *App) viewOf(ctx context.Context, record store.Record) (*View, error) {
	run, err := decodeRun(record.Data, record.Version)
	if err != nil {
		return nil, fault.From(err)
	}
	return a.view(ctx, record.Key, run)
}

// History answers a run's changes after a version, oldest first, at most limit,
// and the version that the next page begins after: 0 when there can be none. A
// page of large changes has less than limit of them.
func (a *App) History(ctx context.Context, namespace, runID string, after int64, limit int) (entries []Entry, next int64, err error) {
	key := runKey(namespace, runID)
	for size := 0; len(entries) < limit; {
		ask := min(limit-len(entries), readAhead)
		stored, err := a.store.History(ctx, key, after, ask)
		if err != nil {
			return nil, 0, fault.From(err)
		}
		for _, s := range stored {
			if size += len(s.Data); size > a.pageBytes && len(entries) > 0 {
				return entries, after, nil
			}
			entry := Entry{}
			if err := json.Unmarshal(s.Data, &entry); err != nil {
				return nil, 0, fault.From(fmt.Errorf("decode history of %s: %w", runID, err))
			}
			entry.RunVersion = s.Version
			entries, after = append(entries, entry), s.Version
		}
		if len(stored) < ask {
			if len(entries) == 0 {
				// Tell an empty page from a run that never was.
				_, err = a.cachedRun(ctx, key)
			}
			return entries, 0, err
		}
	}
	return entries, after, nil
}
