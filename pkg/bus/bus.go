// Package bus announces the commits of the store. It holds the envelope of events and
// their subjects, the relay that carries the store's outbox to NATS JetStream, durable
// subscribers, and live watching.
//
// The store is the truth and the stream is derived from it: after any failure of NATS,
// the relay brings the stream up to the outbox again. Delivery is at least once, in order
// per entity. The package must never announce an uncommitted change, never drop an outbox
// entry that NATS may still lose, and never put an event's payload into a log or an
// error.
package bus

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/internal/reread"
	"github.com/interlock-run/interlock/pkg/internal/tlsfiles"
)

// Endpoint says where NATS is. The zero value is nats://127.0.0.1:4222.
type Endpoint struct {
	// URL is one or more comma-separated NATS URLs.
	URL string
	// InProcess, when set, is the embedded server to talk to without a socket;
	// URL is then not used.
	InProcess nats.InProcessConnProvider
	// Options are added to every connection: credentials, TLS.
	Options []nats.Option
}

// Login has the credentials for a NATS server and the CAs to check it. The zero value has
// no credentials, and the system's CAs.
type Login struct {
	// Credentials is a file with a JWT and its key, as NATS makes them.
	Credentials string
	// Username and PasswordFile are the other way; the file is read again when it has
	// changed.
	Username, PasswordFile string
	// CA, Cert and Key are PEM files: the CA of the server's certificate, and the client's
	// own pair, for a server that asks for one. They are read again when they have changed.
	CA, Cert, Key string
}

// With adds a login to an endpoint.
func (e Endpoint) With(l Login) (Endpoint, error) {
	options, err := l.options()
	if err != nil {
		return Endpoint{}, err
	}
	e.Options = append(slices.Clip(e.Options), options...)
	return e, nil
}

func (l Login) options() (options []nats.Option, err error) {
	switch {
	case l.Credentials != "" && (l.Username != "" || l.PasswordFile != ""):
		return nil, errors.New("give a file of credentials, or a user and a file with the password, not both")
	case l.Credentials != "":
		if _, err := auth.ReadSecret(l.Credentials); err != nil {
			return nil, err
		}
		options = append(options, nats.UserCredentials(l.Credentials))
	case (l.Username == "") != (l.PasswordFile == ""):
		return nil, errors.New("a user needs a file with the password, and the file a user")
	case l.Username != "":
		password, err := reread.Load("password of NATS", 0, func() (string, error) { return auth.ReadPassword(l.PasswordFile) }, l.PasswordFile)
		if err != nil {
			return nil, err
		}
		options = append(options, nats.UserInfoHandler(func() (string, string) { return l.Username, password.Get() }))
	}
	files := tlsfiles.Client{CA: l.CA, Cert: l.Cert, Key: l.Key}
	if files == (tlsfiles.Client{}) {
		return options, nil
	}
	settings, err := files.Follow()
	if err != nil {
		return nil, err
	}
	var certificate nats.TLSCertHandler
	if l.Cert != "" {
		certificate = func() (tls.Certificate, error) { return settings.Get().Certificates[0], nil }
	}
	return append(options, nats.ClientTLSConfig(certificate, func() (*x509.CertPool, error) { return settings.Get().RootCAs, nil })), nil
}

// Connect opens a connection for subscribers, which reconnects forever. The
// caller closes it. The relay makes its own connections and never uses this one.
func (e Endpoint) Connect(name string) (*nats.Conn, error) {
	return e.dial(
		nats.Name(name),
		nats.MaxReconnects(-1),
		nats.ReconnectWait(250*time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 250*time.Millisecond),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			slog.Warn("nats connection", "connection", name, "error", err)
		}),
	)
}

func (e Endpoint) dial(options ...nats.Option) (*nats.Conn, error) {
	url := e.URL
	if url == "" {
		url = nats.DefaultURL
	}
	options = append(options, e.Options...)
	if e.InProcess != nil {
		options = append(options, nats.InProcessServer(e.InProcess))
	}
	nc, err := nats.Connect(url, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to nats: %w", err)
	}
	return nc, nil
}

// errLost means the stream no longer holds messages that it acknowledged.
var errLost = errors.New("the stream lost acknowledged messages")
