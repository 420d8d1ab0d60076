package hostproxy_test

import (
	"crypto/ecdh"
	"crypto/rand"
	"crypto/tls"
	"encoding/binary"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
)

func TestRequestsPassToNamedHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := w.site(site + ":80")
	_, pool := w.tlsSite(site + ":443")
	w.start("example.com")
	client := w.client(pool)
	for address, want := range map[string]string{
		"http://example.com/a%2Fb?q=1;2&x": "GET /a%2Fb?q=1;2&x at example.com: \n",
		"http://EXAMPLE.com:80/":           "GET / at example.com: \n",
		"https://example.com/x":            "GET /x at example.com: \n",
	} {
		if status, body := get(t, client, address); status != http.StatusOK || body != want {
			t.Errorf("GET %s: %d %q", address, status, body)
		}
	}
	for _, r := range seen.list() {
		for _, name := range []string{"X-Forwarded-For", "Via", "Forwarded", "Proxy-Connection"} {
			if r.Header.Get(name) != "" {
				t.Errorf("%s: %q was added", name, r.Header.Get(name))
			}
		}
	}
	w.mustAsk("example.com:80", true, "")
	w.mustAsk("example.com:443", true, "")
}

func TestRefusalsNameTheHostAndTheRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t).start("example.com")
	client := w.client(nil)
	status, body := get(t, client, "http://other.test/")
	if status != http.StatusForbidden || !strings.Contains(body, "other.test:80") || !strings.Contains(body, `add "other.test" to "hosts"`) {
		t.Errorf("http: %d %q", status, body)
	}
	// Go's client shows the reason phrase alone, as those of Python and Java do.
	_, body = get(t, client, "https://other.test:8443/")
	if !strings.Contains(body, "other.test:8443") || !strings.Contains(body, `add "other.test:8443" to "hosts"`) {
		t.Errorf("https: %q", body)
	}
	w.mustAsk("other.test:80", false, "no rule names it")
	w.mustAsk("other.test:8443", false, "no rule names it")
	w.mu.Lock()
	defer w.mu.Unlock()
	// A name that is resolved has left the machine.
	if len(w.dialed) > 0 || len(w.resolved) > 0 {
		t.Errorf("the proxy has dialed %q and resolved %q", w.dialed, w.resolved)
	}
}

// TestAddressesAreChecked: each name is allowed, and its addresses decide.
func TestAddressesAreChecked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rule  string
		addrs []string
		dials []string
		why   string
	}{
		"public":           {"example.com", []string{site}, []string{site + ":80"}, ""},
		"mapped":           {"example.com", []string{"::ffff:" + site}, []string{site + ":80"}, ""},
		"loopback":         {"example.com", []string{"127.0.0.1"}, nil, "this machine"},
		"mapped loopback":  {"example.com", []string{"::ffff:127.0.0.1"}, nil, "this machine"},
		"private":          {"example.com", []string{"10.1.2.3"}, nil, `write "private:example.com"`},
		"metadata":         {"example.com", []string{"169.254.169.254"}, nil, "never reached"},
		"both":             {"example.com", []string{"10.1.2.3", site, "127.0.0.1"}, []string{site + ":80"}, ""},
		"own":              {"example.com", []string{other}, nil, "is this machine"},
		"private allowed":  {"private:example.com", []string{"10.1.2.3"}, []string{"10.1.2.3:80"}, ""},
		"private own":      {"private:example.com", []string{other}, []string{other + ":80"}, ""},
		"private loopback": {"private:example.com", []string{"127.0.0.1"}, nil, "only a rule for localhost"},
		"private metadata": {"private:example.com", []string{"169.254.169.254", "fd00:ec2::254"}, nil, "never reached"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.opts.Own = parseAddrs(other)
			for _, address := range []string{site, other, "10.1.2.3", "127.0.0.1", "169.254.169.254"} {
				w.site(address + ":80")
			}
			w.resolveTo("example.com", c.addrs...)
			w.start(c.rule)
			status, body := get(t, w.client(nil), "http://example.com/")
			if (status == http.StatusOK) != (c.why == "") || !strings.Contains(body, c.why) {
				t.Errorf("%d %q", status, body)
			}
			if dials := w.dials(); !slices.Equal(dials, c.dials) {
				t.Errorf("dialed %q", dials)
			}
			w.mustAsk("example.com:80", c.why == "", c.why)
		})
	}
}

