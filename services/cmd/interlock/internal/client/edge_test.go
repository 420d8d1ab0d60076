package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/interlock-run/interlock/pkg/certtest"
)

// A token goes to the host that was named, regardless of an edge's own claims.
func TestGRPCIsOnTheHostThatWasNamed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ edge, told, want string }{
		{"http://gateway:7420", "[::]:7433", "gateway:7433"},
		{"http://gateway:7420", "0.0.0.0:7433", "gateway:7433"},
		{"http://gateway:7420", ":7433", "gateway:7433"},
		{"http://gateway", "gateway:7433", "gateway:7433"},
		{"https://gateway:7420", "10.0.0.5:7433", "gateway:7433"},
		{"http://gateway:7420", "evil.example:7433", "gateway:7433"},
		{"http://[fd00::1]:7420", "[::]:7433", "[fd00::1]:7433"},
		{"http://127.0.0.1:7420", "127.0.0.1:7421", "127.0.0.1:7421"},
		{"http://127.0.0.1:7420", "[::]:7421", "127.0.0.1:7421"},
		{"http://localhost:7420", "127.0.0.1:7421", "127.0.0.1:7421"},
		// Only one of the two is on this machine.
		{"http://gateway:7420", "127.0.0.1:7421", ""},
		{"http://localhost:7420", "10.0.0.5:7433", ""},
		{"http://127.0.0.1:7420", "evil.example:7433", ""},
		{"http://gateway:7420", "nonsense", ""},
		{"http://gateway:7420", "evil.example", ""},
		{"http://gateway:7420", "unix:/tmp/evil.sock", ""},
	} {
		edge, err := url.Parse(tc.edge)
		if err != nil {
			t.Fatal(err)
		}
		got, err := onHost(edge, tc.told)
		if got != tc.want || (err == nil) != (tc.want != "") {
			t.Errorf("%s tells %s: %q, %v; want %q", tc.edge, tc.told, got, err, tc.want)
		}
		if err != nil && !strings.Contains(err.Error(), "give --server") {
			t.Errorf("no mend in %v", err)
		}
	}
}

// edgeTelling is an edge that gives the address of gRPC, and takes no token for it.
func edgeTelling(t *testing.T, told string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("the edge was given a token before it was asked where gRPC is")
		}
		if r.URL.Path != "/.well-known/interlock" {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(told))
	})
}

func TestDiscover(t *testing.T) {
	t.Parallel()
	certFile, keyFile := certtest.Loopback(t)
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	edge := httptest.NewUnstartedServer(edgeTelling(t, `{"grpc": "[::]:7433"}`))
	edge.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	edge.StartTLS()
	defer edge.Close()
	flags := Connection{Server: edge.URL, CA: certFile}
	if got, secure, err := flags.Target(t.Context()); got != "127.0.0.1:7433" || !secure || err != nil {
		t.Errorf("with its CA: %q, %t, %v", got, secure, err)
	}
	flags.CA = ""
	if got, _, err := flags.Target(t.Context()); got != "" || err == nil || !strings.Contains(err.Error(), "give --ca") {
		t.Errorf("without its CA: %q, %v", got, err)
	}
	for _, told := range []string{"", "no JSON", "{}", `{"grpc": 5}`, `{"grpc": "x"}`, `"` + strings.Repeat("x", maxDiscovery)} {
		other := httptest.NewServer(edgeTelling(t, told))
		flags := Connection{Server: other.URL + "/"}
		if got, secure, err := flags.Target(t.Context()); err == nil || secure || !strings.Contains(err.Error(), "give --server HOST:PORT") {
			t.Errorf("%.20q: %q, %v", told, got, err)
		}
		other.Close()
	}
	for _, server := range []string{"127.0.0.1:7421", "dns:///engine:7431", "unix:/run/x.sock", "engine:7421"} {
		flags := Connection{Server: server}
		if got, secure, err := flags.Target(t.Context()); got != server || secure || err != nil {
			t.Errorf("%s: %q, %t, %v", server, got, secure, err)
		}
	}
}

// A wrong answer at the URL is reported as that, without a byte of it.
func TestMisdirected(t *testing.T) {
	t.Parallel()
	services := grpc.NewServer()
	lis := listen(t)
	go func() { _ = services.Serve(lis) }()
	defer services.Stop()

	certFile, keyFile := certtest.Loopback(t)
	cert, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		t.Fatal(err)
	}
	secure := tls.NewListener(listen(t), &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12})
	go func() {
		for {
			conn, err := secure.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = bufio.NewReader(conn).ReadByte() // the handshake, and its alert
			}()
		}
	}()
	defer secure.Close()

	for server, want := range map[string]string{
		"http://" + lis.Addr().String():     "leave out http://",
		"https://" + lis.Addr().String():    "leave out https://",
		"http://" + secure.Addr().String():  "write https://",
		"https://" + secure.Addr().String(): "give --ca",
	} {
		for range 20 { // no matter which side speaks first
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			_, _, err := (&Connection{Server: server}).Target(ctx)
			cancel()
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), `\x`) {
				t.Fatalf("%s: %v, want %q", server, err, want)
			}
		}
	}
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return lis
}
