package app

import (
	"context"
	"slices"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/halts"
)

// halting reports whether a halt refuses an operation: work does not go on, and what stops, reads or repairs it
// does (S23.42).
func halting(op authority.Op, command workflow.Command) bool {
	if op == authority.Settle {
		_, grants := command.(workflow.Grant)
		return grants
	}
	return authority.Works(op)
}

// halted returns why an operation is refused because of a halt, or nil. run is nil for one that is to be started by a
// definition with the name workflow. The halts are a precondition of the commit.
func (s *scene) halted(ctx context.Context, run *workflow.Run, branch, named string) error {
	all, err := s.readHalts(ctx)
	if err != nil {
		return err
	}
	subject := &halts.Subject{Namespace: s.namespace, Principal: s.by.Principal}
	if named != "" {
		subject.Workflows = []string{named}
	}
	names := []string{s.Who.Session, s.Target.Session}
	if run != nil {
		names = append(names, run.SessionID, run.SessionIn(branch))
		if lane := run.At(branch); s.by.Itself() && lane.Approval != nil {
			subject.Principal = auth.Principal{Name: lane.Approval.Actor} // people have decided, and it acts
		}
	}
	if all.Has(s.namespace, halts.Workflow) {
		if subject.Workflows, err = s.invoking(ctx, run, subject.Workflows); err != nil {
			return err
		}
	}
	if all.Has(s.namespace, halts.OfSessions()...) {
		if err := s.above(ctx, names, subject); err != nil {
			return err
		}
	}
	h := all.Over(subject)
	switch {
	case h == nil:
		return nil
	case !s.fresh: // it may have been lifted
		return &store.ConflictError{Key: all.Check().Key}
	default:
		return h.Refusal()
	}
}

// haltOf returns the halt that stops all work in a run; nil for none.
func (s *scene) haltOf(ctx context.Context, run *workflow.Run) (*halts.Halt, error) {
	if run.Status.Ended() {
		return nil, nil
	}
	all, err := s.readHalts(ctx)
	if err != nil {
		return nil, err
	}
	subject := &halts.Subject{Namespace: s.namespace}
	if all.Has(s.namespace, halts.Workflow) {
		if subject.Workflows, err = s.invoking(ctx, run, nil); err != nil {
			return nil, err
		}
	}
	if all.Has(s.namespace, halts.OfSessions()...) {
		if err := s.above(ctx, []string{run.SessionID}, subject); err != nil {
			return nil, err
		}
	}
	return all.Over(subject), nil
}

// readHalts reads the halts, and makes them a precondition.
func (s *scene) readHalts(ctx context.Context) (*halts.Index, error) {
	read := s.app.halts.Known
	if s.fresh {
		read = s.app.halts.Refresh
	}
	all, err := read(ctx)
	if err == nil && !slices.Contains(s.checks, all.Check()) {
		s.checks = append(s.checks, all.Check())
	}
	return all, err
}

// invoking adds the workflows of a run and of those that have invoked it.
func (s *scene) invoking(ctx context.Context, run *workflow.Run, names []string) ([]string, error) {
	for run != nil {
		names = append(names, run.Workflow)
		if run.Parent == nil {
			break
		}
		var err error
		if run, err = s.known(ctx, run.Parent.RunID); err != nil {
			return nil, err
		}
	}
	return names, nil
}

// above adds sessions with all above them, the agents that they were started from, and their humans.
func (s *scene) above(ctx context.Context, names []string, subject *halts.Subject) error {
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		if name == "" {
			continue
		}
		parent := ""
		if name == s.by.Principal.Session {
			parent = s.by.Principal.Parent
		}
		place, err := s.app.sessions.Place(ctx, s.namespace, name, parent)
		if err != nil {
			return err
		}
		subject.In(place)
		s.rest(place.Checks)
	}
	return nil
}
