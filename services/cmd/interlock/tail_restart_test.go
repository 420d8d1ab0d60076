package main

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/internal/allinone"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// TestTailSurvivesARestart: a server that comes back is found again, and it continues.
func TestTailSurvivesARestart(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a server, which go test -short does not")
	}
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cfg := allinone.Config{Data: datadir.Dir(t.TempDir()), Logger: slog.New(slog.DiscardHandler)}
	up := func() *allinone.Server {
		t.Helper()
		c, err := allinone.Start(ctx, cfg)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	register := func(name string) {
		t.Helper()
		file := filepath.Join(t.TempDir(), name+".json")
		definition := `{"id":"` + name + `","initial":"a","states":{"a":{"on":{"GO":"b"}},"b":{"type":"final"}}}`
		if err := os.WriteFile(file, []byte(definition), 0o600); err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		if code := run(ctx, []string{"workflow", "register", file, "--data-dir", string(cfg.Data)}, console.Streams{Out: &out, Err: &out}); code != exitDone {
			t.Fatalf("register: exit %d: %s", code, &out)
		}
	}

	first := up()
	lines, out := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		defer out.Close()
		code := exitUndecided
		for code == exitUndecided && ctx.Err() == nil { // until the stream is there
			code = run(ctx, []string{"tail", "--data-dir", string(cfg.Data), "--last", "1", "--count", "2"}, console.Streams{Out: out, Err: io.Discard})
		}
		ended <- code
	}()
	register("before")
	read := bufio.NewScanner(lines)
	if !read.Scan() || !strings.Contains(read.Text(), "before  registered") {
		t.Fatalf("read %q, %v", read.Text(), read.Err())
	}
	cfg.NATS = strings.TrimPrefix(first.Endpoints.NATS, "nats://")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := up()
	defer second.Close()
	register("after")
	if !read.Scan() || !strings.Contains(read.Text(), "after  registered") {
		t.Fatalf("read %q, %v", read.Text(), read.Err())
	}
	if code := <-ended; code != exitDone {
		t.Errorf("tail ended with %d", code)
	}
}
