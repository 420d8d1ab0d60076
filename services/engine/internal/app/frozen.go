package app

import (
	"context"
	"errors"

	"github.com/interlock-run/interlock/pkg/workflow"
)

// freezeOf returns the freeze that a run is under, or nil; with a name that of the run of a workflow which it invokes. run is nil
// for one that is to be started. The halts, which have the freezes, are a precondition of the commit.
func (s *scene) freezeOf(ctx context.Context, run *workflow.Run, named string) (*workflow.Freeze, error) {
	all, err := s.readHalts(ctx)
	now := s.app.ports.Clock().UTC()
	if err != nil || !all.Freezes(s.namespace, now) {
		return nil, err
	}
	var names []string
	if named != "" {
		names = append(names, named)
	}
	if names, err = s.invoking(ctx, run, names); err != nil {
		return nil, err
	}
	return all.FreezeOf(s.namespace, names, now).Freeze(), nil
}

// errStopped: a freeze stops what the end of a run leads to in the run that waits for it.
var errStopped = errors.New("the run above may not go on")

// freezeOf returns the freeze that a step of a run is under, or nil.
func (f *family) freezeOf(ctx context.Context, run *workflow.Run) (*workflow.Freeze, error) {
	if !f.freezable {
		return nil, nil
	}
	freeze, err := f.scene.freezeOf(ctx, run, "")
	if freeze != nil {
		freeze.KeepsEnd = f.kept == run.ID
	}
	return freeze, err
}
