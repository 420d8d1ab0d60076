package policystore

import (
	"context"
	"errors"
	"slices"

	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// LoadOrStandIn returns the snapshot of a target. For a session without a run it returns a stand-in, if policies
// apply to the session, or if it is wanted anyway: the caller denies the call itself, or observes.
func (st *Store) LoadOrStandIn(
	ctx context.Context, caller enforcer.Caller, target enforcer.Target, anyway bool, look func(context.Context, enforcer.Caller, enforcer.Target) (*runs.Snapshot, error),
) (*runs.Snapshot, error) {
	s, noRun := look(ctx, caller, target)
	if !errors.As(noRun, new(*runs.NoRunError)) || target.RunID != "" || target.SessionID == "" {
		return s, noRun
	}
	if anyway {
		if _, err := st.current(ctx, caller.Namespace); err != nil {
			return nil, err
		}
		return runs.StandIn(caller.Namespace, target.SessionID), nil
	}
	judged, err := st.judgedWithoutRun(ctx, caller, target.SessionID)
	switch {
	case err != nil:
		return nil, err
	case !judged:
		return nil, noRun
	default:
		return runs.StandIn(caller.Namespace, target.SessionID), nil
	}
}

// judgedWithoutRun reports whether policies or halts apply to the caller, the session or one above it without a
// run, or the session has ended.
func (st *Store) judgedWithoutRun(ctx context.Context, caller enforcer.Caller, session string) (bool, error) {
	index, err := st.current(ctx, caller.Namespace)
	if err != nil {
		return false, err
	}
	// No commit checks the answer.
	place, err := st.runs.Place(ctx, caller, session, true)
	if err != nil {
		return false, err
	}
	if own := caller.Principal.Session; own != "" {
		of := place
		if own != session {
			if of, err = st.runs.Place(ctx, caller, own, true); err != nil {
				return false, err
			}
		}
		only, err := of.Standing(caller.Principal)
		if err != nil || len(only) > 0 {
			return true, err
		}
	}
	held := len(index.attachedTo(AttachedToRole, string(caller.Principal.Role))) > 0
	index.ofCaller(caller.Principal, enforcer.OnBehalf(place.Human.Read(), caller, st.clock()).People(), st.clock(), func(_ AttachmentKind, _ string, names ...string) {
		held = held || len(names) > 0
	})
	if held {
		return true, nil
	}
	_, halted, err := st.HaltedNow(ctx, caller, runs.StandIn(caller.Namespace, session), &runs.Status{Place: *place}, "")
	if halted != nil || err != nil {
		return true, err
	}
	attached := func(above string) bool { return len(index.attachedTo(AttachedToSession, above)) > 0 }
	started := func(from sessionread.Agent) bool { return len(index.attachedTo(AttachedToAgent, from.Name)) > 0 }
	return runs.JudgedBySession(place) || slices.ContainsFunc(place.Names, attached) || slices.ContainsFunc(place.Agents, started), nil
}

// current returns the index of policies as it is stored. No commit checks that no policy applies, and a stand-in is not read
// again.
func (st *Store) current(ctx context.Context, namespace string) (*Index, error) {
	index, err := st.known(ctx, namespace)
	if err != nil {
		return nil, err
	}
	if err := runs.CheckUnchanged(ctx, st.store, index.Check()); err != nil {
		return st.Refresh(ctx, namespace)
	}
	return index, nil
}
