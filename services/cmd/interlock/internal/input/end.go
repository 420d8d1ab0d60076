package input

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
)

// End reads the value of --until: a moment, or how long from now it is.
func End(text string, now time.Time) (time.Time, error) {
	if ahead, err := document.ParseDuration(text); err == nil && ahead > 0 {
		return now.Add(ahead), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, console.Misusedf("--until: %q is not a time; write how long from now (90m, 6h, 2d), or a moment (2026-01-31T08:00:00Z)", text)
	}
	return at, nil
}
