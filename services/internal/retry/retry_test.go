package retry

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestYield(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		for attempt := range Attempts {
			before := time.Now()
			if err := Yield(t.Context(), attempt); err != nil {
				t.Fatal(err)
			}
			if waited := time.Since(before); attempt == 0 && waited > 0 || waited > 64*time.Millisecond {
				t.Errorf("attempt %d waited %s", attempt, waited)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for attempt := range 2 {
			if err := Yield(ctx, attempt); !errors.Is(err, context.Canceled) {
				t.Errorf("attempt %d of a cancelled request: %v", attempt, err)
			}
		}
	})
}
