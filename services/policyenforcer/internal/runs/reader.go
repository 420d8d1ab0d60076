// Package runs reads the run and the sessions that a call belongs to. Its answers may be old; each commit
// checks the versions that a decision rests on.
package runs

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/principal"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// lane names a run and a branch.
type lane struct {
	asked  store.Key
	branch string
}

// Snapshot is a run with its definition, at one version of the run.
type Snapshot struct {
	Run *workflow.View
	*enforcer.Definition
	// Key is the key of the run. Entry owns its counters. Root owns the idempotency keys of calls; runs
	// that invoke each other share it.
	Key, Entry, Root store.Key
	// All are the definitions whose policies apply: the run's own, then those of the runs that have invoked
	// it, from inside out.
	All []*enforcer.Definition
	// Superseded is the run that the session drives now, if that is another.
	Superseded string
	// Unbound marks a stand-in where there is no run: see StandIn.
	Unbound bool
}

// cachedRuns bounds the runs in memory. It is more than agents work on at a time. A miss costs a read,
// which is less than the collection of many unused runs.
const cachedRuns = 16_384

// Reader reads the run and the sessions that a call belongs to.
type Reader struct {
	engine   enforcer.Runs
	sessions enforcer.Sessions

	runs     *snapshot.Cache[lane, *Snapshot]
	ancestry *snapshot.Cache[store.Key, []*enforcer.Definition]
	// places are the last known status of sessions. Commits check it.
	places *snapshot.Cache[placeOf, *sessionread.Place]
}

// NewReader returns a reader of runs from the engine and of sessions. Its caches end with the era of a
// store.
func NewReader(st store.Store, engine enforcer.Runs, sessions enforcer.Sessions) *Reader {
	r := &Reader{
		engine: engine, sessions: sessions,
		runs: snapshot.New[lane, *Snapshot](cachedRuns), ancestry: snapshot.New[store.Key, []*enforcer.Definition](cachedRuns),
		places: snapshot.New[placeOf, *sessionread.Place](65_536),
	}
	for _, forget := range []func(){r.runs.Clear, r.ancestry.Clear, r.places.Clear} {
		st.Gate().OnTurn(forget)
	}
	return r
}

// Caches returns the memory that the caches use.
func (r *Reader) Caches() []snapshot.Use { return []snapshot.Use{r.runs.Use("enforcer_runs")} }

// Load reads the run of a target from the engine, and caches it.
func (r *Reader) Load(ctx context.Context, namespace string, target enforcer.Target) (*Snapshot, error) {
	run, superseded, err := r.engine.Run(ctx, namespace, target)
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, &NoRunError{err}
	}
	if err != nil {
		return nil, err
	}
	s, err := r.Snapshot(ctx, namespace, run)
	if err != nil {
		return nil, err
	}
	s.Superseded = superseded
	if target.RunID != "" {
		r.runs.Put(lane{ledger.Run(namespace, target.RunID), target.Branch}, s, func(old *Snapshot) bool {
			return old.Key == s.Key && old.Run.Version > run.Version
		})
	}
	return s, nil
}

// Snapshot reads the definition and the sessions of a run.
func (r *Reader) Snapshot(ctx context.Context, namespace string, run *workflow.View) (*Snapshot, error) {
	definition, err := r.engine.Definition(ctx, namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, incomplete(run, err)
	}
	above, err := r.Above(ctx, namespace, run)
	if err != nil {
		return nil, incomplete(run, err)
	}
	key := ledger.Run(namespace, run.ID)
	return &Snapshot{
		Run: run, Definition: definition, Key: key, Entry: ledger.Entry(key, run.Entry), Root: ledger.Run(namespace, run.Root()),
		All: append([]*enforcer.Definition{definition}, above...),
	}, nil
}

// deepest bounds the runs above a run. The engine permits fewer.
const deepest = 64

// Above returns the definitions of the runs that have invoked a run, from inside out. They never change.
func (r *Reader) Above(ctx context.Context, namespace string, run *workflow.View) ([]*enforcer.Definition, error) {
	if run.Parent == nil {
		return nil, nil
	}
	key := ledger.Run(namespace, run.ID)
	if all, ok := r.ancestry.Get(key); ok {
		return all, nil
	}
	var all []*enforcer.Definition
	for at := run; at.Parent != nil; {
		if len(all) == deepest {
			return nil, fault.From(fmt.Errorf("run %s is nested more than %d levels deep", run.ID, deepest))
		}
		parent, err := r.engine.Lane(ctx, namespace, at.Parent.RunID, "")
		if err != nil {
			return nil, err
		}
		definition, err := r.engine.Definition(ctx, namespace, parent.Workflow, parent.WorkflowVersion)
		if err != nil {
			return nil, err
		}
		all = append(all, definition)
		at = parent
	}
	r.ancestry.Put(key, all, nil)
	return all, nil
}

// Cached returns a snapshot that may be old, so the commit must check its version. A target that names a
// session is always read from the engine, because its run can change at any moment. So is that of a caller
// who is confined to one session: the engine checks that the run belongs to it.
func (r *Reader) Cached(ctx context.Context, caller enforcer.Caller, target enforcer.Target) (*Snapshot, error) {
	if target.RunID != "" && !principal.Who(caller.Principal).Confined() {
		s, ok := r.runs.Get(lane{ledger.Run(caller.Namespace, target.RunID), target.Branch})
		// A run's version does not show that its session drives another one.
		if ok && !s.Run.Status.Stopped() && !s.Run.Status.Ended() {
			return s, nil
		}
	}
	return r.Load(ctx, caller.Namespace, target)
}

// Machines returns the machines of the run and of the runs that have invoked it.
func (s *Snapshot) Machines() []*workflow.Machine {
	family := make([]*workflow.Machine, len(s.All))
	for i, of := range s.All {
		family[i] = of.Machine
	}
	return family
}

// DeclaresEvidence reports whether the run, or one that has invoked it, declares evidence.
func (s *Snapshot) DeclaresEvidence() bool {
	return slices.ContainsFunc(s.All, func(d *enforcer.Definition) bool { return len(d.Machine.Evidence()) > 0 })
}

// EffectDeadline returns the shortest effect_deadline of the run and of those that have invoked it, or 0 if
// none has one.
func (s *Snapshot) EffectDeadline() (shortest time.Duration) {
	for _, of := range s.All {
		if d := of.Machine.Meta().EffectDeadline; d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest
}
