package runner

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// claim is the right to work on a task. It is extended for as long as it is held.
type claim struct {
	// ctx ends when the claim is lost or released; its cause says why it was lost.
	ctx  context.Context
	lose context.CancelCauseFunc
}

// newClaim keeps the claim of a task from now on.
func newClaim(ctx context.Context, j *job) *claim {
	c := &claim{}
	c.ctx, c.lose = context.WithCancelCause(ctx)
	go c.keep(j)
	return c
}

// release ends the keeping of the claim, which the server may know already.
func (c *claim) release() { c.lose(nil) }

// keep extends the claim every third of its time.
func (c *claim) keep(j *job) {
	length := lengthOf(j.task.GetClaimExpiresAt(), time.Now())
	expires := time.Now().Add(length)
	timer := time.NewTimer(period(length))
	defer timer.Stop()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-timer.C:
		}
		sent := time.Now()
		ctx, cancel := context.WithTimeout(c.ctx, min(period(length), expires.Sub(sent)))
		resp, err := j.Tasks.ExtendTask(ctx, &statev1.ExtendTaskRequest{
			TaskId: j.task.GetTaskId(), ClaimToken: j.task.GetClaimToken(),
		})
		cancel()
		switch {
		case err == nil:
			length = lengthOf(resp.GetClaimExpiresAt(), sent)
			expires = sent.Add(length)
			timer.Reset(period(length))
		case gone(err):
			c.lose(errGone)
			return
		case !time.Now().Before(expires):
			c.lose(errLapsed)
			return
		default:
			timer.Reset(min(retryExtend, time.Until(expires)))
		}
	}
}

const (
	// shortestClaim is the assumed length of a claim when the clocks of this machine and
	// the server differ so much that it looks over already.
	shortestClaim = time.Second
	// longestPeriod extends in time when the server's clock is ahead, so that claims
	// look longer than they are.
	longestPeriod = 10 * time.Second
	// retryExtend is the pause after an attempt that failed.
	retryExtend = 250 * time.Millisecond
)

// lengthOf returns how long a claim lasts from now.
func lengthOf(expires *timestamppb.Timestamp, now time.Time) time.Duration {
	return max(expires.AsTime().Sub(now), shortestClaim)
}

// period returns when a claim is extended: a third of it leaves time for two more
// attempts.
func period(length time.Duration) time.Duration { return min(length/3, longestPeriod) }
