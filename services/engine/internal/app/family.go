package app

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// family is the runs that one request changes, in one commit: a run, those that
// it has invoked or cancels, and those that wait for it. They share a shard, so
// nothing can come between a child's end and its parent's step (S5.5).
type family struct {
	app    *App
	caller Caller
	now    time.Time
	steps  []*step
	// passed are runs that were read on the way: they must still be as they were.
	passed []store.Check
}

// step is one run of a family and what came of its command.
type step struct {
	key    store.Key
	before *workflow.Run // nil when it is new
	m      definition.Compiled
	out    workflow.Result
	// branch of the run that the change began in.
	branch string
}

func newFamily(a *App, caller Caller) *family {
	return &family{app: a, caller: caller, now: a.clock().UTC()}
}

func (f *family) step(key store.Key, run *workflow.Run, m definition.Compiled, cmd workflow.Command) *step {
	s := &step{key: key, before: run, m: m, out: m.Step(run, cmd, f.now)}
	f.steps = append(f.steps, s)
	return s
}

// stepOn loads a run and steps it.
func (f *family) stepOn(ctx context.Context, key store.Key, cmd workflow.Command) (*step, error) {
	run, err := f.app.loadRun(ctx, key)
	if err != nil {
		return nil, err
	}
	m, err := f.app.machine(ctx, key.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	return f.step(key, run, m, cmd), nil
}

// locate finds the run that a change is meant for.
func (f *family) locate(ctx context.Context, asked place, c change) (place, error) {
	switch {
	case c.descends:
		return f.descend(ctx, asked)
	case c.family:
		return f.ascend(ctx, asked)
	default:
		return asked, nil
	}
}

// descend finds the run whose rules are in force: the innermost one that was
// invoked.
func (f *family) descend(ctx context.Context, at place) (place, error) {
	for {
		if len(at.run.Children()) == 0 {
			return at, nil
		}
		// What was cached may have gone on since, and its child have ended.
		run, err := f.app.loadRun(ctx, at.key)
		if err != nil {
			return at, err
		}
		at.run = run
		child := at.lane().Child
		if child == nil {
			return at, nil
		}
		f.passed = append(f.passed, store.Check{Key: at.key, Version: run.Version})
		at = place{key: ledger.Run(at.key.Namespace, child.RunID)}
		if at.run, err = f.app.loadRun(ctx, at.key); err != nil {
			return at, err
		}
	}
}

// ascend finds the outermost of the runs that wait for this one.
func (f *family) ascend(ctx context.Context, at place) (place, error) {
	for at.run.Parent != nil && !at.run.Status.Ended() {
		key := ledger.Run(at.key.Namespace, at.run.Parent.RunID)
		parent, err := f.app.loadRun(ctx, key)
		if err != nil {
			return at, err
		}
		if !slices.Contains(parent.Children(), at.run.ID) {
			return at, nil
		}
		at = place{key: key, run: parent}
	}
	return at, nil
}

// follow adds what a change brings about in other runs.
func (f *family) follow(ctx context.Context, s *step, c change) error {
	if c.session != "" {
		s.out.Run.SessionID = c.session
	}
	if c.family {
		for _, id := range s.before.Children() {
			child, err := f.stepOn(ctx, ledger.Run(s.key.Namespace, id), c.command)
			if err != nil {
				return err
			}
			if child.out.Changed {
				if err := f.follow(ctx, child, c); err != nil {
					return err
				}
			}
		}
		return nil
	}
	return f.consequences(ctx, s, "")
}

// consequences are a child that was invoked, those that nobody waits for any
// more, and the run that waited for this one. ended is a child that has ended by
// itself.
func (f *family) consequences(ctx context.Context, s *step, ended string) error {
	if child := s.out.Spawned; child != nil {
		m, err := f.app.machine(ctx, s.key.Namespace, child.Run.Workflow, child.Run.WorkflowVersion)
		if err != nil {
			return err
		}
		f.steps = append(f.steps, &step{key: ledger.Run(s.key.Namespace, child.Run.ID), m: m, out: *child})
	}
	waited := s.out.Run.Children()
	for _, id := range s.before.Children() {
		if id == ended || slices.Contains(waited, id) {
			continue
		}
		if err := f.abandon(ctx, ledger.Run(s.key.Namespace, id)); err != nil {
			return err
		}
	}
	if s.out.Run.Parent == nil || !s.out.Run.Status.Ended() {
		return nil
	}
	return f.tellParent(ctx, s)
}

// abandon cancels a run that nobody waits for any more, and what it has invoked.
func (f *family) abandon(ctx context.Context, key store.Key) error {
	s, err := f.stepOn(ctx, key, workflow.Cancel{Reason: "the run that invoked it has moved on", Actor: f.caller.Principal.Name})
	if err != nil || !s.out.Changed {
		return err
	}
	for _, id := range s.before.Children() {
		if err := f.abandon(ctx, ledger.Run(key.Namespace, id)); err != nil {
			return err
		}
	}
	return nil
}

// tellParent lets the run that waited for a child go on.
func (f *family) tellParent(ctx context.Context, child *step) error {
	key := ledger.Run(child.key.Namespace, child.out.Run.Parent.RunID)
	s, err := f.stepOn(ctx, key, workflow.ChildEnded{Child: child.out.Run, Actor: f.caller.Principal.Name})
	if err != nil || !s.out.Changed {
		return err
	}
	s.branch = s.out.Entry.Branch
	return f.consequences(ctx, s, child.key.ID)
}

// batch is the commit of all steps.
func (f *family) batch() (store.Batch, error) {
	batch := store.Batch{}
	batch.Checks = f.passed
	for _, s := range f.steps {
		switch {
		case s.out.Changed && s.before == nil:
			batch.Puts = append(batch.Puts, runPut(s.key, store.Absent, &s.out))
		case s.out.Changed:
			batch.Puts = append(batch.Puts, runPut(s.key, s.before.Version, &s.out))
			for _, entry := range workflow.EntriesLeft(s.before, &s.out.Run) {
				batch.Reset = append(batch.Reset, ledger.Entry(s.key, entry))
			}
		default:
			batch.Checks = append(batch.Checks, store.Check{Key: s.key, Version: s.before.Version})
		}
		if s.out.Changed {
			batch.SetTimers = append(batch.SetTimers, s.timers(f.now)...)
		}
		if err := f.app.addEvents(&batch, f.caller, s.key, &s.out); err != nil {
			return batch, err
		}
	}
	batch.Checks = slices.DeleteFunc(batch.Checks, func(c store.Check) bool { return f.changed(c.Key) != nil })
	return batch, nil
}

// addTo adds the steps to a batch, and answers the runs that they change.
func (f *family) addTo(batch *store.Batch) ([]*workflow.Run, error) {
	own, err := f.batch()
	if err != nil {
		return nil, err
	}
	batch.Checks = append(batch.Checks, own.Checks...)
	batch.Puts = append(batch.Puts, own.Puts...)
	batch.Reset = append(batch.Reset, own.Reset...)
	batch.Events = append(batch.Events, own.Events...)
	batch.SetTimers = append(batch.SetTimers, own.SetTimers...)
	var runs []*workflow.Run
	for _, s := range f.steps {
		if s.out.Changed {
			runs = append(runs, &s.out.Run)
		}
	}
	return runs, nil
}

// changed is the run as the family leaves it, or nil when it does not change it.
func (f *family) changed(key store.Key) *step {
	for _, s := range f.steps {
		if s.key == key && s.out.Changed {
			return s
		}
	}
	return nil
}

// commit makes the steps durable and answers with the run whose rules are in
// force now. s is the step that was asked for.
func (f *family) commit(ctx context.Context, asked place, s *step, c change) (*Outcome, error) {
	a := f.app
	batch, err := f.batch()
	if err != nil {
		return nil, err
	}
	unbind, err := f.unbind(ctx, s, c)
	if err != nil {
		return nil, err
	}
	if unbind != nil && unbind.Key.Shard(a.store.Shards()) == s.key.Shard(a.store.Shards()) {
		batch.Deletes, unbind = []store.Check{*unbind}, nil
	}
	after, err := f.after(ctx, asked)
	if err != nil {
		return nil, err
	}
	outcome := outcomeOf(&s.out)
	if c.key != "" {
		if batch.Idempotency, err = remembered(asked.key, c.key, c.digest, after, outcome); err != nil {
			return nil, fault.From(err)
		}
	}
	result, err := a.store.Commit(ctx, batch)
	if err != nil {
		if lostRace(err) {
			return nil, err
		}
		// Whatever happened, the snapshots may be old now.
		for _, s := range f.steps {
			a.runs.Drop(s.key)
		}
		return nil, fault.From(err)
	}
	if result.Replayed {
		return a.decodeAnswer(ctx, asked.key.Namespace, result.Answer)
	}
	for _, s := range f.steps {
		if s.out.Changed {
			a.changed(s.key.Namespace, &s.out.Run)
		}
	}
	a.tellApprovals(ctx, f.steps, c.settles)
	if unbind != nil {
		// It is in another shard: the run was resumed from there. Whoever drives the
		// session on was faster.
		if _, err := a.store.Commit(ctx, store.Batch{Deletes: []store.Check{*unbind}}); err != nil && !lostRace(err) {
			return nil, fault.From(err)
		}
	}
	outcome.View, err = f.view(ctx, after)
	return outcome, err
}

// after finds the run whose rules are in force when the steps are taken, seen
// from the run that was asked about.
func (f *family) after(ctx context.Context, asked place) (place, error) {
	at := asked
	var seen []string
	for {
		if slices.Contains(seen, at.key.ID) {
			// What was cached is old: the commit would find out too.
			return at, &store.ConflictError{Key: at.key}
		}
		seen = append(seen, at.key.ID)
		if s := f.changed(at.key); s != nil {
			at.run = &s.out.Run
		} else if at.run == nil || len(at.run.Children()) > 0 {
			var err error
			if at.run, err = f.app.loadRun(ctx, at.key); err != nil {
				return at, err
			}
		}
		if child := at.lane().Child; child != nil {
			at = place{key: ledger.Run(at.key.Namespace, child.RunID)}
			continue
		}
		if at.run.Parent == nil || !at.run.Status.Ended() {
			return at, nil
		}
		parent := f.changed(ledger.Run(at.key.Namespace, at.run.Parent.RunID))
		if parent == nil {
			return at, nil
		}
		branch := parent.branch
		if lane := parent.out.Run.At(branch); lane.Over {
			branch = ""
		}
		at = place{key: parent.key, branch: branch}
	}
}

// view shows a run after the commit. What an entry that has just begun has
// counted is nothing.
func (f *family) view(ctx context.Context, at place) (*View, error) {
	s := f.changed(at.key)
	if s != nil && (s.before == nil || at.lane().Entry > s.before.Entries) {
		return newView(at, s.m), nil
	}
	return f.app.view(ctx, at)
}

// unbind is the delete that frees the session of an agent that has cancelled its
// run, or nil.
func (f *family) unbind(ctx context.Context, s *step, c change) (*store.Check, error) {
	if !c.unbinds || !s.out.Changed || f.caller.Principal.Role != auth.Agent || s.before.SessionID == "" {
		return nil, nil
	}
	binding, err := f.app.binding(ctx, s.key.Namespace, s.before.SessionID)
	if err != nil {
		return nil, err
	}
	if runID, _ := boundTo(binding); runID != s.key.ID {
		return nil, nil
	}
	return &store.Check{Key: binding.Key, Version: binding.Version}, nil
}

// newChild answers the workflow that an event invokes, at its latest version, and
// an id for the run, in the parent's shard. No machine stands for a workflow that
// is not registered (S5.6).
//
// What an agent has registered is no workflow either to one that is not an
// agent's: it could invoke what the agent likes.
func (a *App) newChild(ctx context.Context, parent store.Key, run *workflow.Run, name string) (definition.Compiled, string, error) {
	latest, err := a.Workflow(ctx, parent.Namespace, name, 0)
	if fault.ReasonOf(err) == fault.NotFound {
		return definition.Compiled{}, "", nil
	}
	if err != nil {
		return definition.Compiled{}, "", err
	}
	if latest.Role == auth.Agent {
		invoking, err := a.Workflow(ctx, parent.Namespace, run.Workflow, run.WorkflowVersion)
		if err != nil {
			return definition.Compiled{}, "", err
		}
		if invoking.Role != auth.Agent {
			if claimed, err := a.claimed(ctx, parent.Namespace, latest); err != nil || !claimed {
				return definition.Compiled{}, "", err
			}
		}
	}
	m, err := a.machine(ctx, parent.Namespace, name, latest.Number)
	if err != nil {
		return definition.Compiled{}, "", err
	}
	shards := a.store.Shards()
	id, err := typeid.NewWhere(typeid.Run, func(id string) bool {
		return ledger.Run(parent.Namespace, id).Shard(shards) == parent.Shard(shards)
	})
	if err != nil {
		return definition.Compiled{}, "", fault.From(fmt.Errorf("start the run of %s: %w", name, err))
	}
	return m, id, nil
}
