package runner

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc/status"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// job is one task at work.
type job struct {
	*runner
	task  *statev1.Task
	claim *claim
	done  chan struct{}
}

// begin works on a task, and says when its agent has ended.
func (r *runner) begin(task *statev1.Task, ended func()) {
	j := &job{runner: r, task: task, done: make(chan struct{})}
	j.claim = newClaim(context.WithoutCancel(r.kill), j)
	r.mu.Lock()
	// A session has one task at a time. When it comes again, the claim of before is
	// lost, and its agent must have ended before it is started again.
	before := r.sessions[task.GetSessionId()]
	r.sessions[task.GetSessionId()] = j
	r.mu.Unlock()
	r.jobs.Go(func() {
		j.work(before)
		r.mu.Lock()
		if r.sessions[task.GetSessionId()] == j {
			delete(r.sessions, task.GetSessionId())
		}
		r.mu.Unlock()
		close(j.done)
		ended()
	})
}

// Why an agent is stopped.
var (
	errGone     = errors.New("the claim is lost: the server has given the task away, or does not want it any more")
	errLapsed   = errors.New("the claim is lost: it could not be extended in time")
	errStopping = errors.New("the runner was stopped")
)

// work runs the agent of a task while the claim is held, and notifies the server how that
// went.
func (j *job) work(before *job) {
	defer j.claim.release()
	if before != nil {
		before.claim.lose(errGone)
		<-before.done
	}
	ctx, stop := context.WithCancelCause(j.claim.ctx)
	defer stop(nil)
	defer context.AfterFunc(j.kill, func() { stop(errStopping) })()
	values, err := newComponent(j.task.GetExecution())
	defer values.remove()
	j.tell("%s: started", j)
	ended := &ending{err: err}
	if err == nil {
		ended = j.runInTime(ctx, stop, values)
	}
	if err := context.Cause(j.claim.ctx); err != nil {
		j.tell("%s: stopped: %s", j, err)
		return
	}
	if how, _ := ended.failure(); how == "" && j.Components != nil {
		// The end of an execution that failed keeps no values.
		if err := j.keepValues(values); err != nil {
			ended.ok, ended.how = false, "the values of component "+j.task.GetExecution().GetSlug()+" are not kept: "+err.Error()
		}
	}
	how, again := ended.failure()
	text := "done"
	switch {
	case again:
		text = "given back: " + how
	case how != "":
		text = "failed: " + how
	}
	if err := j.settle(func(ctx context.Context) error { return j.report(ctx, ended) }); err != nil {
		text += "; but the server was not notified: " + err.Error()
	}
	j.tell("%s: %s", j, text)
}

// runInTime runs the agent of a task until it ends, ctx does, or a clock has ended its run.
func (j *job) runInTime(ctx context.Context, stop context.CancelCauseFunc, values *component) *ending {
	following, done := context.WithCancel(ctx)
	var clock sync.WaitGroup
	defer clock.Wait()
	defer done()
	if j.Runs != nil {
		clock.Go(func() { j.followClock(following, stop) })
	}
	return j.runAgent(ctx, values)
}

// keepValues keeps the agent's changes to its component.
func (j *job) keepValues(values *component) error {
	var failed error
	err := j.settle(func(ctx context.Context) error {
		failed = values.keep(ctx, j.Components)
		if transientFailure(failed) {
			return failed
		}
		return nil
	})
	if err != nil {
		return err
	}
	if _, answered := status.FromError(failed); answered && failed != nil {
		return errors.New(fault.From(failed).Message)
	}
	return failed
}

// transientFailure reports whether another attempt may succeed.
func transientFailure(err error) bool {
	switch fault.ReasonOf(err) {
	case fault.Unavailable, fault.CommitUncertain, fault.DeadlineExceeded:
		return true
	default:
		return false
	}
}

// report informs the server once how the agent has ended.
func (j *job) report(ctx context.Context, e *ending) error {
	how, again := e.failure()
	if how == "" {
		_, err := j.Tasks.CompleteTask(ctx, &statev1.CompleteTaskRequest{
			TaskId: j.task.GetTaskId(), ClaimToken: j.task.GetClaimToken(), Result: e.stdout.result(),
		})
		return err
	}
	_, err := j.Tasks.FailTask(ctx, &statev1.FailTaskRequest{
		TaskId: j.task.GetTaskId(), ClaimToken: j.task.GetClaimToken(), Error: reason(how, &e.stderr), Retry: again,
	})
	return err
}

// String names the task for people.
func (j *job) String() string {
	return fmt.Sprintf("session %s, %s (%s)", j.task.GetSessionName(), kindName(j.task.GetKind()), j.task.GetTaskId())
}

// settleTimeout bounds one attempt to report the end of a task to the server.
const settleTimeout = 10 * time.Second

// settle reports to the server how the task has ended, until it has answered or the claim
// is gone. After an attempt whose outcome is not known, a task that is not there any more
// is one that was settled.
func (j *job) settle(call func(context.Context) error) error {
	uncertain := false
	for failures := 0; ; failures++ {
		ctx, cancel := context.WithTimeout(j.claim.ctx, settleTimeout)
		err := call(ctx)
		cancel()
		switch {
		case err == nil || gone(err) && uncertain:
			return nil
		case gone(err):
			return errGone
		case refused(err):
			return errors.New(fault.From(err).Message)
		}
		uncertain = true
		select {
		case <-time.After(pause(failures)):
		case <-j.claim.ctx.Done():
			if err := context.Cause(j.claim.ctx); !errors.Is(err, errGone) {
				return err
			}
			return nil
		}
	}
}

// gone reports whether the server says that the claim is not held.
func gone(err error) bool {
	reason := fault.ReasonOf(err)
	return reason == fault.NotFound || reason == fault.Fenced
}
