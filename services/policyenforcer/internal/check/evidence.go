package check

import (
	"context"
	"slices"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// An allowed call that may change files is open from the commit of its decision, so that
// no agent can move on between the edit and its end, which voids. One that may give evidence
// keeps how many changes there were when it was allowed: the order of calls is that of
// their decisions, and a test that began before an edit never counts as after it.
//
// Runs whose workflow declares no evidence, and that neither were invoked nor have invoked
// another, pay nothing.

// observed is what a decision means for evidence.
type observed struct {
	toolcall.Notice
	edits int64
}

// noteEvidence adds to the batch of a decision what it means for evidence.
func (c *Service) noteEvidence(ctx context.Context, q *question, s *runs.Snapshot, d *Decision, batch *store.Batch) error {
	d.observed = observed{}
	if d.Verdict.Decision != toolcall.Allow || s.Unbound {
		return nil
	}
	declared := s.DeclaresEvidence()
	deadline := s.EffectDeadline()
	if !declared && deadline == 0 && s.Run.Parent == nil && len(s.Run.Children()) == 0 {
		return nil
	}
	d.observed.Notice = notice(q, s)
	opens := deadline > 0 && d.observed.Affects
	if !d.observed.Voids && len(d.observed.Gives) == 0 && !opens {
		return nil
	}
	read := q.account
	if read == nil {
		var err error
		if read, err = c.Calls.AccountOf(ctx, s.Root); err != nil {
			return err
		}
	}
	record, elapsed := read.Record.Elapse(c.Clock().UTC())
	switch {
	case !declared && !opens && read.Version == store.Absent: // nothing to void, as long as that is so
		d.observed = observed{}
		batch.Checks = append(batch.Checks, read.Check())
		return nil
	case opens || d.observed.Voids:
		if !c.open(q, s, d, read.Root, &record, deadline, batch) {
			return nil
		}
	case read.Version != store.Absent && !elapsed:
		d.observed.edits = record.Edits
		batch.Checks = append(batch.Checks, read.Check())
		return nil
	}
	d.observed.edits = record.Edits
	return read.Put(&record, batch)
}

// notice describes the effect of the call on evidence if it is allowed.
func notice(q *question, s *runs.Snapshot) toolcall.Notice {
	if s.Unbound {
		return toolcall.Notice{}
	}
	call := toolcall.Call{Tool: q.req.Tool, Input: q.req.Input, Folder: q.req.Folder, Jail: q.jail}
	return toolcall.Observe(s.Machine, s.Machines(), s.Run, call, q.req.Qualified)
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(one string) bool { return !slices.Contains(all, one) })
}
