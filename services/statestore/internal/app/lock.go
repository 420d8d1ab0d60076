package app

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
)

// Lock takes the lock on a state for a holder, or with a token renews it (S10.5). A
// repeat, by the same holder with the same key, takes it anew.
func (a *App) Lock(ctx context.Context, caller Caller, id, holder string, ttl time.Duration, token int64, key string) (store.Lease, error) {
	st, err := a.lockable(ctx, caller, id)
	if err != nil {
		return store.Lease{}, err
	}
	of := lockKey(st.Key)
	if token != 0 {
		lease, err := a.store.RenewLease(ctx, store.Lease{Key: of, Holder: holder, Token: token}, ttl)
		if errors.Is(err, store.ErrFenced) {
			return lease, fencedFault(st.Key.ID)
		}
		if err != nil {
			return lease, fault.From(err)
		}
		return lease, nil
	}
	once := "key " + key
	if key == "" {
		once = typeid.New(typeid.Event)
	}
	// The store gives a holder its own lock anew. Names are not proof: a caller that
	// takes a held lock, under any name, must wait.
	lease, err := a.store.AcquireLease(ctx, of, holder+holderMark+once, ttl)
	var held *store.HeldError
	if errors.As(err, &held) {
		return lease, heldFault("state %s is locked by %q until %s; wait, or work on something else", st.Key.ID, holderName(held.Holder), held.Until, a.now())
	}
	if err != nil {
		return lease, fault.From(err)
	}
	if err := a.announceLock(ctx, caller, st, lease, true, &store.Fence{Key: of, Token: lease.Token}); err != nil {
		return lease, errors.Join(err, a.store.ReleaseLease(ctx, lease))
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
func (a *App) Unlock(ctx context.Context, caller Caller, id string, token int64) error {
	st, err := a.lockable(ctx, caller, id)
	if err != nil {
		return err
	}
	key := lockKey(st.Key)
	lease, err := a.store.GetLease(ctx, key)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil
	case err != nil:
		return fault.From(err)
	case lease.Token != token:
		return fencedFault(st.Key.ID)
	}
	if err := a.store.ReleaseLease(ctx, lease); err != nil {
		return fault.From(err)
	}
	return a.announceLock(ctx, caller, st, lease, false, nil)
}

// lockable returns a state that the caller may write, as its session is now.
func (a *App) lockable(ctx context.Context, caller Caller, id string) (*State, error) {
	acting, err := a.actor(ctx, caller)
	if err == nil && acting != nil {
		acting, err = a.loadMember(ctx, acting.Key)
	}
	if err != nil {
		return nil, err
	}
	st, err := a.loadState(ctx, stateKey(caller.Namespace, id))
	if err != nil {
		return nil, err
	}
	return st, mayWrite(acting, st)
}

// announceLock commits the event of a lock, which the store keeps apart from
// records. A lock that another has taken in the meantime is announced by that one.
func (a *App) announceLock(ctx context.Context, caller Caller, st *State, lease store.Lease, locked bool, fence *store.Fence) error {
	lease.Holder = holderName(lease.Holder)
	event, err := a.announce.StateLocked(caller.Namespace, caller.Principal.Name, st.Key.ID, lease, locked, a.now())
	if err != nil {
		return fault.From(err)
	}
	_, err = a.store.Commit(ctx, store.Batch{Fence: fence, Events: []store.Event{event}})
	if err != nil && !errors.Is(err, store.ErrFenced) {
		return fault.From(err)
	}
	return nil
}

func fencedFault(id string) *fault.Error {
	return fault.New(fault.Fenced, "the lock on state %s is no longer held with this fencing token; no change was made: take the lock again, read the state, and decide again", id)
}

// lockedFault describes why a fence refused a write.
func lockedFault(id string, e *store.FencedError, now time.Time) *fault.Error {
	if e.Token != store.Unheld {
		return fencedFault(id)
	}
	return heldFault("state %s is locked by %q until %s, so no change was made; try again then", id, holderName(e.Holder), e.Until, now)
}

// heldFault names who holds the lock on a state; the format takes the state, the
// holder and the time.
func heldFault(format, id, holder string, until, now time.Time) *fault.Error {
	e := fault.New(fault.Locked, format, id, clip(holder), until.UTC().Format(time.RFC3339)).
		Meta("holder", clip(holder)).Meta("until", until.UTC().Format(time.RFC3339Nano))
	e.RetryAfter = max(until.Sub(now), time.Second)
	return e
}
