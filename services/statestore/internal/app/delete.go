package app

import (
	"context"
	"errors"
	"math"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
)

// DeleteState removes a state and its history once its root session has ended, or
// by force, which agents have not (S10.8).
func (a *App) DeleteState(ctx context.Context, caller Caller, id string, expected int64, force bool) error {
	acting, err := a.actor(ctx, caller)
	if err != nil {
		return err
	}
	if force && caller.agent() {
		return fault.New(fault.PermissionDenied, "an agent cannot delete a state by force; an operator can")
	}
	key := stateKey(caller.Namespace, id)
	return a.contest(ctx, key, "state "+id, func() error {
		st, err := a.loadState(ctx, key)
		if err != nil {
			return err
		}
		if acting != nil && !acting.SameTree(st.RootID) {
			return foreign(acting, st)
		}
		if caller.agent() && acting.ID != st.RootID {
			return fault.New(fault.PermissionDenied, "session %q is not the root of state %s: only the root session or an operator can delete it", clip(acting.Name), id)
		}
		if err := atVersion("state "+id, st.Version, expected); err != nil {
			return err
		}
		root, err := a.loadMember(ctx, sessionKey(caller.Namespace, st.RootHome))
		if err != nil {
			return err
		}
		guards, err := a.mayErase(ctx, caller, acting, st)
		if err != nil {
			return err
		}
		return a.removeState(ctx, caller, st, root, force, guards)
	})
}

// removeState commits the end of a state. Its root session no longer shares it.
func (a *App) removeState(ctx context.Context, caller Caller, st *State, root *Member, force bool, guards []store.Check) error {
	ended := root.Status == session.Ended
	if !ended && !force {
		return fault.New(fault.FailedPrecondition,
			"the root session %q of state %s has not ended (it is %s); stop it first, or delete the state by force", clip(root.Name), st.Key.ID, root.Status)
	}
	event, err := a.announce.StateDeleted(st.Key.Namespace, caller.Principal.Name, st, !ended, a.now())
	if err != nil {
		return fault.From(err)
	}
	t := a.newTree(caller)
	t.batch = store.Batch{
		Deletes:     []store.Check{{Key: st.Key, Version: st.Version}},
		Forget:      []store.Forget{{Key: st.Key, Through: math.MaxInt64}},
		Events:      []store.Event{event},
		ClearTimers: []store.TimerID{retentionTimer(root)},
		Fence:       &store.Fence{Key: lockKey(st.Key), Token: store.Unheld},
		Checks:      a.within(st.Key, guards),
	}
	if force {
		t.batch.Fence = nil
	}
	if err := t.apply(ctx, root, root.WithState("", t.clock)); err != nil {
		return err
	}
	_, err = t.commit(ctx)
	var locked *store.FencedError
	if errors.As(err, &locked) {
		return lockedFault(st.Key.ID, locked, a.now())
	}
	if err != nil {
		return err
	}
	a.states.Drop(st.Key)
	a.changes.Wake(st.Key)
	return nil
}