// TestRebinding: a name that changes its address between two requests is resolved, and checked, for each
// connection; the address that was checked is the one that is dialed.
func TestRebinding(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.site(site + ":80")
	secret := w.site("127.0.0.1:80")
	w.start("example.com")
	first := w.client(nil)
	if status, body := get(t, first, "http://example.com/"); status != http.StatusOK {
		t.Fatalf("%d %q", status, body)
	}
	w.resolveTo("example.com", "127.0.0.1")
	c := w.connect().send("CONNECT example.com:80 HTTP/1.1\r\nHost: example.com:80\r\n\r\n")
	if response, body := c.response(http.MethodConnect); response.StatusCode != http.StatusForbidden {
		t.Errorf("%s %q", response.Status, body)
	}
	if n := len(secret.list()); n > 0 || slices.Contains(w.dials(), "127.0.0.1:80") {
		t.Errorf("the name has led to this machine: %q", w.dials())
	}
}

func TestLocalhostNeedsItsRule(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.site("127.0.0.1:5000")
	w.resolveTo("localhost", "127.0.0.1")
	w.start("*:*", "private:app.localhost:5000")
	client := w.client(nil)
	if status, body := get(t, client, "http://app.localhost:5000/"); status != http.StatusOK {
		t.Errorf("app.localhost: %d %q", status, body)
	}
	c := w.connect().send("GET http://localhost:5000/ HTTP/1.1\r\nHost: localhost:5000\r\n\r\n")
	if response, body := c.response(http.MethodGet); response.StatusCode != http.StatusForbidden || !strings.Contains(body, `"private:localhost:5000"`) {
		t.Errorf("localhost: %s %q", response.Status, body)
	}
}

