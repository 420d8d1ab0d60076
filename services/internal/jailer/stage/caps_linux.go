package stage

import (
	"errors"
	"strconv"
	"syscall"
	"unsafe"

	"github.com/interlock-run/interlock/services/internal/jailer/stage/sys"
)

// rootKeeps are the capabilities that root has in a jail, where they count for files that it could change
// anyway.
const rootKeeps = 1<<sys.CAP_CHOWN | 1<<sys.CAP_DAC_OVERRIDE | 1<<sys.CAP_FOWNER | 1<<sys.CAP_FSETID |
	1<<sys.CAP_SETUID | 1<<sys.CAP_SETGID | 1<<sys.CAP_KILL

const (
	secureBits  = 1<<0 | 1<<1 | 1<<2 | 1<<3 | 1<<6 | 1<<7 // NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each locked
	highestBits = 64
)

// dropCapabilities removes from this process all capabilities but those of root that its files need, for
// good: what it executes does not get them back.
func dropCapabilities(root bool) error {
	var keep uint64
	if root {
		keep = rootKeeps
	} else if err := sys.Prctl(syscall.PR_SET_SECUREBITS, secureBits, 0, 0, 0); err != nil {
		return about("securebits", err)
	}
	for c := range uintptr(highestBits) {
		if keep&(1<<c) != 0 {
			continue
		}
		if err := sys.Prctl(syscall.PR_CAPBSET_DROP, c, 0, 0, 0); errors.Is(err, syscall.EINVAL) {
			break // the kernel has no more
		} else if err != nil {
			return about("capability "+strconv.Itoa(int(c)), err)
		}
	}
	if err := sys.Prctl(sys.PR_CAP_AMBIENT, sys.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return about("ambient capabilities", err)
	}
	header := sys.CapHeader{Version: sys.LINUX_CAPABILITY_VERSION_3}
	data := [2]sys.CapData{
		{Effective: uint32(keep), Permitted: uint32(keep)},
		{Effective: uint32(keep >> 32), Permitted: uint32(keep >> 32)},
	}
	_, _, errno := syscall.AllThreadsSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	if errno == syscall.ENOTSUP {
		// A program with cgo knows only this thread, which starts the command. The command can neither trace the others nor
		// write their memory.
		_, _, errno = syscall.RawSyscall(syscall.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&data[0])), 0)
	}
	if errno != 0 {
		return about("capset", errno)
	}
	return nil
}

// noNewPrivileges keeps what this thread starts from gaining privileges by setuid bits.
func noNewPrivileges() error {
	if err := sys.Prctl(sys.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return about("no_new_privs", err)
	}
	return nil
}
