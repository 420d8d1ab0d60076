package dial

import (
	"strings"

	"google.golang.org/grpc/resolver"
)

// listScheme is the scheme of a target that is a list of addresses.
const listScheme = "list"

// replicas returns the addresses of a target: several when it is a list of host:port with
// commas between them.
func replicas(target string) []string { return strings.Split(target, ",") }

// addressList resolves a list of addresses to itself. It is how replicas are
// named where no DNS does: on one machine, in tests.
type addressList struct{ addresses []string }

var _ resolver.Builder = addressList{}

// Scheme implements resolver.Builder.
func (addressList) Scheme() string { return listScheme }

// Build implements resolver.Builder.
func (l addressList) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	state := resolver.State{}
	for _, address := range l.addresses {
		// The name is checked by TLS and sent as the server's name.
		state.Addresses = append(state.Addresses, resolver.Address{Addr: address, ServerName: address})
	}
	return fixed{}, cc.UpdateState(state)
}

// fixed is a resolver whose answer never changes.
type fixed struct{}

// ResolveNow implements resolver.Resolver.
func (fixed) ResolveNow(resolver.ResolveNowOptions) {}

// Close implements resolver.Resolver.
func (fixed) Close() {}