// TestOddRequests: no spelling of a request reaches the other host, or a named host under another's name.
func TestOddRequests(t *testing.T) {
	t.Parallel()
	const end = "\r\n\r\n"
	for name, c := range map[string]struct {
		request string
		status  int
	}{
		"address of an allowed name": {"CONNECT " + site + ":443 HTTP/1.1\r\nHost: example.com" + end, 403},
		"address, plain":             {"GET http://" + site + "/ HTTP/1.1\r\nHost: example.com" + end, 403},
		"Host names the allowed":     {"GET http://other.test/ HTTP/1.1\r\nHost: example.com" + end, 403},
		"CONNECT, Host allowed":      {"CONNECT other.test:443 HTTP/1.1\r\nHost: example.com:443" + end, 403},
		"two Hosts":                  {"GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\nHost: other.test" + end, 400},
		"origin form":                {"GET / HTTP/1.1\r\nHost: example.com" + end, 400},
		"https by URL":               {"GET https://example.com/ HTTP/1.1\r\nHost: example.com" + end, 400},
		"ftp by URL":                 {"GET ftp://example.com/ HTTP/1.1\r\nHost: example.com" + end, 400},
		"asterisk":                   {"OPTIONS * HTTP/1.1\r\nHost: example.com" + end, 400},
		"user in CONNECT":            {"CONNECT example.com@other.test:443 HTTP/1.1\r\nHost: x" + end, 403},
		"user in CONNECT, turned":    {"CONNECT other.test@example.com:443 HTTP/1.1\r\nHost: x" + end, 403},
		"user in URL":                {"GET http://other.test@example.com/ HTTP/1.1\r\nHost: x" + end, 403},
		"backslash":                  {"GET http://other.test\\@example.com/ HTTP/1.1\r\nHost: x" + end, 400},
		"escape":                     {"GET http://%65xample.com/ HTTP/1.1\r\nHost: x" + end, 400},
		"escaped NUL":                {"CONNECT example.com%00.other.test:443 HTTP/1.1\r\nHost: x" + end, 400},
		"no port":                    {"CONNECT example.com HTTP/1.1\r\nHost: x" + end, 403},
		"empty port":                 {"CONNECT example.com: HTTP/1.1\r\nHost: x" + end, 403},
		"port with sign":             {"CONNECT example.com:+443 HTTP/1.1\r\nHost: x" + end, 400},
		"port with zeros":            {"CONNECT example.com:00443 HTTP/1.1\r\nHost: x" + end, 403},
		"port that overflows":        {"CONNECT example.com:65979 HTTP/1.1\r\nHost: x" + end, 403},
		"path in CONNECT":            {"CONNECT example.com:443/x HTTP/1.1\r\nHost: x" + end, 403},
		"path as CONNECT":            {"CONNECT /example.com:443 HTTP/1.1\r\nHost: example.com:443" + end, 403},
		"URL in CONNECT":             {"CONNECT http://example.com:443 HTTP/1.1\r\nHost: x" + end, 403},
		"body in CONNECT":            {"CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", 400},
		"hexadecimal":                {"CONNECT 0x7f.1:80 HTTP/1.1\r\nHost: x" + end, 403},
		"decimal":                    {"CONNECT 2130706433:80 HTTP/1.1\r\nHost: x" + end, 403},
		"octal":                      {"GET http://0177.0.0.1/ HTTP/1.1\r\nHost: x" + end, 403},
		"IPv6 of this machine":       {"CONNECT [::1]:80 HTTP/1.1\r\nHost: x" + end, 403},
		"IPv6 mapped":                {"CONNECT [::ffff:127.0.0.1]:80 HTTP/1.1\r\nHost: x" + end, 403},
		"IPv6 zone":                  {"CONNECT [fe80::1%25lo]:80 HTTP/1.1\r\nHost: x" + end, 403},
		"IPv6 without brackets":      {"CONNECT ::1:80 HTTP/1.1\r\nHost: x" + end, 400},
		"metadata":                   {"GET http://169.254.169.254/latest/meta-data/ HTTP/1.1\r\nHost: x" + end, 403},
		"Cyrillic":                   {"GET http://еxample.com/ HTTP/1.1\r\nHost: x" + end, 403},
		"full width":                 {"GET http://ｅxample.com/ HTTP/1.1\r\nHost: x" + end, 403},
		"two dots at the end":        {"GET http://example.com../ HTTP/1.1\r\nHost: x" + end, 403},
		"two lengths":                {"POST http://example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd", 400},
		"unknown encoding":           {"POST http://example.com/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: xchunked" + end, 501},
		"two encodings":              {"POST http://example.com/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity" + end, 501},
		"blank before the colon":     {"GET http://example.com/ HTTP/1.1\r\nHost : x" + end, 400},
		"HTTP/2 without TLS":         {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
		"TLS to the proxy":           {"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00\r\n\r\n", 400},
		"huge header":                {"GET http://example.com/ HTTP/1.1\r\nHost: x\r\nX: " + strings.Repeat("x", 100<<10) + end, 431},
		"many headers":               {"GET http://example.com/ HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 20_000) + end, 431},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			sites := []*requests{w.site(site + ":80"), w.site(other + ":80"), w.site("127.0.0.1:80")}
			w.start("example.com")
			conn := w.connect()
			sent := make(chan struct{})
			go func() {
				defer close(sent)
				_, _ = io.WriteString(conn.Conn, c.request) // the answer can come before the end
			}()
			response, body := conn.response(http.MethodGet)
			_ = conn.Close()
			<-sent
			if response.StatusCode != c.status {
				t.Errorf("%s %q; want %d", response.Status, body, c.status)
			}
			for _, seen := range sites {
				if len(seen.list()) > 0 {
					t.Errorf("a server has seen the request")
				}
			}
			if dials := w.dials(); len(dials) > 0 {
				t.Errorf("dialed %q", dials)
			}
		})
	}
}

// TestHostIsTheURLs: an absolute URL decides, and the server sees its host, for any Host field.
func TestHostIsTheURLs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := w.site(site + ":80")
	w.start("example.com")
	w.connect().send("GET http://example.com/ HTTP/1.1\r\nHost: other.test\r\n\r\n").response(http.MethodGet)
	if list := seen.list(); len(list) != 1 || list[0].Host != "example.com" {
		t.Errorf("%v", list)
	}
}

