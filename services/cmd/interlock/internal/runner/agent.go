package runner

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// ending is how an agent has ended.
type ending struct {
	// err is why it could not be started.
	err error
	// stopped is why it was stopped, nil when it ended by itself.
	stopped error
	// ok: it ended with 0. how is its exit status, or the signal.
	ok     bool
	how    string
	stderr tail
	stdout message
}

// failure says how a task has failed, empty when it is done, and whether it is to
// be given again. An agent that was stopped may well say that all is fine: it has
// not done its work.
func (e *ending) failure() (how string, again bool) {
	switch {
	case e.err != nil:
		return "the agent cannot be started: " + e.err.Error(), true
	case e.stopped != nil:
		return e.stopped.Error(), true
	case e.ok:
		return "", false
	default:
		return e.how, false
	}
}

// runAgent runs the agent of a task until it ends or ctx does.
func (j *job) runAgent(ctx context.Context, values *component) *ending {
	e := &ending{}
	if e.stopped = context.Cause(ctx); e.stopped != nil {
		return e
	}
	ofAgent, err := j.setUp(ctx)
	if err != nil {
		e.err = err
		return e
	}
	processes, err := newGroup()
	if err != nil {
		e.err = err
		return e
	}
	defer processes.kill()
	out, errs := j.printer(j.Out), j.printer(j.Err)
	defer out.flush()
	defer errs.flush()
	cmd := exec.Command("sh", "-c", j.Command)
	cmd.Dir = j.Dir
	cmd.Env = append(append([]string{}, j.Environ...), variables(j.task)...)
	// What the state of the run says of the model comes after what the agent's definition does.
	cmd.Env = append(cmd.Env, ofAgent...)
	cmd.Env = append(cmd.Env, j.runtimeHints(ctx)...)
	if values != nil {
		cmd.Env = append(cmd.Env, "INTERLOCK_COMPONENT_FILE="+values.file)
	}
	cmd.Stdin = strings.NewReader(j.task.GetPrompt())
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&e.stdout, out), io.MultiWriter(&e.stderr, errs)
	// What the agent has left behind may print for so long.
	cmd.WaitDelay = j.KillAfter
	processes.add(cmd)
	if err := cmd.Start(); err != nil {
		e.err = fmt.Errorf("in %q: %w", j.Dir, err)
		return e
	}
	var stopping sync.WaitGroup
	ended := make(chan struct{})
	stopping.Go(func() {
		select {
		case <-ended:
			return
		case <-ctx.Done():
			e.stopped = context.Cause(ctx)
		}
		processes.signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(j.KillAfter):
			processes.signal(syscall.SIGKILL)
		}
	})
	err = cmd.Wait()
	close(ended)
	stopping.Wait()
	if cmd.ProcessState == nil { // it could not be waited for
		e.how = err.Error()
		return e
	}
	// What came after its end does not count, such as output that was cut off.
	e.ok, e.how = cmd.ProcessState.Success(), cmd.ProcessState.String()
	return e
}

// hintsWithin is how long a runner waits for what the state of a run says to the runtime:
// it is a hint, and the agent starts without it.
const hintsWithin = 5 * time.Second

// runtimeHints are what the state of the session's run says to the agent's runtime (S15.12).
// The run is known by whichever the agent calls its session: its name or its id.
func (j *job) runtimeHints(ctx context.Context) []string {
	if j.Runs == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, hintsWithin)
	defer cancel()
	for _, session := range []string{j.task.GetSessionName(), j.task.GetSessionId()} {
		got, err := j.Runs.GetRun(ctx, &enginev1.GetRunRequest{SessionId: session, Active: true})
		if err != nil {
			continue
		}
		var hints []string
		for name, value := range map[string]string{
			"INTERLOCK_MODEL": got.GetRun().GetRules().GetModel(), "INTERLOCK_THINKING_LEVEL": got.GetRun().GetRules().GetThinkingLevel(),
		} {
			if value != "" {
				hints = append(hints, name+"="+value)
			}
		}
		return hints
	}
	return nil
}

// printer passes lines on, one at a time.
func (j *job) printer(to func(session, line string)) *lines {
	return &lines{pass: func(line string) {
		if to != nil {
			j.printing.Lock()
			defer j.printing.Unlock()
			to(j.task.GetSessionName(), line)
		}
	}}
}
