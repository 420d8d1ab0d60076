// Package redistest starts real Redis servers for tests, on free ports of 127.0.0.1, with
// every write synced to disk (appendonly yes, appendfsync always), that can be killed and
// come back on the same port and folder.
//
// It is for tests only: no production package may import it. It never fakes a
// server: a missing redis-server is a failure that names the command which installs
// it. Only `go test -short`, which starts no servers, skips tests that need one.
package redistest

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// patience is how long a server may take to start or to change its state.
const patience = time.Minute

// Server is one redis-server process.
type Server struct {
	dir      string
	port     int
	config   string // the file of a sentinel, else empty
	settings []string

	mu      sync.Mutex
	process *exec.Cmd
	exited  chan struct{}
}

// Start starts a server for a test, and stops it when the test ends. Settings
// are added to the command line: "--appendfsync", "everysec". The first can be a file of
// settings instead.
func Start(tb testing.TB, settings ...string) *Server {
	tb.Helper()
	needsServer(tb)
	return StartIn(tb, tb.TempDir(), settings...)
}

// StartIn is Start with the folder of the server's files.
func StartIn(tb testing.TB, dir string, settings ...string) *Server {
	tb.Helper()
	needsServer(tb)
	server, err := boot(dir, settings)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(server.Kill)
	return server
}

// Launch starts a server whose files are in dir, outside of a test. The caller
// kills it.
func Launch(dir string, settings ...string) (*Server, error) {
	return boot(dir, settings)
}

func boot(dir string, settings []string) (*Server, error) {
	server := &Server{dir: dir, settings: settings}
	return server, server.startAnywhere()
}

// startAnywhere tries a few ports, for another process may take one in between.
func (s *Server) startAnywhere() (err error) {
	for range 5 {
		if s.port, err = freePort(); err != nil {
			return err
		}
		if err = s.Restart(); err == nil || !strings.Contains(err.Error(), "in use") {
			return err
		}
	}
	return err
}

// freePort returns a free port outside of the range that the system hands out
// to clients, so that the port is still free after the server was killed.
func freePort() (int, error) {
	var failed error
	for range 100 {
		port := 15000 + rand.IntN(15000) // any port will do
		listener, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			failed = err
			continue
		}
		return port, listener.Close()
	}
	return 0, fmt.Errorf("redistest: find a free port: %w", failed)
}

// Addr returns the server's host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// URL returns the server's address as redisstore takes it.
func (s *Server) URL() string { return "redis://" + s.Addr() + "/0" }

// Client returns a client that is closed when the test ends.
func (s *Server) Client(tb testing.TB) *redis.Client {
	tb.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2, DisableIdentity: true})
	tb.Cleanup(func() { _ = client.Close() })
	return client
}

// Kill ends the server at once, as kill -9 does. It is harmless when the server
// has ended already.
func (s *Server) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return
	}
	_ = s.process.Process.Kill()
	<-s.exited
	s.process = nil
}

// Stop ends the server as its operator does, with SIGTERM.
func (s *Server) Stop() error {
	if err := s.signal(syscall.SIGTERM); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	<-s.exited
	s.process = nil
	return nil
}

// Pause stops the server from running, without closing its connections, until
// Resume. It returns when the server has stopped, where the system reports that.
func (s *Server) Pause() error {
	if err := s.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	state := fmt.Sprintf("/proc/%d/stat", s.process.Process.Pid)
	poll := time.NewTicker(time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-poll.C {
		stat, err := os.ReadFile(state) // the path is the system's
		if err != nil || strings.Contains(string(stat), ") T ") {
			return nil //nolint:nilerr // a system without /proc does not tell
		}
	}
	return errors.New("redistest: the server does not stop")
}

// PID returns the process of a running server.
func (s *Server) PID() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process.Process.Pid
}

func (s *Server) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.process != nil
}

// Resume lets a paused server continue.
func (s *Server) Resume() error { return s.signal(syscall.SIGCONT) }

func (s *Server) signal(signal syscall.Signal) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process == nil {
		return errors.New("redistest: the server is not running")
	}
	return s.process.Process.Signal(signal)
}

// Restart starts a server that was killed, on the same port and files. It
// returns when the server has loaded its data and accepts connections.
func (s *Server) Restart() error {
	if testing.Testing() && testing.Short() {
		return errors.New("redistest: go test -short starts no server")
	}
	path, err := exec.LookPath(cmp.Or(os.Getenv("INTERLOCK_REDIS_SERVER"), "redis-server"))
	if err != nil {
		return fmt.Errorf("redistest: there is no redis-server here; install it: apt-get install -y redis-server: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.process != nil {
		return errors.New("redistest: the server is running")
	}
	process := exec.Command(path, s.arguments()...) // the path and arguments are ours
	process.SysProcAttr = dieWithParent()
	reader, writer, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("redistest: %w", err)
	}
	process.Stdout, process.Stderr = writer, writer
	err = process.Start()
	_ = writer.Close()
	if err != nil {
		_ = reader.Close()
		return fmt.Errorf("redistest: start redis-server: %w", err)
	}
	ready, exited := make(chan struct{}), make(chan struct{})
	log := &tail{}
	go func() {
		defer close(exited)
		defer func() { _ = reader.Close() }()
		watchLog(reader, log, ready)
		_ = process.Wait()
	}()
	select {
	case <-ready:
	case <-exited:
		return fmt.Errorf("redistest: redis-server ended at once: %s", log)
	case <-time.After(patience):
		_ = process.Process.Kill()
		<-exited
		return fmt.Errorf("redistest: redis-server is not ready after %v: %s", patience, log)
	}
	s.process, s.exited = process, exited
	return nil
}

func (s *Server) arguments() []string {
	if s.config != "" {
		return []string{s.config, "--sentinel", "--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dir, "--logfile", ""}
	}
	var arguments []string
	settings := s.settings
	if len(settings) > 0 && !strings.HasPrefix(settings[0], "--") {
		arguments, settings = settings[:1:1], settings[1:]
	}
	arguments = append(arguments,
		"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dir, "--daemonize", "no",
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--logfile", "")
	return append(arguments, settings...)
}

// watchLog reads a server's log to its end, and closes ready when the server
// says that it is.
func watchLog(log io.Reader, keep *tail, ready chan struct{}) {
	said := false
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		keep.add(lines.Text())
		if !said && strings.Contains(lines.Text(), "eady to accept connections") || !said && strings.Contains(lines.Text(), "Sentinel ID is") {
			said = true
			close(ready)
		}
	}
	_, _ = io.Copy(io.Discard, log) // a line that is too long ends the scanner
}

// tail keeps the last lines of a log.
type tail struct {
	mu    sync.Mutex
	lines []string
}

func (t *tail) add(line string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.lines = append(t.lines, line)
	if len(t.lines) > 20 {
		t.lines = t.lines[1:]
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "\n")
}
