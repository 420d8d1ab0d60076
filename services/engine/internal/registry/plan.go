package registry

import (
	"context"
	"maps"
	"slices"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// DefaultPairs are compared for a plan unless the request says otherwise: seconds.
const DefaultPairs = 20_000

// planKey names a plan: versions never change.
type planKey struct {
	namespace, workflow string
	from, to, pairs     int64
	states              string
}

// PlanMigration returns the new rights that moving runs from one version of a workflow to
// another would give; to 0 is the latest.
func (reg *Registry) PlanMigration(ctx context.Context, caller ports.Caller, name string, from, to int64, states map[string]string, pairs int64) (*migrate.Plan, error) {
	if to == 0 {
		latest, err := reg.Workflow(ctx, caller.Namespace, name, 0)
		if err != nil {
			return nil, err
		}
		to = latest.Number
	}
	old, err := reg.Machine(ctx, caller.Namespace, name, from)
	if err != nil {
		return nil, err
	}
	other, err := reg.Machine(ctx, caller.Namespace, name, to)
	if err != nil {
		return nil, err
	}
	if err := comparable(old, other, states); err != nil {
		return nil, err
	}
	switch {
	case pairs == 0:
		pairs = DefaultPairs
	case pairs > DefaultPairs && caller.Principal.Role != auth.Operator:
		return nil, fault.New(fault.PermissionDenied, "only operators may have more than %d pairs compared, as that takes long; ask for max_states %d or less", DefaultPairs, DefaultPairs)
	}
	key := planKey{caller.Namespace, name, from, to, pairs, string(workflow.StatesData(states).AppendJSON(nil))}
	if plan, ok := reg.plans.Get(key); ok {
		return plan, nil
	}
	digests, err := reg.digests(ctx, caller.Namespace, name, from, to)
	if err != nil {
		return nil, err
	}
	plan := migrate.New(&migrate.Migration{From: old.Machine, To: other.Machine, Processes: [2]*process.Process{old.Process, other.Process}, States: states, Digests: digests}, explore.Bounds{
		MaxStates: int(pairs), Progress: func(string, int) bool { return ctx.Err() == nil },
	})
	if err := ctx.Err(); err != nil {
		return nil, fault.From(err)
	}
	reg.plans.Put(key, &plan, nil)
	return &plan, nil
}

// digests returns those of two versions.
func (reg *Registry) digests(ctx context.Context, namespace, name string, from, to int64) (both [2]string, err error) {
	for i, number := range []int64{from, to} {
		v, err := reg.Workflow(ctx, namespace, name, number)
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
