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

// serveFeed sends a feed as server-sent events until it ends, the client leaves,
// reads too slowly or may no longer read, or the server drains.
func (e *edge) serveFeed(c *call, open func(context.Context) (*feed, error)) error {
	ctx, cancel := context.WithCancel(c.ctx)
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
		e.pump(ctx, s, f)
	}
	return nil
}

// pump copies events to the client.
func (e *edge) pump(ctx context.Context, s *stream, f *feed) {
	idle, recheck := time.NewTicker(e.heartbeat), time.NewTicker(e.recheck)
	defer idle.Stop()
	defer recheck.Stop()
	drain := draining(ctx)
	for {
		var good bool
		select {
		case ev, open := <-f.events:
			good = open && s.event(ev)
		case <-idle.C:
			good = s.write([]byte(": keep-alive\n\n"))
		case <-recheck.C:
			// A token may have been withdrawn since; any doubt ends the stream.
			good = f.allowed(ctx) == nil
		case <-drain:
			return
		case <-ctx.Done():
			return
		}
		if !good {
			return
		}
	}
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
