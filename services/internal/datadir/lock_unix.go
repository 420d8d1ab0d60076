//go:build unix

package datadir

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Lock takes the folder for this process, so that two servers never share one.
// It is free again after unlock, or when the process ends, however it ends.
func (d Dir) Lock() (unlock func() error, err error) {
	f, err := os.OpenFile(d.join("lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w; choose another with --data-dir", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another `interlock up`%s uses the data folder %s: stop it, or choose another folder with --data-dir",
			d.holder(), d)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// Locked reports that a process serves from the folder. It creates nothing.
func (d Dir) Locked() bool {
	f, err := os.OpenFile(d.join("lock"), os.O_RDWR, 0o600)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// alone runs a function while no other process runs one for this folder.
func (d Dir) alone(run func() error) error {
	f, err := os.Open(string(d))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // which frees it
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		return err
	}
	return run()
}

// holder names the process that serves from the folder, when it said so.
func (d Dir) holder() string {
	if e, err := d.ReadEndpoints(); err == nil && e.PID != 0 {
		return fmt.Sprintf(" (process %d)", e.PID)
	}
	return ""
}

// ours reports whether a folder belongs to this user or to root. Root trusts every owner:
// containers see the folders of their hosts' users.
func ours(folder string) bool {
	info, err := os.Stat(folder)
	if err != nil {
		return false
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	me := os.Getuid()
	return me == 0 || int(stat.Uid) == me || stat.Uid == 0
}

// Guarded describes why a folder must not be trusted: it is another user's, or others can
// write to it, and so put a server or a token of their own there.
func (d Dir) Guarded() error {
	info, err := os.Stat(string(d))
	if err != nil {
		return errors.New(d.NotServed())
	}
	switch {
	case !info.IsDir():
		return fmt.Errorf("the data folder %s is not a folder", d)
	case !ours(string(d)):
		return fmt.Errorf("the data folder %s belongs to another user, so it is not trusted", d)
	case info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("the data folder %s has mode %04o, so others can change it: run chmod 700 on it", d, info.Mode().Perm())
	}
	return nil
}

// Owner returns the user and the group of a file.
func Owner(info os.FileInfo) (uid, gid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, 0, false
	}
	return int(stat.Uid), int(stat.Gid), true
}
