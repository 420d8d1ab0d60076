// Package rpc makes the gRPC servers and clients of Interlock, so that all of
// them treat a call alike: recovery, identity, roles, namespace, limits,
// deadline, validation, faults, metrics and traces in one chain, with health and
// reflection on every server, over sockets and within the process.
//
// It must never know a service's rules, log a payload or a credential, let a
// call pass that it has a doubt about, or show the cause of an error to a client.
package rpc

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store"
)

// MaxDocument is the most bytes of one user document: a definition, a context, a
// tool's input. Anything longer is refused as TOO_LARGE.
const MaxDocument = 1 << 20

// Config of a server. The zero value serves no caller, because none can be authenticated;
// unset fields have the default that its comment names.
type Config struct {
	// Listen are addresses: "127.0.0.1:7421", "unix:/run/interlock.sock".
	Listen []string
	// Listeners are served too, and closed in the end.
	Listeners []net.Listener
	// TLS is off unless its files are set. Unix sockets never use it.
	TLS ServerTLS
	// Insecure allows listening beyond loopback without TLS, where the network
	// itself is trusted. Tokens then travel in the clear.
	Insecure bool

	// Authenticator identifies callers; *auth.Tokens is one.
	Authenticator auth.Authenticator
	// Standing refuses an authenticated caller whose token counts no longer, for a method; nil refuses
	// none.
	Standing func(ctx context.Context, method string, p auth.Principal) error
	// Used is called after each unary call of an authenticated caller that has succeeded, with its method and namespace;
	// nil for none.
	Used func(ctx context.Context, method, namespace string)
	// Gate is entered by every call: the calls of one era of the store end with it. Nil
	// is one that never ends.
	Gate *store.Gate
	// Refused is called with every caller that is refused before there is a decision; nil for
	// none. It must not wait.
	Refused func(Refusal)
	// AllowAnonymous lets callers without credentials in, as an operator named
	// "anonymous". For development on loopback, and refused elsewhere. Wrong
	// credentials are refused all the same.
	AllowAnonymous bool

	// MaxRecvBytes is the largest message accepted, 1.25 MiB. Up to four times
	// of it is read in order to refuse it with a clear TOO_LARGE.
	MaxRecvBytes int
	// MaxConcurrentStreams per connection, 1024.
	MaxConcurrentStreams uint32
	// DefaultDeadline of a unary call that names none, its arrival included: 30 s.
	DefaultDeadline time.Duration
	// ConnectionTimeout is how long a client may take to set a connection up: 5 s.
	ConnectionTimeout time.Duration
	// KeepaliveTime is how long a connection may be silent before it is probed:
	// 30 s. It is cut when it does not answer for KeepaliveTimeout: 10 s.
	KeepaliveTime    time.Duration
	KeepaliveTimeout time.Duration
	// MaxConnectionIdle is how long a connection without calls is kept: 10 min.
	MaxConnectionIdle time.Duration
	// MaxConnectionAge is after how long a client is asked to connect anew: 5 min. That is how
	// clients find replicas that were added. Calls and streams under way are not ended.
	MaxConnectionAge time.Duration
	// DrainTimeout is how long calls in flight may take when serving ends: 20 s.
	DrainTimeout time.Duration

	// Registerer gets the metrics; there are none when it is nil. Several
	// servers may share one.
	Registerer prometheus.Registerer
	// TracerProvider makes spans; there are none, at no cost, when it is nil.
	TracerProvider trace.TracerProvider
	// Logger is slog.Default() when it is nil.
	Logger *slog.Logger
}

// ServerTLS are PEM files. With ClientCAFile, clients must present a certificate
// that it signed (mTLS); they are still identified by their token.
type ServerTLS struct {
	CertFile     string
	KeyFile      string
	ClientCAFile string
}

func (c Config) withDefaults() Config {
	orElse(&c.MaxRecvBytes, MaxDocument+MaxDocument/4)
	orElse(&c.MaxConcurrentStreams, 1024)
	orElse(&c.DefaultDeadline, 30*time.Second)
	orElse(&c.ConnectionTimeout, 5*time.Second)
	orElse(&c.KeepaliveTime, 30*time.Second)
	orElse(&c.KeepaliveTimeout, 10*time.Second)
	orElse(&c.MaxConnectionIdle, 10*time.Minute)
	orElse(&c.MaxConnectionAge, 5*time.Minute)
	orElse(&c.DrainTimeout, 20*time.Second)
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	return c
}

func (c Config) incomplete() error {
	if c.Authenticator == nil && !c.AllowAnonymous {
		return ErrNoAuthenticator
	}
	exposure := Exposure{TLS: c.TLS, Anonymous: c.AllowAnonymous, Insecure: c.Insecure}
	for _, address := range c.addresses() {
		if err := exposure.Check(address); err != nil {
			return err
		}
	}
	return nil
}

// addresses returns all that are to be served.
func (c Config) addresses() []string {
	all := slices.Clone(c.Listen)
	for _, lis := range c.Listeners {
		address := lis.Addr()
		if _, isUnix := address.(*net.UnixAddr); isUnix {
			all = append(all, unixPrefix+address.String())
			continue
		}
		all = append(all, address.String())
	}
	return all
}

// orElse gives a value that is not set its default.
func orElse[T comparable](value *T, other T) {
	var zero T
	if *value == zero {
		*value = other
	}
}
