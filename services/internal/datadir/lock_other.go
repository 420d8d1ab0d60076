//go:build !unix

package datadir

import "os"

// Lock has no effect here: the store has a lock of its own.
func (d Dir) Lock() (unlock func() error, err error) { return func() error { return nil }, nil }

// Guarded has no check here.
func (d Dir) Guarded() error { return nil }

// Owner returns false: it is not known here.
func Owner(os.FileInfo) (uid, gid int, ok bool) { return 0, 0, false }

func ours(string) bool { return true }

// Locked returns false: it is not known here.
func (d Dir) Locked() bool { return false }

// alone runs a function; other processes may run one at the same time.
func (d Dir) alone(run func() error) error { return run() }
