package hostproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
)

// target is a host that was asked for: its canonical name or address, and its port.
type target struct {
	host string
	port int
}

func (t target) String() string { return net.JoinHostPort(t.host, strconv.Itoa(t.port)) }

// refusal says why a request is not served.
type refusal struct {
	status int
	// sentence is for the one who has asked.
	sentence string
}

func (r *refusal) Error() string { return r.sentence }

func badRequest(sentence string) *refusal { return &refusal{http.StatusBadRequest, sentence} }

// forbid records a refused host, and returns the sentence that names it.
func (p *proxy) forbid(host, why string) *refusal {
	p.record.add(jail.Asked{Host: host, Why: why})
	return &refusal{http.StatusForbidden, "The jail refuses " + host + ": " + why}
}

// parseTarget reads "host:port"; a port of 0 demands one in the text.
func (p *proxy) parseTarget(text string, port int) (target, *refusal) {
	host := text
	if name, number, err := net.SplitHostPort(text); err == nil {
		n, err := strconv.ParseUint(number, 10, 16)
		if err != nil || strconv.FormatUint(n, 10) != number {
			return target{}, p.forbid(shown(text), "its port is not a number")
		}
		host, port = name, int(n)
		if strings.Contains(name, ":") != strings.HasPrefix(text, "[") {
			return target{}, p.forbid(shown(text), "this is no host with a port")
		}
	}
	if port == 0 {
		return target{}, p.forbid(shown(text), "this is no host with a port")
	}
	return p.admit(host, port)
}

// admit checks a host by the rules.
func (p *proxy) admit(host string, port int) (target, *refusal) {
	name, addr, err := jail.CanonicalHost(host)
	if err != nil {
		return target{}, p.forbid(shown(host), err.Error())
	}
	if addr.IsValid() {
		name = addr.String()
	}
	t := target{name, port}
	if why := p.rules.Refusal(t.host, t.port); why != "" {
		return target{}, p.forbid(t.String(), why)
	}
	return t, nil
}

// shown is a bounded text without characters that a terminal or a header takes for something else.
func shown(text string) string {
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	return strconv.QuoteToASCII(text)
}

// dial resolves a host that was admitted, checks its addresses, and connects to one of them.
func (p *proxy) dial(ctx context.Context, t target) (*conn, *refusal) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	addrs, err := p.addresses(ctx, t)
	if err != nil {
		return nil, &refusal{http.StatusBadGateway, fmt.Sprintf("The jail cannot resolve %s: %v", t.host, err)}
	}
	checked, why := p.reachable(t, addrs)
	if len(checked) == 0 {
		return nil, p.forbid(t.String(), why)
	}
	p.record.add(jail.Asked{Host: t.String(), Allowed: true})
	for _, addr := range checked {
		var raw net.Conn
		if raw, err = p.opts.Dial(ctx, netip.AddrPortFrom(addr, uint16(t.port))); err != nil {
			continue
		}
		if c := p.track(raw); c != nil {
			return c, nil
		}
		err = net.ErrClosed
		break
	}
	return nil, &refusal{http.StatusBadGateway, fmt.Sprintf("The jail cannot connect to %s: %v", t, err)}
}

// mostAddresses bounds how many of a name's addresses are tried.
const mostAddresses = 8

func (p *proxy) addresses(ctx context.Context, t target) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(t.host); err == nil {
		return []netip.Addr{addr}, nil
	}
	if strings.HasSuffix(t.host, ".localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	addrs, err := p.opts.Resolve(ctx, t.host)
	if err == nil && len(addrs) == 0 {
		err = errors.New("it has no address")
	}
	return addrs[:min(len(addrs), mostAddresses)], err
}

// reachable returns the addresses that the rules let the host have, or why there is none.
func (p *proxy) reachable(t target, addrs []netip.Addr) (checked []netip.Addr, why string) {
	for _, addr := range addrs {
		addr = addr.Unmap()
		reason := p.rules.Reach(t.host, t.port, addr)
		if reason == "" && slices.Contains(p.opts.Own, addr) && !p.rules.Private(t.host, t.port) {
			reason = fmt.Sprintf("its address %s is this machine", addr)
		}
		if reason != "" {
			why = reason
			continue
		}
		checked = append(checked, addr)
	}
	return checked, why
}

// dialAddress is dial for a transport.
func (p *proxy) dialAddress(ctx context.Context, _, address string) (net.Conn, error) {
	t, refused := p.parseTarget(address, 0)
	if refused != nil {
		return nil, refused
	}
	c, refused := p.dial(ctx, t)
	if refused != nil {
		return nil, refused
	}
	return c, nil
}

// resolve asks the machine's resolver. A name with a dot is complete: no search domain is added to it.
func resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	if strings.Contains(name, ".") {
		name += "."
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

func dialTCP(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	dialer := net.Dialer{Timeout: 5 * time.Second}
	return dialer.DialTCP(ctx, "tcp", netip.AddrPort{}, addr)
}

// interfaces returns this machine's own addresses.
func interfaces() []netip.Addr {
	list, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	own := make([]netip.Addr, 0, len(list))
	for _, addr := range list {
		if prefix, err := netip.ParsePrefix(addr.String()); err == nil {
			own = append(own, prefix.Addr().Unmap().WithZone(""))
		}
	}
	return own
}

// recorder passes on each answer once, and a bounded number of them. Hosts that are refused leave room for
// those that are allowed, and the other way round.
type recorder struct {
	mu     sync.Mutex
	asked  func(jail.Asked)
	seen   map[jail.Asked]struct{}
	counts [2]int
	closed bool
}

func (r *recorder) add(a jail.Asked) {
	r.mu.Lock()
	defer r.mu.Unlock()
	count := &r.counts[0]
	if a.Allowed {
		count = &r.counts[1]
	}
	if _, ok := r.seen[a]; ok || r.closed || r.asked == nil || *count >= jail.MostFiles/2 {
		return
	}
	*count++
	r.seen[a] = struct{}{}
	r.asked(a)
}

func (r *recorder) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
}
