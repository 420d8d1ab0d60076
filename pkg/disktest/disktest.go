// Package disktest gives tests a disk that loses power, fails and is full: the file system
// of tools/fsyncloss, mounted on a folder of the test.
//
// It is for tests only: no production package may import it.
package disktest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Disk is a mounted file system.
type Disk struct {
	// Dir is where it is mounted.
	Dir string

	base, tool string
	process    *exec.Cmd
	say        io.WriteCloser
	said       *bufio.Reader
}

// New mounts a disk for a test. An error says why this machine cannot.
func New(tb testing.TB) (*Disk, error) {
	tb.Helper()
	if testing.Short() {
		return nil, errors.New("go test -short mounts nothing")
	}
	base := tb.TempDir()
	d := &Disk{Dir: filepath.Join(base, "disk"), base: base, tool: filepath.Join(base, "fsyncloss")}
	for _, dir := range []string{d.Dir, d.live(), d.durable()} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			tb.Fatal(err)
		}
	}
	if err := d.build(); err != nil {
		return nil, err
	}
	if err := d.mount(); err != nil {
		return nil, err
	}
	tb.Cleanup(func() {
		if err := d.unmount(); err != nil {
			tb.Error(err)
		}
	})
	return d, nil
}

func (d *Disk) live() string    { return filepath.Join(d.base, "live") }
func (d *Disk) durable() string { return filepath.Join(d.base, "durable") }

func (d *Disk) build() error {
	if _, err := os.Stat("/dev/fuse"); err != nil {
		return errors.New("there is no /dev/fuse")
	}
	if _, err := exec.LookPath("fusermount3"); err != nil {
		return errors.New("there is no fusermount3")
	}
	source, err := source()
	if err != nil {
		return err
	}
	build := exec.Command("go", "build", "-o", d.tool, ".")
	build.Dir = source
	build.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("disktest: fsyncloss does not build: %w %s", err, out)
	}
	return nil
}

// source returns the folder of fsyncloss, above that of the test's package.
func source() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for folder != filepath.Dir(folder) {
		if tool := filepath.Join(folder, "tools", "fsyncloss"); exists(filepath.Join(tool, "go.mod")) {
			return tool, nil
		}
		folder = filepath.Dir(folder)
	}
	return "", errors.New("disktest: tools/fsyncloss is not above the test's folder")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func (d *Disk) mount() error {
	cmd := exec.Command(d.tool, d.live(), d.durable(), d.Dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	var why bytes.Buffer
	cmd.Stderr = &why
	if err := cmd.Start(); err != nil {
		return err
	}
	d.process, d.say, d.said = cmd, in, bufio.NewReader(out)
	if err := d.hear("mounted"); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		d.process = nil
		first, _, _ := strings.Cut(why.String(), "\n")
		return fmt.Errorf("a file system cannot be mounted: %s", first)
	}
	return nil
}

func (d *Disk) unmount() error {
	if d.process == nil {
		return nil
	}
	err := d.process.Process.Signal(syscall.SIGTERM)
	_, rest := io.Copy(io.Discard, d.said)
	err = errors.Join(err, rest, d.process.Wait())
	d.process = nil
	return err
}

func (d *Disk) hear(want string) error {
	line, err := d.said.ReadString('\n')
	if err != nil || line != want+"\n" {
		return fmt.Errorf("disktest: fsyncloss says %q, not %q: %w", line, want, err)
	}
	return nil
}

func (d *Disk) tell(word string) error {
	if _, err := io.WriteString(d.say, word+"\n"); err != nil {
		return fmt.Errorf("disktest: %w", err)
	}
	return d.hear("ok")
}

// Break makes every write and every sync fail with EIO, until Heal.
func (d *Disk) Break() error { return d.tell("eio") }

// Fill makes every write fail that needs room, until Heal.
func (d *Disk) Fill() error { return d.tell("full") }

// Heal makes the disk work.
func (d *Disk) Heal() error { return d.tell("well") }

// CopyDurable copies the files that survive a loss of power to a new folder.
func (d *Disk) CopyDurable(to string) error { return os.CopyFS(to, os.DirFS(d.durable())) }

// LosePower leaves only synced data. No file of the disk may be open.
func (d *Disk) LosePower() error {
	if err := d.unmount(); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(d.live()), os.Rename(d.durable(), d.live()), os.Mkdir(d.durable(), 0o700)); err != nil {
		return err
	}
	return d.mount()
}