// TestFramingIsWrittenAnew: the body's length and the encoding that disagree become one length; fields
// for the proxy alone, and upgrades to HTTP/2, are not passed on.
func TestFramingIsWrittenAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := w.site(site + ":80")
	w.start("example.com")
	_, body := w.connect().send("POST http://example.com/ HTTP/1.1\r\nHost: example.com\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n" +
		"Connection: X-Hop, Upgrade, HTTP2-Settings\r\nX-Hop: 1\r\nProxy-Authorization: Basic eDp5\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n\r\n" +
		"3\r\nabc\r\n0\r\n\r\n").response(http.MethodPost)
	if body != "POST / at example.com: abc\n" {
		t.Errorf("%q", body)
	}
	for _, name := range []string{"X-Hop", "Proxy-Authorization", "Upgrade", "Http2-Settings", "Content-Length"} {
		if value := seen.list()[0].Header.Get(name); value != "" {
			t.Errorf("%s: %q was passed on", name, value)
		}
	}
}

// TestEachRequestOfAConnectionIsAsked: two hosts on one connection are two questions.
func TestEachRequestOfAConnectionIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.site(site + ":80")
	seen := w.site(other + ":80")
	w.start("example.com")
	c := w.connect().send("GET http://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\nGET http://other.test/ HTTP/1.1\r\nHost: example.com\r\n\r\n")
	first, _ := c.response(http.MethodGet)
	second, _ := c.response(http.MethodGet)
	if first.StatusCode != http.StatusOK || second.StatusCode != http.StatusForbidden || len(seen.list()) > 0 {
		t.Errorf("%s, %s", first.Status, second.Status)
	}
}

// TestTLSNamesTheHost: the name in the ClientHello of a tunnel is the host that was asked for.
func TestTLSNamesTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, pool := w.tlsSite(site + ":443")
	_, _ = w.tlsSite("9.9.9.9:443")
	w.start("example.com", "9.9.9.9")
	for name, c := range map[string]struct {
		address string
		config  *tls.Config
		why     string
	}{
		"same":             {"example.com:443", &tls.Config{ServerName: "example.com"}, ""},
		"same, case":       {"EXAMPLE.com:443", &tls.Config{ServerName: "Example.COM"}, ""},
		"another":          {"example.com:443", &tls.Config{ServerName: "other.test"}, "other.test"},
		"none":             {"example.com:443", &tls.Config{InsecureSkipVerify: true}, "no host"},
		"encrypted":        {"example.com:443", &tls.Config{ServerName: "other.test", EncryptedClientHelloConfigList: echConfig(t, "example.com")}, "ECH"},
		"address":          {"9.9.9.9:443", &tls.Config{InsecureSkipVerify: true}, ""},
		"name for address": {"9.9.9.9:443", &tls.Config{ServerName: "example.com"}, "where an address"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.config.RootCAs = pool
			err := tls.Client(w.tunnel(c.address), c.config).HandshakeContext(t.Context())
			if (err == nil) != (c.why == "") {
				t.Errorf("handshake: %v", err)
			}
			if c.why != "" {
				w.mustAsk(strings.ToLower(c.address), false, c.why)
			}
		})
	}
}

// echConfig is a list of one configuration of Encrypted Client Hello.
func echConfig(t *testing.T, outer string) []byte {
	t.Helper()
	key, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	prefixed := func(b []byte) []byte { return append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), b...) }
	body := append([]byte{1, 0, 0x20}, prefixed(key.PublicKey().Bytes())...) // id 1, X25519
	body = append(body, prefixed([]byte{0, 1, 0, 1})...)                     // HKDF-SHA256, AES-128-GCM
	body = append(body, 64, byte(len(outer)))
	body = append(append(body, outer...), 0, 0)
	return prefixed(append([]byte{0xfe, 0x0d}, prefixed(body)...))
}

