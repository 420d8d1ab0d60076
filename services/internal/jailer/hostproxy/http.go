package hostproxy

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"strconv"
	"strings"
)

// ServeHTTP handles CONNECT, and requests without TLS that have a complete URL.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		t, refused := p.requestTarget(r)
		if refused != nil {
			refuse(w, refused)
			return
		}
		forward(w, r, t, p.transport)
	case r.URL.IsAbs():
		refuse(w, badRequest("The jail's proxy serves http:// by a URL, and all else by CONNECT"))
	default:
		refuse(w, badRequest("This is the jail's proxy and no web server; a request has a complete URL, such as http://example.com/"))
	}
}

func (p *proxy) requestTarget(r *http.Request) (target, *refusal) {
	if r.URL.User != nil {
		return target{}, p.forbid(shown(r.URL.Host), "its URL has a user")
	}
	return p.parseTarget(strings.TrimSuffix(r.URL.Host, ":"), 80)
}

// forward passes a request on. The request is written anew: its Host is the target's, and nothing of how
// it was framed is passed on.
func forward(w http.ResponseWriter, r *http.Request, t target, transport http.RoundTripper) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		// An upgrade to HTTP/2 would carry requests for any host.
		r.Header.Del("Upgrade")
		r.Header.Del("Http2-Settings")
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host = "http", t.authority()
			pr.Out.URL.RawQuery = pr.In.URL.RawQuery
			pr.Out.Host = ""
		},
		Transport: transport, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			var refused *refusal
			if !errors.As(err, &refused) {
				refused = &refusal{http.StatusBadGateway, fmt.Sprintf("The jail got no answer from %s: %v", t, err)}
			}
			refuse(w, refused)
		},
	}
	proxy.ServeHTTP(w, r)
}

// authority is the Host of a request without TLS.
func (t target) authority() string {
	if t.port == 80 {
		return strings.TrimSuffix(t.String(), ":80")
	}
	return t.String()
}

func refuse(w http.ResponseWriter, refused *refusal) {
	http.Error(w, refused.sentence, refused.status)
}

// connect opens a tunnel.
func (p *proxy) connect(w http.ResponseWriter, r *http.Request) {
	t, refused := p.connectTarget(r)
	var server *conn
	if refused == nil {
		server, refused = p.dial(r.Context(), t)
	}
	raw, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		if server != nil {
			_ = server.Close()
		}
		return
	}
	client, ok := raw.(*conn)
	if !ok { // the server's connections are all ours
		_ = raw.Close()
		return
	}
	defer client.Close()
	if refused != nil {
		_, _ = io.WriteString(client, refused.response())
		return
	}
	defer server.Close()
	if !takeBack(client, buffered.Reader) {
		return
	}
	if _, err := io.WriteString(client, "HTTP/1.1 200 Connection established\r\n\r\n"); err == nil {
		p.tunnel(r.Context(), client, server, t)
	}
}

// takeBack gives what the HTTP server has read ahead back to the connection.
func takeBack(client *conn, ahead *bufio.Reader) bool {
	if ahead.Buffered() == 0 {
		return true
	}
	data, err := ahead.Peek(ahead.Buffered())
	if err != nil {
		return false
	}
	client.reader = bufio.NewReaderSize(io.MultiReader(strings.NewReader(string(data)), client.reader), firstLine)
	return true
}

func (p *proxy) connectTarget(r *http.Request) (target, *refusal) {
	switch {
	case r.ContentLength != 0 || len(r.TransferEncoding) > 0:
		return target{}, badRequest("A CONNECT request has no body")
	case r.URL.User != nil || r.RequestURI != r.URL.Host:
		return target{}, p.forbid(shown(r.RequestURI), "this is no host with a port")
	}
	return p.parseTarget(r.RequestURI, 0)
}

// response is the answer to CONNECT. Many clients show its reason phrase and nothing else.
func (r *refusal) response() string {
	body := r.sentence + "\n"
	return "HTTP/1.1 " + strconv.Itoa(r.status) + " " + reason(r.sentence) + "\r\nContent-Type: text/plain; charset=utf-8\r\n" +
		"Content-Length: " + strconv.Itoa(len(body)) + "\r\nConnection: close\r\n\r\n" + body
}

func reason(sentence string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, sentence)
}

// fixed serves the requests without TLS in a tunnel: each must be for the tunnel's host.
type fixed struct {
	p         *proxy
	t         target
	transport *http.Transport
}

// serveFixed serves HTTP in a tunnel. server is the connection of the first request.
func (p *proxy) serveFixed(ctx context.Context, client, server *conn, t target) {
	spare := make(chan *conn, 1)
	spare <- server
	f := &fixed{p: p, t: t}
	f.transport = p.newTransport(func(ctx context.Context, network, address string) (net.Conn, error) {
		select {
		case c := <-spare:
			return c, nil
		default:
			return p.dialAddress(ctx, network, address)
		}
	})
	defer f.transport.CloseIdleConnections()
	one := newHandoff(client.LocalAddr())
	http1 := p.newServer(ctx, f)
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = http1.Serve(one)
	}()
	if one.give(ctx, client) {
		<-client.done
	}
	_ = http1.Close()
	_ = one.Close()
	<-served
}

func (f *fixed) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodConnect {
		refuse(w, badRequest("The jail opens no tunnel in a tunnel"))
		return
	}
	if r.Host != "" && !f.isFor(r.Host) {
		refuse(w, f.p.forbid(f.t.String(), "a request in the tunnel is for another host, "+shown(r.Host)))
		return
	}
	forward(w, r, f.t, f.transport)
}

// isFor compares a request's Host with the tunnel's.
func (f *fixed) isFor(host string) bool {
	t, refused := f.p.parseTarget(host, f.t.port)
	return refused == nil && t == f.t
}
