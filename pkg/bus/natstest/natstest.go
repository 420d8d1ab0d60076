// Package natstest runs a real NATS server with JetStream inside a test, on a
// loopback port of its own, that can be stopped, lose its data, and come back at
// the same address. It is for tests only.
package natstest

import (
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Server is a NATS server for one test.
type Server struct {
	// Dir is where JetStream keeps its files.
	Dir string
	// SyncInterval is how often JetStream syncs them, default 1 s.
	SyncInterval time.Duration

	tb   testing.TB
	port int
	srv  *server.Server
}

// New makes a server that is not started. An empty dir is one of the test's own.
func New(tb testing.TB, dir string) *Server {
	tb.Helper()
	if dir == "" {
		dir = tb.TempDir()
	}
	return &Server{Dir: dir, SyncInterval: time.Second, tb: tb, port: server.RANDOM_PORT}
}

// Start makes a server and starts it; it stops with the test.
func Start(tb testing.TB) *Server {
	tb.Helper()
	s := New(tb, "")
	s.Start()
	return s
}

// Start starts the server, at the address it had before.
func (s *Server) Start() {
	s.tb.Helper()
	if testing.Short() {
		s.tb.Skip("starts a NATS server, which go test -short does not")
	}
	srv, err := server.NewServer(&server.Options{
		Host:         "127.0.0.1",
		Port:         s.port,
		JetStream:    true,
		StoreDir:     s.Dir,
		SyncInterval: s.SyncInterval,
		MaxPayload:   2 << 20,
		NoSigs:       true,
		NoLog:        true,
	})
	if err != nil {
		s.tb.Fatalf("nats server: %v", err)
	}
	srv.Start()
	if !srv.ReadyForConnections(20 * time.Second) {
		srv.Shutdown()
		s.tb.Fatal("nats server: not ready")
	}
	addr, ok := srv.Addr().(*net.TCPAddr)
	if !ok {
		s.tb.Fatalf("nats server: address %v", srv.Addr())
	}
	s.port = addr.Port
	s.srv = srv
	s.tb.Cleanup(s.Stop)
}

// Stop stops the server and waits until it has.
func (s *Server) Stop() {
	if s.srv != nil {
		s.srv.Shutdown()
		s.srv.WaitForShutdown()
		s.srv = nil
	}
}

// URL returns where clients connect to, running or not.
func (s *Server) URL() string { return "nats://127.0.0.1:" + strconv.Itoa(s.port) }

// InProcess returns the running server, to connect to without a socket.
func (s *Server) InProcess() *server.Server { return s.srv }
