package app

import (
	"context"
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
)

// scene has the facts that a decision depends on, with the versions that it was read at:
// each is a precondition of the commit that follows, so that no decision outlives its
// facts.
type scene struct {
	authority.Scene
	app       *Changes
	by        ports.Caller
	namespace string
	// fresh: no run is from the cache. A refusal stands only if the scene is fresh.
	fresh    bool
	checks   []store.Check
	bindings map[string]store.Record
}

// newScene begins with the objects that the request names; the rest is read as decisions
// ask for it.
func (ch *Changes) newScene(caller ports.Caller, target ports.Target, fresh bool) *scene {
	return &scene{
		Scene: authority.Scene{
			Who:    caller.Who(),
			Target: authority.Target{RunID: target.RunID, Session: target.SessionID, Branch: target.Branch},
		},
		app: ch, by: caller, namespace: caller.Namespace, fresh: fresh, bindings: map[string]store.Record{},
	}
}

// decide asks for a decision until all that it depends on was read. It returns why it is
// refused, or nil.
func (s *scene) decide(ctx context.Context, ask func() *authority.Refusal) (*authority.Refusal, error) {
	for {
		refusal := ask()
		if refusal == nil || refusal.Need == nil {
			return refusal, nil
		}
		if err := s.read(ctx, *refusal.Need); err != nil {
			return nil, err
		}
	}
}

// aim finds the object of an operation.
func (s *scene) aim(ctx context.Context, op authority.Op) (aim authority.Aim, refusal *authority.Refusal, err error) {
	refusal, err = s.decide(ctx, func() *authority.Refusal {
		var refusal *authority.Refusal
		aim, refusal = s.Aim(op)
		return refusal
	})
	return aim, refusal, err
}

// permit decides whether the caller may carry an operation out.
func (s *scene) permit(ctx context.Context, op authority.Op, aim authority.Aim) (*authority.Refusal, error) {
	refusal, err := s.decide(ctx, func() *authority.Refusal { return s.Permit(op, aim) })
	if refusal != nil || err != nil || !authority.Works(op) || s.Who.Role != authority.Agent {
		return refusal, err
	}
	counts, err := s.app.sessions.Counts(ctx, s.by.Principal)
	if err != nil {
		return nil, err
	}
	s.rest(counts)
	sessions := []string{s.Who.Session, s.Target.Session}
	if run := aim.At.Run; run != nil {
		sessions = append(sessions, run.SessionID, run.SessionIn(aim.At.Branch))
	}
	slices.Sort(sessions)
	for _, session := range slices.Compact(sessions) {
		ended, err := s.readEnd(ctx, session)
		if ended || err != nil {
			return authority.HasEnded(session), err
		}
	}
	return nil, nil
}

// end is whether a session had ended when that was read.
type end struct {
	ended  bool
	checks []store.Check
}

// readEnd reads whether a session has ended, as the state-store has it: the binding learns of
// that later (S11.6). From memory only where the commit checks it.
func (s *scene) readEnd(ctx context.Context, session string) (bool, error) {
	if session == "" {
		return false, nil
	}
	key := bindingKey(s.namespace, session)
	known, ok := s.app.ended.Get(key)
	if !ok || s.fresh {
		var err error
		if known.ended, known.checks, err = s.app.sessions.Ended(ctx, s.namespace, session); err != nil {
			return false, err
		}
		s.app.ended.Put(key, known, nil)
	}
	s.rest(known.checks)
	return known.ended, nil
}

// rest makes checks preconditions of the commit.
func (s *scene) rest(on []store.Check) {
	for _, check := range on {
		if !slices.Contains(s.checks, check) {
			s.checks = append(s.checks, check)
		}
	}
}

// read adds the facts that a decision lacks.
func (s *scene) read(ctx context.Context, need authority.Need) error {
	switch {
	case need.RunID != "":
		return s.readRun(ctx, need.RunID)
	case need.Session != "":
		return s.readBinding(ctx, need.Session)
	case need.Above:
		place, err := s.app.sessions.Place(ctx, s.namespace, s.Who.Session, s.by.Principal.Parent)
		if err != nil {
			return err
		}
		s.Above = place.Above
		s.rest(place.Checks)
	}
	s.AboveKnown = true
	return nil
}

