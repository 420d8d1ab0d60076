package app

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/runcodec"
)

// ListQuery selects runs; empty fields select all. The first fields have an index.
type ListQuery struct {
	Status   workflow.Status
	Workflow string
	Session  string
	Schedule string
	// IDs are the only runs that may be listed; none for all.
	IDs []string
	// Prefix is how the ids begin; After then has that prefix, or is above all that do.
	Prefix string
	After  string
	Limit  int

	// Text is a part of the workflow, the state, the session or the id, in either case.
	Text         string
	NotStatuses  []workflow.Status
	NotWorkflows []string
	// UpdatedAfter is the earliest time of the last change, and UpdatedBefore is later
	// than all.
	UpdatedAfter, UpdatedBefore time.Time
	// StaleFor lists active runs without progress for so long; see Silent.
	StaleFor time.Duration
}

// looked is the most runs that one page looks at: after that many it ends, full or not.
const looked = 1000

// searches reports that a query has something that no index has.
func (q *ListQuery) searches() bool {
	return q.Text != "" || len(q.NotStatuses)+len(q.NotWorkflows) > 0 || !q.UpdatedAfter.IsZero() || !q.UpdatedBefore.IsZero()
}

// matches reports whether a run is asked for.
func (q *ListQuery) matches(run *workflow.Run) bool {
	return (q.Status == "" || q.Status == run.Status) &&
		(q.Workflow == "" || q.Workflow == run.Workflow) &&
		(q.Session == "" || q.Session == run.SessionID) &&
		(q.Schedule == "" || q.Schedule == run.Schedule) &&
		!slices.Contains(q.NotStatuses, run.Status) &&
		!slices.Contains(q.NotWorkflows, run.Workflow) &&
		!run.UpdatedAt.Before(q.UpdatedAfter) &&
		(q.UpdatedBefore.IsZero() || run.UpdatedAt.Before(q.UpdatedBefore)) &&
		q.speaksOf(run)
}

// speaksOf reports that a run has the text in one of its names.
func (q *ListQuery) speaksOf(run *workflow.Run) bool {
	if q.Text == "" {
		return true
	}
	has := func(name string) bool { return strings.Contains(strings.ToLower(name), q.Text) }
	if has(run.Workflow) || has(run.State) || has(run.SessionID) || has(run.ID) {
		return true
	}
	return run.Fork != nil && slices.ContainsFunc(run.Lanes(), func(at workflow.View) bool { return has(at.State) })
}

// List returns a page of runs, newest first, and where the next one begins after:
// empty when there is none. A page of large runs has less than Limit of them, and so has
// one that has looked at many which were not asked for.
func (rd *Reads) List(ctx context.Context, caller ports.Caller, q ListQuery) (views []*View, next string, err error) {
	q.Text = strings.ToLower(q.Text)
	driven, err := rd.ownRun(ctx, caller)
	if err != nil {
		return nil, "", err
	}
	read := rd.listed
	if len(q.IDs) > 0 {
		read = rd.named
	}
	for size, seen := 0, 0; ; {
		most := min(readAhead, rd.looked-seen)
		if !q.searches() {
			most = min(most, q.Limit-len(views))
		}
		page, err := read(ctx, caller.Namespace, &q, most)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			if !strings.HasPrefix(record.Key.ID, q.Prefix) {
				return views, "", nil
			}
			if len(views) == q.Limit || size > 0 && size+len(record.Data) > rd.pageBytes {
				return views, q.After, nil
			}
			run, err := runcodec.DecodeRun(record.Data, record.Version)
			if err != nil {
				return nil, "", fault.From(err)
			}
			seen++
			q.After = record.Key.ID
			if !q.matches(run) || !caller.Who().Owns(run, driven) {
				continue
			}
			size += len(record.Data)
			view, err := rd.views.of(ctx, caller.Namespace, run.At(""), "")
			if err != nil {
				return nil, "", err
			}
			views = append(views, view)
		}
		q.After = page.Next
		if page.Next == "" || len(views) >= q.Limit || seen >= rd.looked {
			return views, page.Next, nil
		}
	}
}

// listed returns the next part of the list of all runs that a query's index selects.
func (rd *Reads) listed(ctx context.Context, namespace string, q *ListQuery, most int) (store.Page, error) {
	query := store.Query{
		Namespace: namespace, Kind: ports.KindRun, Labels: map[string]string{}, Descending: true, After: q.After, Limit: most,
	}
	for name, value := range map[string]string{"status": string(q.Status), "workflow": q.Workflow, runcodec.LabelSession: q.Session, runcodec.LabelSchedule: q.Schedule} {
		if value != "" {
			query.Labels[name] = value
		}
	}
	return rd.ports.Store.List(ctx, query)
}

// named returns the same of the runs that a query names.
func (rd *Reads) named(ctx context.Context, namespace string, q *ListQuery, most int) (store.Page, error) {
	ids := slices.Clone(q.IDs)
	slices.Sort(ids)
	ids = slices.Compact(ids)
	slices.Reverse(ids)
	var page store.Page
	tried := 0
	for _, id := range ids {
		if q.After != "" && id >= q.After {
			continue
		}
		if tried++; tried > most {
			return page, nil
		}
		record, err := rd.ports.Store.Get(ctx, runKey(namespace, id))
		switch {
		case err == nil:
			page.Records = append(page.Records, record)
		case !errors.Is(err, store.ErrNotFound):
			return store.Page{}, err
		}
		page.Next = id
	}
	page.Next = ""
	return page, nil
}
