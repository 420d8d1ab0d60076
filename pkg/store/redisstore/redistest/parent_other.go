//go:build !linux

package redistest

import "syscall"

// dieWithParent has no means to do so on this system.
func dieWithParent() *syscall.SysProcAttr { return nil }
