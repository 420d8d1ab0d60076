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

// failure describes how a task has failed, empty when it is done, and whether it is to be
// given again. An agent that was stopped may well say that all is fine: it has not done
// its work.
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
	out, errs := j.printer(j.Out), j.printer(j.Err)
	defer out.flush()
	defer errs.flush()
	environ := append(append([]string{}, j.Environ...), variables(j.task)...)
	// The state's model comes after that of the agent's definition.
	environ = append(environ, ofAgent...)
	environ = append(environ, j.runtimeHints(ctx)...)
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
		case <-time.After(j.KillAfter):
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

// hintsWithin is how long a runner waits for the state's advice to the runtime: it is a
// hint, and the agent starts without it.
const hintsWithin = 5 * time.Second

// runtimeHints returns the advice of the state of the session's run to the agent's runtime
// (S15.12). The run is known by the name or the id of its session.
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
