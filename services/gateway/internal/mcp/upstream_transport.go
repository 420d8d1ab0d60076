package mcp

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// exitNotice is how long the end of a process may come after that of its pipe.
	exitNotice = time.Second
	// lastWords is how long output that a process left behind is still read.
	lastWords = time.Second
)

// transport makes the way to the server; env is that of its process. ended stops what was started for it, or,
// when not told to stop, says how it ended by itself.
func (u *upstream) transport(env environment) (t sdk.Transport, ended func(stop bool) error, err error) {
	frame := 4*u.edge.MaxResultBytes + 1<<20
	if len(u.cfg.Command) > 0 {
		p, err := startProcess(u.cfg, u.edge, env)
		if err != nil {
			return nil, nil, err
		}
		return &sdk.IOTransport{Reader: p.stdout, Writer: p.stdin, MaxLineLength: frame}, p.end, nil
	}
	endpoint, err := url.Parse(u.cfg.URL)
	if err != nil || endpoint.Host == "" || endpoint.Scheme != "http" && endpoint.Scheme != "https" {
		return nil, nil, errors.New("its URL is not one of http or https")
	}
	pool := http.DefaultTransport.(*http.Transport).Clone() // it is one
	client := &http.Client{
		Transport: &headerTransport{base: pool, host: endpoint.Host, headers: u.cfg.Headers, limit: int64(frame)},
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse // a redirect could lead the headers elsewhere
		},
	}
	return &sdk.StreamableClientTransport{Endpoint: u.cfg.URL, HTTPClient: client, MaxEventSize: frame},
		func(stop bool) error {
			if stop {
				pool.CloseIdleConnections()
			}
			return nil
		}, nil
}

// headerTransport adds an upstream's headers, to its own host only, and bounds
// what it answers.
type headerTransport struct {
	base    http.RoundTripper
	host    string
	headers map[string]string
	limit   int64
}

func (t *headerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == t.host && len(t.headers) > 0 {
		r = r.Clone(r.Context())
		for name, value := range t.headers {
			r.Header.Set(name, value)
		}
	}
	res, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	// Streams are bounded event by event instead.
	if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream") {
		res.Body = http.MaxBytesReader(nil, res.Body, t.limit)
	}
	return res, nil
}

// process is a running upstream server.
type process struct {
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	grace  time.Duration

	done    chan struct{} // closed when it has been waited for
	err     error         // how it ended; after done
	endOnce sync.Once
}

// startProcess starts an upstream server in a process group of its own.
func startProcess(cfg Upstream, edge Config, env environment) (*process, error) {
	childIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("start it: %w", err)
	}
	stdout, childOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start it: %w", err), childIn.Close(), stdin.Close())
	}
	cmd := exec.Command(cfg.Command[0], cfg.Command[1:]...) // the operator's configuration
	cmd.Dir = cfg.Dir
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, edge.UpstreamStderr
	cmd.WaitDelay = lastWords
	ownGroup(cmd)
	err = cmd.Start()
	childIn.Close()  // the child has its own
	childOut.Close() // the child has its own
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start it: %w", err), stdin.Close(), stdout.Close())
	}
	p := &process{cmd: cmd, stdin: stdin, stdout: stdout, grace: edge.stopGrace, done: make(chan struct{})}
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
