//go:build unix

package hookclient

import (
	"os"
	"syscall"
)

// lock locks a file as long as this process has it open.
func lock(file *os.File) error { return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }

// busy reports a file that is locked by the process which has written it.
func busy(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return true // it is gone
	}
	defer file.Close()
	return syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}
