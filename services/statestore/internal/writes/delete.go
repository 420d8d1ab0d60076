package writes

import (
	"context"
	"errors"
	"math"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/statestore/internal/member"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/states"
)

// Remover deletes states.
type Remover struct {
	ports    *ports.Ports
	announce Announcer
	states   *states.States
	members  *member.Members
	rights   *member.Rights
	permits  *Permits
}

// NewRemover returns a remover of states.
func NewRemover(p *ports.Ports, announce Announcer, states *states.States, members *member.Members, rights *member.Rights, permits *Permits) *Remover {
	return &Remover{ports: p, announce: announce, states: states, members: members, rights: rights, permits: permits}
}

// Delete removes a state and its history once its root session has ended, or
// by force, which agents have not (S10.8).
func (rm *Remover) Delete(ctx context.Context, caller ports.Caller, id string, expected int64, force bool) error {
	acting, err := rm.rights.Actor(ctx, caller)
	if err != nil {
		return err
	}
	if force && caller.Agent() {
		return fault.New(fault.PermissionDenied, "an agent cannot delete a state by force; an operator can")
	}
	key := ports.StateKey(caller.Namespace, id)
	return rm.members.Contest(ctx, key, "state "+id, func() error {
		st, err := rm.states.Load(ctx, key)
		if err != nil {
			return err
		}
		if acting != nil && !acting.SameTree(st.RootID) {
			return states.Foreign(acting, st)
		}
		if caller.Agent() && acting.ID != st.RootID {
			return fault.New(fault.PermissionDenied, "session %q is not the root of state %s: only the root session or an operator can delete it", ports.Clip(acting.Name), id)
		}
		if err := ports.AtVersion("state "+id, st.Version, expected); err != nil {
			return err
		}
		root, err := rm.members.Load(ctx, member.KeyOf(caller.Namespace, st.RootHome))
		if err != nil {
			return err
		}
		guards, err := rm.permits.mayErase(ctx, caller, acting, st)
		if err != nil {
			return err
		}
		if caller.Agent() { // an operator can clear away what is halted
			unhalted, err := rm.members.Unhalted(ctx, st.Key.Namespace, st.Work(caller, acting))
			if err != nil {
				return err
			}
			guards = append(guards, unhalted)
		}
		return rm.remove(ctx, caller, st, root, force, guards)
	})
}

// remove commits the end of a state. Its root session no longer shares it.
func (rm *Remover) remove(ctx context.Context, caller ports.Caller, st *states.State, root *member.Member, force bool, guards []store.Check) error {
	ended := root.Status == session.Ended
	if !ended && !force {
		return fault.New(fault.FailedPrecondition,
			"the root session %q of state %s has not ended (it is %s); stop it first, or delete the state by force", ports.Clip(root.Name), st.Key.ID, root.Status)
	}
	event, err := rm.announce.StateDeleted(st.Key.Namespace, caller.Principal.Name, st, !ended, rm.ports.Now())
	if err != nil {
		return fault.From(err)
	}
	t := rm.members.NewTree(caller)
	t.Batch = store.Batch{
		Deletes:     []store.Check{{Key: st.Key, Version: st.Version}},
		Forget:      []store.Forget{{Key: st.Key, Through: math.MaxInt64}},
		Events:      []store.Event{event},
		ClearTimers: []store.TimerID{member.RetentionTimer(root)},
		Fence:       &store.Fence{Key: states.LockKey(st.Key), Token: store.Unheld},
		Checks:      guards,
	}
	if force {
		t.Batch.Fence = nil
	}
	if err := t.Apply(ctx, root, root.WithState("", t.Clock)); err != nil {
		return err
	}
	_, err = t.Commit(ctx)
	var locked *store.FencedError
	if errors.As(err, &locked) {
		return states.LockedFault(st.Key.ID, locked, rm.ports.Now())
	}
	if err != nil {
		return err
	}
	rm.states.Drop(st.Key)
	rm.ports.Changes.Wake(st.Key)
	return nil
}

// Expire removes a state whose root session ended long ago, unless that has begun
// again: then its next end sets the time.
func (rm *Remover) Expire(ctx context.Context, timer store.Timer) error {
	st, err := rm.states.Load(ctx, timer.Key)
	if fault.ReasonOf(err) == fault.NotFound {
		return sweep.Clear(ctx, rm.ports.Store, timer.TimerID, store.Check{Key: timer.Key, Version: store.Absent})
	}
	if err != nil {
		return err
	}
	root, err := rm.members.Load(ctx, member.KeyOf(timer.Key.Namespace, st.RootHome))
	if err != nil {
		return err
	}
	while := store.Check{Key: root.Key, Version: root.Version}
	if root.Status != session.Ended || rm.ports.Config.Retention <= 0 {
		return sweep.Clear(ctx, rm.ports.Store, timer.TimerID, while)
	}
	if timer.Due = root.EndedAt.Add(rm.ports.Config.Retention); timer.Due.After(rm.ports.Now()) { // it is kept for longer now
		_, err = rm.ports.Store.Commit(ctx, store.Batch{SetTimers: []store.Timer{timer}, Checks: []store.Check{while}})
	} else {
		err = rm.remove(ctx, ports.System(timer.Key.Namespace), st, root, false, nil)
	}
	if retry.Lost(err) {
		return nil // the next sweep tries again
	}
	return err
}
