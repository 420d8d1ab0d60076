package people

import (
	"net"
	"net/url"
	"strings"
)

// SiteOf returns the place of passkeys of a server whose pages people open at a URL. An IP address can have
// none, but browsers take this machine's for localhost.
func SiteOf(address string) Site {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return Site{}
	}
	host := strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); ip != nil {
		if !ip.IsLoopback() {
			return Site{}
		}
		host = "localhost"
	}
	if u.Scheme == "http" && host != "localhost" {
		return Site{} // browsers have passkeys on https only
	}
	origin := u.Scheme + "://" + host
	standard := map[string]string{"https": "443", "http": "80"}
	if port := u.Port(); port != "" && port != standard[u.Scheme] {
		origin += ":" + port
	}
	return Site{RPID: host, Origins: []string{origin}}
}
