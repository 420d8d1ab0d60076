//go:build !linux

package tree

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
)

// hasCtime says that stamps have a ctime that programs cannot set.
const hasCtime = false

const nonBlocking = 0

// trust is how far stamps of a file system are believed.
type trust int

// Without a ctime, files are read again each time.
const (
	trustNothing trust = iota
	trustSlowly
	trustFully
)

// dir is an open folder.
type dir struct {
	root  *os.Root
	users atomic.Int32
	trust trust
}

func openDir(path string) (*dir, stamp, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, stamp{}, err
	}
	d := &dir{root: root}
	d.users.Store(1)
	st, err := d.stat()
	return d, st, err
}

// open opens a folder of the folder; a symbolic link is an error.
func (d *dir) open(name string) (*dir, stamp, error) {
	before, err := d.root.Lstat(name)
	if err != nil {
		return nil, stamp{}, err
	}
	if !before.IsDir() {
		return nil, stamp{}, ErrChanging
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, stamp{}, err
	}
	below := &dir{root: root}
	below.users.Store(1)
	after, err := root.Stat(".")
	if err == nil && !os.SameFile(before, after) {
		err = ErrChanging
	}
	if err != nil {
		below.release()
		return nil, stamp{}, err
	}
	return below, stampOf(after), nil
}

func (d *dir) hold() { d.users.Add(1) }

func (d *dir) release() {
	if d.users.Add(-1) == 0 {
		_ = d.root.Close()
	}
}

func (d *dir) trustIn(stamp) trust { return trustNothing }

func (d *dir) stat() (stamp, error) {
	info, err := d.root.Stat(".")
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

func (d *dir) statEntry(name string) (stamp, error) {
	info, err := d.root.Lstat(name)
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

// statter is the memory of many calls of stat.
type statter struct{}

// entry is statEntry.
func (*statter) entry(d *dir, name string) (stamp, error) { return d.statEntry(name) }

func statPath(path string) (stamp, error) {
	info, err := os.Stat(path)
	if err != nil {
		return stamp{}, err
	}
	return stampOf(info), nil
}

func stampOf(info os.FileInfo) stamp {
	return stamp{mode: uint32(info.Mode()), size: info.Size(), mtime: info.ModTime().UnixNano()}
}

func (d *dir) readlink(name string) (string, error) { return d.root.Readlink(name) }

// list returns all entries but .git, unsorted.
func (d *dir) list() ([]entry, error) {
	f, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.ReadDir(-1)
	if err != nil {
		return nil, err
	}
	entries := make([]entry, 0, len(all))
	for _, e := range all {
		kind := unknownFile
		if e.IsDir() {
			kind = directory
		}
		if e.Name() != ".git" {
			entries = append(entries, entry{name: e.Name(), kind: kind})
		}
	}
	return entries, nil
}

// read reads a file that has a stamp, and returns ErrChanging if it has another one.
func (d *dir) read(ctx context.Context, name string, st stamp, buffer []byte, each func([]byte)) error {
	before, err := d.root.Lstat(name)
	if err != nil {
		return err
	}
	if stampOf(before) != st {
		return ErrChanging
	}
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, before) || stampOf(info) != st {
		return errors.Join(ErrChanging, err)
	}
	left := st.size
	for {
		n, err := f.Read(buffer)
		if left -= int64(n); left < 0 {
			return ErrChanging
		}
		each(buffer[:n])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if info, err = f.Stat(); err != nil || stampOf(info) != st || left != 0 {
		return errors.Join(ErrChanging, err)
	}
	return nil
}

func (s stamp) kind() kind {
	mode := os.FileMode(s.mode)
	switch {
	case mode.IsRegular() && mode&0o111 != 0:
		return executable
	case mode.IsRegular():
		return regular
	case mode&os.ModeSymlink != 0:
		return symlink
	case mode.IsDir():
		return directory
	case mode&os.ModeNamedPipe != 0:
		return fifo
	case mode&os.ModeSocket != 0:
		return socket
	case mode&os.ModeDevice != 0 && mode&os.ModeCharDevice == 0:
		return blockDev
	}
	return charDev
}

func isReplaced(error) bool { return false }

// isPrivate trusts the folder of the cache.
func isPrivate(os.FileInfo) bool { return true }
