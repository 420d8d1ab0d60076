package upstream

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// Request is the request of one call of a tool.
type Request struct {
	// As is the name that was called, for messages.
	As        string
	Arguments json.RawMessage
	Meta      sdk.Meta // of the request
	// Via is the client that calls; nil where servers cannot ask it.
	Via *Peer
	// Inputs and State are given by a client of the stateless protocol when it makes a
	// call again that needed input.
	Inputs sdk.InputResponseMap
	State  string
	// Stateless is whether the client makes calls again that need input.
	Stateless bool
	// Environment is the one that the server's process must have; nil for its present
	// one.
	Environment *Environment
	// Progress gets the server's notices about the call until Call returns, and does not
	// block; nil when not requested.
	Progress func(*relay.Result)
}

// Failure is why a call has no result.
type Failure struct {
	message string
	// NotCalled is true when the tool certainly was not called.
	NotCalled bool
	// Late is true when the time for the call was up first.
	Late bool
}

// Error implements error. It is for agents.
func (f *Failure) Error() string { return f.message }

// Call calls the tool. Its error is a *Failure, or the *jsonrpc.Error that the server answers.
func (t *Tool) Call(ctx context.Context, call Request) (*relay.Result, error) {
	started := time.Now()
	var env environment
	if call.Environment != nil {
		env = t.connection.environmentWith(call.Environment)
	}
	session, end, err := t.connection.begin(ctx, env, call.Via)
	if err != nil {
		return nil, &Failure{message: err.Error(), NotCalled: true}
	}
	defer end()
	params := &sdk.CallToolParams{Name: t.Name, Arguments: call.Arguments, Meta: maps.Clone(call.Meta), InputResponses: call.Inputs, RequestState: call.State}
	if call.Progress != nil {
		token, done := t.connection.progress.forward(call.Progress)
		defer done()
		params.SetProgressToken(token)
	}
	asking, got := expecting(ctx)
	_, err = session.CallTool(asking, params)
	failed := func(format string, args ...any) error { return &Failure{message: fmt.Sprintf(format, args...)} }
	var protocol *jsonrpc.Error
	switch {
	case err == nil && got.failure != nil:
		return nil, failed("the server %s failed during %s: %v; its effect is not known", t.Server(), call.As, got.failure)
	case err == nil && got.result == nil:
		return nil, failed("the server %s returned no result", t.Server())
	case err == nil && got.result.NeedsInput() && !call.Stateless:
		return nil, failed("the server %s asks the client for input, which the protocol of this client cannot carry", t.Server())
	case err == nil:
		return got.result, nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, &Failure{Late: true, message: fmt.Sprintf(
			"the server %s did not respond to %s within %s; its effect is not known",
			t.Server(), call.As, time.Since(started).Round(time.Millisecond))}
	case ctx.Err() != nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded):
		return nil, failed("the call of %s was cancelled; its effect is not known", call.As)
	case errors.As(err, &protocol):
		return nil, protocol
	}
	return nil, failed("the connection to the server %s broke during %s; its effect is not known. Interlock restarts the server.",
		t.Server(), call.As)
}

// progress passes servers' notices about calls on to the callers that asked for them.
// Tokens are our own, so that no server can speak of another's call.
type progress struct {
	mu      sync.Mutex
	waiting map[string]func(*relay.Result)
}

func newProgress() *progress {
	return &progress{waiting: map[string]func(*relay.Result){}}
}

// forward makes a token for a call, until done: to is not called afterwards.
func (p *progress) forward(to func(*relay.Result)) (token string, done func()) {
	token = rand.Text()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[token] = to
	return token, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waiting, token)
	}
}

// relay handles a server's notification.
func (p *progress) relay(text json.RawMessage) {
	params, err := relay.ReadResult(bytes.Clone(text))
	if err != nil {
		return // a malformed one is ignored
	}
	var token string
	if json.Unmarshal(params.Get("progressToken"), &token) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if to := p.waiting[token]; to != nil {
		params.Remove("progressToken")
		to(params)
	}
}
