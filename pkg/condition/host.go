package condition

import "strings"

// hostPattern matches one host, all that are below a domain, every name with a dot, or every host.
type hostPattern struct {
	whole
	name  string // without *.
	below bool
	any   bool
	// dotted matches names in a domain: addresses and names without a dot have none.
	dotted bool
}

func newHostPattern(text string) (pattern, string) {
	if text == "*" {
		return hostPattern{any: true}, ""
	}
	if text == "*.*" {
		return hostPattern{dotted: true}, ""
	}
	name, below := strings.CutPrefix(lowered(text), "*.")
	address, bracketed := bare(name)
	switch {
	case strings.Contains(name, "://"):
		return nil, "is a URL; write the host alone, and use scheme, port and path for the rest"
	case strings.ContainsAny(name, "/"):
		return nil, "is not a host; write the host alone, and networks with the facet ip"
	case strings.Contains(name, "*"):
		return nil, "has a * that is not a whole first part; write *.example.com"
	case !isASCII(name):
		return nil, "has letters beyond ASCII; write it in punycode, xn--..."
	case strings.HasSuffix(name, "."):
		return nil, "has a dot at its end; leave it out"
	case !bracketed && strings.Count(name, ":") == 1:
		return nil, "has a port; write the host alone, and use the facet port"
	case !plainHost(address):
		return nil, "is not a host that a URL can have; write its plain name or address"
	case below && isAddress(address):
		return nil, "stands for hosts below an address; there are none"
	}
	return hostPattern{name: address, below: below}, ""
}

func bare(name string) (string, bool) {
	if inner, ok := strings.CutPrefix(name, "["); ok {
		if inner, ok = strings.CutSuffix(inner, "]"); ok {
			return inner, true
		}
	}
	return name, false
}

func (p hostPattern) match(host string, _ Stance) Truth {
	switch {
	case !plainHost(host):
		return Doubt
	case p.any:
		return True
	case p.dotted:
		return Of(!isAddress(host) && strings.Contains(host, "."))
	case p.below:
		return Of(len(host) > len(p.name)+1 && strings.HasSuffix(host, p.name) && host[len(host)-len(p.name)-1] == '.')
	default:
		return Of(host == p.name)
	}
}

// plainHost reports a host in the one form in which values have it: names of letters, digits and
// hyphens in lower case, dotted quads, and IPv6 addresses in their canonical form.
func plainHost(host string) bool { return isAddress(host) || isName(host) }

// isName reports a host name whose last part cannot be read as a number.
func isName(host string) bool {
	if host == "" || len(host) > 253 {
		return false
	}
	start := 0
	for i := 0; i <= len(host); i++ {
		if i < len(host) && host[i] != '.' {
			c := host[i]
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
			continue
		}
		label := host[start:i]
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		if i == len(host) && numeric(label) {
			return false
		}
		start = i + 1
	}
	return true
}

// numeric reports a last part of a host that makes programs read the whole as an address.
func numeric(label string) bool {
	digits := label
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(digits, "0123456789") == ""
}
