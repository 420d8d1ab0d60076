package rpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"google.golang.org/grpc/credentials"

	"github.com/interlock-run/interlock/pkg/internal/reread"
)

// certificates are the TLS settings of new connections. They follow their PEM files, so
// that certificates and CAs are rotated without a restart. Connections that are open keep
// theirs.
type certificates struct{ *reread.Value[*tls.Config] }

// loadCertificates reads the files for the first time, when faults are errors. Names
// may be empty.
func loadCertificates(load func() (*tls.Config, error), files ...string) (certificates, error) {
	v, err := reread.Load("certificates", 0, load, files...)
	return certificates{v}, err
}

// server is for listeners. Sessions are not resumed: a resumed one was verified by the
// CAs of its time, not by those of now.
func (c certificates) server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.Get(), nil },
	}
}

// clientCredentials are TLS with the certificates of the moment of each handshake.
type clientCredentials struct {
	credentials.TransportCredentials
	certificates certificates
}

func newClientCredentials(c certificates) clientCredentials {
	return clientCredentials{credentials.NewTLS(c.Get()), c}
}

// ClientHandshake secures a connection.
func (c clientCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(c.certificates.Get()).ClientHandshake(ctx, authority, conn)
}

// Clone is a copy, which shares the certificates.
func (c clientCredentials) Clone() credentials.TransportCredentials {
	return clientCredentials{c.TransportCredentials.Clone(), c.certificates}
}

// config is what the files of a server say.
func (t ServerTLS) config() (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read the server's certificate and key: %w", err)
	}
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
		Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"},
	}
	if t.ClientCAFile != "" {
		if cfg.ClientCAs, err = readPool(t.ClientCAFile); err != nil {
			return nil, err
		}
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return cfg, nil
}

// config is what the files of a client say.
func (t ClientTLS) config() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: t.ServerName}
	var err error
	if t.CAFile != "" {
		if cfg.RootCAs, err = readPool(t.CAFile); err != nil {
			return nil, err
		}
	}
	if t.CertFile != "" || t.KeyFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate and key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}
