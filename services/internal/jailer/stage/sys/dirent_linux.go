package sys

import (
	"syscall"
	"unsafe"
)

// Dirent is an entry of a folder, in the buffer that getdents64 has filled.
type Dirent struct {
	kind byte
	name []byte // with the zero at its end
}

// The offsets of struct linux_dirent64.
const (
	direntLength = 16
	direntKind   = 18
	direntName   = 19
)

// NextDirent returns the first entry of a buffer, and those after it. An entry that is not complete has no name.
func NextDirent(buffer []byte) (Dirent, []byte) {
	if len(buffer) <= direntName {
		return Dirent{name: []byte{0}}, nil
	}
	length := int(buffer[direntLength]) | int(buffer[direntLength+1])<<8 // both architectures are little-endian
	if length <= direntName || length > len(buffer) {
		return Dirent{name: []byte{0}}, nil
	}
	return Dirent{buffer[direntKind], buffer[direntName:length]}, buffer[length:]
}

// Is reports that the entry has a name.
func (e Dirent) Is(name string) bool {
	return len(e.name) > len(name) && e.name[len(name)] == 0 && string(e.name[:len(name)]) == name
}

// Kind returns the type of the entry, of a folder that is open: one of syscall.DT_*.
func (e Dirent) Kind(folder int) byte {
	if e.kind != syscall.DT_UNKNOWN {
		return e.kind
	}
	fd, err := e.OpenPath(folder)
	if err != nil {
		return syscall.DT_UNKNOWN
	}
	defer syscall.Close(fd)
	var stat syscall.Stat_t
	if syscall.Fstat(fd, &stat) != nil {
		return syscall.DT_UNKNOWN
	}
	return byte(stat.Mode & syscall.S_IFMT >> 12)
}

// OpenPath opens the entry as a path, and a link itself.
func (e Dirent) OpenPath(folder int) (int, error) {
	r, _, errno := syscall.Syscall6(syscall.SYS_OPENAT, uintptr(folder), uintptr(unsafe.Pointer(&e.name[0])),
		O_PATH|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	return int(r), nil
}
