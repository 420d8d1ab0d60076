package telemetry_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/interlock-run/interlock/pkg/telemetry"
)

// sneaky hides a payload behind interfaces that loggers like to call.
type sneaky struct{ Body string }

func (s sneaky) String() string               { return s.Body }
func (s sneaky) MarshalJSON() ([]byte, error) { return json.Marshal(s.Body) }
func (s sneaky) MarshalText() ([]byte, error) { return []byte(s.Body), nil }

type valuer struct{ v any }

func (v valuer) LogValue() slog.Value { return slog.AnyValue(v.v) }

func TestLogsHoldNoPayload(t *testing.T) {
	t.Parallel()
	const payload = "PAYLOAD"
	for name, value := range map[string]any{
		"bytes":    []byte(payload),
		"json":     json.RawMessage(`"` + payload + `"`),
		"message":  wrapperspb.String(payload),
		"stringer": sneaky{payload},
		"pointer":  &sneaky{payload},
		"map":      map[string]any{"a": payload},
		"list":     []any{payload},
		"valuer":   valuer{[]byte(payload)},
		"group":    slog.GroupValue(slog.Any("inner", []byte(payload))),
	} {
		var out strings.Builder
		log := telemetry.NewLogger(&out, slog.LevelDebug)
		log.Info("m", "input", value)
		log.With("input", value).WithGroup("g").Info("m", "input", value)
		if strings.Contains(out.String(), payload) || strings.Contains(out.String(), "UEFZTE9BRA") {
			t.Errorf("%s is logged: %s", name, out.String())
		}
		if strings.Count(out.String(), "[redacted ") != 3 {
			t.Errorf("%s: the log does not say that it was redacted: %s", name, out.String())
		}
	}
	for _, key := range []string{"token", "Authorization", "nats_password", "client_secret", "Set-Cookie"} {
		var out strings.Builder
		telemetry.NewLogger(&out, nil).Info("m", key, payload)
		if strings.Contains(out.String(), payload) {
			t.Errorf("the credential %s is logged", key)
		}
	}
}

func TestLogsHoldWhatOperatorsNeed(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := telemetry.NewLogger(&out, slog.LevelInfo)
	log.Debug("hidden")
	log.Error("failed", "run", "run_1", "n", 7, "took", 50*time.Millisecond, "error", errors.New("no store"), "roles", []string{"agent"})
	var got map[string]any
	if err := json.Unmarshal([]byte(out.String()), &got); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	for key, want := range map[string]any{"level": "ERROR", "msg": "failed", "run": "run_1", "n": 7.0, "error": "no store", "took": "50ms"} {
		if got[key] != want {
			t.Errorf("%s is %v, want %v", key, got[key], want)
		}
	}
	if roles, ok := got["roles"].([]any); !ok || len(roles) != 1 {
		t.Errorf("roles are %v", got["roles"])
	}
}

func TestParseLevel(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]slog.Level{
		"": slog.LevelInfo, "debug": slog.LevelDebug, "INFO": slog.LevelInfo, "Warn": slog.LevelWarn, "error": slog.LevelError,
	} {
		if got, err := telemetry.ParseLevel(text); err != nil || got != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
	if _, err := telemetry.ParseLevel("loud"); err == nil || !strings.Contains(err.Error(), "debug") {
		t.Errorf("an unknown level: %v", err)
	}
}

// It changes the process's settings, so it is not parallel.
func TestTuneMemory(t *testing.T) {
	percent, limit := debug.SetGCPercent(100), debug.SetMemoryLimit(math.MaxInt64)
	defer func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}()
	now := func() int {
		percent := debug.SetGCPercent(100)
		debug.SetGCPercent(percent)
		return percent
	}

	t.Setenv("GOGC", "150")
	t.Setenv("GOMEMLIMIT", "1GiB")
	debug.SetMemoryLimit(1 << 30) // as the runtime does at start
	if got := telemetry.TuneMemory(); got != 1<<30 || now() != 100 {
		t.Errorf("what the user set was changed: limit %d, percent %d", got, now())
	}

	t.Setenv("GOGC", "")
	if got := telemetry.TuneMemory(); got != 1<<30 || now() != 400 {
		t.Errorf("limit %d, percent %d", got, now())
	}

	debug.SetGCPercent(100)
	debug.SetMemoryLimit(math.MaxInt64)
	t.Setenv("GOMEMLIMIT", "")
	if got := telemetry.TuneMemory(); got <= 0 || got > 448<<20 || now() != 400 {
		t.Errorf("with little in use: limit %d, percent %d", got, now())
	}

	// Live objects raise the limit, and it falls when they are gone.
	held := make([]byte, 600<<20)
	if got := afterCollection(t, func(limit int64) bool { return limit > 700<<20 }); got > 1<<30 {
		t.Errorf("with 600 MiB in use: limit %d", got)
	}
	runtime.KeepAlive(held)
	afterCollection(t, func(limit int64) bool { return limit <= 448<<20 })
}

// afterCollection collects until the limit is as it should be, and returns it.
func afterCollection(t *testing.T, ok func(limit int64) bool) int64 {
	t.Helper()
	for range 1000 {
		runtime.GC()
		if limit := debug.SetMemoryLimit(-1); ok(limit) {
			return limit
		}
	}
	t.Fatalf("the limit stays at %d", debug.SetMemoryLimit(-1))
	return 0
}
