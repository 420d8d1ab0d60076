package telemetry

import (
	"io/fs"
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
		"nothing known":            {nil, 0},
		"machine":                  {map[string]string{meminfo: tenMiB}, 5 << 20},
		"container v2":             {map[string]string{meminfo: tenMiB, v2: "1000000\n"}, 800_000},
		"container v1":             {map[string]string{meminfo: tenMiB, v1: "1000000\n"}, 800_000},
		"container without limit":  {map[string]string{meminfo: tenMiB, v2: "max\n"}, 5 << 20},
		"v1 without limit":         {map[string]string{meminfo: tenMiB, v1: "9223372036854771712\n"}, 5 << 20},
		"container of no machine":  {map[string]string{v2: "1000000"}, 800_000},
		"garbage":                  {map[string]string{meminfo: "MemTotal: x kB", v2: "x"}, 0},
		"more than can be counted": {map[string]string{meminfo: "MemTotal: 9223372036854775807 kB"}, 0},
	} {
		got := memoryBound(func(path string) ([]byte, error) {
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
