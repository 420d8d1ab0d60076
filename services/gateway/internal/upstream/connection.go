package upstream

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// maxBackoff is the longest wait before a server is started again.
	maxBackoff = 30 * time.Second
	// healthyAfter is how long a server must serve for its failures to be
	// forgotten.
	healthyAfter = 30 * time.Second
	// legacyProtocol is tried when a server cannot be reached with the newest
	// one: some old servers never answer a method they do not know.
	legacyProtocol = "2025-11-25"
)

var (
	errStarting = errors.New("it is starting")
	// errNotReady is for calls whose time is up.
	errNotReady = errors.New("it did not become ready in time")
	// errRenewed ends a server that another environment is wanted for.
	errRenewed = errors.New("it is being restarted")
)

// connection keeps one server connected: it starts it, lists its tools, and starts
// it again when it fails.
type connection struct {
	server   Server
	options  Options
	log      *slog.Logger
	progress *progress
	changed  func(Kinds)      // after the lists have changed
	updated  func(uri string) // after a resource has changed

	relist chan struct{} // the server says that its offers have changed
	renew  chan struct{} // another environment is wanted
	first  chan struct{} // closed after the first attempt
	gate   chan struct{} // full while a call begins, or waits for another environment

	mu      sync.Mutex
	session *sdk.ClientSession // nil while not connected
	err     error              // why not
	env     environment        // the environment of session, or err
	wanted  environment        // the environment to start the server with
	calls   int                // under way
	served  bool               // a call has ended since the last failure
	watched []string           // URIs of resources, the newest last
	moved   chan struct{}      // closed and replaced when one of session, err and calls changes
	offers  offers             // as last listed, kept while the server is down
	said    Kinds              // lists that the server says have changed since
	only    *Peer              // the client that has used the process alone since it was started
	many    bool               // several have
}

func newConnection(server Server, options Options, progress *progress, changed func(Kinds), updated func(uri string)) *connection {
	env := server.environment(options.Jailer.Mode, os.Environ(), nil)
	return &connection{
		server: server, options: options, log: options.Logger.With("upstream", server.Name),
		progress: progress, changed: changed, updated: updated,
		relist: make(chan struct{}, 1), renew: make(chan struct{}, 1), first: make(chan struct{}),
		gate: make(chan struct{}, 1), moved: make(chan struct{}), err: errStarting, env: env, wanted: env,
	}
}

// environmentWith returns the environment of the server's process with a caller's demands.
func (c *connection) environmentWith(demanded *Environment) environment {
	return c.server.environment(c.options.Jailer.Mode, os.Environ(), demanded)
}

// run keeps the server connected until ctx ends.
func (c *connection) run(ctx context.Context) {
	wait, protocol := c.options.Backoff, ""
	first := sync.OnceFunc(func() { close(c.first) })
	defer first()
	if c.options.Alone != nil {
		select {
		case <-c.options.Alone.met: // the server gets the client's capabilities
		case <-ctx.Done():
			return
		}
	}
	for ctx.Err() == nil {
		var up time.Time
		env := c.demanded()
		err := c.serve(ctx, protocol, env, func() { up = time.Now(); first() })
		first()
		if ctx.Err() != nil {
			c.set(nil, c.demanded(), errors.New("the gateway is stopping"))
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
		case time.Since(up) > healthyAfter || c.hasServed():
			wait = c.options.Backoff
		}
		c.set(nil, env, err)
		if words := lastWordsOf(err); words != "" {
			c.log.Warn("upstream: a server in a jail has ended", "stderr", words)
		}
		c.log.Warn("upstream: a server is down", "error", err, "retry_in", wait.String())
		timer := time.NewTimer(wait + rand.N(wait/4+1))
		select {
		case <-timer.C:
		case <-c.renew:
		case <-ctx.Done():
		}
		timer.Stop()
		wait = min(2*wait, maxBackoff)
	}
}

// serve connects once and stays until the connection ends, and says why it did.
func (c *connection) serve(ctx context.Context, protocol string, env environment, connected func()) error {
	transport, ended, err := c.transport(env, c.options.Alone)
	if err != nil {
		return err
	}
	defer ended(true) //nolint:errcheck // stopping has no result
	starting, cancel := context.WithTimeout(ctx, c.options.ConnectTimeout)
	defer cancel()
	session, err := c.client(c.options.Alone).Connect(starting, transport, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
	if err != nil {
		return fmt.Errorf("connect: %w", whyEnded(ended, err))
	}
	defer closeWithin(session, c.options.StopGrace)
	if err := c.list(starting, session); err != nil {
		return fmt.Errorf("list its tools: %w", whyEnded(ended, err))
	}
	c.mu.Lock()
	c.only, c.many = nil, false
	c.mu.Unlock()
	c.set(session, env, nil)
	c.watchAgain(starting, session)
	if c.options.Alone != nil {
		c.options.Alone.adopt(starting, c, session)
		defer c.options.Alone.forget(c, session)
	}
	connected()
	gone := make(chan error, 1)
	go func() { gone <- session.Wait() }()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-gone:
			return fmt.Errorf("the connection ended: %w", whyEnded(ended, err))
		case <-c.renew:
			if !slices.Equal(c.demanded(), env) {
				return errRenewed
			}
		case <-c.relist:
			listing, cancel := context.WithTimeout(ctx, c.options.ConnectTimeout)
			err := c.list(listing, session)
			cancel()
			if err != nil {
				return fmt.Errorf("list its tools: %w", whyEnded(ended, err))
			}
		}
	}
}

