package bus

import (
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// proxy stands between a relay and NATS and can withhold NATS's answers.
type proxy struct {
	l      net.Listener
	target string
	deaf   atomic.Bool

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

func newProxy(tb testing.TB, target string) *proxy {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	p := &proxy{l: l, target: strings.TrimPrefix(target, "nats://")}
	p.wg.Go(p.accept)
	tb.Cleanup(func() {
		l.Close()
		p.cut()
		p.wg.Wait()
	})
	return p
}

func (p *proxy) url() string { return "nats://" + p.l.Addr().String() }

func (p *proxy) accept() {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.target)
		if err != nil {
			client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		p.wg.Go(func() {
			io.Copy(server, client) // ends when either does
			server.Close()
		})
		p.wg.Go(func() {
			p.answers(client, server)
			client.Close()
		})
	}
}

// answers carries the server's messages, unless the proxy is deaf: then they are
// read and thrown away.
func (p *proxy) answers(client, server net.Conn) {
	buf := make([]byte, 32<<10)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		if p.deaf.Load() {
			continue
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}

// cut breaks all connections in the middle of their traffic.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
	p.conns = nil
}

// Publishes arrive and their acknowledgements don't; connections break in the
// middle of a message.
func TestLostAcknowledgements(t *testing.T) {
	t.Parallel()
	r, st := newRig(t), newMemStore(4)
	p := newProxy(t, r.nats.URL())
	src := newSource(t, st)
	cfg := r.config("a")
	cfg.NATS.URL = p.url()
	cfg.AckTimeout = 300 * 1e6 // a deaf line is found out soon
	relay, _ := run(t, st, cfg)
	js := r.js()
	stop := src.load(20)
	for i := range 6 {
		before := stored(js)
		eventually(t, "events flow", func() bool { return stored(js) > before+100 })
		failures := testutil.ToFloat64(relay.m.failures)
		if i%2 == 0 {
			p.deaf.Store(true)
		} else {
			p.cut()
		}
		eventually(t, "the relay notices", func() bool { return testutil.ToFloat64(relay.m.failures) > failures })
		p.deaf.Store(false)
		p.cut()
	}
	stop()
	r.awaitAll(src)
	if n := testutil.ToFloat64(relay.m.duplicates); n == 0 {
		t.Error("nothing was published twice: no acknowledgement was lost")
	}
	if n := testutil.ToFloat64(relay.m.rewinds); n != 0 {
		t.Errorf("%v rewinds though the stream lost nothing", n)
	}
}
