package bus

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/interlock-run/interlock/pkg/bus/natstest"
)

// disk is where NATS keeps its files in a test of power loss. fail answers the
// folder as it would be after power loss at that moment.
type disk struct {
	dir  string
	fail func() (after string)
	// honest tells that fail keeps all that was synced and nothing else.
	honest bool
}

// newDisk is the file system of tools/fsyncloss where the system lets it be mounted,
// and otherwise a folder of which an older copy is brought back.
func newDisk(t *testing.T) *disk {
	t.Helper()
	if d := fsyncloss(t); d != nil {
		t.Log("power loss by the fsyncloss file system")
		return d
	}
	t.Log("power loss by an older copy of the folder")
	dir, older := t.TempDir(), filepath.Join(t.TempDir(), "older")
	if err := os.MkdirAll(older, 0o755); err != nil {
		t.Fatal(err)
	}
	return &disk{dir: dir, fail: func() string { return older }}
}

func fsyncloss(t *testing.T) *disk {
	t.Helper()
	tool, err := filepath.Abs(filepath.Join("..", "..", "tools", "fsyncloss"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return nil
	}
	if _, err := exec.LookPath("fusermount3"); err != nil {
		return nil
	}
	base := t.TempDir()
	bin := filepath.Join(base, "fsyncloss")
	build := exec.Command("go", "build", "-o", bin, ".")
	build.Dir, build.Env = tool, append(os.Environ(), "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("fsyncloss does not build: %v %s", err, out)
	}
	src, durable, mount := filepath.Join(base, "src"), filepath.Join(base, "durable"), filepath.Join(base, "mount")
	for _, dir := range []string{src, durable, mount} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(bin, src, durable, mount)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "mounted\n" {
		t.Logf("fsyncloss does not mount: %q %v", line, err)
		cmd.Process.Kill() // it may be gone
		cmd.Wait()         // it may have failed
		return nil
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM) // Wait tells
		if err := cmd.Wait(); err != nil {
			t.Errorf("fsyncloss: %v", err)
		}
	})
	return &disk{dir: mount, honest: true, fail: func() string {
		after := filepath.Join(base, "after")
		copyTree(t, durable, after)
		return after
	}}
}

// NATS loses power under load: what it had acknowledged and not synced is gone.
// With a grace longer than its sync interval, and trimming, nothing is lost.
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
	// What it wrote while it was stopped never reached the disk.
	r.nats.Dir = filepath.Join(t.TempDir(), "disk")
	copyTree(t, after, r.nats.Dir)
	r.nats.Start()
	eventually(t, "the loss is noticed", func() bool { return testutil.ToFloat64(relay.m.rewinds) > 0 })
	n := src.count()
	eventually(t, "events flow again", func() bool { return src.count() > n+100 && stored(js) > 100 })
	stop()
	r.awaitAll(src)
}
