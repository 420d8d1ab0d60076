// Package natsserver runs NATS with JetStream inside this process, for
// `interlock up`. It keeps its files in one folder, listens on a loopback address
// only, and stops cleanly. It must never listen where another machine can reach
// it unless that was asked for by name, and never let another process publish.
package natsserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/interlock-run/interlock/pkg/bus"
)

// DefaultSyncInterval is how often JetStream's files are synced.
const DefaultSyncInterval = time.Second

const (
	defaultMaxPayload = 4 << 20
	startTimeout      = 20 * time.Second
)

// Config of the server. Dir is required.
type Config struct {
	// Dir holds JetStream's files; it is made when it does not exist.
	Dir string
	// Addr to listen on, host:port with the host as an IP address or localhost.
	// Port 0 takes a free one. Default 127.0.0.1:0.
	Addr string
	// AllowRemote lets Addr be other than loopback.
	AllowRemote bool
	// SyncInterval, default DefaultSyncInterval. The relay's grace must be longer.
	SyncInterval time.Duration
	// MaxPayload is the largest message in bytes, default 4 MiB.
	MaxPayload int32
	// Log takes the server's warnings and errors, default slog.Default.
	Log *slog.Logger
}

// Server is a running NATS server.
type Server struct {
	options *server.Options
	log     *slog.Logger
	gate    *gate
	desk    *nats.Conn

	mu      sync.Mutex
	srv     *server.Server
	stopped bool
}

// Start starts a server and answers when it takes connections.
func Start(cfg Config) (*Server, error) {
	if cfg.Dir == "" {
		return nil, errors.New("nats server: no data folder: set Dir")
	}
	host, port, err := listenOn(cfg)
	if err != nil {
		return nil, err
	}
	if err := free(host, port); err != nil {
		return nil, err
	}
	if cfg.SyncInterval <= 0 {
		cfg.SyncInterval = DefaultSyncInterval
	}
	if cfg.MaxPayload <= 0 {
		cfg.MaxPayload = defaultMaxPayload
	}
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	gate := newGate()
	s := &Server{gate: gate, log: cfg.Log, options: &server.Options{
		ServerName:   "interlock",
		Host:         host,
		Port:         port,
		JetStream:    true,
		StoreDir:     cfg.Dir,
		SyncInterval: cfg.SyncInterval,
		MaxPayload:   cfg.MaxPayload,
		NoSigs:       true,

		CustomClientAuthentication: gate,
	}}
	if s.srv, err = s.run(); err != nil {
		return nil, err
	}
	if err := s.open(cfg.Log); err != nil {
		s.Stop()
		return nil, fmt.Errorf("nats server: %w", err)
	}
	return s, nil
}

// run runs a server with these options until it is shut down.
func (s *Server) run() (*server.Server, error) {
	srv, err := server.NewServer(s.options.Clone())
	if err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	srv.SetLoggerV2(logger{s.log.With("component", "nats")}, false, false, false)
	if err := s.gate.open(srv); err != nil {
		return nil, fmt.Errorf("nats server: %w", err)
	}
	srv.Start()
	// It takes one account for granted, and with two asks which has JetStream.
	enabled := srv.ReadyForConnections(startTimeout) && srv.JetStreamEnabled() && srv.GlobalAccount().EnableJetStream(nil, nil) == nil
	if !enabled {
		srv.Shutdown()
		srv.WaitForShutdown()
		return nil, fmt.Errorf("nats server: not ready on %s with data in %s: is the folder in use or not writable?",
			net.JoinHostPort(s.options.Host, strconv.Itoa(max(s.options.Port, 0))), s.options.StoreDir)
	}
	return srv, nil
}

// Reopen closes the server's files and opens them again, at the same address. After one
// failed write JetStream takes no more writes, even when the disk could; only a new start
// reads its files. Connections are lost, and those of Endpoint come back.
func (s *Server) Reopen() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return errors.New("nats server: stopped")
	}
	if address, ok := s.srv.Addr().(*net.TCPAddr); ok {
		s.options.Port = address.Port
	}
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
	srv, err := s.run()
	if err != nil {
		return err
	}
	s.srv = srv
	return nil
}

// InProcessConn connects to the server that runs now.
func (s *Server) InProcessConn() (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.srv.InProcessConn()
}

// open serves observers.
func (s *Server) open(log *slog.Logger) error {
	conn, err := s.Endpoint().Connect("interlock-desk")
	if err != nil {
		return err
	}
	js, err := jetstream.New(conn)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	s.desk = conn
	return errors.Join(clean(ctx, js), openDesk(conn, s.connected, log))
}

// connected returns whether a connection is there.
func (s *Server) connected(o peer) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return connected(s.srv, o)
}

// URL returns where other processes connect, to observe.
func (s *Server) URL() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.srv.ClientURL()
}

// Endpoint connects within this process, without a socket, and may publish.
func (s *Server) Endpoint() bus.Endpoint {
	return bus.Endpoint{URL: s.URL(), InProcess: s, Options: s.gate.options()}
}

// Stop ends all connections, writes everything out and waits for that.
func (s *Server) Stop() {
	if s.desk != nil {
		s.desk.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.srv.Shutdown()
	s.srv.WaitForShutdown()
}

func listenOn(cfg Config) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(cmp.Or(cfg.Addr, "127.0.0.1:0"))
	if err != nil {
		return "", 0, fmt.Errorf("nats server: address %q: %w", cfg.Addr, err)
	}
	if host == "localhost" {
		host = "127.0.0.1"
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return "", 0, fmt.Errorf("nats server: address %q: the host must be an IP address or localhost", cfg.Addr)
	}
	if !ip.IsLoopback() && !cfg.AllowRemote {
		return "", 0, fmt.Errorf("nats server: %q is not a loopback address: use 127.0.0.1, or run your own NATS and give its URL", cfg.Addr)
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("nats server: address %q: bad port", cfg.Addr)
	}
	if number == 0 {
		return host, server.RANDOM_PORT, nil
	}
	return host, int(number), nil
}

// free reports early, and clearly, that another listens there: the server itself only
// logs it.
func free(host string, port int) error {
	if port == server.RANDOM_PORT {
		return nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return fmt.Errorf("nats server: %w", err)
	}
	return l.Close() // cannot fail
}

// logger takes the server's warnings and errors; its notices are of no use here.
type logger struct{ log *slog.Logger }

func (l logger) Noticef(string, ...any) {}
func (l logger) Debugf(string, ...any)  {}
func (l logger) Tracef(string, ...any)  {}
func (l logger) Warnf(format string, args ...any) {
	l.log.Warn(fmt.Sprintf(format, args...))
}

func (l logger) Errorf(format string, args ...any) {
	l.log.Error(fmt.Sprintf(format, args...))
}

func (l logger) Fatalf(format string, args ...any) {
	l.log.Error(fmt.Sprintf(format, args...))
}
