package document_test

import (
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// S1.8
func TestParseDuration(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	for text, want := range map[string]time.Duration{
		"30s": 30 * time.Second, "15m": 15 * time.Minute, "2h": 2 * time.Hour, "7d": 7 * day, "1d12h": 36 * time.Hour, "0": 0, "0d": 0,
		"1d1h1m1s1ms": day + time.Hour + time.Minute + time.Second + time.Millisecond, "2h30m": 150 * time.Minute, "1.5h": 90 * time.Minute,
		"-1d": -day, "-1d12h": -36 * time.Hour, "+1d": day, "-30s": -30 * time.Second, "106751d": 106751 * day, "01d": day,
	} {
		if got, err := document.ParseDuration(text); got != want || err != nil {
			t.Errorf("%q is %s, %v; want %s", text, got, err, want)
		}
	}
	for _, text := range []string{
		"", "d", "7", "1.5d", "12h1d", "1d1d", "1d-1h", "1d+1h", "--1d", "+-1d", "-+1h", "1dd", "1 d", " 1d", "1d ", "1day", "1w", "1D", "106752d", "106751d999h",
		"99999999999d", "1d2", "٣d", "0x1d", "1_0d", "soon",
	} {
		if got, err := document.ParseDuration(text); err == nil {
			t.Errorf("%q is read as %s", text, got)
		}
	}
}
