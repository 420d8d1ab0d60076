//go:build unix

package jailclient

import (
	"os"
	"syscall"
)

// writeFolder writes the file that Claude Code reads. It follows no link. Without the file, the folder stays as it was.
func writeFolder(file, folder string) {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return
	}
	defer f.Close()
	_, _ = f.WriteString(folder + "\n")
}
