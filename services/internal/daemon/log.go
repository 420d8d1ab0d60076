package daemon

import (
	"log/slog"
	"os"

	"github.com/interlock-run/interlock/pkg/telemetry"
)

// level is that of this process's log, which changes while it runs.
var level slog.LevelVar

// Log makes this process log JSON lines on standard error.
func (f ServeFlags) Log() (*slog.Logger, error) {
	if err := setLevel(f.LogLevel); err != nil {
		return nil, err
	}
	log := telemetry.NewLogger(os.Stderr, &level)
	slog.SetDefault(log)
	return log, nil
}

func setLevel(name string) error {
	l, err := telemetry.ParseLevel(name)
	if err == nil {
		level.Set(l)
	}
	return err
}
