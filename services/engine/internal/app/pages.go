package app

import (
	"context"
	"strings"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// ListQuery selects runs; empty fields select all.
type ListQuery struct {
	Status   workflow.Status
	Workflow string
	// Prefix is how the ids begin; After then has that prefix, or is above all that do.
	Prefix string
	After  string
	Limit  int
}

// List returns a page of runs, newest first, and where the next one begins after:
// empty when there is none. A page of large runs has less than Limit of them.
func (a *App) List(ctx context.Context, caller Caller, q ListQuery) (views []*View, next string, err error) {
	query := store.Query{Namespace: caller.Namespace, Kind: KindRun, Labels: map[string]string{}, Descending: true, After: q.After}
	if q.Status != "" {
		query.Labels["status"] = string(q.Status)
	}
	if q.Workflow != "" {
		query.Labels["workflow"] = q.Workflow
	}
	driven, err := a.ownRun(ctx, caller)
	if err != nil {
		return nil, "", err
	}
	for size := 0; ; {
		query.Limit = min(q.Limit-len(views), readAhead)
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			if !strings.HasPrefix(record.Key.ID, q.Prefix) {
				return views, "", nil
			}
			if size += len(record.Data); size > a.pageBytes && len(views) > 0 {
				return views, views[len(views)-1].Run.ID, nil
			}
			view, err := a.viewOf(ctx, record)
			if err != nil {
				return nil, "", err
			}
			if caller.who().Owns(view.Run, driven) {
				views = append(views, view)
			}
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
	return a.view(ctx, record.Key.Namespace, run.At(""))
}
