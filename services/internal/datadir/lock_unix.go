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
		return nil, fmt.Errorf("lock the data folder: %w; choose another with --data", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("another `interlock up`%s uses the data folder %s: stop it, or choose another folder with --data",
			d.holder(), d)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f.Close, nil
}

// holder names the process that serves from the folder, when it said so.
func (d Dir) holder() string {
	if e, err := d.ReadEndpoints(); err == nil && e.PID != 0 {
		return fmt.Sprintf(" (process %d)", e.PID)
	}
	return ""
}

// ours is whether a folder belongs to this user or to root. Root trusts every
// owner: containers see the folders of their hosts' users.
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
