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

// Room is what is free on the disk of the file, for a user like this one.
func (s *Store) Room(context.Context) (room int64, known bool, err error) {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(filepath.Dir(s.path), &disk); err != nil {
		return 0, true, fmt.Errorf("sqlitestore: the room on the disk: %w", err)
	}
	return int64(disk.Bavail) * int64(disk.Bsize), true, nil //nolint:gosec,unconvert // no disk has more; the types differ by system
}