// TestClientHelloInParts: a ClientHello that comes in small parts, also in several records, is read whole.
func TestClientHelloInParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, pool := w.tlsSite(site + ":443")
	w.start("example.com")
	for name, sni := range map[string]bool{"example.com": true, "other.test": false} {
		c := &slicer{Conn: w.tunnel("example.com:443")}
		err := tls.Client(c, &tls.Config{ServerName: name, RootCAs: pool}).HandshakeContext(t.Context())
		if (err == nil) != sni {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// slicer sends the first message of TLS in records of 40 bytes, and each byte on its own.
type slicer struct {
	net.Conn
	sent bool
}

func (s *slicer) Write(b []byte) (int, error) {
	if s.sent {
		return s.Conn.Write(b)
	}
	s.sent = true
	for part := range slices.Chunk(b[5:], 40) {
		record := append([]byte{b[0], b[1], b[2], 0, byte(len(part))}, part...)
		for i := range record {
			if _, err := s.Conn.Write(record[i : i+1]); err != nil {
				return 0, err
			}
		}
	}
	return len(b), nil
}

// TestTunnelsWithoutTLS: HTTP in a tunnel is for the tunnel's host, each request of it, and ports 80 and
// 443 carry no other traffic.
func TestTunnelsWithoutTLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, port := range []string{"80", "443", "8080"} {
		w.site(site + ":" + port)
	}
	w.start("example.com:*")
	const end = "\r\n\r\n"
	for name, c := range map[string]struct {
		port, request string
		status        int // 0: the end
	}{
		"same":                {"80", "GET /x HTTP/1.1\r\nHost: example.com" + end, 200},
		"same with port":      {"8080", "GET /x HTTP/1.1\r\nHost: Example.com:8080" + end, 200},
		"no host":             {"80", "GET /x HTTP/1.0" + end, 200},
		"URL":                 {"80", "GET http://example.com/x HTTP/1.1\r\nHost: other.test" + end, 200},
		"other host":          {"80", "GET /x HTTP/1.1\r\nHost: other.test" + end, 403},
		"other port":          {"8080", "GET /x HTTP/1.1\r\nHost: example.com:80" + end, 403},
		"other host, 8080":    {"8080", "GET /x HTTP/1.1\r\nHost: other.test" + end, 403},
		"other host, case":    {"8080", "get /x http/1.1\r\nHost: other.test" + end, 400},
		"other host, lines":   {"8080", "\r\n\r\nGET /x HTTP/1.1\r\nHost: other.test" + end, 400},
		"other host, tab":     {"8080", "GET\t/x\tHTTP/1.1\r\nHost: other.test" + end, 400},
		"other host in a URL": {"80", "GET http://other.test/x HTTP/1.1\r\nHost: example.com" + end, 403},
		"tunnel":              {"80", "CONNECT other.test:80 HTTP/1.1\r\nHost: example.com" + end, 400},
		"HTTP on 443":         {"443", "GET /x HTTP/1.1\r\nHost: example.com" + end, 403},
		"SSH on 443":          {"443", "SSH-2.0-x\r\n", 0},
		"SSH on 80":           {"80", "SSH-2.0-x\r\n", 0},
		"HTTP/0.9":            {"80", "GET /x\r\n", 0},
		"HTTP/2 on 80":        {"80", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0},
		"HTTP/2 on 8080":      {"8080", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 0},
		"no TLS on 443":       {"443", "\x16garbage" + end, -1},
		"long line":           {"8080", "GET /" + strings.Repeat("x", 20<<10), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn := w.tunnel("example.com:" + c.port)
			go func() { _, _ = io.WriteString(conn.Conn, c.request) }()
			switch c.status {
			case 0:
				conn.mustEnd()
			case -1:
				if alert, _ := io.ReadAll(conn); len(alert) != 7 || alert[0] != 0x15 {
					t.Errorf("%q is no alert of TLS", alert)
				}
			default:
				if response, body := conn.response(http.MethodGet); response.StatusCode != c.status {
					t.Errorf("%s %q", response.Status, body)
				}
			}
		})
	}
}

