// Package retry repeats an operation that has lost a race for a record. There is a pause
// between two tries, which is random and grows, so that contenders come apart.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
)

// attempts is how often an operation is tried before its caller has to come back.
const attempts = 16

// unbounded is a number of attempts without a bound.
const unbounded = 0

// A try waits less than 1 ms << n after its n-th lost race. These are the largest n: for any
// number of contenders, and for few.
const (
	anyContenders = 6
	fewContenders = 4
)

// Lost reports whether a commit failed only because another writer was faster.
func Lost(err error) bool { return errors.Is(err, store.ErrConflict) }

// Fault makes a fault of an error. A lost race is returned unchanged, so that it is tried again, and so is nil.
func Fault(err error) error {
	if err == nil || Lost(err) {
		return err
	}
	return fault.From(err)
}

// Do calls try until it has not lost a race (store.ErrConflict), and returns its result.
// Each try must read the records again. If every attempt loses, the error is
// VERSION_CONFLICT, and its message begins with what. If ctx ends between two attempts,
// the error is a fault. Both have no result.
func Do[T any](ctx context.Context, what string, try func() (T, error)) (T, error) {
	result, err := tries(ctx, attempts, anyContenders, try)
	if Lost(err) {
		var none T
		return none, contended(what)
	}
	return result, err
}

// Run repeats an operation like Do that has no result.
func Run(ctx context.Context, what string, try func() error) error {
	_, err := Do(ctx, what, withoutResult(try))
	return err
}

// Until repeats an operation like Run, until ctx ends.
func Until(ctx context.Context, try func() error) error {
	_, err := tries(ctx, unbounded, fewContenders, withoutResult(try))
	return err
}

func withoutResult(try func() error) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, try() }
}

func contended(what string) error {
	return fault.New(fault.VersionConflict, "%s was changed by too many concurrent requests; try again", what)
}

// tries returns the result of the first try that has lost no race, or of the last. most is the number of tries, and
// longest the largest n of a pause.
func tries[T any](ctx context.Context, most, longest int, try func() (T, error)) (T, error) {
	for i := 0; ; i++ {
		result, err := try()
		if !Lost(err) || i+1 == most {
			return result, err
		}
		if err := pause(ctx, min(i, longest)); err != nil {
			var none T
			return none, fault.From(err)
		}
	}
}

// pause waits before another try: not at all after the first lost race, for the winner is
// through. It returns ctx's error when that ends first.
func pause(ctx context.Context, lost int) error {
	if lost == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(time.Millisecond) << lost)))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
