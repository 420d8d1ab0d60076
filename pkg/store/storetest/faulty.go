package storetest

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/interlock-run/interlock/pkg/store"
)

// Fault is a fault of a commit.
type Fault int

const (
	// Healthy commits go through.
	Healthy Fault = iota
	// Failed commits are not applied and answer store.ErrUnavailable.
	Failed
	// FailedButApplied commits are applied and answer store.ErrUncertain, as when
	// the connection breaks before the answer.
	FailedButApplied
	// Uncertain commits are not applied and answer store.ErrUncertain, as when
	// the connection breaks before the request.
	Uncertain
)

// Faulty is a store whose commits fail on demand. Everything else goes through.
type Faulty struct {
	store.Store
	// Decide returns the fault of the nth commit, counted from 1. It is called
	// before the commit, by concurrent committers at the same time; nil lets all
	// of them through.
	Decide func(n int, batch *store.Batch) Fault

	commits atomic.Int64
}

var _ store.Store = (*Faulty)(nil)

// Nth returns a Decide that lets a fault befall the nth commit only, counted from 1.
func Nth(n int, fault Fault) func(int, *store.Batch) Fault {
	return func(i int, _ *store.Batch) Fault {
		if i == n {
			return fault
		}
		return Healthy
	}
}

// Commits returns how many commits there were, failed ones included.
func (f *Faulty) Commits() int { return int(f.commits.Load()) }

// Probe judges the batch, or fails as Decide says. It counts as a commit.
func (f *Faulty) Probe(ctx context.Context, batch store.Batch) error {
	n := int(f.commits.Add(1))
	if f.Decide != nil && f.Decide(n, &batch) != Healthy {
		return fmt.Errorf("%w: fault injected into probe %d", store.ErrUnavailable, n)
	}
	return f.Store.Probe(ctx, batch)
}

// Commit applies the batch, or fails as Decide says. A commit that the store
// itself refuses answers the store's error also when it should have failed but
// been applied.
func (f *Faulty) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	n := int(f.commits.Add(1))
	fault := Healthy
	if f.Decide != nil {
		fault = f.Decide(n, &batch)
	}
	switch fault {
	case Healthy:
		return f.Store.Commit(ctx, batch)
	case FailedButApplied:
		if _, err := f.Store.Commit(ctx, batch); err != nil {
			return store.Result{}, err
		}
		return store.Result{}, fmt.Errorf("%w: fault injected after commit %d", store.ErrUncertain, n)
	case Uncertain:
		return store.Result{}, fmt.Errorf("%w: fault injected before commit %d", store.ErrUncertain, n)
	default:
		return store.Result{}, fmt.Errorf("%w: fault injected before commit %d", store.ErrUnavailable, n)
	}
}
