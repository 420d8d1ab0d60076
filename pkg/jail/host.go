package jail

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// Host is a rule that names hosts a command may reach: "proxy.golang.org", "*.example.com" (any name
// below example.com), "*" (any name), "9.9.9.9" or "[2620:fe::9]", each with an optional ":port" or
// ":*" (ports 80 and 443 without it). The prefix "private:" lets it reach addresses of private networks.
type Host struct {
	// name is canonical, "" for any; with below it is the names under it.
	name  string
	below bool
	addr  netip.Addr
	// port is 0 for 80 and 443; with anyPort it is not used.
	port    uint16
	anyPort bool
	private bool
}

// Hosts are rules of which one is enough.
type Hosts []Host

const privatePrefix = "private:"

// ParseHost reads a rule. Its errors say how to write it.
func ParseHost(rule string) (Host, error) {
	h, err := readHost(rule)
	if err != nil {
		return Host{}, fmt.Errorf("host rule %.300q: %w", rule, err)
	}
	return h, nil
}

func readHost(rule string) (Host, error) {
	text, private := strings.CutPrefix(rule, privatePrefix)
	h := Host{private: private}
	if err := misspelt(text); err != nil {
		return Host{}, err
	}
	name, port, found := cutPort(text)
	if found {
		if err := h.setPort(name, port); err != nil {
			return Host{}, err
		}
	}
	if err := h.setName(name); err != nil {
		return Host{}, err
	}
	return h, nil
}

// ParseHosts reads rules.
func ParseHosts(rules []string) (Hosts, error) {
	hosts := make(Hosts, 0, len(rules))
	for _, rule := range rules {
		h, err := ParseHost(rule)
		if err != nil {
			return nil, err
		}
		hosts = append(hosts, h)
	}
	return hosts, nil
}

// misspelt explains what is often written instead of a name.
func misspelt(text string) error {
	rest, scheme := text, false
	if i := strings.Index(text, "://"); i >= 0 {
		rest, scheme = text[i+len("://"):], true
	}
	end := strings.IndexAny(rest, "/?#")
	bare := rest
	if end >= 0 {
		bare = rest[:end]
	}
	_, prefixErr := netip.ParsePrefix(text)
	switch {
	case text == "":
		return errors.New(`it is empty; write a name such as "example.com"`)
	case scheme:
		return fmt.Errorf("a rule has no scheme; write %q", bare)
	case prefixErr == nil:
		return errors.New("ranges of addresses cannot be named; write each name or address")
	case end >= 0:
		return fmt.Errorf("a rule has no path; write %q", bare)
	case strings.Contains(text, "@"):
		return fmt.Errorf("a rule has no user; write %q", text[strings.LastIndexByte(text, '@')+1:])
	}
	if addr, err := netip.ParseAddr(text); err == nil && addr.Is6() {
		return fmt.Errorf("an IPv6 address is in brackets; write %q", "["+text+"]")
	}
	return nil
}

// cutPort parts a host and its port; a bracketed address keeps its brackets.
func cutPort(text string) (host, port string, found bool) {
	i := strings.LastIndexByte(text, ':')
	if i < 0 || strings.HasSuffix(text, "]") {
		return text, "", false
	}
	return text[:i], text[i+1:], true
}

func (h *Host) setPort(name, port string) error {
	if port == "*" {
		h.anyPort = true
		return nil
	}
	n, ok := parsePort(port)
	if !ok {
		return fmt.Errorf("%.20q is no port; write a number from 1 to 65535, or \"%.260s:*\" for any", port, name)
	}
	h.port = n
	return nil
}

// parsePort reads a decimal number without sign, leading zero or blank.
func parsePort(port string) (uint16, bool) {
	n, err := strconv.ParseUint(port, 10, 16)
	return uint16(n), err == nil && n > 0 && strconv.FormatUint(n, 10) == port
}

func (h *Host) setName(name string) error {
	if name == "*" {
		if h.private {
			return errors.New(`"private:" needs a name, such as "private:registry.corp.example"`)
		}
		h.below = true
		return nil
	}
	name, h.below = strings.CutPrefix(name, "*.")
	if strings.Contains(name, "*") {
		return errors.New(`a "*" stands for the whole name, or for all before the first dot: "*.example.com"`)
	}
	canonical, addr, err := CanonicalHost(name)
	if err != nil {
		return err
	}
	if addr.IsValid() {
		return h.setAddr(addr)
	}
	if isLocalhost(canonical) && !h.private {
		return fmt.Errorf("%s is this machine; write %q", canonical, privatePrefix+canonical+h.portSuffix())
	}
	h.name = canonical
	return nil
}

func (h *Host) setAddr(addr netip.Addr) error {
	if h.below {
		return errors.New(`an address has no names below it; write it without "*."`)
	}
	h.addr = addr
	switch kind := kindOf(addr); {
	case kind == refused:
		return fmt.Errorf("%s is an address that is never reached: of metadata services, of one link, or reserved", addr)
	case kind != public && !h.private:
		h.private = true
		return fmt.Errorf("%s is an address of a private network; write %q", addr, h.String())
	}
	return nil
}

