package runner

import (
	"cmp"
	"context"
	"errors"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// endedByClock is why an agent is stopped whose run was ended by a clock (S25).
type endedByClock struct{ reason string }

func (e *endedByClock) Error() string { return "deadline: " + e.reason }

// driven is the run that the session of a task drives: whole, and the innermost of those that it has invoked. Both are nil for none.
type driven struct{ whole, inner *enginev1.Run }

// askWithin bounds one question about a run: the agent starts without the answer.
const askWithin = 5 * time.Second

// drives returns the run that the session of the task drives. It is known by the name or the id of its session.
func (j *job) drives(ctx context.Context) driven {
	if j.Runs == nil {
		return driven{}
	}
	ctx, cancel := context.WithTimeout(ctx, askWithin)
	defer cancel()
	for _, session := range []string{j.task.GetSessionName(), j.task.GetSessionId()} {
		got, err := j.Runs.GetRun(ctx, &enginev1.GetRunRequest{SessionId: session, Active: true})
		if err != nil {
			continue
		}
		d := driven{whole: got.GetRun(), inner: got.GetRun()}
		if asked := got.GetAskedRunId(); asked != "" && asked != d.inner.GetRunId() {
			if outer, err := j.Runs.GetRun(ctx, &enginev1.GetRunRequest{RunId: asked}); err == nil {
				d.whole = outer.GetRun()
			}
		}
		return d
	}
	return driven{}
}

// deadline returns when a clock first ends or moves the run, as things stand now; zero for never.
func (d driven) deadline() (first time.Time) {
	for _, run := range []*enginev1.Run{d.whole, d.inner} {
		for _, due := range run.GetDues() {
			if due.GetAt() == nil || len(due.GetTargets()) == 0 || due.GetBranch() != "" && due.GetBranch() != run.GetBranch() {
				continue
			}
			if at := due.GetAt().AsTime(); first.IsZero() || at.Before(first) {
				first = at
			}
		}
	}
	return first
}

// hints returns the variables about the run: the advice of its state to the agent's runtime (S15.12), and its deadline.
func (d driven) hints() (hints []string) {
	deadline := ""
	if at := d.deadline(); !at.IsZero() {
		deadline = at.UTC().Format(time.RFC3339)
	}
	for _, variable := range [][2]string{
		{"INTERLOCK_MODEL", d.inner.GetRules().GetModel()},
		{"INTERLOCK_THINKING_LEVEL", d.inner.GetRules().GetThinkingLevel()},
		{"INTERLOCK_DEADLINE", deadline},
	} {
		if variable[1] != "" {
			hints = append(hints, variable[0]+"="+variable[1])
		}
	}
	return hints
}

// lookAgain is the pause until a runner looks again which run a session drives.
const lookAgain = 5 * time.Second

// followClock stops the agent of the task when a clock has ended the run that its session drives. It returns then, and when ctx ends.
func (j *job) followClock(ctx context.Context, stop context.CancelCauseFunc) {
	over := "" // a run that has ended, and that the agent may survive
	run := j.drives(ctx).whole
	if run != nil && ended(run) {
		over = run.GetRunId()
	}
	for ctx.Err() == nil {
		if run == nil || run.GetRunId() == over {
			wait(ctx, lookAgain)
		} else if last := j.follow(ctx, run.GetRunId()); last != nil && ended(last) {
			over = last.GetRunId()
			if reason := j.clockReason(ctx, last); reason != "" && j.stillDrives(ctx, over) {
				stop(&endedByClock{reason})
				return
			}
		}
		run = j.drives(ctx).whole
	}
}

// follow returns a run when it has ended or is paused, or nil when its stream has broken.
func (j *job) follow(ctx context.Context, id string) *enginev1.Run {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := j.Runs.WatchRun(ctx, &enginev1.WatchRunRequest{RunId: id, View: enginev1.RunView_RUN_VIEW_BASIC})
	for err == nil {
		var changed *enginev1.WatchRunResponse
		if changed, err = stream.Recv(); err != nil {
			break
		}
		run := changed.GetRun()
		if ended(run) {
			return run
		}
		if run.GetStatus() == enginev1.RunStatus_RUN_STATUS_PAUSED && !j.stillDrives(ctx, id) {
			return nil // the session has loaded another run
		}
	}
	wait(ctx, pause(0))
	return nil
}

// stillDrives reports that the session of the task drives no other run than this one.
func (j *job) stillDrives(ctx context.Context, id string) bool {
	now := j.drives(ctx).whole
	return now == nil || now.GetRunId() == id
}

// clockReason returns why a clock has ended a run; empty where no clock has.
func (j *job) clockReason(ctx context.Context, run *enginev1.Run) string {
	for failures := 0; ctx.Err() == nil; failures++ {
		asked, cancel := context.WithTimeout(ctx, askWithin)
		got, err := j.Runs.GetRunHistory(asked, &enginev1.GetRunHistoryRequest{RunId: run.GetRunId(), AfterVersion: run.GetVersion() - 1})
		cancel()
		if err == nil {
			for _, entry := range got.GetEntries() {
				if entry.GetCause() != nil {
					return cmp.Or(entry.GetReason(), entry.GetEvent())
				}
			}
			return ""
		}
		if refused(err) || gone(err) {
			return ""
		}
		wait(ctx, pause(failures))
	}
	return ""
}

// wait waits so long, or until ctx ends.
func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// ended reports that a run has ended.
func ended(run *enginev1.Run) bool {
	switch run.GetStatus() {
	case enginev1.RunStatus_RUN_STATUS_COMPLETED, enginev1.RunStatus_RUN_STATUS_FAILED, enginev1.RunStatus_RUN_STATUS_BLOCKED,
		enginev1.RunStatus_RUN_STATUS_CANCELLED:
		return true
	default:
		return false
	}
}

// graceFor returns how long the processes of an agent have between SIGTERM and SIGKILL.
func (j *job) graceFor(cause error) time.Duration {
	if clock := (*endedByClock)(nil); errors.As(cause, &clock) {
		return j.DeadlineGrace
	}
	return j.KillAfter
}
