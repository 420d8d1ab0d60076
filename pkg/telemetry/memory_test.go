package telemetry

import (
	"io/fs"
	"math"
	"testing"
)

func TestMemoryBound(t *testing.T) {
	t.Parallel()
	const (
		meminfo = "/proc/meminfo"
		v2      = "/sys/fs/cgroup/memory.max"
		v1      = "/sys/fs/cgroup/memory/memory.limit_in_bytes"
		tenMiB  = "MemTotal:       10240 kB\nMemFree: 1 kB\n"
	)
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing known":            {nil, math.MaxInt64},
		"machine":                  {map[string]string{meminfo: tenMiB}, 5 << 20},
		"container v2":             {map[string]string{meminfo: tenMiB, v2: "1000000\n"}, 800_000},
		"container v1":             {map[string]string{meminfo: tenMiB, v1: "1000000\n"}, 800_000},
		"container without limit":  {map[string]string{meminfo: tenMiB, v2: "max\n"}, 5 << 20},
		"v1 without limit":         {map[string]string{meminfo: tenMiB, v1: "9223372036854771712\n"}, 5 << 20},
		"container of no machine":  {map[string]string{v2: "1000000"}, 800_000},
		"garbage":                  {map[string]string{meminfo: "MemTotal: x kB", v2: "x"}, math.MaxInt64},
		"more than can be counted": {map[string]string{meminfo: "MemTotal: 9223372036854775807 kB"}, math.MaxInt64},
	} {
		got := boundFromFiles(func(path string) ([]byte, error) {
			if text, ok := tc.files[path]; ok {
				return []byte(text), nil
			}
			return nil, fs.ErrNotExist
		})
		if got != tc.want {
			t.Errorf("%s: got %d, want %d", name, got, tc.want)
		}
	}
}

func TestMemoryLimitLeavesRoom(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	for name, tc := range map[string]struct{ live, bound, want int64 }{
		"nothing in use":           {0, 8192 * mib, 448 * mib},
		"little in use":            {300 * mib, 8192 * mib, 448 * mib},
		"a quarter more":           {1600 * mib, 8192 * mib, 2016 * mib},
		"in steps":                 {1601 * mib, 8192 * mib, 2016 * mib},
		"a small container":        {10 * mib, 100 * mib, 100 * mib},
		"all that there is":        {8000 * mib, 8192 * mib, 8192 * mib},
		"unknown machine":          {0, math.MaxInt64, 448 * mib},
		"unknown machine, in use":  {1600 * mib, math.MaxInt64, 2016 * mib},
		"more in use than allowed": {9000 * mib, 8192 * mib, 8192 * mib},
	} {
		if got := memoryLimit(tc.live, tc.bound); got != tc.want {
			t.Errorf("%s: %d MiB, want %d", name, got/mib, tc.want/mib)
		}
	}
}
