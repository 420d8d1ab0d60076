// Package hostproxy is the only way out of a jail's network: a proxy for HTTP, HTTPS and SOCKS5 that
// connects to the hosts that a profile names, and to no other.
//
// It resolves names itself and connects to the address that it has checked. It reads the name in a
// ClientHello and the Host of a request without TLS: both must be the host that was asked for.
package hostproxy

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/netip"
	"os"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
)

// Options are for tests and for machines with other needs; the zero value has the defaults.
type Options struct {
	// Resolve returns the addresses of a name: the machine's resolver when nil.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Dial connects to an address that was checked: by TCP when nil.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// Own are addresses of this machine, which only a rule with "private:" reaches: those of its
	// interfaces when nil.
	Own []netip.Addr
	// Connections bounds how many are served at once, more wait: 256 when 0.
	Connections int
	// HeaderBytes bounds the header of a request: 64 KiB when 0.
	HeaderBytes int
	// First bounds the time to a request's header, and to the first bytes in a tunnel: 10 s when 0.
	First time.Duration
	// Idle bounds the time without a byte in either direction: 10 minutes when 0.
	Idle time.Duration
	// Total bounds the life of a connection: 2 hours when 0.
	Total time.Duration
}

func (o Options) withDefaults() Options {
	set := func(d *time.Duration, value time.Duration) {
		if *d == 0 {
			*d = value
		}
	}
	set(&o.First, 10*time.Second)
	set(&o.Idle, 10*time.Minute)
	set(&o.Total, 2*time.Hour)
	if o.Connections == 0 {
		o.Connections = 256
	}
	if o.HeaderBytes == 0 {
		o.HeaderBytes = 64 << 10
	}
	if o.Resolve == nil {
		o.Resolve = resolve
	}
	if o.Dial == nil {
		o.Dial = dialTCP
	}
	if o.Own == nil {
		o.Own = interfaces()
	}
	return o
}

// proxy is what one call of Serve has.
type proxy struct {
	opts      Options
	rules     jail.Hosts
	record    *recorder
	transport *http.Transport
	// conns are all that are open, of clients and to hosts: they close when Serve ends.
	mu     sync.Mutex
	conns  map[*conn]struct{}
	closed bool
}

// Open returns a proxy for the hosts of rules on a socket that listens, which the caller closes.
func Open(socket *os.File, rules jail.Hosts) (serve func(context.Context, func(jail.Asked)) error, err error) {
	listener, err := net.FileListener(socket)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, asked func(jail.Asked)) error {
		return Serve(ctx, listener, rules, asked, Options{})
	}, nil
}

// Serve serves a listener until ctx ends; then it closes the listener and every connection. It calls
// asked for each host that was asked for, once for each answer, at most jail.MostFiles times, never twice
// at the same time and never after it has returned.
func Serve(ctx context.Context, listener net.Listener, rules jail.Hosts, asked func(jail.Asked), opts Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &proxy{
		opts: opts.withDefaults(), rules: rules, record: &recorder{asked: asked, seen: map[jail.Asked]struct{}{}},
		conns: map[*conn]struct{}{},
	}
	p.transport = p.newTransport(p.dialAddress)
	requests := newHandoff(listener.Addr())
	server := p.newServer(ctx, p)
	var work sync.WaitGroup
	work.Go(func() { _ = server.Serve(requests) })
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	err := p.accept(ctx, listener, requests, &work)
	stop()
	cancel()
	_ = listener.Close()
	_ = server.Close()
	_ = requests.Close()
	p.closeAll()
	p.transport.CloseIdleConnections()
	work.Wait()
	p.record.close()
	return err
}

// accept hands each connection to the server of its protocol.
func (p *proxy) accept(ctx context.Context, listener net.Listener, requests *handoff, work *sync.WaitGroup) error {
	room := make(chan struct{}, p.opts.Connections)
	for {
		select {
		case room <- struct{}{}:
		case <-ctx.Done():
			return nil
		}
		raw, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			if isTemporary(err) {
				<-room
				pause(ctx, 50*time.Millisecond)
				continue
			}
			return err
		}
		client := p.track(raw)
		if client == nil {
			return nil
		}
		work.Go(func() {
			defer func() { <-room }()
			p.serve(ctx, client, requests)
		})
	}
}

// isTemporary reports an error of Accept after which the next one may succeed, such as too many open files.
func isTemporary(err error) bool {
	var temporary interface{ Temporary() bool }
	return errors.As(err, &temporary) && temporary.Temporary()
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// serve reads the first byte of a connection, and serves it to its end.
func (p *proxy) serve(ctx context.Context, client *conn, requests *handoff) {
	defer client.Close()
	end := time.AfterFunc(p.opts.Total, func() { _ = client.Close() })
	defer end.Stop()
	_ = client.SetReadDeadline(time.Now().Add(p.opts.First))
	first, err := client.reader.Peek(1)
	if err != nil {
		return
	}
	if first[0] == socksVersion {
		p.serveSOCKS(ctx, client)
		return
	}
	if requests.give(ctx, client) {
		<-client.done
	}
}

func (p *proxy) newServer(ctx context.Context, handler http.Handler) *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Server{
		Handler: handler, Protocols: protocols, DisableGeneralOptionsHandler: true,
		ReadHeaderTimeout: p.opts.First, IdleTimeout: p.opts.Idle, MaxHeaderBytes: p.opts.HeaderBytes,
		ErrorLog:    log.New(io.Discard, "", 0),
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
}

func (p *proxy) newTransport(dial func(context.Context, string, string) (net.Conn, error)) *http.Transport {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext: dial, Protocols: protocols, DisableCompression: true,
		MaxIdleConns: 64, MaxIdleConnsPerHost: 8, IdleConnTimeout: 30 * time.Second,
		ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: 256 << 10,
	}
}
