package rest

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"time"
)

const (
	// streamWriteTimeout bounds the writing of one event to one client.
	streamWriteTimeout = 10 * time.Second
	// reconnectAfter is the wait of clients before they come back, in milliseconds.
	reconnectAfter = 2000
)

// feed is a live stream of events.
type feed struct {
	// events is closed at its end.
	events <-chan Event
	// allowed says whether the caller may still follow it; any doubt is an error.
	allowed func(context.Context) error
	// version is where the changes of a state continue.
	version int64
}

// follow sends the events of a feed until it ends, send fails or the context ends. It
// returns an error when the caller may no longer follow it: a token may have been withdrawn
// since, and any doubt ends it. idle is called for signs of life, where it is not nil; false
// ends the feed.
func (f *feed) follow(ctx context.Context, send func(Event) bool, idle func() bool) error {
	again, alive := time.NewTicker(recheck), time.NewTicker(heartbeat)
	defer again.Stop()
	defer alive.Stop()
	for good := true; good; {
		select {
		case ev, open := <-f.events:
			good = open && send(ev)
		case <-alive.C:
			good = idle == nil || idle()
		case <-again.C:
			if err := f.allowed(ctx); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

// untilDrain returns a context that ends when the server begins to shut down.
func untilDrain(ctx context.Context) (context.Context, context.CancelFunc) {
	bounded, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-draining(ctx):
			cancel()
		case <-bounded.Done():
		}
	}()
	return bounded, cancel
}

// serveFeed sends a feed as server-sent events until it ends, the client leaves,
// reads too slowly or may no longer read, or the server drains.
func serveFeed(c *call, open func(context.Context) (*feed, error)) error {
	ctx, cancel := untilDrain(c.ctx)
	defer cancel()
	f, err := open(ctx)
	if err != nil {
		return err
	}
	s := &stream{w: c.w, control: http.NewResponseController(c.w)}
	h := c.w.Header()
	h.Set("Content-Type", contentEvents)
	h.Set("X-Accel-Buffering", "no") // proxies must not hold events back
	if c.r.Method == http.MethodHead {
		return nil
	}
	if s.write(fmt.Appendf(nil, ": connected\nretry: %d\n\n", reconnectAfter)) {
		_ = f.follow(ctx, s.event, func() bool { return s.write([]byte(": keep-alive\n\n")) }) // the client comes back and gets the reason
	}
	return nil
}

// stream writes server-sent events to one client.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
}

// event writes one event; false when the client is gone or too slow.
func (s *stream) event(ev Event) bool {
	var b bytes.Buffer
	if ev.Seq > 0 {
		fmt.Fprintf(&b, "id: %d\n", ev.Seq)
	}
	for line := range bytes.Lines(ev.Data) {
		b.WriteString("data: ")
		// A carriage return would end a line of the event stream too.
		b.Write(bytes.ReplaceAll(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"), nil))
		b.WriteByte('\n')
	}
	b.WriteByte('\n')
	return s.write(b.Bytes())
}

func (s *stream) write(p []byte) bool {
	_ = s.control.SetWriteDeadline(time.Now().Add(streamWriteTimeout)) // not every writer can
	if _, err := s.w.Write(p); err != nil {
		return false
	}
	return s.control.Flush() == nil
}
