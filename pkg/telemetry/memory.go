package telemetry

import (
	"bufio"
	"bytes"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"strconv"
	"strings"
)

const (
	// gcPercent lets the heap grow to five times the live data before it is collected:
	// with a memory limit as the brake, that measured 1.3 to 1.5 times the calls.
	gcPercent = 400
	// smallest is the memory limit of a process that has little to keep. 5 % above it is
	// where such a process stays: SQLite and NATS have memory that Go does not count.
	smallest = 448 << 20
	// A limit that live data reaches would make Go collect garbage all the time. A
	// quarter more keeps that at a tenth of the processor time or less.
	headroom = 4
	step     = 16 << 20
)

// TuneMemory sets GOGC=400 and keeps GOMEMLIMIT at 448 MiB, or at a quarter more than
// live data when that is more, and never above 80 % of the container's memory, or half of
// the machine's. Settings of the user in those variables stay. It returns the limit in
// force in bytes.
func TuneMemory() (limit int64) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(gcPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		follower{bound: boundFromFiles(os.ReadFile)}.step()
	}
	return debug.SetMemoryLimit(-1)
}

// follower keeps the limit, which is now, in line with live data after each collection.
// Setting it stops the world, so that happens for changes alone.
type follower struct{ bound, now int64 }

func (f follower) step() {
	if limit := memoryLimit(live(), f.bound); limit != f.now {
		debug.SetMemoryLimit(limit)
		f.now = limit
	}
	runtime.AddCleanup(new(cycle), follower.step, f)
}

// cycle is garbage at once, so that its cleanup reports the next collection. The pointer
// keeps it from sharing a block of memory with longer-lived data.
type cycle struct{ _ *cycle }

// live returns the bytes that the last collection found in use, with those of Go itself.
func live() int64 {
	samples := []metrics.Sample{
		{Name: "/gc/heap/live:bytes"},
		{Name: "/memory/classes/heap/stacks:bytes"},
		{Name: "/memory/classes/metadata/mspan/inuse:bytes"},
		{Name: "/memory/classes/metadata/other:bytes"},
		{Name: "/memory/classes/other:bytes"},
	}
	metrics.Read(samples)
	var sum uint64
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return int64(min(sum, math.MaxInt64))
}

// memoryLimit returns the limit, in steps, for a process that has so much in use and may
// well use bound.
func memoryLimit(live, bound int64) int64 {
	wanted := live + live/headroom
	return min(max(smallest, wanted+step-wanted%step), bound)
}

// boundFromFiles returns the bytes that this process may well use, math.MaxInt64 when that
// is not known.
func boundFromFiles(readFile func(string) ([]byte, error)) int64 {
	switch bound, container := memory(readFile); {
	case bound == math.MaxInt64:
		return bound
	case container:
		return bound / 10 * 8
	default:
		return bound / 2
	}
}

// MemoryBound returns the memory of the container in bytes, or that of the machine when
// the container has no limit. It is not known everywhere.
func MemoryBound() (bytes int64, known bool) {
	bytes, _ = memory(os.ReadFile)
	return bytes, bytes < math.MaxInt64
}

// memory returns that of the container, or else of the machine; math.MaxInt64 when
// neither is known.
func memory(readFile func(string) ([]byte, error)) (bytes int64, container bool) {
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
		limit, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err == nil && limit > 0 && limit < machine {
			return limit, true
		}
	}
	return machine, false
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
