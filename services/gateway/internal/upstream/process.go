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

// program runs as a server's process.
type program interface {
	// wait waits for its end, and says how it came: an error in any case.
	wait() error
	// signal ends it with all that it has started: politely, or for good.
	signal(kill bool)
}

// process is a running server.
type process struct {
	program
	stdin  *os.File
	stdout *os.File
	grace  time.Duration

	done    chan struct{} // closed when it has been waited for
	err     error         // how it ended; after done
	endOnce sync.Once
}

// startProcess starts a server: in a jail, or else in a process group of its own.
func startProcess(server Server, options Options, env environment) (*process, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start it: %w", err), childIn.Close(), stdin.Close())
	}
	started, err := startProgram(server, options, env, childIn, childOut)
	if err != nil {
		childIn.Close()  // unused
		childOut.Close() // unused
		return nil, errors.Join(err, stdin.Close(), stdout.Close())
	}
	p := &process{program: started, stdin: stdin, stdout: stdout, grace: options.StopGrace, done: make(chan struct{})}
	go p.watch()
	return p, nil
}

// startProgram starts a server with these standard streams, and closes them when the server has its own.
func startProgram(server Server, options Options, env environment, in, out *os.File) (program, error) {
	if needs, _ := server.jailed(options.Jailer.Mode); needs != nil {
		p, err := startInJail(server, needs, options, env, in, out)
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	cmd := exec.Command(server.Command[0], server.Command[1:]...) // the operator's configuration
	cmd.Dir = server.Dir
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, options.Stderr
	cmd.WaitDelay = lastWords
	ownGroup(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	in.Close()  // the child has its own
	out.Close() // the child has its own
	return plain{cmd}, nil
}

// plain is a server's process without a jail.
type plain struct{ cmd *exec.Cmd }

func (p plain) wait() error {
	err := p.cmd.Wait()
	p.signal(true) // its remaining children
	if err == nil {
		err = errors.New("exit status 0")
	}
	return err
}

func (p plain) signal(kill bool) { signalGroup(p.cmd, kill) }

func (p *process) watch() {
	p.err = fmt.Errorf("its process ended: %w", p.wait())
	// A process may still hold its stdout open: the present output is read, then no more.
	p.stdout.SetReadDeadline(time.Now().Add(lastWords)) //nolint:errcheck // the file may be closed
	close(p.done)
}

// end stops the process and all of its group, or, without stop, returns how it ended by
// itself, and nil while it runs.
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
			p.signal(false)
			if !p.gone() {
				p.signal(true)
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
