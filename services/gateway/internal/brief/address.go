package brief

import (
	"net"
	"net/url"
)

// ForBrowsers returns the address by which people open a server: passkeys need a name, which an IP address is not, and
// browsers have localhost for this machine.
func ForBrowsers(server string) string {
	u, err := url.Parse(server)
	if err != nil {
		return server
	}
	if ip := net.ParseIP(u.Hostname()); ip != nil && ip.IsLoopback() {
		u.Host = net.JoinHostPort("localhost", u.Port())
	}
	return u.String()
}
