package runner

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// lease is the right to work on a task. It is extended for as long as it is held.
type lease struct {
	// ctx ends when the lease is lost or released; its cause says why it was lost.
	ctx  context.Context
	lose context.CancelCauseFunc
}

// newLease keeps the lease of a task from now on.
func newLease(ctx context.Context, j *job) *lease {
	l := &lease{}
	l.ctx, l.lose = context.WithCancelCause(ctx)
	go l.keep(j)
	return l
}

// release ends the keeping of the lease, which the server may know already.
func (l *lease) release() { l.lose(nil) }

// keep extends the lease every third of its time.
func (l *lease) keep(j *job) {
	length := lengthOf(j.task.GetLeaseExpiresAt(), time.Now())
	expires := time.Now().Add(length)
	timer := time.NewTimer(period(length))
	defer timer.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-timer.C:
		}
		sent := time.Now()
		ctx, cancel := context.WithTimeout(l.ctx, min(period(length), expires.Sub(sent)))
		resp, err := j.Tasks.ExtendTask(ctx, &statev1.ExtendTaskRequest{
			TaskId: j.task.GetTaskId(), LeaseToken: j.task.GetLeaseToken(),
		})
		cancel()
		switch {
		case err == nil:
			length = lengthOf(resp.GetLeaseExpiresAt(), sent)
			expires = sent.Add(length)
			timer.Reset(period(length))
		case gone(err):
			l.lose(errGone)
			return
		case !time.Now().Before(expires):
			l.lose(errLapsed)
			return
		default:
			timer.Reset(min(retryExtend, time.Until(expires)))
		}
	}
}

const (
	// shortestLease is the assumed length of a lease when the clocks of this machine and
	// the server differ so much that it looks over already.
	shortestLease = time.Second
	// longestPeriod extends in time when the server's clock is ahead, so that leases
	// look longer than they are.
	longestPeriod = 10 * time.Second
	// retryExtend is the pause after an attempt that failed.
	retryExtend = 250 * time.Millisecond
)

// lengthOf returns how long a lease lasts from now.
func lengthOf(expires *timestamppb.Timestamp, now time.Time) time.Duration {
	return max(expires.AsTime().Sub(now), shortestLease)
}

// period returns when a lease is extended: a third of it leaves time for two more
// attempts.
func period(length time.Duration) time.Duration { return min(length/3, longestPeriod) }
