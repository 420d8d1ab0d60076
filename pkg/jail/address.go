package jail

import "net/netip"

// kind is where an address leads to.
type kind int

const (
	// refused is reached by no rule: metadata services, one link, multicast, reserved.
	refused kind = iota
	public
	private
	loopback
)

// metadata are addresses at which clouds hand out credentials, some of them among public or private ones.
var metadata = addrs("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192",
	"fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fd00:c1::a9fe:a9fe")

var privateNets = prefixes("10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16", "198.18.0.0/15", "fc00::/7", "fec0::/10")

// refusedNets are the registries' special addresses that are neither public nor private.
var refusedNets = prefixes("0.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.51.100.0/24",
	"203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
	"2001::/23", "2001:db8::/32", "3fff::/20")

var (
	// nat64 and sixToFour lead to the IPv4 address that they contain.
	nat64     = netip.MustParsePrefix("64:ff9b::/96")
	sixToFour = netip.MustParsePrefix("2002::/16")
	// global is the only part of IPv6 that is assigned to networks of the world.
	global = netip.MustParsePrefix("2000::/3")
)

// kindOf decides where an address leads to. An address of an unknown kind is refused.
func kindOf(addr netip.Addr) kind {
	addr = addr.Unmap()
	if !addr.IsValid() || addr.Zone() != "" || metadata[addr] {
		return refused
	}
	if inner, ok := embedded(addr); ok {
		// A private address in such a form is a trick: no rule reaches it.
		if kindOf(inner) != public {
			return refused
		}
		return public
	}
	switch {
	case addr.IsLoopback():
		return loopback
	case inOneOf(addr, privateNets):
		return private
	case inOneOf(addr, refusedNets), addr.Is6() && !global.Contains(addr):
		return refused
	}
	return public
}

// embedded returns the IPv4 address that a translator makes of one of IPv6.
func embedded(addr netip.Addr) (netip.Addr, bool) {
	if !addr.Is6() {
		return netip.Addr{}, false
	}
	b := addr.As16()
	switch {
	case nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

func inOneOf(addr netip.Addr, nets []netip.Prefix) bool {
	for _, net := range nets {
		if net.Contains(addr) {
			return true
		}
	}
	return false
}

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

func addrs(texts ...string) map[netip.Addr]bool {
	set := make(map[netip.Addr]bool, len(texts))
	for _, text := range texts {
		set[netip.MustParseAddr(text)] = true
	}
	return set
}