func (s *scene) readRun(ctx context.Context, id string) error {
	key := runKey(s.namespace, id)
	load := s.app.runs.cached
	if s.fresh {
		load = s.app.runs.load
	}
	run, err := load(ctx, key)
	if fault.ReasonOf(err) == fault.NotFound {
		s.Absent = append(s.Absent, id)
		s.checks = append(s.checks, store.Check{Key: key, Version: store.Absent})
		return nil
	}
	if err != nil {
		return err
	}
	return s.add(ctx, run)
}

// add adds a run that was read, with the rules of its definition.
func (s *scene) add(ctx context.Context, run *workflow.Run) error {
	m, err := s.app.registry.Machine(ctx, s.namespace, run.Workflow, run.WorkflowVersion)
	if err != nil {
		return err
	}
	node := authority.Node{Run: run, Enforcement: m.Enforcement(), Process: m.Process != nil}
	if s.Offer != nil {
		v, err := s.app.registry.Workflow(ctx, s.namespace, run.Workflow, run.WorkflowVersion)
		if err != nil {
			return err
		}
		node.Digest = v.Digest
	}
	s.Runs = append(s.Runs, node)
	s.checks = append(s.checks, store.Check{Key: runKey(s.namespace, run.ID), Version: run.Version})
	return nil
}

func (s *scene) readBinding(ctx context.Context, session string) error {
	record, err := s.app.runs.binding(ctx, s.namespace, session)
	if err != nil {
		return err
	}
	s.bindings[session] = record
	s.Bindings = append(s.Bindings, boundTo(record))
	s.checks = append(s.checks, store.Check{Key: record.Key, Version: record.Version})
	return nil
}

// driven returns the run that a session drives, or nil; and its binding. See
// authority.Whole.
func (s *scene) driven(ctx context.Context, session string) (binding authority.Binding, run *workflow.Run, err error) {
	if _, read := s.bindings[session]; !read {
		if err := s.readBinding(ctx, session); err != nil {
			return binding, nil, err
		}
	}
	binding = boundTo(s.bindings[session])
	if binding.RunID == "" {
		return binding, nil, nil
	}
	if run, err = s.known(ctx, binding.RunID); err != nil {
		return binding, nil, err
	}
	root, err := s.known(ctx, run.Root())
	if err != nil {
		return binding, nil, err
	}
	binding, run = authority.Whole(binding, run, root)
	return binding, run, nil
}

// known returns a run that there must be.
func (s *scene) known(ctx context.Context, id string) (*workflow.Run, error) {
	if run := s.find(id); run != nil {
		return run, nil
	}
	if err := s.readRun(ctx, id); err != nil {
		return nil, err
	}
	if run := s.find(id); run != nil {
		return run, nil
	}
	return nil, fault.From(fmt.Errorf("run %s is named by another record, and there is no such run", id))
}

// find returns a run that was read, or nil.
func (s *scene) find(id string) *workflow.Run {
	i := slices.IndexFunc(s.Runs, func(n authority.Node) bool { return n.Run.ID == id })
	if i < 0 {
		return nil
	}
	return s.Runs[i].Run
}

// addChecks adds the scene's preconditions to a batch. A record that the batch writes has its
// precondition there, which must be the version that the decision was made on.
func (s *scene) addChecks(batch *store.Batch) error {
	for _, check := range s.checks {
		if err := addCheck(batch, check); err != nil {
			return err
		}
	}
	return nil
}

// addCheck adds a precondition on a record, but where the batch has it already.
func addCheck(batch *store.Batch, check store.Check) error {
	expected := check.Version
	switch i := slices.IndexFunc(batch.Puts, func(p store.Put) bool { return p.Key == check.Key }); {
	case i >= 0:
		expected = batch.Puts[i].Expect
	case slices.Contains(batch.Checks, check) || slices.Contains(batch.Deletes, check):
	default:
		batch.Checks = append(batch.Checks, check)
	}
	if expected != check.Version {
		return &store.ConflictError{Key: check.Key, Want: check.Version, Have: expected}
	}
	return nil
}
