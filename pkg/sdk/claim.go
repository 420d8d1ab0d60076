package sdk

import (
	"context"
	"errors"
	"log/slog"
	"time"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// errPanicked is notified of a task whose do has not returned.
var errPanicked = errors.New("the runner panicked")

// kept is a task whose claim is kept.
type kept struct {
	ctx  context.Context // the task's
	stop func()          // returns when the claim is kept no more
}

// keep extends the claim of a task until it is stopped, also after ctx has ended: work
// under way then still has to end. The task's context ends with ErrClaimLost when the
// claim is lost.
func (c *Client) keep(ctx context.Context, task Task) kept {
	taskCtx, lose := context.WithCancelCause(ctx)
	keeping, stop := context.WithCancel(context.WithoutCancel(ctx))
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		if err := c.extend(keeping, task); err != nil {
			c.log.LogAttrs(ctx, slog.LevelWarn, "the claim on a task is lost", slog.String("task", task.ID), slog.Any("error", err))
			lose(ErrClaimLost)
		}
	}()
	return kept{ctx: taskCtx, stop: func() {
		stop()
		<-stopped
		lose(nil)
	}}
}

// extend keeps a claim until ctx ends. It returns why the claim is lost.
func (c *Client) extend(ctx context.Context, task Task) error {
	until := claimedUntil(task.expires)
	for {
		if pause(ctx, min(max(time.Until(until)/3, 50*time.Millisecond), attemptTime)) != nil {
			return nil
		}
		attempt, cancel := context.WithDeadline(ctx, until)
		resp, err := c.tasks.ExtendTask(attempt, &statev1.ExtendTaskRequest{TaskId: task.ID, ClaimToken: task.token})
		cancel()
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			until = claimedUntil(timeOf(resp.GetClaimExpiresAt()))
		case !transient(fault.ReasonOf(err)) || !time.Now().Before(until):
			return fault.From(err)
		}
	}
}

// claimedUntil returns when a claim that has just been given runs out. A clock that is far
// ahead of the server's says that it has already: then the server decides.
func claimedUntil(expires time.Time) time.Time {
	now := time.Now()
	if left := expires.Sub(now); left > 0 {
		return now.Add(left) // on the monotonic clock from here on
	}
	return now.Add(attemptTime)
}

// settle reports the outcome of a task, whether or not ctx has ended.
func (c *Client) settle(ctx context.Context, task Task, failed error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), reportTime)
	defer cancel()
	var err error
	if failed == nil {
		_, err = retry(ctx, c.tasks.CompleteTask, &statev1.CompleteTaskRequest{TaskId: task.ID, ClaimToken: task.token, Result: *task.Result})
	} else {
		_, err = retry(ctx, c.tasks.FailTask, &statev1.FailTaskRequest{
			TaskId: task.ID, ClaimToken: task.token, Error: clip(failed.Error()), Retry: errors.Is(failed, ErrNotRun),
		})
	}
	if err != nil {
		c.log.LogAttrs(ctx, slog.LevelWarn, "the outcome of a task was not accepted; the task is given again when its claim lapses",
			slog.String("task", task.ID), slog.Any("error", err))
	}
}
