package condition

import "net/netip"

// networks are the names of sets of addresses.
var networks = map[string][]netip.Prefix{
	"any": prefixes("0.0.0.0/0", "::/0"),
	// 100.64.0.0/10 is shared by the customers of a provider, and where one cloud keeps its metadata.
	"private": prefixes("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "fc00::/7", "fec0::/10"),
	// 0.0.0.0 and :: reach the own host as well.
	"loopback":   prefixes("127.0.0.0/8", "0.0.0.0/8", "::1/128", "::/128"),
	"link-local": prefixes("169.254.0.0/16", "fe80::/10"),
	"multicast":  prefixes("224.0.0.0/4", "255.255.255.255/32", "ff00::/8"),
}

func prefixes(texts ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		all[i] = netip.MustParsePrefix(text)
	}
	return all
}

// network matches the addresses in one of its prefixes.
type network struct {
	whole
	of []netip.Prefix
}

func newNetwork(text string) (pattern, string) {
	if of, ok := networks[text]; ok {
		return network{of: of}, ""
	}
	if a, err := netip.ParseAddr(text); err == nil && a.Zone() == "" {
		return network{of: []netip.Prefix{netip.PrefixFrom(a, a.BitLen())}}, ""
	}
	p, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return nil, "is not a network; write an address, a CIDR such as 10.0.0.0/8, or one of private, loopback, link-local, multicast, any"
	case p != p.Masked():
		return nil, "has bits beyond its prefix; write " + p.Masked().String()
	}
	return network{of: []netip.Prefix{p}}, ""
}

func (n network) match(text string, _ Stance) Truth {
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return Doubt
	}
	for _, p := range n.of {
		if p.Contains(a) {
			return True
		}
	}
	return False
}

// isAddress reports an IP address in its canonical form.
func isAddress(text string) bool {
	digit := false
	for i := range len(text) {
		digit = digit || '0' <= text[i] && text[i] <= '9' || text[i] == ':'
	}
	if !digit {
		return false
	}
	a, err := netip.ParseAddr(text)
	if err != nil || a.Zone() != "" {
		return false
	}
	var space [64]byte
	return string(a.AppendTo(space[:0])) == text
}

// Readings returns the IPv4 address that is in an IPv6 address, where a network may translate it:
// mapped, translated, compatible, NAT64 and 6to4.
func Readings(a netip.Addr) (netip.Addr, bool) {
	if !a.Is6() {
		return netip.Addr{}, false
	}
	b := a.As16()
	switch {
	case prefix4in6.Contains(a) || prefixMapped(b) || prefixSIIT.Contains(a) || prefixNAT64.Contains(a) || prefixOwn64.Contains(a):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case prefix6to4.Contains(a):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	default:
		return netip.Addr{}, false
	}
}

var (
	prefix4in6  = netip.MustParsePrefix("::/96")
	prefixSIIT  = netip.MustParsePrefix("::ffff:0:0:0/96")
	prefixNAT64 = netip.MustParsePrefix("64:ff9b::/96")
	prefixOwn64 = netip.MustParsePrefix("64:ff9b:1::/48") // of networks that translate for themselves (RFC 8215)
	prefix6to4  = netip.MustParsePrefix("2002::/16")
)

func prefixMapped(b [16]byte) bool {
	for i := range 10 {
		if b[i] != 0 {
			return false
		}
	}
	return b[10] == 0xFF && b[11] == 0xFF
}
