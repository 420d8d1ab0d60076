// Package retry spaces out the tries of those who race for one record.
package retry

import (
	"context"
	"math/rand/v2"
	"time"
)

// Attempts is how often a use case starts again after lost races before it gives
// up.
const Attempts = 16

// Yield waits before another try after a lost race: not at all after the first,
// then longer with each, at random, so that contenders come apart. It answers
// ctx's error when that ends first.
func Yield(ctx context.Context, attempt int) error {
	if attempt == 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(time.Duration(rand.Int64N(int64(time.Millisecond) << min(attempt, 6))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
