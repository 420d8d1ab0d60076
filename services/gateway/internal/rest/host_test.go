package rest

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// TestHosts: a page that was rebound to a loopback address gets nothing, and changes
// nothing, whether a token is needed or not (S9).
func TestHosts(t *testing.T) {
	t.Parallel()
	loopback, public := &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 7420}, &net.TCPAddr{IP: net.IPv4(10, 0, 0, 1), Port: 7420}
	for name, tc := range map[string]struct {
		anonymous bool
		local     net.Addr
		host      string
		refused   bool
	}{
		"rebound":                {true, loopback, "evil.example:7420", true},
		"no host":                {true, loopback, "", true},
		"an address":             {true, loopback, "127.0.0.1:7420", false},
		"localhost":              {true, loopback, "localhost:7420", false},
		"a name that is allowed": {true, loopback, "gate.example", false},
		"not on loopback":        {true, public, "evil.example", false},
		"with tokens":            {false, loopback, "evil.example:7420", true},
	} {
		for _, row := range []struct{ method, path string }{
			{"GET", "/v1/runs/r"}, {"POST", "/v1/runs/r/pause"}, {"GET", "/v1/events"}, {"GET", "/v1/ws"}, {"GET", "/"}, {"GET", "/nowhere"},
		} {
			h := houseBehind(t, access.Guard{AllowAnonymous: tc.anonymous, Hosts: []string{"gate.example"}})
			req := httptest.NewRequest(row.method, row.path, http.NoBody)
			req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, tc.local))
			req.Host = tc.host
			req.Header.Set("Origin", "http://"+tc.host) // a rebound page is of the same origin
			rec := httptest.NewRecorder()
			h.ServeHTTP(rec, req)
			refused := rec.Code == http.StatusForbidden && problem(t, rec).Code == "UNKNOWN_HOST"
			if refused != tc.refused || refused && len(h.got) > 0 {
				t.Errorf("%s, %s %s: %d %s; asked %v", name, row.method, row.path, rec.Code, rec.Body, h.got)
			}
		}
	}
}
