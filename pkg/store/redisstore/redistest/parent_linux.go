package redistest

import "syscall"

// dieWithParent makes the kernel end a server when the test process ends, also
// when that panics or is killed.
func dieWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
