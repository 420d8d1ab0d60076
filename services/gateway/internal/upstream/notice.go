package upstream

import (
	"context"
	"encoding/json"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// Notify sends a notification to a client as a server wrote it. The client's server must have the
// middleware Writing.
func Notify(ctx context.Context, to *sdk.ServerSession, method string, params *relay.Result) error {
	// The SDK sends only known notices: this one is put in the place of another.
	return to.NotifyProgress(context.WithValue(ctx, noticeKey{}, notice{method, params}), &sdk.ProgressNotificationParams{})
}

type noticeKey struct{}

type notice struct {
	method string
	params *relay.Result
}

// Writing returns the middleware that sends the arguments of Notify.
func Writing(next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		n, ok := ctx.Value(noticeKey{}).(notice)
		if !ok {
			return next(ctx, method, req)
		}
		return next(ctx, n.method, writtenRequest{req, writtenParams{req.GetParams(), n.params}})
	}
}

type writtenRequest struct {
	sdk.Request
	params sdk.Params
}

// GetParams implements sdk.Request.
func (r writtenRequest) GetParams() sdk.Params { return r.params }

type writtenParams struct {
	sdk.Params
	text *relay.Result
}

// MarshalJSON implements json.Marshaler.
func (p writtenParams) MarshalJSON() ([]byte, error) { return p.text.JSON(), nil }

// levels are those of log messages, the least first.
var levels = map[string]int{
	"debug": 0, "info": 1, "notice": 2, "warning": 3, "error": 4, "critical": 5, "alert": 6, "emergency": 7,
}

// message passes a message for logs on, unless the client wants only others.
func (p *Peer) message(text json.RawMessage) {
	params, err := relay.ReadResult(append(json.RawMessage{}, text...))
	if err != nil || !closed(p.ready) {
		return // before the client can be notified, or unreadable for it
	}
	level, known := levels[readable(params.Get("level"))]
	p.mu.Lock()
	wanted := levels[string(p.level)] // all of them while it has not said
	p.mu.Unlock()
	if !known || level < wanted {
		return
	}
	Notify(p.newest(), p.to, "notifications/message", params) //nolint:errcheck // a courtesy
}

// message passes a message for logs of a process that many clients share to the client that has
// used the process alone since it was started: it may be about others' calls.
func (c *connection) message(text json.RawMessage) {
	c.mu.Lock()
	only := c.only
	c.mu.Unlock()
	if only != nil {
		only.message(text)
	}
}

// used notes whom a shared process has worked for; c.mu is held.
func (c *connection) used(by *Peer) {
	switch {
	case c.many:
	case by == nil || c.only != nil && (by.Owner == "" || c.only.Owner != by.Owner) && c.only != by:
		c.only, c.many = nil, true
	default:
		c.only = by
	}
}
