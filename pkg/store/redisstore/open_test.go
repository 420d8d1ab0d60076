package redisstore_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/redisstore"
	"github.com/interlock-run/interlock/pkg/store/redisstore/redistest"
)

func TestLossyServersAreRefused(t *testing.T) {
	t.Parallel()
	lossy := redistest.Start(t)
	client := lossy.Client(t)
	for _, tt := range []struct{ setting, value, safe string }{
		{"appendfsync", "everysec", "always"},
		{"appendfsync", "no", "always"},
		{"no-appendfsync-on-rewrite", "yes", "no"},
		{"maxmemory-policy", "allkeys-lru", "noeviction"},
		{"maxmemory-policy", "volatile-ttl", "noeviction"},
		{"appendonly", "no", "yes"},
	} {
		// In turn, on one server.
		if err := client.ConfigSet(t.Context(), tt.setting, tt.value).Err(); err != nil {
			t.Fatal(err)
		}
		refused(t, lossy.URL(), tt.setting, tt.value)
		if err := client.ConfigSet(t.Context(), tt.setting, tt.safe).Err(); err != nil {
			t.Fatal(err)
		}
	}
	open(t, redisstore.Config{URL: lossy.URL()})
}

func TestUnknownSettingsAreRefused(t *testing.T) {
	t.Parallel()
	silent := redistest.Start(t, "--rename-command", "CONFIG", "")
	refused(t, silent.URL(), "appendonly", "cannot be read")
}

// A user may be allowed all that a store needs and no more.
func TestForbiddenSettingsAreRefused(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	if err := s.Client(t).Do(t.Context(), "acl", "setuser", "interlock", "on", ">secret", "~*", "+@all", "-config").Err(); err != nil {
		t.Fatal(err)
	}
	refused(t, "redis://interlock:secret@"+s.Addr(), "appendfsync", "cannot be read")
}

// A server in cluster mode is refused before anything is written to it, also where a lossy one is not.
func TestClusterModeIsRefused(t *testing.T) {
	t.Parallel()
	node := redistest.Start(t, "--cluster-enabled", "yes", "--cluster-port", unusedPort(t))
	config := redisstore.Config{URL: node.URL(), AllowLossy: true}
	_, opened := redisstore.Open(t.Context(), config)
	_, accepted := redisstore.AcceptRollback(t.Context(), config)
	_, exported := redisstore.Export(t.Context(), config, io.Discard)
	for doing, err := range map[string]error{"open": opened, "accept a rollback": accepted, "back up": exported} {
		for _, says := range []string{"one Redis", "Sentinel", "Cluster", "docs/scaling.md"} {
			if err == nil || !strings.Contains(err.Error(), says) {
				t.Errorf("%s: the error does not say %q: %v", doing, says, err)
			}
		}
	}
}

