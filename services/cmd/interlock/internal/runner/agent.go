package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
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

// failure describes how a task has failed, empty when it is done, and whether it is to be
// given again. An agent that was stopped may well say that all is fine: it has not done
// its work.
func (e *ending) failure() (how string, again bool) {
	var clock *endedByClock
	switch {
	case e.err != nil:
		return "the agent cannot be started: " + e.err.Error(), true
	case errors.As(e.stopped, &clock):
		return e.stopped.Error(), false
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
	out, errs := j.printer(j.Out), j.printer(j.Err)
	defer out.flush()
	defer errs.flush()
	environ := append(append([]string{}, j.Environ...), variables(j.task)...)
	// The state's model comes after that of the agent's definition.
	environ = append(environ, ofAgent...)
	environ = append(environ, j.drives(ctx).hints()...)
	if values != nil {
		environ = append(environ, "INTERLOCK_COMPONENT_FILE="+values.file)
	}
	stdout, stderr := io.MultiWriter(&e.stdout, out), io.MultiWriter(&e.stderr, errs)
	if j.Jail != nil {
		j.runJailed(ctx, e, environ, stdout, stderr)
	} else {
		j.runPlain(ctx, e, environ, stdout, stderr)
	}
	return e
}

// runPlain runs an agent without a jail until it ends or ctx does.
func (j *job) runPlain(ctx context.Context, e *ending, environ []string, stdout, stderr io.Writer) {
	processes, err := newGroup()
	if err != nil {
		e.err = err
		return
	}
	defer processes.kill()
	cmd := exec.Command("sh", "-c", j.Command)
	cmd.Dir, cmd.Env = j.Dir, environ
	cmd.Stdin = strings.NewReader(j.task.GetPrompt())
	cmd.Stdout, cmd.Stderr = stdout, stderr
	// Remaining processes of the agent may print for so long.
	cmd.WaitDelay = j.KillAfter
	processes.add(cmd)
	if err := cmd.Start(); err != nil {
		e.err = fmt.Errorf("in %q: %w", j.Dir, err)
		return
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
		case <-time.After(j.graceFor(e.stopped)):
			processes.signal(syscall.SIGKILL)
		}
	})
	err = cmd.Wait()
	close(ended)
	stopping.Wait()
	if cmd.ProcessState == nil { // it could not be waited for
		e.how = err.Error()
		return
	}
	// Later errors do not count, such as output that was cut off.
	e.ok, e.how = cmd.ProcessState.Success(), cmd.ProcessState.String()
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
