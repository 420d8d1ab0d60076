package sdk

import (
	"context"
	"crypto/rand"
	"errors"
	mathrand "math/rand/v2"
	"strings"
	"time"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/fault"
)

const (
	// patience is for calls whose context has no deadline.
	patience = 30 * time.Second
	// attemptTime bounds one try: a lost answer must not cost all the time there is.
	attemptTime = 10 * time.Second
)

// unary is the client's method of an RPC.
type unary[Req, Resp any] func(context.Context, *Req, ...grpc.CallOption) (*Resp, error)

// retry calls an RPC until it is answered, is refused, or time is up. The request
// is the same each time, idempotency key included. Its errors are faults.
func retry[Req, Resp any](ctx context.Context, call unary[Req, Resp], req *Req) (*Resp, error) {
	until := deadline(ctx)
	for failures := 0; ; {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		resp, err := call(attempt, req)
		cancel()
		if err == nil {
			return resp, nil
		}
		f := fault.From(err)
		failures++
		wait := delay(failures, f.RetryAfter)
		switch {
		case !transient(f.Reason):
			return nil, f
		case ctx.Err() != nil:
			return nil, contextEnded(ctx, f)
		case time.Now().Add(wait).After(until):
			return nil, f
		case pause(ctx, wait) != nil:
			return nil, contextEnded(ctx, f)
		}
	}
}

// transient reports whether another try may succeed, whether or not the request was
// carried out.
func transient(reason fault.Reason) bool {
	switch reason {
	case fault.Unavailable, fault.CommitUncertain, fault.DeadlineExceeded, fault.Cancelled:
		return true
	default:
		return false
	}
}

// deadline returns when to give up.
func deadline(ctx context.Context) time.Time {
	if until, ok := ctx.Deadline(); ok {
		return until
	}
	return time.Now().Add(patience)
}

// delay returns the wait after that many failures in a row. The first is short,
// regardless of the advice: most often one replica of several went away.
func delay(failures int, advised time.Duration) time.Duration {
	const longest = 5 * time.Second
	if failures <= 1 {
		advised = 0
	}
	wait := min(50*time.Millisecond<<min(failures-1, 10), longest)
	return max(advised, wait/2+mathrand.N(wait/2+1))
}

// yield returns the wait after a race was lost that often before: none at first, then
// longer, at random, so that contenders come apart.
func yield(lost int) time.Duration {
	if lost == 0 {
		return 0
	}
	return mathrand.N(time.Millisecond << min(lost, 8))
}

// pause returns ctx's error when that ends first.
func pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// contextEnded returns the fault of a call whose context has ended. It wraps the
// context's error and cause, and the last failure.
func contextEnded(ctx context.Context, last error) error {
	f := fault.From(ctx.Err())
	return f.Wrap(errors.Join(ctx.Err(), context.Cause(ctx), last))
}

// newKey returns an idempotency key for one request and its repeats.
func newKey() string { return rand.Text() }

// newCallID returns the id of a tool call.
func newCallID() string { return "call_" + strings.ToLower(rand.Text()) }
