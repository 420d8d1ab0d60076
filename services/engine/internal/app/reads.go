package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/authority"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/internal/retry"

	"github.com/interlock-run/interlock/services/engine/internal/registry"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// Reads reads runs, their versions and their history.
type Reads struct {
	ports    *ports.Ports
	registry *registry.Registry
	runs     *Runs
	views    *Views
	changes  *Changes
	past     *snapshot.Cache[checkpoint, *workflow.Run]

	pageBytes, looked int // see the constants; less in tests
}

func newReads(p *ports.Ports, registry *registry.Registry, runs *Runs, views *Views, changes *Changes) *Reads {
	rd := &Reads{
		ports: p, registry: registry, runs: runs, views: views, changes: changes,
		past: snapshot.New[checkpoint, *workflow.Run](pastCacheBytes), pageBytes: pageBytes, looked: looked,
	}
	p.Store.Gate().OnTurn(rd.past.Clear)
	return rd
}

// Get returns a run as it is now; with active the one whose rules are in force
// instead, the innermost that it has invoked. Asked by session it is always that.
func (rd *Reads) Get(ctx context.Context, caller ports.Caller, target ports.Target, active bool) (*View, error) {
	return retry.Do(ctx, "what was asked for", func() (*View, error) {
		return rd.get(ctx, caller, target, active || target.RunID == "")
	})
}

// get reads records that must be of one moment; a conflict says that it is not.
func (rd *Reads) get(ctx context.Context, caller ports.Caller, target ports.Target, active bool) (*View, error) {
	s := rd.changes.newScene(caller, target, true)
	aim, refusal, err := s.aim(ctx, authority.Read)
	if err != nil {
		return nil, err
	}
	if refusal != nil {
		return nil, ports.Refused(refusal)
	}
	at := aim.Asked
	if target.RunID == "" && at.Run.Status != workflow.Running {
		// The session may have loaded another run, and paused this one, in between: the
		// tools of this one are not open to the session.
		if err := s.unmoved(ctx); err != nil {
			return nil, err
		}
	}
	if active {
		refusal, err := s.decide(ctx, func() (refusal *authority.Refusal) {
			at, refusal = s.Innermost(aim.Asked)
			return refusal
		})
		switch {
		case err != nil:
			return nil, err
		case refusal != nil:
			return nil, ports.Refused(refusal)
		case at.Run != aim.Asked.Run && at.Run.Status.Ended():
			// It has ended since its parent was read, which has moved on.
			return nil, &store.ConflictError{Key: runKey(caller.Namespace, aim.Asked.Run.ID)}
		}
	}
	view, err := rd.views.of(ctx, caller.Namespace, at.View(), "")
	if err != nil {
		return nil, err
	}
	if view.Freeze, err = s.freezeOf(ctx, view.Run, ""); err != nil {
		return nil, err
	}
	if view.Halt, err = s.haltOf(ctx, view.Run); err != nil {
		return nil, err
	}
	view.AskedID = aim.Asked.Run.ID
	if target.RunID != "" {
		view.SupersededBy, err = s.supersededBy(ctx, view.Run)
	}
	return view, err
}

// unmoved returns a conflict when a session is bound otherwise than the scene has it.
func (s *scene) unmoved(ctx context.Context) error {
	for session, was := range s.bindings {
		now, err := s.app.runs.binding(ctx, s.namespace, session)
		if err != nil {
			return err
		}
		if now.Version != was.Version {
			return &store.ConflictError{Key: now.Key, Want: was.Version, Have: now.Version}
		}
	}
	return nil
}

// supersededBy returns the run that is driven instead of one, or empty.
func (s *scene) supersededBy(ctx context.Context, run *workflow.Run) (string, error) {
	if !run.Status.Stopped() && !run.Status.Ended() {
		return "", nil
	}
	root, err := s.known(ctx, run.Root())
	if err != nil {
		return "", err
	}
	var now *workflow.Run
	if root.SessionID != "" {
		if _, now, err = s.driven(ctx, root.SessionID); err != nil {
			return "", err
		}
	}
	return authority.SupersededBy(run, root, now), nil
}

// mayRead refuses a caller whose token is bound a run that is neither of its session nor
// of the family of runs that it works in.
func (rd *Reads) mayRead(ctx context.Context, caller ports.Caller, run *workflow.Run) error {
	driven, err := rd.ownRun(ctx, caller)
	if err != nil {
		return err
	}
	if refusal := caller.Who().MayRead(run, driven); refusal != nil {
		return ports.Refused(refusal)
	}
	return nil
}

// ownRun returns the run that the session of a caller's token drives, or nil.
func (rd *Reads) ownRun(ctx context.Context, caller ports.Caller) (*workflow.Run, error) {
	if caller.Principal.Session == "" {
		return nil, nil
	}
	s := rd.changes.newScene(caller, ports.Target{}, true)
	_, run, err := s.driven(ctx, caller.Principal.Session)
	return run, err
}

// readableRun returns a run by its id, as far as the caller may see it.
func (rd *Reads) readableRun(ctx context.Context, caller ports.Caller, runID string) (*workflow.Run, error) {
	run, err := rd.runs.cached(ctx, runKey(caller.Namespace, runID))
	if fault.ReasonOf(err) == fault.NotFound {
		return nil, ports.Refused(caller.Who().Unseen(runID))
	}
	if err != nil {
		return nil, err
	}
	return run, rd.mayRead(ctx, caller, run)
}
