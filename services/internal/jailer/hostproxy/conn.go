package hostproxy

import (
	"bufio"
	"context"
	"net"
	"sync"
	"time"
)

// conn is a connection that ends after a time without a byte in either direction, where no other deadline
// is set. Its reader may hold bytes that were peeked at.
type conn struct {
	net.Conn
	reader *bufio.Reader
	idle   time.Duration
	forget func()
	done   chan struct{}
	once   sync.Once

	mu                    sync.Mutex
	readUntil, writeUntil time.Time
}

// firstLine bounds what is peeked at in a tunnel.
const firstLine = 16 << 10

// track wraps a connection, and closes it with the proxy. It returns nil when the proxy is closed.
func (p *proxy) track(raw net.Conn) *conn {
	c := &conn{Conn: raw, idle: p.opts.Idle, done: make(chan struct{})}
	c.reader = bufio.NewReaderSize(rawReader{c}, firstLine)
	c.forget = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, c)
	}
	p.mu.Lock()
	closed := p.closed
	if !closed {
		p.conns[c] = struct{}{}
	}
	p.mu.Unlock()
	if closed {
		_ = raw.Close()
		return nil
	}
	return c
}

func (p *proxy) closeAll() {
	p.mu.Lock()
	p.closed = true
	open := make([]*conn, 0, len(p.conns))
	for c := range p.conns {
		open = append(open, c)
	}
	p.mu.Unlock()
	for _, c := range open {
		_ = c.Close()
	}
}

func (c *conn) Close() error {
	err := net.ErrClosed
	c.once.Do(func() {
		err = c.Conn.Close()
		c.forget()
		close(c.done)
	})
	return err
}

func (c *conn) Read(b []byte) (int, error) { return c.reader.Read(b) }

// rawReader reads what the reader of a conn does not hold.
type rawReader struct{ c *conn }

func (r rawReader) Read(b []byte) (int, error) {
	r.c.refresh()
	return r.c.Conn.Read(b)
}

func (c *conn) Write(b []byte) (int, error) {
	c.refresh()
	return c.Conn.Write(b)
}

// CloseWrite says that no more is written, where the connection can say so.
func (c *conn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

func (c *conn) refresh() {
	c.mu.Lock()
	defer c.mu.Unlock()
	until := time.Now().Add(c.idle)
	if c.readUntil.IsZero() {
		_ = c.Conn.SetReadDeadline(until)
	}
	if c.writeUntil.IsZero() {
		_ = c.Conn.SetWriteDeadline(until)
	}
}

// SetDeadline sets both; the zero time is the idle time.
func (c *conn) SetDeadline(t time.Time) error {
	if err := c.SetReadDeadline(t); err != nil {
		return err
	}
	return c.SetWriteDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.readUntil = t
	return c.Conn.SetReadDeadline(c.or(t))
}

func (c *conn) SetWriteDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeUntil = t
	return c.Conn.SetWriteDeadline(c.or(t))
}

func (c *conn) or(t time.Time) time.Time {
	if t.IsZero() {
		return time.Now().Add(c.idle)
	}
	return t
}

// handoff is a listener whose connections come from elsewhere.
type handoff struct {
	addr  net.Addr
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newHandoff(addr net.Addr) *handoff {
	return &handoff{addr: addr, conns: make(chan net.Conn), done: make(chan struct{})}
}

// give passes a connection to Accept, and returns false when that is over.
func (h *handoff) give(ctx context.Context, c net.Conn) bool {
	select {
	case h.conns <- c:
		return true
	case <-h.done:
	case <-ctx.Done():
	}
	return false
}

func (h *handoff) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.done:
		return nil, net.ErrClosed
	}
}

func (h *handoff) Close() error {
	h.once.Do(func() { close(h.done) })
	return nil
}

func (h *handoff) Addr() net.Addr { return h.addr }
