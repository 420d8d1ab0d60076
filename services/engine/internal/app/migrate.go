package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Migration is a request to move a run to another version of its workflow (S17).
type Migration struct {
	RunID string
	To    int64
	// States are the names that states of the run have in the other version.
	States map[string]string
	// Accept is the digest of the plan whose gains are accepted.
	Accept string

	ExpectedVersion int64
	IdempotencyKey  string
	// DryRun only decides.
	DryRun bool
}

// Migrate moves a run. New rights of a plan, and moves without a plan, are refused unless it
// is accepted.
func (mv *Moves) Migrate(ctx context.Context, caller ports.Caller, req Migration) (*Outcome, error) {
	if _, err := mv.reads.readableRun(ctx, caller, req.RunID); err != nil {
		return nil, err
	}
	// A remembered run may be at a version that it has left: another plan would be held against it.
	run, err := mv.runs.load(ctx, runKey(caller.Namespace, req.RunID))
	if err != nil {
		return nil, err
	}
	from := run.WorkflowVersion
	r := request{
		op: authority.Migrate, target: ports.Target{RunID: req.RunID}, expected: req.ExpectedVersion, dry: req.DryRun,
		key: ports.RequestKey(caller, req.IdempotencyKey, ports.Digest("migrate", fmt.Sprint(req.To), string(workflow.StatesData(req.States).AppendJSON(nil)), req.Accept)),
	}
	if req.DryRun {
		r.key.Name = ""
	}
	if first, err := mv.views.firstAnswer(ctx, runKey(caller.Namespace, req.RunID), r.key); first != nil || err != nil {
		return first, err
	}
	to, err := mv.registry.Workflow(ctx, caller.Namespace, run.Workflow, req.To)
	if err == nil {
		err = mv.registry.Standing(ctx, caller.Namespace, to)
	}
	if err == nil {
		err = mv.registry.Signed(to, to.Number)
	}
	if err != nil {
		return nil, err
	}
	if r.to, err = mv.registry.Machine(ctx, caller.Namespace, run.Workflow, req.To); err != nil {
		return nil, err
	}
	if from != req.To {
		plan, err := mv.registry.PlanMigration(ctx, caller, run.Workflow, from, req.To, req.States, 0)
		if err != nil {
			return nil, err
		}
		if err := acceptable(run, plan, req.Accept); err != nil {
			return nil, err
		}
	}
	// The run may have been moved there and back since it was read.
	r.command = workflow.Migrate{From: from, To: r.to.Machine, States: req.States, Unmoved: req.Accept == "", Accepted: req.Accept, Actor: caller.Principal.Name}
	return mv.changes.change(ctx, caller, r)
}

// acceptable refuses a plan that allows more, unless it is the one that was accepted.
func acceptable(run *workflow.Run, plan *migrate.Plan, accept string) error {
	if accept != "" && accept != plan.Digest {
		return fault.New(fault.FailedPrecondition,
			"the accepted plan (%s) is not the one from version %d to version %d (%s): read the new plan, and accept it by its digest",
			accept, plan.From, plan.To, plan.Digest)
	}
	var why string
	switch {
	case accept != "":
		return nil
	case plan.Verdict == verify.Refuted:
		var first []string
		for i := range plan.Gains[:min(3, len(plan.Gains))] {
			first = append(first, plan.Gains[i].String())
		}
		things := "things"
		if len(plan.Gains) == 1 {
			things = "thing"
		}
		why = fmt.Sprintf("it newly allows %d %s (%s)", len(plan.Gains), things, strings.Join(first, "; "))
	case plan.Verdict != verify.Proved:
		why = "it is not proved that it adds no permission: " + plan.Reason
	case run.Moved:
		why = fmt.Sprintf("the run has come from another version before, so that a plan for runs of version %d does not speak of it", plan.From)
	default:
		return nil
	}
	return fault.New(fault.FailedPrecondition, "the run stays at version %d: %s. Read the plan, and accept it by its digest %s, or keep the run where it is",
		plan.From, why, plan.Digest)
}

// moveEvidence drops observations for evidence that the other version of a run does not
// declare alike. It writes in any case: an observation by the old version that comes at the
// same time must not be taken for one of the new.
func (f *family) moveEvidence(ctx context.Context, d decision, s *step, batch *store.Batch) error {
	if !s.out.Changed || s.out.Entry.Type != workflow.EventMigrated || len(d.m.Evidence()) == 0 && len(s.m.Evidence()) == 0 {
		return nil
	}
	key := ledger.EvidenceOf(f.key(s.out.Run.Root()))
	record, version, err := f.app.views.evidenceRecord(ctx, key)
	if err != nil {
		return err
	}
	record = kept(record, s.out.Run.ID, workflow.KeptEvidence(d.m.Machine, s.m.Machine, workflow.StatesOf(&s.out.Entry)))
	data, err := ledger.EncodeEvidence(&record)
	if err != nil {
		return fault.From(err)
	}
	batch.Puts = append(batch.Puts, store.Put{Key: key, Expect: version, Data: data})
	return nil
}

// kept returns a record in which a run has some of its evidence only.
func kept(r evidence.Record, run string, names []string) evidence.Record {
	facts, has := r.Runs[run]
	if !has {
		return r
	}
	facts = maps.Clone(facts)
	maps.DeleteFunc(facts, func(name string, _ evidence.Fact) bool { return !slices.Contains(names, name) })
	r.Runs = maps.Clone(r.Runs)
	r.Runs[run] = facts
	return r
}