// refused requires that a server is refused with an error that says these, and
// that it is opened with a warning when that is asked for.
func refused(t *testing.T, url string, says ...string) {
	t.Helper()
	if s, err := redisstore.Open(t.Context(), redisstore.Config{URL: url}); err == nil {
		_ = s.Close()
		t.Fatalf("opened a server where %v", says)
	} else {
		if !errors.Is(err, redisstore.ErrLossy) {
			t.Errorf("the error is %v", err)
		}
		for _, text := range append(says, "--allow-lossy-store") {
			if !strings.Contains(err.Error(), text) {
				t.Errorf("the error does not say %q: %v", text, err)
			}
		}
	}
	var log bytes.Buffer
	open(t, redisstore.Config{URL: url, AllowLossy: true, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for _, text := range append(says, "LOSE", "level=WARN") {
		if !strings.Contains(log.String(), text) {
			t.Errorf("the log does not say %q: %s", text, log.String())
		}
	}
}

func TestReplicasAreWarnedOf(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	_, port, _ := strings.Cut(master.Addr(), ":")
	redistest.Start(t, "--replicaof", "127.0.0.1 "+port)
	client := master.Client(t)
	waitFor(t, func() bool {
		info, err := client.Info(context.Background(), "replication").Result()
		return err == nil && strings.Contains(info, "connected_slaves:1")
	})
	var log bytes.Buffer
	open(t, redisstore.Config{URL: master.URL(), Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if !strings.Contains(log.String(), "replicas") {
		t.Errorf("the log says nothing of replicas: %s", log.String())
	}
}

func TestRecordedShardsWin(t *testing.T) {
	t.Parallel()
	config := redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: prefix(t)}
	config.Shards = 7
	if got := open(t, config).Shards(); got != 7 {
		t.Errorf("a new store has %d shards, not 7", got)
	}
	config.Shards = 0
	if got := open(t, config).Shards(); got != 7 {
		t.Errorf("opened again it has %d shards, not 7", got)
	}
	config.Prefix = prefix(t)
	if got := open(t, config).Shards(); got != store.DefaultShards {
		t.Errorf("by default it has %d shards, not %d", got, store.DefaultShards)
	}
}

func TestUnknownFormatIsRefused(t *testing.T) {
	t.Parallel()
	config := redisstore.Config{URL: redistest.Shared(t).URL(), Prefix: prefix(t)}
	open(t, config)
	for field, format := range map[string]string{"format": "two", "raising": "three"} {
		if err := redistest.Shared(t).Client(t).HSet(t.Context(), config.Prefix+":{store}", field, format).Err(); err != nil {
			t.Fatal(err)
		}
		if s, err := redisstore.Open(t.Context(), config); err == nil {
			_ = s.Close()
			t.Error("opened a store of an unknown format")
		} else if !strings.Contains(err.Error(), `"`+format+`"`) || !strings.Contains(err.Error(), "backup") {
			t.Errorf("the error is %v", err)
		}
		if err := redistest.Shared(t).Client(t).HSet(t.Context(), config.Prefix+":{store}", "format", "1").Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		says   string
		config redisstore.Config
	}{
		{"cannot be read", redisstore.Config{URL: ""}},
		{"unknown scheme", redisstore.Config{URL: "http://127.0.0.1"}},
		{"lacks a host", redisstore.Config{URL: "redis://"}},
		{"lacks a host", redisstore.Config{URL: "redis+sentinel://127.0.0.1:1,/m"}},
		{"split the tenants", redisstore.Config{URL: "redis+cluster://127.0.0.1:1,127.0.0.1:2"}},
		{"split the tenants", redisstore.Config{URL: "rediss+cluster://127.0.0.1:1"}},
		{"takes one address", redisstore.Config{URL: "redis://127.0.0.1:1,127.0.0.1:2"}},
		{"not a number", redisstore.Config{URL: "redis://127.0.0.1:1/zero"}},
		{"not a number", redisstore.Config{URL: "redis://127.0.0.1:1/0/1"}},
		{"master's name", redisstore.Config{URL: "redis+sentinel://127.0.0.1:1"}},
		{"no parameters", redisstore.Config{URL: "redis://127.0.0.1:1/0?max_retries=5"}},
		{"braces", redisstore.Config{URL: "redis://127.0.0.1:1", Prefix: "{a}"}},
		{"shards", redisstore.Config{URL: "redis://127.0.0.1:1", Shards: -1}},
		{"flights", redisstore.Config{URL: "redis://127.0.0.1:1", Flights: -1}},
	} {
		s, err := redisstore.Open(t.Context(), tt.config)
		if err == nil {
			_ = s.Close()
			t.Errorf("opened %+v", tt.config)
		} else if !strings.Contains(err.Error(), tt.says) {
			t.Errorf("the error of %+v does not say %q: %v", tt.config, tt.says, err)
		}
	}
}

func TestPasswordIsNotShown(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"redis://user:secret@127.0.0.1:" + unusedPort(t), "redis://user:secret@%zz"} {
		_, err := redisstore.Open(t.Context(), redisstore.Config{URL: url})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("the error is %v", err)
		}
	}
	_, err := redisstore.Open(t.Context(), redisstore.Config{URL: "redis://127.0.0.1:" + unusedPort(t)})
	if !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("an unreachable server: %v", err)
	}
}

// A setting that was changed since the store was opened is reported.
func TestSettings(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, redisstore.Config{URL: server.URL()})
	want := map[string]bool{"acl-default-user": true, "appendonly": true, "appendfsync": true, "no-appendfsync-on-rewrite": true, "maxmemory-policy": true}
	settings := func() map[string]bool {
		t.Helper()
		got, err := s.Settings(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	if got := settings(); !maps.Equal(got, want) {
		t.Errorf("the settings are %v, want %v", got, want)
	}
	if err := server.Client(t).ConfigSet(t.Context(), "appendfsync", "everysec").Err(); err != nil {
		t.Fatal(err)
	}
	want["appendfsync"] = false
	if got := settings(); !maps.Equal(got, want) {
		t.Errorf("the settings are %v, want %v", got, want)
	}
	server.Kill()
	if _, err := s.Settings(t.Context()); !errors.Is(err, store.ErrUnavailable) {
		t.Errorf("of a server that is away: %v", err)
	}
}
