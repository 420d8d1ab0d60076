package upstream

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"
)

const (
	// exitNotice is how long the end of a process may come after that of its pipe.
	exitNotice = time.Second
	// lastWords is how long output that a process left behind is still read.
	lastWords = time.Second
)

// process is a running server.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	grace  time.Duration

	done    chan struct{} // closed when it has been waited for
	err     error         // how it ended; after done
	endOnce sync.Once
}

// startProcess starts a server in a process group of its own.
func startProcess(server Server, options Options, env environment) (*process, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start it: %w", err), childIn.Close(), stdin.Close())
	}
	cmd := exec.Command(server.Command[0], server.Command[1:]...) // the operator's configuration
	cmd.Dir = server.Dir
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, options.Stderr
	cmd.WaitDelay = lastWords
	ownGroup(cmd)
	err = cmd.Start()
	childIn.Close()  // the child has its own
	childOut.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start it: %w", err), stdin.Close(), stdout.Close())
	}
	p := &process{cmd: cmd, stdin: stdin, stdout: stdout, grace: options.StopGrace, done: make(chan struct{})}
	go p.wait()
	return p, nil
}

func (p *process) wait() {
	err := p.cmd.Wait()
	signalGroup(p.cmd, true) // what it leaves behind
	if err == nil {
		err = errors.New("exit status 0")
	}
	p.err = fmt.Errorf("its process ended: %w", err)
	// Something may still hold its stdout open: what is there is read, then no more.
	p.stdout.SetReadDeadline(time.Now().Add(lastWords)) //nolint:errcheck // the file may be closed
	close(p.done)
}

// end stops the process and everything in its group, or, when not told to stop,
// says how it ended by itself, and nil while it runs.
func (p *process) end(stop bool) error {
	if !stop {
		// Its pipe may say so a little earlier.
		timer := time.NewTimer(exitNotice)
		defer timer.Stop()
		select {
		case <-p.done:
			return p.err
		case <-timer.C:
			return nil
		}
	}
	p.endOnce.Do(func() {
		p.stdin.Close() // it may be closed already
		if !p.gone() {
			signalGroup(p.cmd, false)
			if !p.gone() {
				signalGroup(p.cmd, true)
			}
		}
		<-p.done
		p.stdout.Close() // it may be closed already
	})
	return nil
}

func (p *process) gone() bool {
	timer := time.NewTimer(p.grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return true
	case <-timer.C:
		return false
	}
}
