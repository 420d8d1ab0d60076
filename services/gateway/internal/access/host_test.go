package access

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
)

// at is a request for a host that came in at an address; nil for none that is known.
func at(local net.Addr, host string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.Host = host
	if local != nil {
		r = r.WithContext(context.WithValue(r.Context(), http.LocalAddrContextKey, local))
	}
	return r
}

func tcp(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 7420} }

func TestServed(t *testing.T) {
	t.Parallel()
	loopback := []net.Addr{tcp("127.0.0.1"), tcp("127.8.8.8"), tcp("::1"), tcp("::ffff:127.0.0.1")}
	for host, want := range map[string]bool{
		"localhost": true, "LocalHost:7420": true, "127.0.0.1": true, "127.0.0.1:1": true, "127.1.2.3:1": true,
		"[::1]": true, "[::1]:7420": true, "[::ffff:127.0.0.1]:7420": true, "gate.example": true, "GATE.example:443": true,
		"": false, ":7420": false, "evil.example": false, "evil.example:7420": false, "localhost.evil.example": false, "127.0.0.1.evil.example": false,
		"gate.example.evil.example": false, "10.0.0.1": false, "0.0.0.0:7420": false, "[::]": false, "2130706433": false, "0x7f000001": false,
	} {
		for _, local := range loopback {
			if got := served(at(local, host), "", "gate.example"); got != want {
				t.Errorf("%q on %v: served %v, want %v", host, local, got, want)
			}
		}
		for _, local := range []net.Addr{nil, tcp("10.0.0.1"), tcp("2001:db8::1"), &net.UnixAddr{Name: "/run/gate.sock", Net: "unix"}} {
			if !served(at(local, host)) {
				t.Errorf("%q on %v is refused", host, local)
			}
		}
	}
	if served(at(loopback[0], "gate.example")) {
		t.Error("a name is served that nobody has allowed")
	}
}
