package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// The server that the tests share, started when first asked for. Each test has a
// prefix of its own there.
var (
	files        string
	sharedServer = sync.OnceValues(func() (*redistest.Server, error) {
		dir := filepath.Join(files, "server")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		server, err := redistest.Launch(dir)
		started.Store(server)
		return server, err
	})
	started  atomic.Pointer[redistest.Server] // to kill in the end
	prefixes atomic.Int64
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if files, err = os.MkdirTemp("", "policyenforcer"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(files) }()
	code := m.Run()
	if server := started.Load(); server != nil {
		server.Kill()
	}
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}
