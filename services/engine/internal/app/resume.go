package app

import (
	"context"
	"errors"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// resume continues the newest paused run of a workflow and owner in the
// caller's session (S6.2). It answers nil when there is none.
//
// The run and the session's binding may live in different shards, so this takes
// two commits: the binding first, then the run. A crash in between leaves the
// session bound to a run that is still paused; asking again finds it.
func (a *App) resume(ctx context.Context, caller Caller, req Start) (*Outcome, error) {
	runID, err := a.boundBefore(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	if runID == "" {
		run, err := a.newestPaused(ctx, caller, req.Workflow)
		if err != nil || run == nil {
			return nil, err
		}
		if runID, err = a.bind(ctx, caller, req, run.ID); err != nil {
			return nil, err
		}
	}
	outcome, err := a.change(ctx, caller, change{
		target:  Target{RunID: runID},
		command: resumeBy(caller),
		family:  true,
		session: req.SessionID,
		resumes: true,
		// A repeat must not resume the run once more after a later pause.
		key:    resumeName(req),
		digest: startDigest(req),
	})
	if err != nil || outcome.Rejection == nil {
		return outcome, err
	}
	// Somebody, or the first try of this request, resumed it already.
	return &Outcome{View: outcome.View}, nil
}

// boundBefore answers the run that a repeat of this request resumed, or "".
func (a *App) boundBefore(ctx context.Context, caller Caller, req Start) (string, error) {
	if req.IdempotencyKey == "" {
		return "", nil
	}
	owner := *requestOwner(caller, req)
	data, err := a.store.Answer(ctx, owner, resumeName(req))
	if errors.Is(err, store.ErrNotFound) {
		return "", nil
	}
	if err != nil {
		return "", fault.From(err)
	}
	runID, digest, _ := strings.Cut(string(data), " ")
	if digest != startDigest(req) {
		return "", fault.From(&store.ReplayMismatchError{Owner: owner, Name: resumeName(req)})
	}
	return runID, nil
}

// resumeName is the name of a resuming request's first answer, or "".
func resumeName(req Start) string {
	if req.IdempotencyKey == "" {
		return ""
	}
	return "resume/" + req.IdempotencyKey
}

// bind makes the session drive the run, and remembers which run this request
// resumed. It answers that run.
func (a *App) bind(ctx context.Context, caller Caller, req Start, runID string) (string, error) {
	batch := store.Batch{}
	paused, err := a.takeSession(ctx, caller, req, &batch)
	if err != nil {
		return "", err
	}
	if len(batch.Puts) > 0 {
		batch.Puts[0].Data = []byte(runID)
	}
	if req.IdempotencyKey != "" {
		batch.Idempotency = &store.Idempotency{
			Owner: *requestOwner(caller, req), Name: resumeName(req), Digest: startDigest(req),
			Answer: []byte(runID + " " + startDigest(req)), TTL: answersKept,
		}
	}
	result, err := a.store.Commit(ctx, batch)
	switch {
	case lostRace(err):
		return "", err
	case err != nil:
		return "", fault.From(err)
	case result.Replayed:
		runID, _, _ = strings.Cut(string(result.Answer), " ")
		return runID, nil
	}
	a.changed(caller.Namespace, paused...)
	return runID, nil
}

// newestPaused finds the run of this workflow that the caller paused last. Runs
// that were invoked are resumed with the one that waits for them.
func (a *App) newestPaused(ctx context.Context, caller Caller, name string) (*workflow.Run, error) {
	var newest *workflow.Run
	query := store.Query{
		Namespace: caller.Namespace, Kind: KindRun, Limit: 1000,
		Labels: map[string]string{"status": string(workflow.Paused), "workflow": name},
	}
	for {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, fault.From(err)
		}
		for _, record := range page.Records {
			run, err := decodeRun(record.Data, record.Version)
			if err != nil {
				return nil, fault.From(err)
			}
			held := run.Held() && caller.Principal.Role == auth.Agent
			if bound := caller.Principal.Session; bound != "" && run.SessionID != bound {
				continue
			}
			if !held && run.Parent == nil && run.Owner == caller.Principal.Name && (newest == nil || run.UpdatedAt.After(newest.UpdatedAt)) {
				newest = run
			}
		}
		if page.Next == "" {
			return newest, nil
		}
		query.After = page.Next
	}
}
