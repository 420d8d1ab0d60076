package upstream

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Peer is the client that a server's requests go to: roots, sampling, elicitation and log
// messages. A server has one where it serves one client alone: on stdio, and over HTTP by a
// session of its own. The zero Peer has no client yet; Meet sets it.
type Peer struct {
	// Owner says whose the client is: connections of one owner may be notified of one
	// another's calls. It is empty where that is not known.
	Owner string

	mu    sync.Mutex
	met   chan struct{} // closed once the client is known
	ready chan struct{} // closed once it may be asked
	to    *sdk.ServerSession
	can   *sdk.ClientCapabilities
	level sdk.LoggingLevel
	calls []context.Context // of the client, under way: requests to it go with the newest
	own   map[*connection]*sdk.ClientSession
	gone  bool
	// Questions end with asks, and each after patience.
	asks     context.Context
	patience time.Duration
}

// NewPeer returns a client that is not known yet. It need not answer: a question waits for as
// long as asks is not over, and no longer than patience.
func NewPeer(asks context.Context, patience time.Duration) *Peer {
	return &Peer{
		met: make(chan struct{}), ready: make(chan struct{}), own: map[*connection]*sdk.ClientSession{}, asks: asks, patience: patience,
	}
}

// Meet sets the client and its capabilities: nil where its protocol does not allow requests
// to it. Only the first time counts.
func (p *Peer) Meet(to *sdk.ServerSession, can *sdk.ClientCapabilities) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.to == nil {
		p.to, p.can = to, can
		close(p.met)
	}
}

// Ready records that the client may be asked now.
func (p *Peer) Ready() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !closed(p.ready) {
		close(p.ready)
	}
}

func closed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// during notes a call of the client, until end.
func (p *Peer) during(ctx context.Context) (end func()) {
	ctx = context.WithoutCancel(ctx)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, ctx)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.calls = slices.DeleteFunc(p.calls, func(other context.Context) bool { return other == ctx })
	}
}

// newest returns the newest call under way: on HTTP its stream is one that the client
// reads.
func (p *Peer) newest() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.calls); n > 0 {
		return p.calls[n-1]
	}
	return context.Background()
}

// capabilities returns those of the client, for its server; none while it is not known.
func (p *Peer) capabilities() *sdk.ClientCapabilities {
	if p == nil {
		return &sdk.ClientCapabilities{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.can == nil {
		return &sdk.ClientCapabilities{}
	}
	can := *p.can
	return &can
}

// relay passes a server's requests and messages on to the client.
func (p *Peer) relay(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		if _, ours := map[string]bool{
			"roots/list": true, "sampling/createMessage": true, "elicitation/create": true,
			"notifications/elicitation/complete": true,
		}[method]; !ours {
			return next(ctx, method, req)
		}
		select {
		case <-p.ready:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.asks.Done():
			return nil, p.asks.Err()
		}
		// The values of the client's call, until the server takes its request back.
		asking, cancel := context.WithTimeout(p.newest(), p.patience)
		defer cancel()
		defer context.AfterFunc(ctx, cancel)()
		defer context.AfterFunc(p.asks, cancel)()
		return p.ask(asking, method, req)
	}
}

func (p *Peer) ask(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
	switch r := req.(type) {
	case *sdk.ClientRequest[*sdk.ListRootsParams]:
		return orNone(p.to.ListRoots(ctx, r.Params))
	case *sdk.CreateMessageWithToolsRequest:
		return orNone(p.to.CreateMessageWithTools(ctx, r.Params))
	case *sdk.ElicitRequest:
		return orNone(p.to.Elicit(ctx, r.Params))
	case *sdk.ElicitationCompleteNotificationRequest:
		return nil, p.to.NotifyElicitationComplete(ctx, r.Params)
	}
	return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%q is not relayed", method)}
}

// orNone keeps a nil pointer from being a result.
func orNone[R sdk.Result](res R, err error) (sdk.Result, error) {
	if err != nil {
		return nil, err
	}
	return res, nil
}

// SetLevel sets which log messages the client wants, for servers that are connected later
// too. sessions are those of now.
func (p *Peer) SetLevel(ctx context.Context, level sdk.LoggingLevel) {
	p.mu.Lock()
	p.level = level
	sessions := make([]*sdk.ClientSession, 0, len(p.own))
	for _, session := range p.own {
		sessions = append(sessions, session)
	}
	p.mu.Unlock()
	for _, session := range sessions {
		session.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: level}) //nolint:errcheck // a server without levels sends all levels
	}
}

// adopt notes a session that is the client's alone, and passes the client's wishes to it.
// It returns the session that was noted first.
func (p *Peer) adopt(ctx context.Context, c *connection, session *sdk.ClientSession) *sdk.ClientSession {
	p.mu.Lock()
	level, first := p.level, p.own[c]
	if first == nil {
		p.own[c] = session
	}
	p.mu.Unlock()
	if first != nil {
		return first
	}
	if caps := session.InitializeResult().Capabilities; level != "" && caps != nil && caps.Logging != nil {
		session.SetLoggingLevel(ctx, &sdk.SetLoggingLevelParams{Level: level}) //nolint:errcheck // as in SetLevel
	}
	return session
}

// session returns the client's own session with a server over HTTP, which it opens when
// it is first needed.
func (p *Peer) session(ctx context.Context, c *connection) (*sdk.ClientSession, error) {
	p.mu.Lock()
	session, gone := p.own[c], p.gone
	p.mu.Unlock()
	if gone {
		return nil, fmt.Errorf("the client's session has ended")
	}
	if session != nil {
		return session, nil
	}
	transport, _, err := c.transport(nil, p)
	if err != nil {
		return nil, err
	}
	session, err = c.client(p).Connect(ctx, transport, nil)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	if first := p.adopt(ctx, c, session); first != session {
		closeWithin(session, c.options.StopGrace) // another call was faster
		return first, nil
	}
	go func() {
		session.Wait() //nolint:errcheck // it is opened anew when it is needed
		p.forget(c, session)
	}()
	return session, nil
}

// forget forgets a session that has ended.
func (p *Peer) forget(c *connection, session *sdk.ClientSession) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.own[c] == session {
		delete(p.own, c)
	}
}

// Leave ends the sessions of the client alone.
func (p *Peer) Leave() {
	p.mu.Lock()
	p.gone = true
	sessions := p.own
	p.own = map[*connection]*sdk.ClientSession{}
	p.mu.Unlock()
	for c, session := range sessions {
		if c.server.URL != "" {
			closeWithin(session, c.options.StopGrace)
		}
	}
}
