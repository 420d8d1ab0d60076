package telemetry

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// gcPercent lets the heap grow to five times what is live before it is collected:
// with a memory limit as the brake, that measured 1.3 to 1.5 times the calls.
const gcPercent = 400

// TuneMemory sets GOGC=400 and a GOMEMLIMIT of 80 % of the container's memory, or
// else of half the machine's. What the user set by those variables stays, and
// without a known limit GOGC stays too. It returns the limit in force in bytes,
// math.MaxInt64 for none.
func TuneMemory() (limit int64) {
	if os.Getenv("GOMEMLIMIT") == "" {
		bound := memoryBound(os.ReadFile)
		if bound == 0 {
			return debug.SetMemoryLimit(-1)
		}
		debug.SetMemoryLimit(bound)
	}
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	return debug.SetMemoryLimit(-1)
}

// memoryBound is what this process may well use, 0 when that is not known.
func memoryBound(readFile func(string) ([]byte, error)) int64 {
	machine := int64(math.MaxInt64)
	if data, err := readFile("/proc/meminfo"); err == nil {
		machine = memTotal(data)
	}
	// The paths of cgroup v2 and v1 as a container sees its own.
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		data, err := readFile(file)
		if err != nil {
			continue
		}
		// "max", or a number larger than the machine, is not a limit.
		container, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err == nil && container > 0 && container < machine {
			return container / 10 * 8
		}
	}
	if machine == math.MaxInt64 {
		return 0
	}
	return machine / 2
}

// memTotal reads MemTotal of /proc/meminfo in bytes.
func memTotal(meminfo []byte) int64 {
	lines := bufio.NewScanner(bytes.NewReader(meminfo))
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
			if kib, err := strconv.ParseInt(fields[1], 10, 64); err == nil && kib > 0 && kib < math.MaxInt64>>10 {
				return kib << 10
			}
		}
	}
	return math.MaxInt64
}
