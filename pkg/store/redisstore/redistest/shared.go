package redistest

import (
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"
)

// The server that the tests of one process share. It is started when first asked for, and
// Main stops it.
var (
	sharedServer = sync.OnceValues(launchShared)

	mu       sync.Mutex
	cleanups []func()

	prefixes atomic.Int64
)

func launchShared() (*Server, error) {
	dir, err := os.MkdirTemp("", "redistest-")
	if err != nil {
		return nil, fmt.Errorf("redistest: %w", err)
	}
	server, err := boot(dir, nil)
	mu.Lock()
	defer mu.Unlock()
	if err == nil {
		cleanups = append(cleanups, server.Kill)
	}
	cleanups = append(cleanups, func() { _ = os.RemoveAll(dir) })
	return server, err
}

// Shared returns the server that the tests of the package share. The package's
// TestMain calls Main, and each test keeps to a prefix of its own.
func Shared(tb testing.TB) *Server {
	tb.Helper()
	needsServer(tb)
	server, err := sharedServer()
	if err != nil {
		tb.Fatal(err)
	}
	return server
}

// Prefix returns a prefix of keys that no other test of the process has.
func Prefix() string { return fmt.Sprintf("test%d", prefixes.Add(1)) }

// Main runs the tests of a package, stops the servers that they share, and looks
// for goroutines that were left behind. It returns the exit code.
func Main(m *testing.M) int {
	code := m.Run()
	for _, cleanup := range cleanups {
		cleanup()
	}
	if code == 0 {
		// A proxy of the tests whose client went away in the middle of an answer never ends: its
		// rest is never read.
		proxy := goleak.IgnoreTopFunction("github.com/Shopify/toxiproxy/v2/toxics.(*NoopToxic).Pipe")
		if err := goleak.Find(proxy); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// needsServer ends a test of `go test -short`, which starts no server.
func needsServer(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("starts a redis-server, which go test -short does not")
	}
}