// String returns the rule in its canonical form.
func (h Host) String() string {
	var b strings.Builder
	if h.private {
		b.WriteString(privatePrefix)
	}
	switch {
	case h.addr.IsValid():
		b.WriteString(bracketed(h.addr))
	case h.name == "":
		b.WriteString("*")
	case h.below:
		b.WriteString("*." + h.name)
	default:
		b.WriteString(h.name)
	}
	b.WriteString(h.portSuffix())
	return b.String()
}

func (h Host) portSuffix() string {
	switch {
	case h.anyPort:
		return ":*"
	case h.port != 0:
		return ":" + strconv.Itoa(int(h.port))
	}
	return ""
}

func bracketed(addr netip.Addr) string {
	if addr.Is6() {
		return "[" + addr.String() + "]"
	}
	return addr.String()
}

// matches compares with a canonical name, or with an address.
func (h Host) matches(name string, addr netip.Addr, port uint16) bool {
	return h.matchesPort(port) && h.matchesName(name, addr)
}

func (h Host) matchesPort(port uint16) bool {
	if h.port == 0 && !h.anyPort {
		return port == 80 || port == 443
	}
	return port != 0 && (h.anyPort || h.port == port)
}

func (h Host) matchesName(name string, addr netip.Addr) bool {
	switch {
	case addr.IsValid() || h.addr.IsValid():
		return h.addr.IsValid() && h.addr == addr
	case h.name == "":
		return h.below && name != "" && !isLocalhost(name)
	case h.below:
		return strings.HasSuffix(name, "."+h.name)
	}
	return name == h.name
}

// Allow reports whether a rule names the host, which is a name or an address, with its port. A host that
// is written in an odd way is named by none. The addresses of the name are the matter of Reach.
func (hs Hosts) Allow(host string, port int) bool { return hs.Refusal(host, port) == "" }

// Refusal says why no rule names the host, with the rule that would; empty where one does.
func (hs Hosts) Refusal(host string, port int) string {
	name, addr, err := CanonicalHost(host)
	switch {
	case err != nil:
		return err.Error()
	case port < 1 || port > 65535:
		return "there is no such port"
	case addr.IsValid() && kindOf(addr) == refused:
		return "this address is never reached: of metadata services, of one link, or reserved"
	}
	for _, h := range hs {
		if h.matches(name, addr, uint16(port)) {
			return ""
		}
	}
	return fmt.Sprintf("no rule names it; to allow it, add %q to \"hosts\" of the state's \"jail\"", ruleFor(name, addr, uint16(port)))
}

// Reach says why a connection to a host that Allow has passed must not be made to addr, which the host's
// name has resolved to; empty where it may.
func (hs Hosts) Reach(host string, port int, addr netip.Addr) string {
	name, literal, err := CanonicalHost(host)
	if err != nil || port < 1 || port > 65535 || literal.IsValid() && literal != addr.Unmap() {
		return "the host and its address do not belong together"
	}
	kind := kindOf(addr)
	for _, h := range hs {
		if h.matches(name, literal, uint16(port)) && h.reaches(kind) {
			return ""
		}
	}
	rule := ruleFor(name, literal, uint16(port))
	switch {
	case kind == refused:
		return fmt.Sprintf("its address %s is never reached: of metadata services, of one link, or reserved", addr)
	case kind == loopback && !literal.IsValid() && !isLocalhost(name):
		return fmt.Sprintf("its address %s is this machine, which only a rule for localhost reaches", addr)
	case kind != public:
		return fmt.Sprintf("its address %s is of a private network; to allow it, write %q in \"hosts\" of the state's \"jail\"",
			addr, privatePrefix+strings.TrimPrefix(rule, privatePrefix))
	}
	return hs.Refusal(host, port)
}

// Private reports whether a rule with the prefix "private:" names the host.
func (hs Hosts) Private(host string, port int) bool {
	name, addr, err := CanonicalHost(host)
	if err != nil || port < 1 || port > 65535 {
		return false
	}
	for _, h := range hs {
		if h.private && h.matches(name, addr, uint16(port)) {
			return true
		}
	}
	return false
}

// reaches reports whether the rule reaches addresses of a kind. This machine is reached by its address,
// or as localhost, only: another name that resolves to it is a trick.
func (h Host) reaches(kind kind) bool {
	switch kind {
	case public:
		return true
	case private:
		return h.private
	case loopback:
		return h.private && (h.addr.IsValid() || isLocalhost(h.name))
	}
	return false
}

// ruleFor returns the rule that names one host.
func ruleFor(name string, addr netip.Addr, port uint16) string {
	h := Host{name: name, addr: addr, private: isLocalhost(name) || addr.IsValid() && kindOf(addr) != public}
	if port != 80 && port != 443 {
		h.port = port
	}
	return h.String()
}
