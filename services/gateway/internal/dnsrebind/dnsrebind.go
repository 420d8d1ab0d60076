// Package dnsrebind refuses DNS rebinding: a page of another site whose name leads a
// browser to this machine's loopback is of the same origin there, so only the Host
// that it asks for tells it apart. It knows nothing of who asks.
package dnsrebind

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Served reports whether a request asks for a host that is served where it came in:
// on a loopback address a loopback name, or one of also, which are names without
// port; everywhere else any. A request that did not come by a network address, as on
// a unix socket, is not a browser's.
func Served(r *http.Request, also ...string) bool {
	local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if !ok || !loopback(name(local.String())) {
		return true
	}
	host := name(r.Host)
	return loopback(host) || slices.ContainsFunc(also, func(served string) bool { return served != "" && strings.EqualFold(served, host) })
}

// name is a host without its port and brackets.
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