// TestSecondRequestInATunnel: the tunnel stays for its host after the first request.
func TestSecondRequestInATunnel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	seen := w.site(site + ":80")
	w.start("example.com", "other.test")
	c := w.tunnel("example.com:80").send("GET /1 HTTP/1.1\r\nHost: example.com\r\n\r\nGET /2 HTTP/1.1\r\nHost: other.test\r\n\r\n")
	first, _ := c.response(http.MethodGet)
	second, _ := c.response(http.MethodGet)
	if first.StatusCode != http.StatusOK || second.StatusCode != http.StatusForbidden || len(seen.list()) != 1 {
		t.Errorf("%s, %s", first.Status, second.Status)
	}
}

// TestOtherProtocolsPassOnNamedPorts: a host that speaks first, and a client that speaks bytes.
func TestOtherProtocolsPassOnNamedPorts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serveAt(site+":25", talker(t, "220 ready\r\n"))
	w.serveAt(site+":5432", talker(t, ""))
	w.start("example.com:25", "example.com:5432")
	for port, c := range map[string][2]string{"25": {"220 ready\r\n", "EHLO x\r\n"}, "5432": {"", "\x00\x00\x00\x08\x04\xd2\x16\x2f"}} {
		conn := w.tunnel("example.com:" + port)
		if greeting := conn.read(len(c[0])); greeting != c[0] {
			t.Errorf("%s greets with %q", port, greeting)
		}
		if echo := conn.send(c[1]).read(len(c[1])); echo != c[1] {
			t.Errorf("%s answers %q", port, echo)
		}
	}
}

func (c *wire) read(n int) string {
	c.t.Helper()
	data := make([]byte, n)
	if _, err := io.ReadFull(c.reader, data); err != nil {
		c.t.Errorf("read: %v", err)
	}
	return string(data)
}

// talker is a server that greets and then echoes.
func talker(t *testing.T, greeting string) net.Addr {
	t.Helper()
	listener := listen(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.WriteString(c, greeting)
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return listener.Addr()
}

func TestSOCKS(t *testing.T) {
	t.Parallel()
	name := func(host string, port int) string {
		return "\x05\x01\x00\x03" + string(rune(len(host))) + host + string([]byte{byte(port >> 8), byte(port)})
	}
	for title, c := range map[string]struct {
		request string
		code    byte
	}{
		"name":           {name("example.com", 80), 0},
		"name, dot":      {name("Example.com.", 80), 0},
		"other name":     {name("other.test", 80), 2},
		"other port":     {name("example.com", 22), 2},
		"port 0":         {name("example.com", 0), 2},
		"address":        {"\x05\x01\x00\x01\x5d\xb8\xd8\x22\x00\x50", 2},
		"this machine":   {"\x05\x01\x00\x01\x7f\x00\x00\x01\x00\x50", 2},
		"mapped":         {"\x05\x01\x00\x04" + strings.Repeat("\x00", 10) + "\xff\xff\x7f\x00\x00\x01\x00\x50", 2},
		"number as name": {name("2130706433", 80), 2},
		"NUL in a name":  {name("example.com\x00.other.test", 80), 2},
		"line in a name": {name("example.com\r\n", 80), 2},
		"empty name":     {name("", 80), 2},
		"unresolved":     {name("gone.example.com", 80), 4},
		"bind":           {"\x05\x02\x00\x01\x5d\xb8\xd8\x22\x00\x50", 7},
		"UDP":            {"\x05\x03\x00\x01\x5d\xb8\xd8\x22\x00\x50", 7},
		"unknown type":   {"\x05\x01\x00\x02\x00\x00\x00\x00\x00\x50", 8},
		"version 4":      {"\x04\x01\x00\x01\x5d\xb8\xd8\x22\x00\x50", 1},
	} {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.site(site + ":80")
			w.start("example.com", "gone.example.com")
			conn := w.connect().send("\x05\x02\x02\x00")
			if answer := conn.read(2); answer != "\x05\x00" {
				t.Fatalf("greeting: %q", answer)
			}
			answer := conn.send(c.request).read(10)
			if answer[1] != c.code {
				t.Fatalf("code %d", answer[1])
			}
			if c.code != 0 {
				conn.mustEnd()
				return
			}
			response, body := conn.send("GET /s HTTP/1.1\r\nHost: example.com\r\n\r\n").response(http.MethodGet)
			if response.StatusCode != http.StatusOK {
				t.Errorf("%s %q", response.Status, body)
			}
		})
	}
}

