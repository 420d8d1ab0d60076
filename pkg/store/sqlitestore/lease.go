package sqlitestore

import (
	"context"
	"database/sql/driver"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// leaseState is a stored lease: held while now is before expires. A row stays
// after its lease has lapsed or was released, so that tokens only grow.
type leaseState struct {
	holder         string
	token, expires int64
}

// held returns whether the lease is held with this token.
func (l leaseState) held(token, now int64) bool { return l.token == token && now < l.expires }

// GetLease returns the lease that is held now, see store.Store.
func (s *Store) GetLease(ctx context.Context, key store.Key) (store.Lease, error) {
	if err := s.usable(ctx); err != nil {
		return store.Lease{}, err
	}
	if err := validate(key); err != nil {
		return store.Lease{}, err
	}
	lease := store.Lease{Key: key}
	var expires int64
	row := s.reads.lease.QueryRowContext(ctx, encodeKey(key), micros(s.clock()))
	if err := row.Scan(&lease.Holder, &lease.Token, &expires); err != nil {
		return store.Lease{}, s.rowError(ctx, "reading a lease", err)
	}
	lease.Expires = fromMicros(expires)
	return lease, nil
}

// AcquireLease takes a lease, see store.Store.
func (s *Store) AcquireLease(ctx context.Context, key store.Key, holder string, ttl time.Duration) (store.Lease, error) {
	if err := validate(key); err != nil {
		return store.Lease{}, err
	}
	var lease store.Lease
	err := s.write(ctx, func(w *writer) error {
		now := w.now()
		old, err := w.lease(key)
		if err != nil {
			return err
		}
		if now < old.expires && old.holder != holder {
			return &store.HeldError{Key: key, Holder: old.holder, Until: fromMicros(old.expires)}
		}
		lease, err = w.storeLease(key, leaseState{holder: holder, token: max(old.token+1, w.floor), expires: now + ttl.Microseconds()})
		return err
	})
	if err != nil {
		return store.Lease{}, err
	}
	return lease, nil
}

// RenewLease extends a lease, see store.Store.
func (s *Store) RenewLease(ctx context.Context, lease store.Lease, ttl time.Duration) (store.Lease, error) {
	err := s.write(ctx, func(w *writer) error {
		now := w.now()
		old, err := w.lease(lease.Key)
		if err != nil {
			return err
		}
		if !old.held(lease.Token, now) {
			return store.ErrFenced
		}
		old.expires = now + ttl.Microseconds()
		lease, err = w.storeLease(lease.Key, old)
		return err
	})
	if err != nil {
		return store.Lease{}, err
	}
	return lease, nil
}

// ReleaseLease frees a lease, see store.Store.
func (s *Store) ReleaseLease(ctx context.Context, lease store.Lease) error {
	return s.write(ctx, func(w *writer) error {
		old, err := w.lease(lease.Key)
		if err != nil || !old.held(lease.Token, w.now()) {
			return err
		}
		_, err = w.storeLease(lease.Key, leaseState{token: old.token})
		return err
	})
}

// lease reads a lease; its zero value has never been held.
func (w *writer) lease(key store.Key) (state leaseState, err error) {
	_, err = w.findLease.first(func(row []driver.Value) {
		state = leaseState{holder: text(row[0]), token: row[1].(int64), expires: row[2].(int64)}
	}, encodeKey(key))
	return state, fail("reading a lease", err)
}

func (w *writer) storeLease(key store.Key, state leaseState) (store.Lease, error) {
	err := w.setLease.run(encodeKey(key), state.holder, state.token, state.expires)
	return store.Lease{Key: key, Holder: state.holder, Token: state.token, Expires: fromMicros(state.expires)}, fail("storing a lease", err)
}

// checkFence requires that a lease is held with this token, or not at all.
func (w *writer) checkFence(f *store.Fence, now int64) error {
	state, err := w.lease(f.Key)
	if err != nil {
		return err
	}
	held := now < state.expires
	switch {
	case held && state.token == f.Token, !held && f.Token == store.Unheld:
		return nil
	case held:
		return &store.FencedError{Key: f.Key, Token: f.Token, Holder: state.holder, Until: fromMicros(state.expires)}
	}
	return &store.FencedError{Key: f.Key, Token: f.Token}
}
