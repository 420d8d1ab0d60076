package clients

import (
	"context"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/mcp/reply"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Progress notifies a client that asked for it how long a wait has taken, at intervals
// and until stopped.
func Progress(ctx context.Context, call *sdk.CallToolRequest, every, limit time.Duration, message string) (stop func()) {
	if call == nil || call.Session == nil || call.Params.GetProgressToken() == nil {
		return func() {}
	}
	box, flush := NewOutbox(ctx, call.Session)
	ended, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for began := time.Now(); ; {
			box.Put(reply.AsParams(&sdk.ProgressNotificationParams{
				ProgressToken: call.Params.GetProgressToken(), Message: message,
				Progress: time.Since(began).Seconds(), Total: limit.Seconds(),
			}))
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

// Outbox sends progress to a client that may not read. It drops messages without room.
type Outbox chan *relay.Result

// NewOutbox sends until flush, which gives its messages a moment to go out. It takes no
// messages afterwards.
func NewOutbox(ctx context.Context, session *sdk.ServerSession) (box Outbox, flush func()) {
	box = make(Outbox, 64)
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for params := range box {
			upstream.Notify(ctx, session, "notifications/progress", params) //nolint:errcheck // progress is a courtesy
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

// Put sends a message, or drops it where there is no room.
func (box Outbox) Put(params *relay.Result) {
	select {
	case box <- params:
	default:
	}
}

// flushProgress is how long a result waits for progress that goes before it.
const flushProgress = time.Second
