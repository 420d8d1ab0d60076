package redisstore_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

// The servers that the tests share, started when first asked for. Each test has
// a prefix of its own there.
var (
	files        string
	sharedServer = sync.OnceValues(func() (*redistest.Server, error) {
		dir := filepath.Join(files, "server")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		return redistest.Launch(dir)
	})
	sharedCluster = sync.OnceValues(func() (*redistest.Cluster, error) {
		dir := filepath.Join(files, "cluster")
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		return redistest.LaunchCluster(dir, 3)
	})
	started sync.Map // what to kill in the end
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	var err error
	if files, err = os.MkdirTemp("", "redisstore"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(files) }()
	code := m.Run()
	started.Range(func(_, kill any) bool {
		kill.(func())()
		return true
	})
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	return code
}

// server returns the server that the tests share.
func server(tb testing.TB) *redistest.Server {
	tb.Helper()
	server, err := sharedServer()
	if err != nil {
		tb.Fatal(err)
	}
	started.Store("server", server.Kill)
	return server
}

// cluster returns the cluster that the tests share.
func cluster(tb testing.TB) *redistest.Cluster {
	tb.Helper()
	cluster, err := sharedCluster()
	if err != nil {
		tb.Fatal(err)
	}
	started.Store("cluster", cluster.Kill)
	return cluster
}

var prefixes atomic.Int64

// prefix returns a prefix that no other test has, nor the same test run again.
func prefix(tb testing.TB) string {
	name := strings.NewReplacer("{", "(", "}", ")").Replace(tb.Name())
	return fmt.Sprintf("%s#%d", name, prefixes.Add(1))
}

// open opens a store that is closed when the test ends.
func open(tb testing.TB, config redisstore.Config) *redisstore.Store {
	tb.Helper()
	if config.Prefix == "" {
		config.Prefix = prefix(tb)
	}
	if config.Logger == nil {
		config.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s, err := redisstore.Open(context.Background(), config)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close: %v", err)
		}
	})
	return s
}
