package access

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// served reports whether a request asks for a host that is served where it came in: on a
// loopback address a loopback name, or one of also, which are names without port;
// everywhere else any. A page of another site whose name leads a browser to this
// machine's loopback (DNS rebinding) is of the same origin there, so only the Host that
// it asks for distinguishes it. A request that did not come by a network address, as on a
// unix socket, is not a browser's.
func served(r *http.Request, also ...string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || !loopback(name(local.String())) {
		return true
	}
	host := name(r.Host)
	return loopback(host) || slices.ContainsFunc(also, func(name string) bool {
		return name != "" && strings.EqualFold(name, host)
	})
}

// name returns a host without its port and brackets.
func name(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return strings.Trim(hostport, "[]")
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}
