package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// change decides whether the caller may change a run, steps it, and commits what came of
// it; again from the start when another request was faster. Then it tells the approval
// service what the commit has parked.
func (a *App) change(ctx context.Context, caller Caller, r request) (*Outcome, error) {
	fresh := false
	done, err := retry.Do(ctx, r.subject(), func() (*committed, error) {
		s := a.newScene(caller, r.target, fresh)
		fresh = true
		return s.changeOnce(ctx, caller, r)
	})
	if err != nil {
		return nil, err
	}
	a.tellApprovals(ctx, done.steps, r.settles)
	return done.outcome, nil
}

// changeOnce makes one try. It loses the race when what refuses it may be old.
func (s *scene) changeOnce(ctx context.Context, caller Caller, r request) (*committed, error) {
	d, err := s.decideOn(ctx, r)
	if err != nil {
		return nil, err
	}
	if d.failed != nil {
		return s.answered(ctx, r, d)
	}
	f := newFamily(s.app, caller, s)
	command, err := f.fillIn(ctx, d.aim.At, d.m, r.command)
	if err != nil {
		return nil, err
	}
	stepped := f.step(d.aim.At.Run, d.m, command)
	if stepped.out.Changed {
		if err := f.follow(ctx, stepped, r); err != nil {
			return nil, err
		}
	}
	return f.commit(ctx, d, stepped, r)
}

// answered is what came of a request that fails: the first answer, for a repeat of one
// that did not (S6.5).
func (s *scene) answered(ctx context.Context, r request, d decision) (*committed, error) {
	if d.aim.Asked.Run != nil {
		first, err := s.app.firstAnswer(ctx, runKey(s.namespace, d.aim.Asked.Run.ID), d.name, r.digest)
		if first != nil || err != nil {
			return &committed{outcome: first}, err
		}
	}
	if !s.fresh {
		return nil, &store.ConflictError{}
	}
	return nil, d.failed
}
