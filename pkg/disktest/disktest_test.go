package disktest_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/interlock-run/interlock/pkg/disktest"
)

// Only synced data is there after the loss of power, and a disk that is broken or full
// says so.
func TestDisk(t *testing.T) {
	t.Parallel()
	d, err := disktest.New(t)
	if err != nil {
		t.Skip(err)
	}
	path := filepath.Join(d.Dir, "file")
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	must(t, err)
	write := func(text string, at int64) error {
		_, err := file.WriteAt([]byte(text), at)
		return err
	}
	must(t, write("kept, changed", 0))
	must(t, file.Sync())
	must(t, write("kept, replaced and long", 0))
	must(t, file.Truncate(20))
	must(t, write("KEPT", 0))
	must(t, file.Sync())
	must(t, write("lost", 0))
	must(t, write("lost", 100))
	must(t, d.Break())
	if err := write("x", 0); !errors.Is(err, syscall.EIO) {
		t.Errorf("a write to a broken disk: %v", err)
	}
	if err := file.Sync(); !errors.Is(err, syscall.EIO) {
		t.Errorf("a sync of a broken disk: %v", err)
	}
	must(t, d.Fill())
	if err := write("x", 0); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a write to a full disk: %v", err)
	}
	must(t, d.Heal())
	must(t, file.Close())
	must(t, os.Link(path, path+".link"))
	must(t, d.LosePower())
	_, err = os.Stat(path + ".link")
	must(t, err)
	text, err := os.ReadFile(path)
	must(t, err)
	if string(text) != "KEPT, replaced and l" {
		t.Errorf("after the loss of power the file has %q", text)
	}
	must(t, os.Remove(path))
	must(t, d.LosePower())
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was removed is back: %v", err)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
