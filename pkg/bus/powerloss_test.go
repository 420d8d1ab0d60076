package bus

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/interlock-run/interlock/pkg/bus/natstest"
	"github.com/interlock-run/interlock/pkg/disktest"
)

// disk is where NATS keeps its files in a test of power loss. fail answers the
// folder as it would be after power loss at that moment.
type disk struct {
	dir  string
	fail func() (after string)
	// honest makes fail keep exactly the synced data.
	honest bool
}

// newDisk is the file system of package disktest where the system lets it be mounted, and
// otherwise a folder of which an older copy is brought back.
func newDisk(t *testing.T) *disk {
	t.Helper()
	mounted, err := disktest.New(t)
	if err == nil {
		after := filepath.Join(t.TempDir(), "after")
		return &disk{dir: mounted.Dir, honest: true, fail: func() string {
			if err := mounted.CopyDurable(after); err != nil {
				t.Fatal(err)
			}
			return after
		}}
	}
	t.Logf("power loss by an older copy of the folder: %v", err)
	dir, older := t.TempDir(), filepath.Join(t.TempDir(), "older")
	if err := os.MkdirAll(older, 0o755); err != nil {
		t.Fatal(err)
	}
	return &disk{dir: dir, fail: func() string { return older }}
}

// NATS loses power under load: acknowledged data that was not synced is gone.
// With a grace longer than its sync interval, and trimming, no event is lost.
func TestPowerLossOfNATS(t *testing.T) {
	t.Parallel()
	d := newDisk(t)
	r := &rig{tb: t, nats: natstest.New(t, d.dir)}
	r.nats.SyncInterval = 250 * time.Millisecond
	r.nats.Start()
	st := openStore(t)
	src := newSource(t, st)
	cfg := r.config("a")
	if d.honest {
		cfg.Grace = time.Second
	}
	relay, _ := run(t, st, cfg)
	js := r.js()
	stop := src.load(20)
	if d.honest {
		eventually(t, "something is trimmed", func() bool { return testutil.ToFloat64(relay.m.trimmed) > 0 })
	}
	before := stored(js)
	eventually(t, "events flow", func() bool { return stored(js) > before+500 })
	after := d.fail()
	r.nats.Stop()
	// Its writes while it was stopped never reached the disk.
	r.nats.Dir = filepath.Join(t.TempDir(), "disk")
	copyTree(t, after, r.nats.Dir)
	r.nats.Start()
	eventually(t, "the loss is noticed", func() bool { return testutil.ToFloat64(relay.m.rewinds) > 0 })
	n := src.count()
	eventually(t, "events flow again", func() bool { return src.count() > n+100 && stored(js) > 100 })
	stop()
	r.awaitAll(src)
}
