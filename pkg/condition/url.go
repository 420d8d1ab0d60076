package condition

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

// URL is a URL that every program reads in one way, as far as its host.
type URL struct {
	// Scheme and Host are in lower case. Host is a name, an IPv4 address, or an IPv6 address without
	// brackets.
	Scheme, Host string
	// Port is the one written, or the scheme's own.
	Port int
	// Path is as written, without query; / when there is none.
	Path string
}

// ports are the schemes of URLs that are read, with their own ports.
var ports = map[string]int{"http": 80, "https": 443, "ws": 80, "wss": 443, "ssh": 22, "git": 9418}

// longestURL is the longest URL that is read, in bytes.
const longestURL = 8192

// ReadURL reads a URL strictly (S21). It is not ok when programs disagree about the host, or it has
// none; why names the odd part, without a full stop.
func ReadURL(text string) (u URL, ok bool, why string) {
	scheme, rest, found := strings.Cut(text, "://")
	u.Scheme = lowered(scheme)
	port, known := ports[u.Scheme]
	switch {
	case len(text) > longestURL:
		return URL{}, false, "the URL is too long"
	case strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7F || r == '\\' || 0x80 <= r && r < 0xA0 }):
		return URL{}, false, "the URL has blanks, control characters or backslashes, which programs read differently"
	case !found:
		return URL{}, false, "the URL does not begin with a scheme and //"
	case !known:
		return URL{}, false, "the scheme of the URL is none of http, https, ws, wss, ssh, git"
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, after := rest[:end], rest[end:]
	before, _, _ := strings.Cut(after, "/")
	if strings.Contains(before, "@") {
		return URL{}, false, "the URL has an @ before its path, so that programs disagree about its host"
	}
	if authority, ok = withoutUser(u.Scheme, authority); !ok {
		return URL{}, false, "the URL has a user name before its host"
	}
	if u.Host, u.Port, ok = readAuthority(authority, port); !ok {
		return URL{}, false, "the host of the URL is not in its plain form"
	}
	u.Path = after
	if i := strings.IndexAny(after, "?#"); i >= 0 {
		u.Path = after[:i]
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u, true, ""
}

// Loopback reports a host that is this machine.
func (u URL) Loopback() bool {
	address, err := netip.ParseAddr(u.Host)
	return u.Host == "localhost" || err == nil && address.IsLoopback()
}

// withoutUser drops the account of ssh, which is part of its plain form; other schemes have none.
func withoutUser(scheme, authority string) (string, bool) {
	user, host, found := strings.Cut(authority, "@")
	switch {
	case !found:
		return authority, true
	case scheme != "ssh" || user == "" || user[0] == '-' || strings.Trim(lowered(user), "abcdefghijklmnopqrstuvwxyz0123456789-_") != "":
		return "", false
	default:
		return host, true
	}
}

func readAuthority(authority string, port int) (string, int, bool) {
	host := authority
	if i := strings.LastIndexByte(authority, ':'); i >= 0 && !strings.HasSuffix(authority, "]") {
		n, err := strconv.ParseUint(authority[i+1:], 10, 16)
		if err != nil || n == 0 || authority[i+1] == '0' {
			return "", 0, false
		}
		host, port = authority[:i], int(n)
	}
	if inner, bracketed := bare(host); bracketed {
		a, err := netip.ParseAddr(inner)
		if err != nil || !a.Is6() || a.Zone() != "" {
			return "", 0, false
		}
		return a.String(), port, true
	}
	host, ok := ReadHost(host)
	return host, port, ok && !strings.Contains(host, ":")
}

// ReadHost returns a host in the form of the facet host: in lower case, without a dot at its end. It
// is not ok when programs can read another host or address in it.
func ReadHost(text string) (host string, ok bool) {
	host = lowered(text)
	if name, dotted := strings.CutSuffix(host, "."); dotted {
		return name, isName(name)
	}
	return host, plainHost(host)
}

// HostElement returns a host as a value of the facet host. One that is an IPv6 address is also the
// IPv4 address that is in it.
func HostElement(host string) Element {
	e := Element{Value: document.StringValue(host)}
	if a, err := netip.ParseAddr(host); err == nil {
		if other, ok := Readings(a); ok {
			e.Also = []document.Value{document.StringValue(other.String())}
		}
	}
	return e
}

// AddressElement returns a host as a value of the facet ip; ok is false when it is a name.
func AddressElement(host string) (e Element, ok bool) {
	if !isAddress(host) {
		return Element{}, false
	}
	return HostElement(host), true
}
