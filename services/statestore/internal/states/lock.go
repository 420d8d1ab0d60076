package states

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"

	"github.com/interlock-run/interlock/services/statestore/internal/member"
)

// LockAnnouncer turns a change of a lock into the event that is committed with it.
type LockAnnouncer interface {
	StateLocked(namespace, actor, stateID string, lease store.Lease, locked bool, at time.Time) (store.Event, error)
}

// Locks leases states to writers.
type Locks struct {
	ports    *ports.Ports
	announce LockAnnouncer
	states   *States
	members  *member.Members
	rights   *member.Rights
}

// NewLocks returns the locks on states.
func NewLocks(p *ports.Ports, announce LockAnnouncer, states *States, members *member.Members, rights *member.Rights) *Locks {
	return &Locks{ports: p, announce: announce, states: states, members: members, rights: rights}
}

// Lock takes the lock on a state for a holder, or with a token renews it (S10.5). A
// repeat, by the same holder with the same key, takes it anew.
func (ls *Locks) Lock(ctx context.Context, caller ports.Caller, id, holder string, ttl time.Duration, token int64, key string) (store.Lease, error) {
	return retry.Do(ctx, "the lock on state "+id, func() (store.Lease, error) {
		return ls.take(ctx, caller, id, holder, ttl, token, key)
	})
}

func (ls *Locks) take(ctx context.Context, caller ports.Caller, id, holder string, ttl time.Duration, token int64, key string) (store.Lease, error) {
	st, acting, err := ls.lockable(ctx, caller, id)
	if err != nil {
		return store.Lease{}, err
	}
	unhalted, err := ls.members.Unhalted(ctx, st.Key.Namespace, st.Work(caller, acting))
	if err != nil {
		return store.Lease{}, err
	}
	of := LockKey(st.Key)
	if token != 0 {
		lease, err := ls.ports.Store.RenewLease(ctx, store.Lease{Key: of, Holder: holder, Token: token}, ttl)
		if errors.Is(err, store.ErrFenced) {
			return lease, fencedFault(st.Key.ID)
		}
		if err != nil {
			return lease, fault.From(err)
		}
		_, err = ls.ports.Commit(ctx, caller.Principal, store.Batch{Fence: &store.Fence{Key: of, Token: token}, Checks: []store.Check{unhalted}})
		return lease, retry.Fault(err)
	}
	once := "key " + key
	if key == "" {
		once = typeid.New(typeid.Event)
	}
	// The store gives a holder its own lock anew. Names are not proof: a caller that
	// takes a held lock, under any name, must wait.
	lease, err := ls.ports.Store.AcquireLease(ctx, of, holder+holderMark+once, ttl)
	var held *store.HeldError
	if errors.As(err, &held) {
		return lease, heldFault("state %s is locked by %q until %s; wait, or work on something else", st.Key.ID, holderName(held.Holder), held.Until, ls.ports.Now())
	}
	if err != nil {
		return lease, fault.From(err)
	}
	if err := ls.announceLock(ctx, caller, st, lease, true, &store.Fence{Key: of, Token: lease.Token}, unhalted); err != nil {
		return lease, errors.Join(err, ls.ports.Store.ReleaseLease(ctx, lease))
	}
	return lease, nil
}

// holderMark separates the name of a lock's holder from the part that makes each
// acquisition distinct.
const holderMark = "\x1f"

// holderName returns the name that a lock was taken under.
func holderName(holder string) string {
	name, _, _ := strings.Cut(holder, holderMark)
	return name
}

// Unlock gives a lock back. One that has lapsed is given back already.
func (ls *Locks) Unlock(ctx context.Context, caller ports.Caller, id string, token int64) error {
	st, _, err := ls.lockable(ctx, caller, id)
	if err != nil {
		return err
	}
	key := LockKey(st.Key)
	lease, err := ls.ports.Store.GetLease(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fault.From(err)
	case lease.Token != token:
		return fencedFault(st.Key.ID)
	}
	if err := ls.ports.Store.ReleaseLease(ctx, lease); err != nil {
		return fault.From(err)
	}
	return ls.announceLock(ctx, caller, st, lease, false, nil)
}

// lockable returns a state that the caller may write, and its session as it is now.
func (ls *Locks) lockable(ctx context.Context, caller ports.Caller, id string) (*State, *member.Member, error) {
	acting, err := ls.rights.Actor(ctx, caller)
	if err == nil && acting != nil {
		acting, err = ls.members.Load(ctx, acting.Key)
	}
	if err != nil {
		return nil, nil, err
	}
	st, err := ls.states.Load(ctx, ports.StateKey(caller.Namespace, id))
	if err != nil {
		return nil, nil, err
	}
	return st, acting, MayWrite(acting, st)
}

// announceLock commits the event of a lock, which the store keeps apart from
// records. A lock that another has taken in the meantime is announced by that one.
func (ls *Locks) announceLock(ctx context.Context, caller ports.Caller, st *State, lease store.Lease, locked bool, fence *store.Fence, checks ...store.Check) error {
	lease.Holder = holderName(lease.Holder)
	event, err := ls.announce.StateLocked(caller.Namespace, caller.Principal.Name, st.Key.ID, lease, locked, ls.ports.Now())
	if err != nil {
		return fault.From(err)
	}
	by := caller.Principal
	if !locked {
		by = auth.Principal{} // what is given back is announced in any case
	}
	_, err = ls.ports.Commit(ctx, by, store.Batch{Fence: fence, Checks: checks, Events: []store.Event{event}})
	if err != nil && !errors.Is(err, store.ErrFenced) {
		return retry.Fault(err)
	}
	return nil
}

func fencedFault(id string) *fault.Error {
	return fault.New(fault.Fenced, "the lock on state %s is no longer held with this fencing token; no change was made: take the lock again, read the state, and decide again", id)
}

// LockedFault describes why a fence refused a write.
func LockedFault(id string, e *store.FencedError, now time.Time) *fault.Error {
	if e.Token != store.Unheld {
		return fencedFault(id)
	}
	return heldFault("state %s is locked by %q until %s, so no change was made; try again then", id, holderName(e.Holder), e.Until, now)
}

// heldFault names who holds the lock on a state; the format takes the state, the
// holder and the time.
func heldFault(format, id, holder string, until, now time.Time) *fault.Error {
	e := fault.New(fault.Locked, format, id, ports.Clip(holder), until.UTC().Format(time.RFC3339)).
		Meta("holder", ports.Clip(holder)).Meta("until", until.UTC().Format(time.RFC3339Nano))
	e.RetryAfter = max(until.Sub(now), time.Second)
	return e
}

// kindLock is the lock on a state, under the state's id.
const kindLock = "state_lock"

// LockKey returns the key of the lease on a state.
func LockKey(st store.Key) store.Key {
	st.Kind = kindLock
	return st
}
