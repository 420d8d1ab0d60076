package redisstore_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

func TestMain(m *testing.M) { os.Exit(redistest.Main(m)) }

// prefix returns a prefix that no other test has, nor the same test run again.
func prefix(tb testing.TB) string {
	name := strings.NewReplacer("{", "(", "}", ")").Replace(tb.Name())
	return name + "#" + redistest.Prefix()
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
