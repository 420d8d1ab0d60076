package mcp

import (
	"context"
	"crypto/rand"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// progress passes the progress of upstream calls on to the clients that asked for
// it. Tokens are our own, so that no upstream can speak for another's call.
type progress struct {
	mu      sync.Mutex
	waiting map[string]progressTarget
}

type progressTarget struct {
	token any
	outbox
}

// outbox sends progress to a client that may not read. What it has no room for is
// dropped.
type outbox chan *sdk.ProgressNotificationParams

// newOutbox sends until flush, which gives what is in it a moment to go out. Nothing
// may be put into it afterwards.
func newOutbox(ctx context.Context, session *sdk.ServerSession) (box outbox, flush func()) {
	box = make(outbox, 64)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for params := range box {
			session.NotifyProgress(ctx, params) //nolint:errcheck // progress is a courtesy
		}
	}()
	return box, func() {
		close(box)
		select {
		case <-sent:
		case <-time.After(flushProgress):
		}
	}
}

func (box outbox) put(params *sdk.ProgressNotificationParams) {
	select {
	case box <- params:
	default:
	}
}

func newProgress() *progress { return &progress{waiting: map[string]progressTarget{}} }

// forward makes a token for an upstream call, until done. A client that does not
// read loses progress, and holds up nobody else.
func (p *progress) forward(ctx context.Context, session *sdk.ServerSession, token any) (ours string, done func()) {
	ours = rand.Text()
	box, flush := newOutbox(ctx, session)
	p.mu.Lock()
	p.waiting[ours] = progressTarget{token, box}
	p.mu.Unlock()
	return ours, func() {
		p.mu.Lock()
		delete(p.waiting, ours)
		p.mu.Unlock()
		flush() // whoever could put something in has done so
	}
}

// flushProgress is how long a result waits for progress that goes before it.
const flushProgress = time.Second

// relay handles an upstream's notification.
func (p *progress) relay(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
	ours, _ := req.Params.ProgressToken.(string)
	p.mu.Lock()
	defer p.mu.Unlock()
	target, ok := p.waiting[ours]
	if !ok {
		return
	}
	params := *req.Params
	params.Meta = nil
	params.ProgressToken = target.token
	target.put(&params)
}

// countProgress tells a client that asked for it how long a wait has taken, until
// stopped.
func (s *Server) countProgress(ctx context.Context, call *sdk.CallToolRequest, limit time.Duration, message string) (stop func()) {
	if call == nil || call.Session == nil || call.Params.GetProgressToken() == nil {
		return func() {}
	}
	box, flush := newOutbox(ctx, call.Session)
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(s.cfg.progressEvery)
		defer tick.Stop()
		for began := time.Now(); ; {
			box.put(&sdk.ProgressNotificationParams{
				ProgressToken: call.Params.GetProgressToken(), Message: message,
				Progress: time.Since(began).Seconds(), Total: limit.Seconds(),
			})
			select {
			case <-tick.C:
			case <-ended:
				return
			}
		}
	}()
	return func() {
		close(ended)
		<-done
		flush()
	}
}
