package daemon

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// lines is a log that tests wait on.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// S1.8: flags and files read durations with days.
func TestDurationsHaveDays(t *testing.T) {
	t.Parallel()
	var flags struct {
		Keep time.Duration `default:"1d"`
		Wait time.Duration
	}
	program := Program{"interlock-test", "Tests.", "127.0.0.1:7499"}
	parser, err := program.Parser(&flags)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"--wait", "1d12h"}); err != nil || flags.Keep != 24*time.Hour || flags.Wait != 36*time.Hour {
		t.Errorf("%+v, %v", flags, err)
	}
	if _, err := parser.Parse([]string{"--wait", "1.5d"}); err == nil || !strings.Contains(err.Error(), `such as "30s"`) {
		t.Errorf("1.5d: %v", err)
	}
	options, err := FromFile([]string{"--config", write(t, "flags.yaml", "wait: 7d\n")})
	if err != nil {
		t.Fatal(err)
	}
	if parser, err = program.Parser(&flags, options...); err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(nil); err != nil || flags.Wait != 7*24*time.Hour {
		t.Errorf("%+v, %v", flags, err)
	}
}

// At SIGHUP the file is read again: the level of the log follows it, and of the rest it is
// reported that it needs a restart. A mistake has no effect.
func TestFilesAreFollowed(t *testing.T) {
	file := write(t, "flags.yaml", "log-level: info\nallow-anonymous: true\n")
	program := Program{"interlock-test", "Tests.", "127.0.0.1:7499"}
	again := func() (map[string]string, error) {
		var flags struct{ Flags }
		options, err := FromFile([]string{"--config", file})
		if err != nil {
			return nil, err
		}
		parser, err := program.Parser(&flags, options...)
		if err != nil {
			return nil, err
		}
		command, err := parser.Parse([]string{"--config", file})
		if err != nil {
			return nil, err
		}
		return Values(command), nil
	}
	said := new(lines)
	ctx, stop := context.WithCancel(t.Context())
	done, began := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		first := true
		FollowFile(ctx, slog.New(slog.NewTextHandler(said, nil)), func() (map[string]string, error) {
			if !first {
				return again()
			}
			first = false
			defer close(began)
			return again()
		})
	}()
	<-began
	kept := make(chan os.Signal, 1) // without anyone who takes it, the signal would end the test
	signal.Notify(kept, syscall.SIGHUP)
	defer signal.Stop(kept)
	t.Cleanup(func() { stop(); <-done; level.Set(slog.LevelInfo) })
	for _, step := range []struct {
		file, says string
		level      slog.Level
	}{
		{"log-level: debug\nallow-anonymous: true\n", "changed=[log-level]", slog.LevelDebug},
		{"log-level: debug\nadmin: 127.0.0.1:0\n", "need_restart=\"[admin allow-anonymous]\"", slog.LevelDebug},
		{"log-level: loud\n", "the previous settings stay in use", slog.LevelDebug},
		{"log-level: warn\nallow-anonymous: true\n", "changed=[log-level]", slog.LevelWarn},
	} {
		before := len(said.String())
		if err := os.WriteFile(file, []byte(step.file), 0o600); err != nil {
			t.Fatal(err)
		}
		until(t, step.says, func() bool {
			return strings.Contains(said.String()[before:], step.says) || hangUp(t)
		})
		if level.Level() != step.level {
			t.Errorf("with %q the level is %s", step.file, level.Level())
		}
	}
}

// hangUp sends a SIGHUP to this process, and is false.
func hangUp(t *testing.T) bool {
	t.Helper()
	if err := syscall.Kill(syscall.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	return false
}

func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for end := time.Now().Add(time.Minute); !is(); <-poll.C {
		if time.Now().After(end) {
			t.Fatalf("it never says %s", what)
		}
	}
}
