package sqlitestore

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// errLocked is the error of tryLock when the lock is taken.
var errLocked = errors.New("locked")

// fileLock is an exclusive lock on a file next to the store. The system frees it
// when the process dies, so it never stays behind.
type fileLock struct{ file *os.File }

// lockFile takes the lock of a store.
func lockFile(path string) (*fileLock, error) {
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("sqlitestore: %s is not a folder: create it first", folder)
	}
	name := path + ".lock"
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("sqlitestore: locking %s: %w", path, err)
	}
	if err := tryLock(file); err != nil {
		defer file.Close()
		if !errors.Is(err, errLocked) {
			return nil, fmt.Errorf("sqlitestore: locking %s: %w", path, err)
		}
		return nil, fmt.Errorf("sqlitestore: %s is in use by process %s: stop it, or name another path", path, holder(name))
	}
	// The process id is for the message above only, so a failure to write it
	// down is not a reason to give up.
	if err := file.Truncate(0); err == nil {
		_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())), 0)
	}
	return &fileLock{file}, nil
}

// holder returns the process id in a lock file.
func holder(name string) string {
	text, err := os.ReadFile(name)
	if pid := strings.TrimSpace(string(text)); err == nil && pid != "" {
		return pid
	}
	return "unknown"
}

// unlock frees the lock. Closing the file is not enough: a child that is just
// being started has it open for a moment. The file stays: removing it would race
// with another process that has just opened it.
func (l *fileLock) unlock() error { return errors.Join(freeLock(l.file), l.file.Close()) }

// createFile creates an empty store that only its owner may read, durably, so
// that its name survives a power loss as its commits do.
func createFile(path string) error {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("sqlitestore: opening %s: %w", path, err)
	}
	if err := errors.Join(file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("sqlitestore: creating %s: %w", path, err)
	}
	return syncFolder(filepath.Dir(path))
}
