package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"

	sqlite3 "modernc.org/sqlite/lib"

	"github.com/interlock-run/interlock/pkg/store"
)

// reserveSize is the room that is kept for work under way when the disk gets full.
const reserveSize = 2 << 20

// elbowRoom must remain free when the reserve is made: the server's other files, such as its
// addresses and the event stream's, need room on the same disk.
const elbowRoom = 1 << 20

// reserve is a file that holds room on the disk. It is given up when the disk is full, so
// that work under way can end, and when the store is opened, which needs small files.
// While it cannot be made the store is not ready for more work.
type reserve struct {
	path string
	mu   sync.Mutex
	held bool
}

// keep makes the file unless it is there, and fails when it has no room.
func (r *reserve) keep() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held {
		return nil
	}
	// The disk is never full in between: small files of the server are written meanwhile.
	room, err := roomOf(r.path)
	if err == nil && room < reserveSize+elbowRoom {
		err = syscall.ENOSPC
	}
	if err == nil {
		err = writeZeros(r.path, reserveSize)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("%w: keeping %d bytes in reserve and %d free: %w: the disk is full: free some space",
			store.ErrUnavailable, reserveSize, elbowRoom, err), remove(r.path))
	}
	r.held = true
	return nil
}

// free gives the room up and returns whether there was any.
func (r *reserve) free() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	freed := r.held && remove(r.path) == nil
	r.held = false
	return freed
}

func remove(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("sqlitestore: %w", err)
	}
	return nil
}

// writeZeros writes a file of a size, so that its blocks are taken: a file that was only
// made longer has none.
func writeZeros(path string, size int) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(make([]byte, size))
	return errors.Join(err, file.Close())
}

// full returns whether a request failed for want of room.
func full(err error) bool { return code(err) == sqlite3.SQLITE_FULL }
