// Package bus announces what the store committed. It holds the envelope of
// events and their subjects, the relay that carries the store's outbox to NATS
// JetStream, durable subscribers, and live watching.
//
// The store is the truth and the stream is derived from it: whatever happens to
// NATS, the relay brings the stream up to the outbox again. Delivery is at least
// once, in order per entity. The package must never announce what was not
// committed, never drop an outbox entry that NATS may still lose, and never put
// an event's payload into a log or an error.
package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go"
)

// Endpoint says where NATS is. The zero value is nats://127.0.0.1:4222.
type Endpoint struct {
	// URL is one or more comma-separated NATS URLs.
	URL string
	// InProcess, when set, is the embedded server to talk to without a socket;
	// URL is then not used.
	InProcess nats.InProcessConnProvider
	// Options are added to every connection: credentials, TLS.
	Options []nats.Option
}

// Connect opens a connection for subscribers, which reconnects forever. The
// caller closes it. The relay makes its own connections and never uses this one.
func (e Endpoint) Connect(name string) (*nats.Conn, error) {
	return e.dial(
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250*time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 250*time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			slog.Warn("nats connection", "connection", name, "error", err)
		}),
	)
}

func (e Endpoint) dial(options ...nats.Option) (*nats.Conn, error) {
	url := e.URL
	if url == "" {
		url = nats.DefaultURL
	}
	options = append(options, e.Options...)
	if e.InProcess != nil {
		options = append(options, nats.InProcessServer(e.InProcess))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to nats: %w", err)
	}
	return nc, nil
}

// errLost means the stream no longer holds what it acknowledged.
var errLost = errors.New("the stream lost acknowledged messages")