// client returns the client that a server sees: Interlock, and where it serves one client
// alone, with that one's capabilities.
func (c *connection) client(peer *Peer) *sdk.Client {
	relist := func(kinds Kinds) {
		c.mu.Lock()
		c.said = c.said.and(kinds)
		c.mu.Unlock()
		select {
		case c.relist <- struct{}{}:
		default:
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "interlock", Version: c.options.Version}, &sdk.ClientOptions{
		Capabilities:               peer.capabilities(),
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { relist(Kinds{Tools: true}) },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { relist(Kinds{Prompts: true}) },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { relist(Kinds{Resources: true}) },
		ResourceUpdatedHandler: func(_ context.Context, req *sdk.ResourceUpdatedNotificationRequest) {
			if c.watches(req.Params.URI) {
				c.updated(req.Params.URI)
			}
		},
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true},
	})
	if peer != nil {
		client.AddReceivingMiddleware(peer.relay)
	}
	return client
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

// whyEnded prefers the end of the process over the error of its pipe.
func whyEnded(ended func(stop bool) error, err error) error {
	if cause := ended(false); cause != nil {
		return cause
	}
	if err == nil {
		return errors.New("the server closed it")
	}
	return err
}

// list takes over the server's offers, and passes on their changes.
func (c *connection) list(ctx context.Context, session *sdk.ClientSession) error {
	found, err := c.ask(ctx, session)
	if err != nil {
		return err
	}
	c.mu.Lock()
	// Kinds that the server says have changed are passed on, even where it has changed
	// back since.
	kinds := found.differ(c.offers).and(c.said)
	c.offers, c.said = found, Kinds{}
	c.mu.Unlock()
	if kinds != (Kinds{}) {
		c.changed(kinds)
	}
	return nil
}

func (c *connection) set(session *sdk.ClientSession, env environment, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.env, c.err = session, env, err
	c.wake()
}

// wake notifies callers that wait on moved; c.mu is held.
func (c *connection) wake() {
	close(c.moved)
	c.moved = make(chan struct{})
}

// demanded returns the environment to start the server with.
func (c *connection) demanded() environment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.wanted
}

// offered returns the server's offers, as last listed.
func (c *connection) offered() offers {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offers
}

// hasServed reports whether a call has ended since it was last asked: a server that
// serves may crash now and then.
func (c *connection) hasServed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	served := c.served
	c.served = false
	return served
}

// failure returns why the server cannot be called now, or nil.
func (c *connection) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// awaitFirst waits for the first attempt and is whether the server serves now.
func (c *connection) awaitFirst(ctx context.Context) bool {
	select {
	case <-c.first:
	case <-ctx.Done():
	}
	return c.failure() == nil
}

// begin returns the session for one call of the server, which ends with done. env is the
// environment that the server must have, or nil for its present one: when it has another
// one, calls under way finish first, and it is being restarted.
//
// Where via has a session of its own with the server, it is that one.
func (c *connection) begin(ctx context.Context, env environment, via *Peer) (session *sdk.ClientSession, done func(), err error) {
	leave := func() {}
	if via != nil {
		leave = via.during(ctx)
	}
	defer func() {
		if err != nil {
			leave()
		}
	}()
	if via != nil && c.options.Alone == nil && c.server.URL != "" {
		session, err = via.session(ctx, c)
		return session, leave, err
	}
	select {
	case c.gate <- struct{}{}:
	case <-ctx.Done():
		return nil, nil, errNotReady
	}
	defer func() { <-c.gate }()
	if env != nil {
		if err := c.demand(ctx, env); err != nil {
			return nil, nil, err
		}
	}
	if session, err = c.connected(ctx); err != nil {
		return nil, nil, err
	}
	c.mu.Lock()
	c.used(via)
	c.mu.Unlock()
	c.count(1)
	return session, func() { c.count(-1); leave() }, nil
}

func (c *connection) count(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls += n
	c.served = c.served || n < 0 && c.session != nil
	c.wake()
}

// demand has the server started with another environment, once no call is under
// way. The caller holds the gate, so none begins in the meantime.
func (c *connection) demand(ctx context.Context, env environment) error {
	for {
		c.mu.Lock()
		same, busy, moved := slices.Equal(c.wanted, env), c.calls > 0, c.moved
		if !same && !busy {
			c.wanted = env
		}
		c.mu.Unlock()
		switch {
		case same:
			return nil
		case !busy:
			select {
			case c.renew <- struct{}{}:
			default:
			}
			return nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return errors.New("its running calls have not finished")
		}
	}
}

// connected returns the live session with the wanted environment. It waits for a server
// that starts for the first time or anew, and answers at once for one that is down.
func (c *connection) connected(ctx context.Context) (*sdk.ClientSession, error) {
	for {
		c.mu.Lock()
		session, err, moved := c.session, c.err, c.moved
		if !slices.Equal(c.env, c.wanted) {
			session, err = nil, errStarting
		}
		c.mu.Unlock()
		if session != nil {
			return session, nil
		}
		if !errors.Is(err, errStarting) {
			return nil, fmt.Errorf("%w; Interlock restarts it; try again later", err)
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return nil, errNotReady
		}
	}
}
