package app

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/definition"
)

// family is the runs that one request changes, in one commit: a run, those that it has
// invoked or cancels, and those that wait for it. They share a shard, so no change can
// come between a child's end and its parent's step (S5.5).
type family struct {
	app    *Changes
	caller ports.Caller
	now    time.Time
	// scene has the facts that the change was decided on.
	scene *scene
	steps []*step
	// dry is true when it will not be committed.
	dry bool
	// freezable is true when a freeze may stop the steps; kept is the run that may not end because of one.
	freezable bool
	kept      string
	// tree is the digest of the files of treeOf, once it is known; as the caller says where treeOf is empty.
	tree, treeOf string
}

// step is one run of a family and the outcome of its command.
type step struct {
	key    store.Key
	before *workflow.Run // nil when it is new
	m      definition.Compiled
	// from is the definition before a migration.
	from definition.Compiled
	out  workflow.Result
	// branch of the run that the change began in.
	branch string
}

func newFamily(a *Changes, caller ports.Caller, s *scene) *family {
	return &family{app: a, caller: caller, now: a.ports.Clock().UTC(), scene: s}
}

func (f *family) key(runID string) store.Key { return runKey(f.caller.Namespace, runID) }

func (f *family) step(ctx context.Context, run *workflow.Run, m definition.Compiled, cmd workflow.Command) (*step, error) {
	freeze, err := f.freezeOf(ctx, run)
	if err != nil {
		return nil, err
	}
	s := &step{key: f.key(run.ID), before: run, m: m, from: m, out: m.Under(freeze).Step(run, cmd, f.now)}
	f.steps = append(f.steps, s)
	return s, nil
}

// move steps the run that a request is about, and those that this concerns. A run does not end where a freeze stops what
// follows in the run above.
func (f *family) move(ctx context.Context, d decision, command workflow.Command, r request) (*step, error) {
	s, err := f.moveOnce(ctx, d, command, r)
	if !errors.Is(err, errStopped) {
		return s, err
	}
	f.steps, f.kept = nil, d.aim.At.Run.ID
	return f.moveOnce(ctx, d, command, r)
}

func (f *family) moveOnce(ctx context.Context, d decision, command workflow.Command, r request) (*step, error) {
	s, err := f.step(ctx, d.aim.At.Run, d.m, command)
	if err != nil || !s.out.Changed {
		return s, err
	}
	if r.to.Machine != nil {
		s.m = r.to
	}
	return s, f.follow(ctx, s, r)
}

