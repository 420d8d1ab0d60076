package document

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"time"
)

// ErrDuration says how a duration is written.
var ErrDuration = errors.New(`write a duration with its units, such as "30s", "15m", "2h", "7d" or "1d12h"`)

const day = 24 * time.Hour

// ParseDuration reads a duration in the one grammar of definitions, flags and parameters: whole days
// of 24 hours, if any, and then a text for time.ParseDuration.
func ParseDuration(text string) (time.Duration, error) {
	sign, rest := time.Duration(1), text
	if strings.HasPrefix(rest, "-") {
		sign = -1
	}
	rest = strings.TrimPrefix(strings.TrimPrefix(rest, "-"), "+")
	if len(text)-len(rest) > 1 {
		return 0, ErrDuration
	}
	count, after, days := strings.Cut(rest, "d")
	if !days {
		d, err := time.ParseDuration(text)
		if err != nil {
			return 0, ErrDuration
		}
		return d, nil
	}
	n, err := strconv.ParseUint(count, 10, 32)
	if err != nil || time.Duration(n) > math.MaxInt64/day || strings.HasPrefix(after, "-") || strings.HasPrefix(after, "+") {
		return 0, ErrDuration
	}
	var more time.Duration
	if after != "" {
		if more, err = time.ParseDuration(after); err != nil || more > math.MaxInt64-time.Duration(n)*day {
			return 0, ErrDuration
		}
	}
	return sign * (time.Duration(n)*day + more), nil
}
