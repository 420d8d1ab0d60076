package app

import (
	"context"
	"strings"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/idempotency"
)

// resume continues the newest paused run of a workflow and owner in the
// caller's session (S6.2). It returns nil when there is none.
//
// The run and the session's binding may live in different shards, so this takes
// two commits: the binding first, then the run. A crash in between leaves the
// session bound to a run that is still paused; asking again finds it.
func (ss *Starts) resume(ctx context.Context, caller ports.Caller, req Start) (*Outcome, error) {
	runID, err := ss.takenBefore(ctx, caller, req)
	if err != nil {
		return nil, err
	}
	if runID == "" {
		run, err := ss.newestPaused(ctx, caller, req.Workflow)
		if err != nil || run == nil {
			return nil, err
		}
		if runID, err = ss.take(ctx, caller, req, run.ID); err != nil {
			return nil, err
		}
	}
	outcome, err := ss.changes.change(ctx, caller, request{
		op:      authority.Resume,
		target:  ports.Target{RunID: runID},
		command: resumeBy(caller),
		session: req.SessionID,
		// A repeat must not resume the run once more after a later pause.
		key: resumeKey(caller, req),
	})
	if err != nil || outcome.Rejection == nil {
		return outcome, err
	}
	// Another request, or the first try of this one, resumed it already.
	return &Outcome{View: outcome.View}, nil
}

// takenBefore returns the run that a repeat of this request resumed, or "".
func (ss *Starts) takenBefore(ctx context.Context, caller ports.Caller, req Start) (string, error) {
	if req.IdempotencyKey == "" {
		return "", nil
	}
	owner := *requestOwner(caller, req)
	data, err := idempotency.Answer(ctx, ss.ports.Store, owner, resumeKey(caller, req).Name)
	if data == nil || err != nil {
		return "", err
	}
	runID, digest, _ := strings.Cut(string(data), " ")
	return runID, resumeKey(caller, req).Same(owner, digest)
}

// resumeKey makes a resuming request happen once; it has no name without an idempotency
// key.
func resumeKey(caller ports.Caller, req Start) idempotency.Key {
	if req.IdempotencyKey == "" {
		return idempotency.Key{Digest: startDigest(req)}
	}
	return idempotency.Key{Name: "resume/" + idempotency.NameBy(caller.Principal, req.IdempotencyKey), Digest: startDigest(req)}
}

// take makes the session drive the paused run, and remembers which run this request
// resumed. It returns that run.
func (ss *Starts) take(ctx context.Context, caller ports.Caller, req Start, runID string) (string, error) {
	h := ss.changes.newHandover(caller, req.SessionID, runID)
	aim, refusal, err := h.aim(ctx, authority.Take)
	switch {
	case err != nil:
		return "", err
	case refusal != nil:
		return "", ports.Refused(refusal)
	}
	if err := h.drive(ctx, authority.Take, aim, runID, ""); err != nil {
		return "", err
	}
	if req.IdempotencyKey != "" {
		key := resumeKey(caller, req)
		h.batch.Idempotency = key.KeepAnswer(*requestOwner(caller, req), []byte(runID+" "+key.Digest))
	}
	result, err := h.commit(ctx)
	if err == nil && result.Replayed {
		runID, _, _ = strings.Cut(string(result.Answer), " ")
	}
	return runID, err
}

// newestPaused finds the run of this workflow that was paused last, of those that the
// caller may take up. Runs that were invoked are resumed with the one that waits for
// them.
func (ss *Starts) newestPaused(ctx context.Context, caller ports.Caller, name string) (*workflow.Run, error) {
	var newest *workflow.Run
	for _, status := range []workflow.Status{workflow.Paused, workflow.Held} {
		if err := ss.runs.each(ctx, store.Query{
			Namespace: caller.Namespace,
			Labels:    map[string]string{"status": string(status), "workflow": name},
		}, func(run *workflow.Run) error {
			if caller.Who().MayTakeUp(run) && (newest == nil || run.UpdatedAt.After(newest.UpdatedAt)) {
				newest = run
			}
			return nil
		}); err != nil {
			return nil, err
		}
	}
	return newest, nil
}
