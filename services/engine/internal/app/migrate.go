package app

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// defaultPairs are compared for a plan unless the request says otherwise: seconds.
const defaultPairs = 20_000

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

// planKey names a plan: versions never change.
type planKey struct {
	namespace, workflow string
	from, to, pairs     int64
	states              string
}

// PlanMigration returns the new rights that moving runs from one version of a workflow to
// another would give; to 0 is the latest.
func (a *App) PlanMigration(ctx context.Context, caller Caller, name string, from, to int64, states map[string]string, pairs int64) (*migrate.Plan, error) {
	if to == 0 {
		latest, err := a.Workflow(ctx, caller.Namespace, name, 0)
		if err != nil {
			return nil, err
		}
		to = latest.Number
	}
	old, err := a.machine(ctx, caller.Namespace, name, from)
	if err != nil {
		return nil, err
	}
	other, err := a.machine(ctx, caller.Namespace, name, to)
	if err != nil {
		return nil, err
	}
	if err := comparable(old, other, states); err != nil {
		return nil, err
	}
	switch {
	case pairs == 0:
		pairs = defaultPairs
	case pairs > defaultPairs && caller.Principal.Role != auth.Operator:
		return nil, fault.New(fault.PermissionDenied, "only operators may have more than %d pairs compared, as that takes long; ask for max_states %d or less", defaultPairs, defaultPairs)
	}
	key := planKey{caller.Namespace, name, from, to, pairs, string(workflow.StatesData(states).AppendJSON(nil))}
	if plan, ok := a.plans.Get(key); ok {
		return plan, nil
	}
	digests, err := a.digests(ctx, caller.Namespace, name, from, to)
	if err != nil {
		return nil, err
	}
	plan := migrate.New(&migrate.Migration{From: old.Machine, To: other.Machine, Processes: [2]*process.Process{old.Process, other.Process}, States: states, Digests: digests}, explore.Bounds{
		MaxStates: int(pairs), Progress: func(string, int) bool { return ctx.Err() == nil },
	})
	if err := ctx.Err(); err != nil {
		return nil, fault.From(err)
	}
	a.plans.Put(key, &plan, nil)
	return &plan, nil
}

// digests returns those of two versions.
func (a *App) digests(ctx context.Context, namespace, name string, from, to int64) (both [2]string, err error) {
	for i, number := range []int64{from, to} {
		v, err := a.Workflow(ctx, namespace, name, number)
		if err != nil {
			return both, err
		}
		both[i] = v.Digest
	}
	return both, nil
}

// comparable refuses plans by which no run can be moved.
func comparable(old, other definition.Compiled, states map[string]string) error {
	switch {
	case old.Version() == other.Version():
		return fault.New(fault.InvalidRequest, "version %d of workflow %q is the version that the runs have: name another one", other.Version(), other.Name())
	case (old.Process == nil) != (other.Process == nil):
		return fault.New(fault.InvalidRequest, "one of versions %d and %d of %q is a process, and the other is not", old.Version(), other.Version(), other.Name())
	}
	for _, state := range slices.Sorted(maps.Keys(states)) {
		if !old.State(state).Known() {
			hint := new(document.Report).DidYouMean(state, slices.Values(stateNames(old)))
			return fault.New(fault.InvalidRequest, "version %d of workflow %q has no state %q to map%s", old.Version(), old.Name(), state, hint)
		}
		if !other.State(states[state]).Known() {
			hint := new(document.Report).DidYouMean(states[state], slices.Values(stateNames(other)))
			return fault.New(fault.InvalidRequest, "version %d of workflow %q has no state %q to map %q to%s", other.Version(), other.Name(), states[state], state, hint)
		}
	}
	return nil
}

func stateNames(m definition.Compiled) []string {
	var names []string
	for i := range m.Definition().States {
		names = append(names, m.Definition().States[i].Name)
	}
	return names
}

// Migrate moves a run. New rights of a plan, and moves without a plan, are refused unless it
// is accepted.
func (a *App) Migrate(ctx context.Context, caller Caller, req Migration) (*Outcome, error) {
	if _, err := a.readableRun(ctx, caller, req.RunID); err != nil {
		return nil, err
	}
	// A remembered run may be at a version that it has left: another plan would be held against it.
	run, err := a.loadRun(ctx, runKey(caller.Namespace, req.RunID))
	if err != nil {
		return nil, err
	}
	from := run.WorkflowVersion
	r := request{
		op: authority.Migrate, target: Target{RunID: req.RunID}, expected: req.ExpectedVersion, dry: req.DryRun,
		key: requestKey(caller, req.IdempotencyKey, digest("migrate", fmt.Sprint(req.To), string(workflow.StatesData(req.States).AppendJSON(nil)), req.Accept)),
	}
	if req.DryRun {
		r.key.Name = ""
	}
	if first, err := a.firstAnswer(ctx, runKey(caller.Namespace, req.RunID), r.key); first != nil || err != nil {
		return first, err
	}
	if r.to, err = a.machine(ctx, caller.Namespace, run.Workflow, req.To); err != nil {
		return nil, err
	}
	if from != req.To {
		plan, err := a.PlanMigration(ctx, caller, run.Workflow, from, req.To, req.States, 0)
		if err != nil {
			return nil, err
		}
		if err := acceptable(run, plan, req.Accept); err != nil {
			return nil, err
		}
	}
	// The run may have been moved there and back since it was read.
	r.command = workflow.Migrate{From: from, To: r.to.Machine, States: req.States, Unmoved: req.Accept == "", Accepted: req.Accept, Actor: caller.Principal.Name}
	return a.change(ctx, caller, r)
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
	record, version, err := f.app.observed(ctx, key)
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
