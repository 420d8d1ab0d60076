package rpc

import (
	"errors"
	"fmt"

	"github.com/interlock-run/interlock/pkg/internal/dial"
)

// ErrPlaintext refuses to call or to serve beyond this machine without TLS,
// unless the network itself is trusted.
var ErrPlaintext = dial.ErrPlaintext

// ErrAnonymous refuses to serve callers without credentials beyond this machine.
var ErrAnonymous = errors.New("every caller from another machine would be an operator, without a token")

// ErrNoAuthenticator means that no caller could be served.
var ErrNoAuthenticator = errors.New("callers could not be distinguished: there is no authenticator")

// Exposure is how an address is served.
type Exposure struct {
	TLS ServerTLS
	// Anonymous lets callers without credentials in.
	Anonymous bool
	// Insecure allows plaintext, where the network itself is trusted.
	Insecure bool
}

// Check returns nil when an address may be served like that: on loopback and on
// unix sockets always, elsewhere never to anonymous callers (ErrAnonymous), and
// without TLS only where the network is trusted (ErrPlaintext).
func (e Exposure) Check(address string) error {
	switch {
	case dial.IsLoopback(address):
		return nil
	case e.Anonymous:
		return fmt.Errorf("serve %s: %w", address, ErrAnonymous)
	case e.TLS == (ServerTLS{}) && !e.Insecure:
		return fmt.Errorf("serve %s: %w", address, ErrPlaintext)
	default:
		return nil
	}
}
