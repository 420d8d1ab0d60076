// Package tlsfiles makes TLS settings from PEM files. The settings follow the files, so
// that certificates and CAs are rotated without a restart: each new connection uses the
// files of its time. Connections that are open keep theirs.
package tlsfiles

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/interlock-run/interlock/pkg/internal/reread"
)

// Client names the files of a client. The zero value trusts the system's CAs and shows
// no certificate.
type Client struct {
	CA string
	// Cert and Key are the client's own, for servers that ask for them.
	Cert, Key string
	// ServerName is whose certificate the server must have; that of its address when empty.
	ServerName string
}

// Follow reads the files. Each Get is the settings of one connection, and must not be
// changed.
func (c Client) Follow() (*reread.Value[*tls.Config], error) {
	return reread.Load("certificates", 0, c.load, c.CA, c.Cert, c.Key)
}

func (c Client) load() (*tls.Config, error) {
	cfg := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: c.ServerName}
	var err error
	if c.CA != "" {
		if cfg.RootCAs, err = readPool(c.CA); err != nil {
			return nil, err
		}
	}
	if c.Cert != "" || c.Key != "" {
		if c.Cert == "" || c.Key == "" {
			return nil, errors.New("a client's certificate needs its key, and the key its certificate")
		}
		cert, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			return nil, fmt.Errorf("read the client's certificate and key: %w", err)
		}
		cfg.Certificates = []tls.Certificate{cert}
	}
	return cfg, nil
}

// Server names the files of a server. With ClientCA, clients must show a certificate
// that it signed.
type Server struct{ Cert, Key, ClientCA string }

// Config returns the settings for listeners. Sessions are not resumed: a resumed one was
// verified by the CAs of its time, not by those of now.
func (s Server) Config() (*tls.Config, error) {
	settings, err := reread.Load("certificates", 0, s.load, s.Cert, s.Key, s.ClientCA)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return settings.Get(), nil },
	}, nil
}

func (s Server) load() (*tls.Config, error) {
	cert, err := tls.LoadX509KeyPair(s.Cert, s.Key)
	if err != nil {
		return nil, fmt.Errorf("read the server's certificate and key: %w", err)
	}
	cfg := &tls.Config{
		MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
		Certificates: []tls.Certificate{cert}, NextProtos: []string{"h2", "http/1.1"},
	}
	if s.ClientCA != "" {
		if cfg.ClientCAs, err = readPool(s.ClientCA); err != nil {
			return nil, err
		}
		cfg.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return cfg, nil
}

func readPool(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the CA certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s has no PEM certificate", file)
	}
	return pool, nil
}
