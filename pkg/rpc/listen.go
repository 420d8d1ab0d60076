package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/interlock-run/interlock/pkg/internal/dial"
	"github.com/interlock-run/interlock/pkg/internal/tlsfiles"
)

const unixPrefix = dial.UnixPrefix

// listen opens all configured listeners, or none.
func listen(cfg Config) (listeners []net.Listener, err error) {
	for _, address := range cfg.Listen {
		lis, err := listenOn(address)
		if err != nil {
			for _, open := range listeners {
				_ = open.Close()
			}
			return nil, err
		}
		listeners = append(listeners, lis)
	}
	return append(listeners, cfg.Listeners...), nil
}

func listenOn(address string) (net.Listener, error) {
	var config net.ListenConfig
	path, isUnix := strings.CutPrefix(address, unixPrefix)
	if !isUnix {
		lis, err := config.Listen(context.Background(), "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("listen on %s: %w", address, err)
		}
		return lis, nil
	}
	path = strings.TrimPrefix(path, "//")
	if err := removeStale(path); err != nil {
		return nil, err
	}
	lis, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	// Other users of the machine have no business here, token or not.
	if err := os.Chmod(path, 0o600); err != nil {
		_ = lis.Close()
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return lis, nil
}

// removeStale removes a socket that a killed server left. It touches neither a
// socket that is served nor a file that is not a socket.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Type() != os.ModeSocket {
		return nil // listening describes the problem
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("listen on unix:%s: another server is serving there; stop it first", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return nil
	}
	if err := os.Remove(path); err != nil {
		return fmt.Errorf("remove the stale socket %s: %w", path, err)
	}
	return nil
}

// memoryConn is a connection within the process.
type memoryConn struct{ net.Conn }

// serverCredentials do TLS except where no one can listen in: on unix sockets and within
// the process.
type serverCredentials struct {
	credentials.TransportCredentials
	plain credentials.TransportCredentials
}

// ServerHandshake secures a connection.
func (c serverCredentials) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	switch conn.(type) {
	case memoryConn, *net.UnixConn:
		return c.plain.ServerHandshake(conn)
	default:
		return c.TransportCredentials.ServerHandshake(conn)
	}
}

// Clone returns a copy.
func (c serverCredentials) Clone() credentials.TransportCredentials {
	return serverCredentials{c.TransportCredentials.Clone(), c.plain.Clone()}
}

// newServerCredentials returns none without settings.
func newServerCredentials(settings *tls.Config) credentials.TransportCredentials {
	if settings == nil {
		return insecure.NewCredentials()
	}
	return serverCredentials{credentials.NewTLS(settings), insecure.NewCredentials()}
}

// Config returns the settings of the files at each handshake, for servers of other
// protocols next to this one; nil when there are none.
func (t ServerTLS) Config() (*tls.Config, error) {
	if t == (ServerTLS{}) {
		return nil, nil
	}
	return tlsfiles.Server{Cert: t.CertFile, Key: t.KeyFile, ClientCA: t.ClientCAFile}.Config()
}
