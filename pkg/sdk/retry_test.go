package sdk

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/internal/randtest"

	"github.com/interlock-run/interlock/pkg/fault"
)

// answers is an RPC that fails with these errors, and then returns.
type answers struct {
	errs  []error
	calls int
}

func (a *answers) call(context.Context, *string, ...grpc.CallOption) (*string, error) {
	if a.calls++; a.calls <= len(a.errs) {
		return nil, a.errs[a.calls-1]
	}
	done := "done"
	return &done, nil
}

// Only what may be better the next time is tried again.
func TestRetryOnlyWhatPasses(t *testing.T) {
	t.Parallel()
	passes := map[fault.Reason]bool{fault.Unavailable: true, fault.CommitUncertain: true, fault.DeadlineExceeded: true, fault.Cancelled: true}
	for _, reason := range fault.Reasons() {
		t.Run(string(reason), func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				rpc := &answers{errs: []error{fault.New(reason, "first"), fault.New(reason, "second").GRPCStatus().Err()}}
				_, err := retry(t.Context(), rpc.call, new(string))
				if passes[reason] && (err != nil || rpc.calls != 3) || !passes[reason] && (Reason(err) != reason || rpc.calls != 1) {
					t.Errorf("%v after %d calls", err, rpc.calls)
				}
			})
		})
	}
}

func TestRetryGivesUp(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		down := make([]error, 1000)
		for i := range down {
			down[i] = fault.New(fault.CommitUncertain, "down %d", i)
		}
		begun := time.Now()
		_, err := retry(t.Context(), (&answers{errs: down}).call, new(string))
		if waited := time.Since(begun); Reason(err) != fault.CommitUncertain || waited < patience/2 || waited > patience {
			t.Errorf("without a deadline: %v after %s", err, waited)
		}

		// With a deadline the answer is why, not that time is up.
		begun = time.Now()
		_, err = retry(brief(t, 2*time.Second), (&answers{errs: down}).call, new(string))
		if waited := time.Since(begun); Reason(err) != fault.CommitUncertain || waited > 2*time.Second {
			t.Errorf("with a deadline: %v after %s", err, waited)
		}

		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("the user went home")
		time.AfterFunc(time.Second, func() { cancel(why) })
		rpc := &answers{errs: down}
		_, err = retry(ctx, rpc.call, new(string))
		if Reason(err) != fault.Cancelled || !errors.Is(err, context.Canceled) || !errors.Is(err, why) || !errors.Is(err, fault.New(fault.CommitUncertain, "")) {
			t.Errorf("cancelled: %v", err)
		}
		calls := rpc.calls
		if _, err = retry(ctx, rpc.call, new(string)); !errors.Is(err, context.Canceled) || rpc.calls != calls+1 {
			t.Errorf("cancelled before: %v after %d calls", err, rpc.calls-calls)
		}
	})
}

// The first repeat is quick; later ones wait as they are advised, and never for
// long without advice.
func TestDelay(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		failures := rapid.IntRange(1, 1_000_000).Draw(t, "failures")
		advised := time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "advised"))
		switch wait := delay(failures, advised); {
		case failures == 1 && (wait <= 0 || wait > 50*time.Millisecond):
			t.Fatalf("first %s", wait)
		case failures > 1 && wait < advised:
			t.Fatalf("%s, advised %s", wait, advised)
		case wait > max(advised, 5*time.Second):
			t.Fatalf("%s after %d failures", wait, failures)
		}
		if wait := yield(failures); wait < 0 || wait > 256*time.Millisecond {
			t.Fatalf("yields for %s", wait)
		}
	})
}

func TestReason(t *testing.T) {
	t.Parallel()
	for want, errs := range map[fault.Reason][]error{
		"":             {nil, errors.New("own"), &RejectedError{Code: "GUARD_FAILED"}, &DeniedError{Code: "TOOL_NOT_ALLOWED"}, (*fault.Error)(nil)},
		fault.NotFound: {fault.New(fault.NotFound, "x"), fmt.Errorf("do: %w", fault.New(fault.NotFound, "x")), &DeniedError{Err: fault.New(fault.NotFound, "x")}},
	} {
		for _, err := range errs {
			if got := Reason(err); got != want {
				t.Errorf("%v has reason %q, want %q", err, got, want)
			}
		}
	}
}
