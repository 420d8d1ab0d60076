package background_test

import (
	"context"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/interlock-run/interlock/services/internal/background"
	"github.com/interlock-run/interlock/services/internal/datadir"
)

// folder is a data folder with a record of a server: the one of the socket, or else an empty one.
func folder(t *testing.T, pid int, socket string) datadir.Dir {
	t.Helper()
	data := datadir.Dir(t.TempDir())
	if _, err := os.Lstat(socket); err == nil {
		data = datadir.Dir(filepath.Dir(socket))
	}
	if err := data.WriteEndpoints(datadir.Endpoints{GRPC: "127.0.0.1:1", Socket: socket, PID: pid}); err != nil {
		t.Fatal(err)
	}
	return data
}

// listening is a socket at which this process listens.
func listening(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "") // its name is short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "hook.sock")
	lis, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lis.Close() })
	return path
}

// stranger is a process that is no server.
func stranger(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("cat")
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	return cmd
}

func TestFind(t *testing.T) {
	t.Parallel()
	other := stranger(t)
	for name, c := range map[string]struct {
		pid     int
		socket  string
		want    int
		unknown bool
	}{
		"serves":                                {os.Getpid(), listening(t), os.Getpid(), false},
		"killed, and its socket is gone":        {other.Process.Pid, filepath.Join(t.TempDir(), "gone"), 0, false},
		"its number is another process's":       {other.Process.Pid, listening(t), 0, true},
		"no socket, so it cannot be verified":   {other.Process.Pid, "", 0, true},
		"no record of a process, and no server": {0, "", 0, false},
	} {
		got, err := background.Find(t.Context(), folder(t, c.pid, c.socket))
		if got.PID != c.want || errors.Is(err, background.ErrUnknown) != c.unknown || !c.unknown && err != nil {
			t.Errorf("%s: process %d, %v", name, got.PID, err)
		}
	}
	if got, err := background.Find(t.Context(), datadir.Dir(t.TempDir())); got.PID != 0 || err != nil {
		t.Errorf("an empty folder: %+v, %v", got, err)
	}
}

// TestStopsNoStranger: S13.16, a record with the number of another process ends no process.
func TestStopsNoStranger(t *testing.T) {
	t.Parallel()
	other := stranger(t)
	for name, socket := range map[string]string{"a server of another number": listening(t), "no socket": "", "no server": filepath.Join(t.TempDir(), "gone")} {
		pid, err := background.Stop(t.Context(), folder(t, other.Process.Pid, socket))
		if pid != 0 || (err == nil) != (name == "no server") {
			t.Errorf("%s: stopped %d, %v", name, pid, err)
		}
		if err := other.Process.Signal(syscall.Signal(0)); err != nil {
			t.Fatalf("%s: the process was ended: %v", name, err)
		}
	}
}

// TestForeignSocket: S13.16, a record or a link that names the socket of another program ends no process.
func TestForeignSocket(t *testing.T) {
	t.Parallel()
	foreign := listening(t)
	named, linked := filepath.Dir(listening(t)), filepath.Dir(listening(t))
	if err := errors.Join(os.Remove(filepath.Join(named, "hook.sock")), os.Remove(filepath.Join(linked, "hook.sock")),
		os.Symlink(foreign, filepath.Join(linked, "hook.sock"))); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{named, linked} {
		data := datadir.Dir(dir)
		if err := data.WriteEndpoints(datadir.Endpoints{GRPC: "127.0.0.1:1", Socket: foreign, PID: os.Getpid()}); err != nil {
			t.Fatal(err)
		}
		if got, err := background.Find(t.Context(), data); got.PID != 0 || errors.Is(err, background.ErrUnknown) != (dir == linked) {
			t.Errorf("process %d, %v", got.PID, err)
		}
	}
}

// TestStopGivesUp: a server that does not end is named.
func TestStopGivesUp(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if pid, err := background.Stop(ctx, folder(t, os.Getpid(), listening(t))); pid != 0 || err == nil {
		t.Errorf("stopped %d, %v", pid, err)
	}
}
