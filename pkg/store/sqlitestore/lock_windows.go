package sqlitestore

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// lockedByte is the byte that is locked, far behind the text, which others may
// then still read.
const lockedByte = 1 << 30

// tryLock takes an exclusive lock or returns errLocked.
func tryLock(file *os.File) error {
	at := &windows.Overlapped{Offset: lockedByte}
	err := windows.LockFileEx(windows.Handle(file.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return errLocked
	}
	return err
}

// freeLock frees the lock of tryLock.
func freeLock(file *os.File) error {
	return windows.UnlockFileEx(windows.Handle(file.Fd()), 0, 1, 0, &windows.Overlapped{Offset: lockedByte})
}

// syncFolder has no effect: Windows keeps names durable with their files.
func syncFolder(string) error { return nil }
