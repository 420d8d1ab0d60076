package allinone

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"
)

// fill makes the next write to an open file fail as on a full disk, and returns whether
// this process has such a file open.
func fill(t *testing.T, folder, suffix string) bool {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, file := range files {
		path, err := os.Readlink(filepath.Join("/proc/self/fd", file.Name()))
		if err != nil || !strings.HasPrefix(path, folder) || !strings.HasSuffix(path, suffix) {
			continue
		}
		n, err := strconv.Atoi(file.Name())
		if err != nil {
			t.Fatal(err)
		}
		if err := syscall.Dup3(int(full.Fd()), n, syscall.O_CLOEXEC); err != nil {
			t.Fatal(err)
		}
		found = true
	}
	return found
}

// One write of the embedded NATS that fails costs no event: its files are opened again,
// and events that they lack are published again.
func TestEventsOutliveAFailedWrite(t *testing.T) {
	t.Parallel()
	c := start(t, Config{})
	call(t, c, "POST", "/v1/workflows", definition)
	observer, err := nats.Connect(c.Endpoints.NATS, nats.MaxReconnects(-1))
	if err != nil {
		t.Fatal(err)
	}
	defer observer.Close()
	js, err := observer.JetStream()
	if err != nil {
		t.Fatal(err)
	}
	started := map[string]bool{} // runs whose start the stream does not have yet
	run := func() {
		for range 5 {
			started[call(t, c, "POST", "/v1/runs", `{"workflow":"w"}`)["run_id"].(string)] = true
		}
	}
	run()
	await(t, "the stream's first events", func() bool { return lacks(js, started) == 0 })
	if !fill(t, string(c.cfg.Data), ".blk") {
		t.Fatal("the stream has no open file")
	}
	run()
	await(t, "the events after the failure", func() bool { return lacks(js, started) == 0 })
	if text := call(t, c, "GET", "/metrics", "")["text"].(string); strings.Contains(text, "interlock_relay_reopens_total 0") {
		t.Error("the failed write was not noticed")
	}
	await(t, "a healthy relay", func() bool { return c.events.Health() == nil })
}

// lacks counts runs of which the stream has no start.
func lacks(js nats.JetStreamContext, runs map[string]bool) int {
	missing := len(runs)
	for id := range runs {
		_, err := js.GetLastMsg("INTERLOCK", fmt.Sprintf("interlock.default.run.%s.started", id))
		if err == nil {
			missing--
		}
	}
	return missing
}
