package rpc

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"sync"

	"google.golang.org/grpc/credentials"
)

// certificates make the TLS settings of new connections from PEM files, and read
// them again when they have changed, so that certificates and CAs are rotated
// without a restart. Connections that are open keep theirs. Files that cannot be
// used, such as a certificate whose key is not written yet, change nothing: the
// settings before them stay, and each handshake looks again.
type certificates struct {
	files []string
	load  func() (*tls.Config, error)

	mu       sync.Mutex
	settings *tls.Config
	seen     []stamp // of the files that the settings are from
	refused  []stamp // of files that were warned about
}

// stamp tells a file from what it was before; nil for one that is not there.
// Kubernetes replaces mounted secrets by turning a link: then it is another file.
type stamp struct{ os.FileInfo }

func (s stamp) same(other stamp) bool {
	if s.FileInfo == nil || other.FileInfo == nil {
		return s.FileInfo == other.FileInfo
	}
	return os.SameFile(s.FileInfo, other.FileInfo) && s.ModTime().Equal(other.ModTime()) && s.Size() == other.Size()
}

// loadCertificates reads the files for the first time, when faults are errors. Names
// may be empty.
func loadCertificates(load func() (*tls.Config, error), files ...string) (*certificates, error) {
	c := &certificates{files: slices.DeleteFunc(files, func(f string) bool { return f == "" }), load: load}
	seen := c.stamps() // before the files are read: what changes meanwhile is read again
	settings, err := load()
	if err != nil {
		return nil, err
	}
	c.settings, c.seen = settings, seen
	return c, nil
}

// current is what a new connection uses. It must not be changed.
func (c *certificates) current() *tls.Config {
	now := c.stamps()
	c.mu.Lock()
	defer c.mu.Unlock()
	if slices.EqualFunc(now, c.seen, stamp.same) {
		return c.settings
	}
	settings, err := c.load()
	switch {
	case err == nil:
		c.settings, c.seen, c.refused = settings, now, nil
		slog.Info("certificates were read again", "files", c.files)
	case !slices.EqualFunc(now, c.refused, stamp.same):
		c.refused = now
		slog.Warn("certificates have changed and cannot be used; those of before stay in use", "files", c.files, "error", err)
	}
	return c.settings
}

func (c *certificates) stamps() []stamp {
	stamps := make([]stamp, len(c.files))
	for i, file := range c.files {
		if info, err := os.Stat(file); err == nil {
			stamps[i] = stamp{info}
		}
	}
	return stamps
}

// server is for listeners. Sessions are not resumed: a resumed one was verified by the
// CAs of its time, not by those of now.
func (c *certificates) server() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12, SessionTicketsDisabled: true,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil },
	}
}

// clientCredentials are TLS with the certificates of the moment of each handshake.
type clientCredentials struct {
	credentials.TransportCredentials
	certificates *certificates
}

func newClientCredentials(c *certificates) clientCredentials {
	return clientCredentials{credentials.NewTLS(c.current()), c}
}

// ClientHandshake secures a connection.
func (c clientCredentials) ClientHandshake(ctx context.Context, authority string, conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return credentials.NewTLS(c.certificates.current()).ClientHandshake(ctx, authority, conn)
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
