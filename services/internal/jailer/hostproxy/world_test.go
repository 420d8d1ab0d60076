package hostproxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/services/internal/jailer/hostproxy"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait")) // it ends half a second after its client
}

// Addresses of the world outside; no packet leaves the machine.
const (
	site  = "93.184.216.34"
	other = "93.184.216.35"
)

// world is an Internet of a test: names, addresses, and the servers at them.
type world struct {
	t     *testing.T
	opts  hostproxy.Options
	proxy string
	// certificate is a file with the certificate of example.com.
	certificate string
	mu          sync.Mutex
	names       map[string][]string
	served      map[string]string // address and port to a listener of this machine
	dialed      []string
	// resolved are the names that were asked of the resolver.
	resolved []string
	asked    []jail.Asked
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, names: map[string][]string{"example.com": {site}, "other.test": {other}}, served: map[string]string{}}
	w.opts = hostproxy.Options{Resolve: w.resolve, Dial: w.dial}
	return w
}

func (w *world) resolve(_ context.Context, name string) ([]netip.Addr, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.resolved = append(w.resolved, name)
	list, ok := w.names[name]
	if !ok {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	addrs := make([]netip.Addr, len(list))
	for i, text := range list {
		addrs[i] = netip.MustParseAddr(text)
	}
	return addrs, nil
}

func (w *world) dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialed = append(w.dialed, addr.String())
	local, ok := w.served[addr.String()]
	w.mu.Unlock()
	if !ok {
		return nil, errors.New("connection refused")
	}
	return (&net.Dialer{}).DialContext(ctx, "tcp", local)
}

// serveAt makes a listener of this machine answer at an address of the world.
func (w *world) serveAt(address string, listener net.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.served[address] = listener.String()
}

func (w *world) resolveTo(name string, addrs ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.names[name] = addrs
}

func (w *world) dials() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.dialed)
}

// start runs the proxy with rules until the test ends.
func (w *world) start(rules ...string) *world {
	w.t.Helper()
	hosts, err := jail.ParseHosts(rules)
	if err != nil {
		w.t.Fatal(err)
	}
	listener := listen(w.t)
	w.proxy = listener.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- hostproxy.Serve(ctx, listener, hosts, func(a jail.Asked) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.asked = append(w.asked, a)
		}, w.opts)
	}()
	w.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			w.t.Errorf("Serve: %v", err)
		}
	})
	return w
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return listener
}

// mustAsk fails unless a host was asked for with this answer; why is a part of the reason.
func (w *world) mustAsk(host string, allowed bool, why string) {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, a := range w.asked {
		if a.Host == host && a.Allowed == allowed && strings.Contains(a.Why, why) {
			return
		}
	}
	w.t.Errorf("%s, allowed %t, %q was not recorded: %+v", host, allowed, why, w.asked)
}

// site is an HTTP server that answers with the Host and the URI of each request.
func (w *world) site(address string) *requests {
	w.t.Helper()
	seen := &requests{}
	server := httptest.NewServer(seen)
	w.t.Cleanup(server.Close)
	w.serveAt(address, server.Listener.Addr())
	return seen
}

// tlsSite is the same with TLS and a certificate for example.com.
func (w *world) tlsSite(address string) (*requests, *x509.CertPool) {
	w.t.Helper()
	seen := &requests{}
	server := httptest.NewUnstartedServer(seen)
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	w.t.Cleanup(server.Close)
	w.serveAt(address, server.Listener.Addr())
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return seen, pool
}

type requests struct {
	mu  sync.Mutex
	all []*http.Request
}

func (s *requests) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	s.all = append(s.all, r)
	s.mu.Unlock()
	w.Header().Set("X-Host", r.Host)
	_, _ = fmt.Fprintf(w, "%s %s at %s: %s\n", r.Method, r.RequestURI, r.Host, body)
}

func (s *requests) list() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

func (w *world) client(pool *x509.CertPool) *http.Client {
	transport := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: w.proxy}),
		TLSClientConfig:   &tls.Config{RootCAs: pool},
		ForceAttemptHTTP2: true,
	}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// get returns the status and the body.
func get(t *testing.T, client *http.Client, address string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(data)
}

// wire is a connection to the proxy that sends any bytes.
type wire struct {
	t *testing.T
	net.Conn
	reader *bufio.Reader
}

func (w *world) connect() *wire {
	w.t.Helper()
	c, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", w.proxy)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	return &wire{w.t, c, bufio.NewReader(c)}
}

func (c *wire) Read(b []byte) (int, error) { return c.reader.Read(b) }

func (c *wire) send(text string) *wire {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
	return c
}

// response reads one answer and its body.
func (c *wire) response(method string) (*http.Response, string) {
	c.t.Helper()
	response, err := http.ReadResponse(c.reader, &http.Request{Method: method})
	if err != nil {
		c.t.Fatalf("no response: %v", err)
	}
	if method == http.MethodConnect && response.StatusCode == http.StatusOK {
		return response, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	return response, string(body)
}

// tunnel opens a tunnel that must be allowed.
func (w *world) tunnel(address string) *wire {
	w.t.Helper()
	c := w.connect().send("CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n\r\n")
	if response, body := c.response(http.MethodConnect); response.StatusCode != http.StatusOK {
		w.t.Fatalf("CONNECT %s: %s %s", address, response.Status, body)
	}
	return c
}

// mustEnd fails if more bytes come than the end.
func (c *wire) mustEnd() {
	c.t.Helper()
	data, _ := io.ReadAll(c.reader) // the end can be a reset
	if len(data) > 0 {
		c.t.Errorf("the proxy has sent %q", data)
	}
}
