//go:build linux || darwin

package sqlitestore

import (
	"context"
	"fmt"
	"path/filepath"
	"syscall"

	"github.com/interlock-run/interlock/pkg/store"
)

var _ store.Roomy = (*Store)(nil)

// Room returns the free bytes on the disk of the file, for a user like this one.
func (s *Store) Room(context.Context) (room int64, known bool, err error) {
	room, err = roomOf(s.path)
	return room, true, err
}

// roomOf returns the free bytes on the disk of a file.
func roomOf(path string) (int64, error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(path), &disk); err != nil {
		return 0, fmt.Errorf("sqlitestore: the room on the disk: %w", err)
	}
	return int64(disk.Bavail) * int64(disk.Bsize), nil //nolint:gosec,unconvert // no disk has more; the types differ by system
}