// stepOn steps another run of the family.
func (f *family) stepOn(ctx context.Context, id string, cmd workflow.Command) (*step, error) {
	run, err := f.scene.known(ctx, id)
	if err != nil {
		return nil, err
	}
	m, err := f.app.registry.Machine(ctx, f.caller.Namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	return f.step(ctx, run, m, cmd)
}

// fillIn adds to a command the facts that the core cannot know: the branch that it is
// meant for, the workflow that it would invoke, and the id of the approval that it would
// wait for.
func (f *family) fillIn(ctx context.Context, at authority.Place, m definition.Compiled, cmd workflow.Command) (workflow.Command, error) {
	switch c := cmd.(type) {
	case workflow.Fire:
		c.Branch, c.Lost = at.Branch, at.Lost()
		c.Source = f.caller.Source()
		lane := at.View()
		if lane.Status != workflow.Running {
			return c, nil
		}
		var err error
		if c.Evidence, err = f.evidenceFor(ctx, lane, m, c.Event); err != nil {
			return c, err
		}
		if m.Asks(lane.State, c.Event) {
			return f.readFor(ctx, lane, m, f.askable(&lane, m, c))
		}
		name := m.State(lane.State).Invokes(c.Event)
		if name == "" {
			return c, nil
		}
		child, id, err := f.newChild(ctx, at.Run, name)
		if err != nil || child.Machine == nil {
			return c, err
		}
		freeze, err := f.scene.freezeOf(ctx, at.Run, name)
		c.Child, c.ChildID = child.Under(freeze), id
		return c, err
	case workflow.Grant:
		lane, waits := at.Run.Asking(c.ApprovalID)
		if !waits {
			return c, nil
		}
		moved, err := f.moved(ctx, lane)
		if err != nil {
			return c, err
		}
		if moved != "" {
			return workflow.Reject{
				ApprovalID: c.ApprovalID, Outcome: workflow.ApprovalStale, Actor: c.Actor,
				Note: "the basis of its decision has changed: " + moved + "; it can be asked again",
			}, nil
		}
		c.Evidence, err = f.evidenceFor(ctx, lane, m, lane.Approval.Event)
		return c, err
	case workflow.Force:
		c.Branch, c.Lost = at.Branch, at.Lost()
		c.Source = f.caller.Source()
		return c, nil
	case workflow.Divert:
		c.Branch, c.Lost = at.Branch, at.Lost()
		return c, nil
	case workflow.Elapse:
		var err error
		if c.Due.Kind == workflow.DueAfter {
			c.Evidence, err = f.evidenceFor(ctx, at.Run.At(c.Due.Branch), m, c.Due.Event)
		}
		return c, err
	default:
		return cmd, nil
	}
}

// notAsked stands for the approval that a dry run would ask for.
const notAsked = "dry_run"

// askable gives an event the id of the approval that it may have to wait for, or says why
// that could never be granted.
func (f *family) askable(lane *workflow.View, m definition.Compiled, fire workflow.Fire) workflow.Fire {
	if f.app.ports.Approvals == nil {
		fire.Unasked = "this engine has no approval service to ask"
		return fire
	}
	asker := consent.Asker{Principal: f.caller.Principal.Name, Person: f.caller.Principal.Person}
	facts := facet.OfEvent(facet.Event{Data: fire.Data, Actor: asker.Principal, State: lane.State, Workflow: lane.Workflow})
	if err := m.ApprovalFor(facts).Check(asker); err != nil {
		fire.Unasked = "only you could grant it: " + err.Error()
		return fire
	}
	fire.ApprovalID = notAsked
	if !f.dry {
		fire.ApprovalID = typeid.New(typeid.Approval)
	}
	return fire
}

// newChild returns the workflow that an event invokes, at its live version, and
// an id for the run, in the parent's shard. No machine stands for a workflow that
// is not registered (S5.6).
//
// A workflow of an agent may not be invoked from one that is not an agent's: the agent
// could change it at will.
func (f *family) newChild(ctx context.Context, run *workflow.Run, name string) (definition.Compiled, string, error) {
	a, namespace := f.app, f.caller.Namespace
	if err := f.scene.halted(ctx, run, "", name); err != nil {
		return definition.Compiled{}, "", err
	}
	latest, err := a.registry.Workflow(ctx, namespace, name, 0)
	if fault.ReasonOf(err) == fault.NotFound {
		return definition.Compiled{}, "", nil
	}
	if err != nil {
		return definition.Compiled{}, "", err
	}
	if err := registry.Startable(latest); err != nil {
		return definition.Compiled{}, "", err
	}
	if latest.Role.Drives() {
		invoking, err := a.registry.Workflow(ctx, namespace, run.Workflow, run.WorkflowVersion)
		if err != nil {
			return definition.Compiled{}, "", err
		}
		if !invoking.Role.Drives() {
			if claimed, err := a.registry.Claimed(ctx, namespace, latest); err != nil || !claimed {
				return definition.Compiled{}, "", err
			}
		}
	}
	m, err := a.registry.Machine(ctx, namespace, name, latest.Number)
	if err != nil {
		return definition.Compiled{}, "", err
	}
	if err := a.registry.HavePolicies(ctx, namespace, name, m.Meta().Policies); err != nil {
		return definition.Compiled{}, "", err
	}
	shards := a.ports.Store.Shards()
	id, err := typeid.NewWhere(typeid.Run, func(id string) bool {
		return f.key(id).Shard(shards) == f.key(run.ID).Shard(shards)
	})
	if err != nil {
		return definition.Compiled{}, "", fault.From(fmt.Errorf("start the run of %s: %w", name, err))
	}
	return m, id, nil
}

// follow adds the effects of a change on other runs.
func (f *family) follow(ctx context.Context, s *step, r request) error {
	if r.session != "" {
		s.out.Run.SessionID, s.out.Entry.SessionID = r.session, r.session
	}
	switch r.command.(type) {
	case workflow.Pause, workflow.Resume: // which go to the whole family
	default:
		return f.consequences(ctx, s, "")
	}
	for _, id := range s.before.Children() {
		child, err := f.stepOn(ctx, id, r.command)
		if err != nil {
			return err
		}
		if child.out.Changed {
			if err := f.follow(ctx, child, r); err != nil {
				return err
			}
		}
	}
	return nil
}

// consequences returns a child that was invoked, those no longer awaited, and the run
// that waited for this one. ended is a child that has ended by itself.
func (f *family) consequences(ctx context.Context, s *step, ended string) error {
	if child := s.out.Spawned; child != nil {
		m, err := f.app.registry.Machine(ctx, s.key.Namespace, child.Run.Workflow, child.Run.WorkflowVersion)
		if err != nil {
			return err
		}
		f.steps = append(f.steps, &step{key: f.key(child.Run.ID), m: m, out: *child})
	}
	waited := s.out.Run.Children()
	for _, id := range s.before.Children() {
		if id == ended || slices.Contains(waited, id) {
			continue
		}
		if err := f.abandon(ctx, id); err != nil {
			return err
		}
	}
	if s.out.Run.Parent == nil || !s.out.Run.Status.Ended() {
		return nil
	}
	return f.tellParent(ctx, s)
}

// abandon cancels a run that is no longer awaited, and its invoked runs.
func (f *family) abandon(ctx context.Context, id string) error {
	s, err := f.stepOn(ctx, id, workflow.Cancel{Reason: "the run that invoked it has moved on", Actor: f.caller.Principal.Name})
	if err != nil || !s.out.Changed {
		return err
	}
	for _, id := range s.before.Children() {
		if err := f.abandon(ctx, id); err != nil {
			return err
		}
	}
	return nil
}

// tellParent lets the run that waited for a child continue.
func (f *family) tellParent(ctx context.Context, child *step) error {
	s, err := f.stepOn(ctx, child.out.Run.Parent.RunID, workflow.ChildEnded{Child: child.out.Run, Actor: f.caller.Principal.Name})
	switch {
	case err == nil && s.out.Rejection != nil && s.out.Rejection.Code == workflow.RejectFrozen:
		return errStopped
	case err != nil || !s.out.Changed:
		return err
	}
	s.branch = s.out.Entry.Branch
	return f.consequences(ctx, s, child.key.ID)
}

// stepOf returns the step that changes a run, or nil when none does.
func (f *family) stepOf(runID string) *step {
	for _, s := range f.steps {
		if s.key.ID == runID && s.out.Changed {
			return s
		}
	}
	return nil
}

// runs returns those that the steps change.
func (f *family) runs() []*workflow.Run {
	var runs []*workflow.Run
	for _, s := range f.steps {
		if s.out.Changed {
			runs = append(runs, &s.out.Run)
		}
	}
	return runs
}

// after finds the run whose rules are in force when the steps are taken, seen
// from the run that was asked about.
func (f *family) after(ctx context.Context, asked authority.Place) (authority.Place, error) {
	at := asked
	var seen []string
	for id := asked.Run.ID; ; {
		if slices.Contains(seen, id) {
			// The cached record is old: the commit would find out too.
			return at, &store.ConflictError{Key: f.key(id)}
		}
		seen = append(seen, id)
		if s := f.stepOf(id); s != nil {
			at.Run = &s.out.Run
		} else {
			var err error
			if at.Run, err = f.scene.known(ctx, id); err != nil {
				return at, err
			}
		}
		if child := at.View().Child; child != nil {
			id, at = child.RunID, authority.Place{}
			continue
		}
		if at.Run.Parent == nil || !at.Run.Status.Ended() {
			return at, nil
		}
		parent := f.stepOf(at.Run.Parent.RunID)
		if parent == nil {
			return at, nil
		}
		branch := parent.branch
		if parent.out.Run.At(branch).Over {
			branch = ""
		}
		id, at = parent.key.ID, authority.Place{Branch: branch}
	}
}
