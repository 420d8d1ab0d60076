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
	queue chan *sdk.ProgressNotificationParams
}

func newProgress() *progress { return &progress{waiting: map[string]progressTarget{}} }

// forward makes a token for an upstream call, until done. A client that does not
// read loses progress, and holds up nobody else.
func (p *progress) forward(ctx context.Context, session *sdk.ServerSession, token any) (ours string, done func()) {
	ours = rand.Text()
	target := progressTarget{token: token, queue: make(chan *sdk.ProgressNotificationParams, 64)}
	p.mu.Lock()
	p.waiting[ours] = target
	p.mu.Unlock()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for params := range target.queue {
			session.NotifyProgress(ctx, params) //nolint:errcheck // progress is a courtesy
		}
	}()
	return ours, func() {
		p.mu.Lock()
		delete(p.waiting, ours)
		close(target.queue)
		p.mu.Unlock()
		select {
		case <-sent:
		case <-time.After(flushProgress):
		}
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
	select {
	case target.queue <- &params:
	default:
	}
}
