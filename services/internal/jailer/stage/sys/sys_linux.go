package sys

import (
	"syscall"
	"unsafe"
)

// MountAttr is struct mount_attr.
type MountAttr struct {
	Set, Clear, Propagation, UserNamespace uint64
}

// CapHeader is the first argument of capset.
type CapHeader struct {
	Version uint32
	Pid     int32
}

// CapData is an element of the second argument of capset.
type CapData struct{ Effective, Permitted, Inheritable uint32 }

// Commands of fsconfig.
const (
	fsconfigSetFlag   = 0
	fsconfigSetString = 1
	fsconfigCreate    = 6
)

func call(trap uintptr, args ...uintptr) (int, error) {
	var a [6]uintptr
	copy(a[:], args)
	r, _, errno := syscall.Syscall6(trap, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// openHow is struct open_how.
type openHow struct{ flags, mode, resolve uint64 }

const (
	sysOpenat2        = 437 // the same number on every architecture
	resolveNoSymlinks = 4
)

// OpenExact returns a descriptor of a path, which names it and opens nothing. No part of the path is a symbolic link.
func OpenExact(path string) (int, error) {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	how := openHow{flags: O_PATH | syscall.O_CLOEXEC, resolve: resolveNoSymlinks}
	cwd := AT_FDCWD
	r, _, errno := syscall.Syscall6(sysOpenat2, uintptr(cwd), uintptr(unsafe.Pointer(p)), uintptr(unsafe.Pointer(&how)), unsafe.Sizeof(how), 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// OpenTree returns a descriptor of the mounts at a path.
func OpenTree(dir int, path string, flags uint) (int, error) {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	r, _, errno := syscall.Syscall(SYS_OPEN_TREE, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(flags))
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// MoveMount attaches the mounts of a descriptor at a path.
func MoveMount(fd int, path string) error {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	var empty byte
	cwd := AT_FDCWD
	_, _, errno := syscall.Syscall6(SYS_MOVE_MOUNT, uintptr(fd), uintptr(unsafe.Pointer(&empty)), uintptr(cwd),
		uintptr(unsafe.Pointer(p)), MOVE_MOUNT_F_EMPTY_PATH, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// MountSetattr sets attributes of the mount at a path.
func MountSetattr(dir int, path string, flags uint, set uint64) error {
	p, err := syscall.BytePtrFromString(path)
	if err != nil {
		return err
	}
	attr := MountAttr{Set: set}
	_, _, errno := syscall.Syscall6(SYS_MOUNT_SETATTR, uintptr(dir), uintptr(unsafe.Pointer(p)), uintptr(flags),
		uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// Fsopen begins a new file system.
func Fsopen(kind string) (int, error) {
	p, err := syscall.BytePtrFromString(kind)
	if err != nil {
		return -1, err
	}
	r, _, errno := syscall.Syscall(SYS_FSOPEN, uintptr(unsafe.Pointer(p)), FSOPEN_CLOEXEC, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}

// FsconfigString sets an option of a new file system.
func FsconfigString(fd int, key, value string) error {
	k, err := syscall.BytePtrFromString(key)
	if err != nil {
		return err
	}
	v, err := syscall.BytePtrFromString(value)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(SYS_FSCONFIG, uintptr(fd), fsconfigSetString, uintptr(unsafe.Pointer(k)), uintptr(unsafe.Pointer(v)), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// FsconfigFlag sets an option without a value.
func FsconfigFlag(fd int, key string) error {
	k, err := syscall.BytePtrFromString(key)
	if err != nil {
		return err
	}
	_, _, errno := syscall.Syscall6(SYS_FSCONFIG, uintptr(fd), fsconfigSetFlag, uintptr(unsafe.Pointer(k)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// FsconfigCreate makes the file system of its options.
func FsconfigCreate(fd int) error {
	_, err := call(SYS_FSCONFIG, uintptr(fd), fsconfigCreate)
	return err
}

// Fsmount returns a mount of a new file system.
func Fsmount(fd int, attributes uint) (int, error) {
	return call(SYS_FSMOUNT, uintptr(fd), FSMOUNT_CLOEXEC, uintptr(attributes))
}

// CloseOnExec marks all descriptors from first on.
func CloseOnExec(first uint) error {
	_, err := call(sysCloseRange, uintptr(first), uintptr(^uint32(0)), CLOSE_RANGE_CLOEXEC)
	return err
}

const sysCloseRange = 436

// Prctl calls prctl for this thread.
func Prctl(option int, arg2, arg3, arg4, arg5 uintptr) error {
	_, err := call(syscall.SYS_PRCTL, uintptr(option), arg2, arg3, arg4, arg5)
	return err
}

// Setrlimit limits a resource of this process.
func Setrlimit(resource int, limit *syscall.Rlimit) error {
	_, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, 0, uintptr(resource), uintptr(unsafe.Pointer(limit)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// ifreq is struct ifreq with flags.
type ifreq struct {
	name  [syscall.IFNAMSIZ]byte
	flags uint16
	_     [22]byte
}

// InterfaceUp brings a network interface up, by any socket.
func InterfaceUp(fd int, name string) error {
	request := ifreq{}
	copy(request.name[:len(request.name)-1], name)
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCGIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	request.flags |= syscall.IFF_UP | syscall.IFF_RUNNING
	if _, _, errno := syscall.Syscall(syscall.SYS_IOCTL, uintptr(fd), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&request))); errno != 0 {
		return errno
	}
	return nil
}
