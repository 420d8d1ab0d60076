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

// After its n-th lost race a try waits less than 1 ms << n, but n counts at most to
// these: where the number of contenders is unknown, and where few do.
const (
	apart   = 6
	nearby  = 4
	forever = 0 // a number of attempts
)

// Lost reports whether a commit failed only because another writer was faster.
func Lost(err error) bool { return errors.Is(err, store.ErrConflict) }

// Fault makes a fault of an error, except of a lost race, which is left to be tried
// again, and of nil.
func Fault(err error) error {
	if err == nil || Lost(err) {
		return err
	}
	return fault.From(err)
}

// Do calls try until that has not lost a race (store.ErrConflict), and returns its
// result. Each try must start from the records stored when it begins. The error is
// VERSION_CONFLICT when every attempt has lost its race for what, and a fault when ctx
// ends between two attempts; then there is no result.
func Do[T any](ctx context.Context, what string, try func() (T, error)) (T, error) {
	result, err := tries(ctx, attempts, apart, try)
	if Lost(err) {
		var none T
		return none, contended(what)
	}
	return result, err
}

// Run does the work of Do for operations without a result.
func Run(ctx context.Context, what string, try func() error) error {
	_, err := Do(ctx, what, withoutResult(try))
	return err
}

// Until does the work of Run with as many attempts as are made before ctx ends.
func Until(ctx context.Context, try func() error) error {
	_, err := tries(ctx, forever, nearby, withoutResult(try))
	return err
}

func withoutResult(try func() error) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, try() }
}

func contended(what string) error {
	return fault.New(fault.VersionConflict, "%s was changed by too many concurrent requests; try again", what)
}

// tries returns the result of the first try that has lost no race, or of the last.
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
