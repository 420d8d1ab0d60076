package policystore

import (
	"context"
	"errors"
	"slices"

	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Found returns the snapshot of a target. For a session without a run it returns a stand-in, if policies
// apply to the session or the caller denies the call itself.
func (st *Store) Found(
	ctx context.Context, caller enforcer.Caller, target enforcer.Target, deniedByCaller bool, look func(context.Context, enforcer.Caller, enforcer.Target) (*runs.Snapshot, error),
) (*runs.Snapshot, error) {
	s, noRun := look(ctx, caller, target)
	if !errors.As(noRun, new(*runs.NoRunError)) || target.RunID != "" || target.SessionID == "" {
		return s, noRun
	}
	if deniedByCaller {
		return runs.StandIn(caller.Namespace, target.SessionID), nil
	}
	held, err := st.heldWithoutRun(ctx, caller, target.SessionID)
	switch {
	case err != nil:
		return nil, err
	case !held:
		return nil, noRun
	default:
		return runs.StandIn(caller.Namespace, target.SessionID), nil
	}
}

// heldWithoutRun reports whether policies apply to the caller, the session or one above it without a run,
// or the session has ended.
func (st *Store) heldWithoutRun(ctx context.Context, caller enforcer.Caller, session string) (bool, error) {
	index, err := st.known(ctx, caller.Namespace)
	if err != nil {
		return false, err
	}
	// The index may be old, and no commit checks it.
	if err := runs.CheckUnchanged(ctx, st.store, index.Check()); err != nil {
		if index, err = st.Refresh(ctx, caller.Namespace); err != nil {
			return false, err
		}
	}
	if len(index.attachedTo(AttachedToRole, string(caller.Principal.Role))) > 0 {
		return true, nil
	}
	// No commit checks the answer.
	place, err := st.runs.Place(ctx, caller, session, true)
	if err != nil {
		return false, err
	}
	attached := func(above string) bool { return len(index.attachedTo(AttachedToSession, above)) > 0 }
	return runs.HeldBySession(place) || slices.ContainsFunc(place.Names, attached), nil
}
