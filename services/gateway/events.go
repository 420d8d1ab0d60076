package gateway

import (
	"context"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/rest"
)

// eventBuffer is how many events a reader may be behind before it is dropped; it
// comes back with its last sequence.
const eventBuffer = 256

// maxReaders bounds the event streams of one process. Each has a consumer in
// NATS, of which an account has a thousand or so.
const maxReaders = 512

func newEvents(endpoint bus.Endpoint, each int) *events {
	return &events{endpoint: endpoint, readers: access.Places{
		What: "event streams", Flag: "streams-per-principal", Total: maxReaders, Each: each,
	}}
}

// events are the live events of NATS, for the REST edge.
type events struct {
	endpoint bus.Endpoint

	mu      sync.Mutex
	conn    *nats.Conn
	readers access.Places
}

var _ rest.EventSource = (*events)(nil)

// Subscribe implements rest.EventSource.
func (e *events) Subscribe(ctx context.Context, filter string, fromSeq uint64) (<-chan rest.Event, error) {
	leave, err := e.readers.Take(ctx)
	if err != nil {
		return nil, err
	}
	events, err := e.subscribe(ctx, filter, fromSeq, leave)
	if err != nil {
		leave()
	}
	return events, err
}

// subscribe opens one reader's stream, which leaves its place when it ends.
func (e *events) subscribe(ctx context.Context, filter string, fromSeq uint64, leave func()) (<-chan rest.Event, error) {
	js, err := e.stream()
	if err != nil {
		return nil, fmt.Errorf("subscribe: %w", err)
	}
	watcher, err := bus.Watch(ctx, js, bus.WatchConfig{Subjects: []string{filter}, From: fromSeq})
	if err != nil {
		return nil, err
	}
	out := make(chan rest.Event, eventBuffer)
	go func() {
		defer leave()
		defer watcher.Stop()
		defer close(out)
		for {
			m, err := watcher.Next(ctx)
			if err != nil {
				return
			}
			select {
			case out <- rest.Event{Seq: m.Seq, Subject: m.Subject, Data: m.Payload}:
			case <-ctx.Done():
				return
			default:
				return // too far behind
			}
		}
	}()
	return out, nil
}

// stream returns JetStream on the one connection.
func (e *events) stream() (jetstream.JetStream, error) {
	conn, err := e.connect()
	if err != nil {
		return nil, err
	}
	return jetstream.New(conn)
}

// connect opens the one connection that all readers share, when the first comes.
func (e *events) connect() (*nats.Conn, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn == nil {
		conn, err := e.endpoint.Connect("interlock-gateway")
		if err != nil {
			return nil, err
		}
		e.conn = conn
	}
	return e.conn, nil
}

func (e *events) close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.conn != nil {
		e.conn.Close()
	}
}