func TestSOCKSWithALoginIsRefused(t *testing.T) {
	t.Parallel()
	c := newWorld(t).start("*").connect().send("\x05\x01\x02")
	if answer := c.read(2); answer != "\x05\xff" {
		t.Errorf("%q", answer)
	}
	c.mustEnd()
}

// TestSlowClientsAreCutOff: each stops where a slow client would stop, and must see the end.
func TestSlowClientsAreCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serveAt(site+":80", talker(t, ""))
	w.serveAt(site+":25", talker(t, ""))
	w.opts.First, w.opts.Idle = 20*time.Millisecond, 40*time.Millisecond
	w.start("example.com", "example.com:25")
	for name, sent := range map[string]string{
		"nothing":             "",
		"half a header":       "GET http://example.com/ HTTP/1.1\r\nHost: x\r\nX-",
		"half a greeting":     "\x05\x02\x00",
		"half of SOCKS":       "\x05\x01\x00\x05\x01\x00\x03\x20exam",
		"silent tunnel":       "CONNECT example.com:80 HTTP/1.1\r\nHost: x\r\n\r\n",
		"half a line":         "CONNECT example.com:80 HTTP/1.1\r\nHost: x\r\n\r\nGET / HT",
		"half a hello":        "CONNECT example.com:25 HTTP/1.1\r\nHost: x\r\n\r\n\x16\x03\x01\x02",
		"tunnel without more": "CONNECT example.com:25 HTTP/1.1\r\nHost: x\r\n\r\n\x00",
		"half a body":         "POST http://example.com/ HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _ = io.ReadAll(w.connect().send(sent).reader) // ends when the proxy closes it
		})
	}
}

func TestTotalTimeEndsABusyTunnel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serveAt(site+":25", talker(t, ""))
	w.opts.Total = 30 * time.Millisecond
	w.start("example.com:25")
	c := w.tunnel("example.com:25")
	for {
		if _, err := c.Write([]byte{0}); err != nil {
			return
		}
		if _, err := c.reader.ReadByte(); err != nil {
			return
		}
	}
}

// TestConnectionsAreBounded: one more than the bound waits until another ends.
func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.site(site + ":80")
	w.opts.Connections = 1
	w.start("example.com")
	held := w.connect().send("GET http://example.com/1 HTTP/1.1\r\nHost: x\r\n\r\n")
	held.response(http.MethodGet)
	next := w.connect().send("GET http://example.com/2 HTTP/1.1\r\nHost: x\r\n\r\n")
	held.send("GET http://example.com/3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if _, body := held.response(http.MethodGet); !strings.Contains(body, "/3") {
		t.Errorf("%q", body)
	}
	if _, body := next.response(http.MethodGet); !strings.Contains(body, "/2") {
		t.Errorf("%q", body)
	}
}

// TestRecordsAreBounded: each answer is recorded once, and refused hosts leave room for allowed ones.
func TestRecordsAreBounded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.site(site + ":80")
	w.start("example.com")
	c := w.connect()
	for i := range 2 * jail.MostFiles {
		c.send("GET http://h" + strconv.Itoa(i) + ".test/ HTTP/1.1\r\nHost: x\r\n\r\n").response(http.MethodGet)
	}
	for range 2 {
		c.send("GET http://example.com/ HTTP/1.1\r\nHost: x\r\n\r\n").response(http.MethodGet)
	}
	w.mustAsk("example.com:80", true, "")
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.asked) != jail.MostFiles/2+1 {
		t.Errorf("%d records", len(w.asked))
	}
}

func parseAddrs(texts ...string) []netip.Addr {
	addrs := make([]netip.Addr, len(texts))
	for i, text := range texts {
		addrs[i] = netip.MustParseAddr(text)
	}
	return addrs
}
