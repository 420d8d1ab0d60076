package daemon

import (
	"log/slog"
	"os"

	"github.com/interlock-run/interlock/pkg/telemetry"
)

// Log makes JSON lines on standard error what this process logs, at the level
// that INTERLOCK_LOG_LEVEL names.
func Log() (*slog.Logger, error) {
	level, err := telemetry.ParseLevel(os.Getenv(telemetry.LevelVariable))
	if err != nil {
		return nil, err
	}
	log := telemetry.NewLogger(os.Stderr, level)
	slog.SetDefault(log)
	return log, nil
}
