package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxBackoff is the longest wait before an upstream is started again.
	maxBackoff = 30 * time.Second
	// healthyAfter is how long an upstream must serve for its failures to be
	// forgotten.
	healthyAfter = 30 * time.Second
	// maxUpstreamTools bounds the tools of one upstream.
	maxUpstreamTools = 4096
	// legacyProtocol is tried when an upstream cannot be reached with the newest
	// one: some old servers never answer a method they do not know.
	legacyProtocol = "2025-11-25"
)

var (
	errStarting = errors.New("it is starting")
	// errNotReady is for calls whose time is up.
	errNotReady = errors.New("it has not become ready in time")
	// errRenewed ends a server that another environment is wanted for.
	errRenewed = errors.New("it is started anew")
)

// upstream keeps one upstream server connected: it starts it, lists its tools,
// and starts it again when it fails.
type upstream struct {
	cfg      Upstream
	edge     Config
	log      *slog.Logger
	progress *progress
	changed  func() // after the list of tools has changed

	relist chan struct{} // the server says that its tools have changed
	renew  chan struct{} // another environment is wanted
	first  chan struct{} // closed after the first attempt
	gate   chan struct{} // full while somebody begins a call, or waits for another environment

	mu      sync.Mutex
	session *sdk.ClientSession // nil while not connected
	err     error              // why not
	env     environment        // what session, or err, came of
	wanted  environment        // what the server is to be started with
	calls   int                // under way
	moved   chan struct{}      // closed and replaced when one of session, err and calls changes
	tools   []*sdk.Tool        // as last listed, kept while the server is down
}

func newUpstream(cfg Upstream, edge Config, progress *progress, changed func()) *upstream {
	env := cfg.environment(os.Environ(), nil)
	return &upstream{
		cfg: cfg, edge: edge, log: edge.Logger.With("upstream", cfg.Name), progress: progress, changed: changed,
		relist: make(chan struct{}, 1), renew: make(chan struct{}, 1), first: make(chan struct{}), gate: make(chan struct{}, 1),
		moved: make(chan struct{}), err: errStarting, env: env, wanted: env,
	}
}

// run keeps the server connected until ctx ends.
func (u *upstream) run(ctx context.Context) {
	wait, protocol := u.edge.backoff, ""
	first := sync.OnceFunc(func() { close(u.first) })
	defer first()
	for ctx.Err() == nil {
		var up time.Time
		env := u.demanded()
		err := u.serve(ctx, protocol, env, func() { up = time.Now(); first() })
		first()
		if ctx.Err() != nil {
			u.set(nil, u.demanded(), errors.New("the gateway is stopping"))
			return
		}
		if errors.Is(err, errRenewed) {
			continue
		}
		switch {
		case up.IsZero() && protocol == "":
			protocol = legacyProtocol
		case up.IsZero():
			protocol = ""
		case time.Since(up) > healthyAfter:
			wait = u.edge.backoff
		}
		u.set(nil, env, err)
		u.log.Warn("mcp: an upstream server is down", "error", err, "retry_in", wait.String())
		timer := time.NewTimer(wait + rand.N(wait/4+1))
		select {
		case <-timer.C:
		case <-u.renew:
		case <-ctx.Done():
		}
		timer.Stop()
		wait = min(2*wait, maxBackoff)
	}
}

// serve connects once and stays until the connection ends, and says why it did.
func (u *upstream) serve(ctx context.Context, protocol string, env environment, connected func()) error {
	client := sdk.NewClient(&sdk.Implementation{Name: "interlock", Version: u.edge.Version}, &sdk.ClientOptions{
		Capabilities:                &sdk.ClientCapabilities{},
		ProgressNotificationHandler: u.progress.relay,
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {
			select {
			case u.relist <- struct{}{}:
			default:
			}
		},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	})
	transport, ended, err := u.transport(env)
	if err != nil {
		return err
	}
	defer ended(true) //nolint:errcheck // stopping has no result
	starting, cancel := context.WithTimeout(ctx, u.edge.ConnectTimeout)
	defer cancel()
	session, err := client.Connect(starting, transport, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		return fmt.Errorf("connect: %w", whyEnded(ended, err))
	}
	defer closeWithin(session, u.edge.stopGrace)
	if err := u.list(starting, session); err != nil {
		return fmt.Errorf("list its tools: %w", whyEnded(ended, err))
	}
	u.set(session, env, nil)
	connected()
	gone := make(chan error, 1)
	go func() { gone <- session.Wait() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-gone:
			return fmt.Errorf("the connection ended: %w", whyEnded(ended, err))
		case <-u.renew:
			if !slices.Equal(u.demanded(), env) {
				return errRenewed
			}
		case <-u.relist:
			listing, cancel := context.WithTimeout(ctx, u.edge.ConnectTimeout)
			err := u.list(listing, session)
			cancel()
			if err != nil {
				return fmt.Errorf("list its tools: %w", whyEnded(ended, err))
			}
		}
	}
}

// closeWithin ends a session, whose server may not listen any more.
func closeWithin(session *sdk.ClientSession, limit time.Duration) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		session.Close() // it is gone either way
	}()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// whyEnded prefers what happened to the process over what its pipe said.
func whyEnded(ended func(stop bool) error, err error) error {
	if cause := ended(false); cause != nil {
		return cause
	}
	if err == nil {
		return errors.New("the server closed it")
	}
	return err
}

// list takes over the server's tools, and passes on when they have changed.
func (u *upstream) list(ctx context.Context, session *sdk.ClientSession) error {
	var tools []*sdk.Tool
	if caps := session.InitializeResult().Capabilities; caps == nil || caps.Tools != nil {
		for tool, err := range session.Tools(ctx, nil) {
			if err != nil {
				return err
			}
			if len(tools) == maxUpstreamTools {
				u.log.Warn("mcp: an upstream server has too many tools; the rest is left out", "limit", maxUpstreamTools)
				break
			}
			if tool.InputSchema == nil {
				tool.InputSchema = emptySchema
			}
			tools = append(tools, tool)
		}
	}
	u.mu.Lock()
	same := reflect.DeepEqual(tools, u.tools)
	u.tools = tools
	u.mu.Unlock()
	if !same {
		u.changed()
	}
	return nil
}

func (u *upstream) set(session *sdk.ClientSession, env environment, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.session, u.env, u.err = session, env, err
	u.wake()
}

// wake tells those who wait on moved; u.mu is held.
func (u *upstream) wake() {
	close(u.moved)
	u.moved = make(chan struct{})
}

// demanded is the environment to start the server with.
func (u *upstream) demanded() environment {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.wanted
}

// offered is the server's tools as last listed.
func (u *upstream) offered() []*sdk.Tool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.tools
}

// failure is why the server cannot be called now, or nil.
func (u *upstream) failure() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.err
}

// awaitFirst waits for the first attempt and is whether the server serves now.
func (u *upstream) awaitFirst(ctx context.Context) bool {
	select {
	case <-u.first:
	case <-ctx.Done():
	}
	return u.failure() == nil
}
