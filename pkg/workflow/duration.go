package workflow

import (
	"strconv"
	"strings"
	"time"
)

// ShortDuration writes a duration as definitions do: "2h30m", "3d", without the units that are zero.
func ShortDuration(d time.Duration) string {
	const day = 24 * time.Hour
	if d <= 0 || d%time.Second != 0 {
		return d.String()
	}
	var b strings.Builder
	for _, unit := range [...]struct {
		size time.Duration
		name string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}, {time.Second, "s"}} {
		if n := d / unit.size; n > 0 {
			b.WriteString(strconv.FormatInt(int64(n), 10) + unit.name)
			d -= n * unit.size
		}
	}
	return b.String()
}
