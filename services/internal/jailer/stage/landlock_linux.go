package stage

import (
	"errors"
	"os"
	"slices"
	"syscall"
	"unsafe"

	"github.com/interlock-run/interlock/services/internal/jailer/stage/sys"
)

// Rights of Landlock.
const (
	readRights  = sys.LANDLOCK_ACCESS_FS_EXECUTE | sys.LANDLOCK_ACCESS_FS_READ_FILE | sys.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = sys.LANDLOCK_ACCESS_FS_WRITE_FILE | sys.LANDLOCK_ACCESS_FS_REMOVE_DIR | sys.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		sys.LANDLOCK_ACCESS_FS_MAKE_DIR | sys.LANDLOCK_ACCESS_FS_MAKE_REG | sys.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		sys.LANDLOCK_ACCESS_FS_MAKE_FIFO | sys.LANDLOCK_ACCESS_FS_MAKE_SYM |
		sys.LANDLOCK_ACCESS_FS_REFER | sys.LANDLOCK_ACCESS_FS_TRUNCATE
	deviceRights = sys.LANDLOCK_ACCESS_FS_MAKE_CHAR | sys.LANDLOCK_ACCESS_FS_MAKE_BLOCK // granted nowhere
	fileRights   = sys.LANDLOCK_ACCESS_FS_EXECUTE | sys.LANDLOCK_ACCESS_FS_READ_FILE | sys.LANDLOCK_ACCESS_FS_WRITE_FILE |
		sys.LANDLOCK_ACCESS_FS_TRUNCATE | sys.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// The versions of Landlock that matter.
const (
	abiRefer      = 2
	abiTruncate   = 3
	abiNet        = 4
	abiIoctl      = 5
	abiScopes     = 6
	abiUnix       = 9
	sizeFS        = 8
	sizeNet       = 16
	sizeScopes    = 24
	landlockNet   = sys.LANDLOCK_ACCESS_NET_BIND_TCP | sys.LANDLOCK_ACCESS_NET_CONNECT_TCP
	landlockScope = sys.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | sys.LANDLOCK_SCOPE_SIGNAL
)

// ABI returns the version of Landlock that the kernel has; 0 for none.
func ABI() int {
	v, _, errno := syscall.RawSyscall(sys.SYS_LANDLOCK_CREATE_RULESET, 0, 0, sys.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

type rulesetAttr struct {
	fs, net, scoped uint64
}

type pathBeneath struct { // packed in C: the kernel reads 12 bytes
	allowed uint64
	parent  int32
}

// wall is a ruleset that is being written.
type wall struct {
	fd      int
	handled uint64
	err     error
}

// abi is the version of Landlock that an order stays at.
func (o *Order) abi() int {
	switch {
	case o.Landlock < 0:
		return 0
	case o.Landlock > 0:
		return min(ABI(), o.Landlock)
	default:
		return ABI()
	}
}

// handled returns the rights on files that a version of Landlock knows.
func handled(abi int) uint64 {
	rights := uint64(readRights | writeRights | deviceRights)
	if abi < abiRefer {
		rights &^= sys.LANDLOCK_ACCESS_FS_REFER
	}
	if abi < abiTruncate {
		rights &^= sys.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi >= abiIoctl {
		rights |= sys.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if abi >= abiUnix {
		rights |= sys.LANDLOCK_ACCESS_FS_RESOLVE_UNIX
	}
	return rights
}

// buildWall handles all that the kernel knows. closed handles TCP as well.
func buildWall(abi int, closed bool) (*wall, error) {
	attr := rulesetAttr{fs: handled(abi)}
	size := uintptr(sizeFS)
	if abi >= abiNet && closed {
		attr.net, size = landlockNet, sizeNet
	}
	if abi >= abiScopes {
		attr.scoped, size = landlockScope, sizeScopes
	}
	fd, _, errno := syscall.Syscall(sys.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, about("landlock", errno)
	}
	return &wall{fd: int(fd), handled: attr.fs}, nil
}

// allow grants rights on a file, or on a folder and all that is in it. A path that is not there, or a
// symbolic link, is granted nothing.
func (w *wall) allow(path string, rights uint64) {
	fd, err := sys.OpenExact(path)
	switch {
	case errors.Is(err, syscall.ENOENT), errors.Is(err, syscall.EACCES), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return
	case err != nil:
		w.err = errors.Join(w.err, &os.PathError{Op: "open", Path: path, Err: err})
		return
	}
	defer syscall.Close(fd)
	if err := w.allowFD(fd, rights); err != nil {
		w.err = errors.Join(w.err, &os.PathError{Op: "landlock", Path: path, Err: err})
	}
}

func (w *wall) allowFD(fd int, rights uint64) error {
	var stat syscall.Stat_t
	if err := syscall.Fstat(fd, &stat); err != nil {
		return err
	}
	switch stat.Mode & syscall.S_IFMT {
	case syscall.S_IFLNK:
		return nil
	case syscall.S_IFDIR:
	case syscall.S_IFSOCK:
		return nil
	default:
		rights &= fileRights
	}
	return w.add(fd, rights)
}

func (w *wall) add(fd int, rights uint64) error {
	rule := pathBeneath{allowed: rights & w.handled, parent: int32(fd)}
	if rule.allowed == 0 {
		return nil
	}
	_, _, errno := syscall.Syscall6(sys.SYS_LANDLOCK_ADD_RULE, uintptr(w.fd), sys.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// streams grants the files that are a process's streams, so that /dev/stdout can be opened.
func (w *wall) streams() {
	for fd, rights := range []uint64{sys.LANDLOCK_ACCESS_FS_READ_FILE, fileRights, fileRights} {
		_ = w.allowFD(fd, rights&^sys.LANDLOCK_ACCESS_FS_EXECUTE) // pipes need no rule, and take none
	}
}

// enforce puts this thread, and what it starts, behind the wall.
func (w *wall) enforce() error {
	defer syscall.Close(w.fd)
	if w.err != nil {
		return w.err
	}
	if _, _, errno := syscall.Syscall(sys.SYS_LANDLOCK_RESTRICT_SELF, uintptr(w.fd), 0, 0); errno != 0 {
		return about("landlock", errno)
	}
	return nil
}

// secondWall repeats in Landlock which folders can be written, for what a mount does not hold: files that
// were open before.
func secondWall(o *Order, abi int) error {
	w, err := buildWall(abi, false)
	if err != nil {
		return err
	}
	w.allow("/", readRights|sys.LANDLOCK_ACCESS_FS_RESOLVE_UNIX)
	for _, path := range writable(o) {
		w.allow(path, readRights|writeRights)
	}
	w.allow("/dev", readRights|sys.LANDLOCK_ACCESS_FS_WRITE_FILE|sys.LANDLOCK_ACCESS_FS_TRUNCATE|sys.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	w.streams()
	return w.enforce()
}

// writable returns the folders that the command can write at level 3.
func writable(o *Order) []string {
	paths := append([]string{"/tmp", "/var/tmp", "/dev/shm"}, o.Write...)
	if o.Workspace != "" && !o.Deny {
		paths = append(paths, o.Workspace)
	}
	if o.Home != "" {
		paths = append(paths, o.Home)
	}
	for _, cache := range o.Caches {
		paths = append(paths, cache.Paths...)
	}
	return paths
}

// Wall is a ruleset of Landlock that a caller writes while its stage starts.
type Wall struct {
	wall *wall
	// File is the ruleset.
	File *os.File
}

// NewWall begins the ruleset of an order that Landlock alone holds.
func NewWall(o *Order) (*Wall, error) {
	w, err := buildWall(o.abi(), o.Proxy)
	if err != nil {
		return nil, err
	}
	return &Wall{w, os.NewFile(uintptr(w.fd), "landlock")}, nil
}

// Fill allows an order's paths. Landlock can allow and not except: where something is hidden, its neighbours are
// allowed instead of the folder around it.
func (w *Wall) Fill(o *Order) error {
	wall := w.wall
	wall.allow("/", sys.LANDLOCK_ACCESS_FS_READ_DIR)
	wall.readable(sys.AT_FDCWD, "/", inside(o.Hide, "/"))
	for _, path := range o.Keep {
		wall.allow(path, readRights)
	}
	rw := slices.Clone(o.Write)
	if o.Workspace != "" && !o.Discard && !o.Deny {
		rw = append(rw, o.Workspace)
	}
	if o.Tmp != "" {
		rw = append(rw, o.Tmp)
	}
	for _, path := range rw {
		wall.allow(path, readRights|writeRights)
	}
	for _, device := range []string{"null", "zero", "full", "random", "urandom", "tty", "ptmx"} {
		wall.allow("/dev/"+device, fileRights&^sys.LANDLOCK_ACCESS_FS_EXECUTE)
	}
	wall.allow("/dev/pts", sys.LANDLOCK_ACCESS_FS_READ_FILE|sys.LANDLOCK_ACCESS_FS_WRITE_FILE|sys.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	return wall.err
}

// inheritedWall returns the ruleset that the caller of this stage has written.
func inheritedWall(o *Order) *wall { return &wall{fd: wallFD, handled: handled(o.abi())} }

// inside returns the paths below a folder, relative to it.
func inside(paths []string, folder string) (relative []string) {
	around := join(folder, "")
	for _, path := range paths {
		if hasPrefix(path, around) && path != around {
			relative = append(relative, path[len(around):])
		}
	}
	return relative
}

// readable allows reading a folder but for what is hidden in it: paths that are relative to the folder. A folder has
// hundreds of neighbours, so nothing here takes memory for each.
func (w *wall) readable(at int, name string, hidden []string) {
	fd, err := syscall.Openat(at, name, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0)
	if err != nil {
		return // what cannot be listed is not allowed
	}
	defer syscall.Close(fd)
	buffer := make([]byte, 16<<10)
	for {
		n, err := syscall.ReadDirent(fd, buffer)
		if err != nil && !errors.Is(err, syscall.EINTR) || err == nil && n <= 0 {
			return
		}
		for rest := buffer[:max(n, 0)]; len(rest) > 0; {
			var e sys.Dirent
			e, rest = sys.NextDirent(rest)
			w.neighbour(fd, e, hidden)
		}
	}
}

// neighbour allows reading an entry of a folder, as far as nothing of it is hidden.
func (w *wall) neighbour(folder int, e sys.Dirent, hidden []string) {
	if e.Is(".") || e.Is("..") {
		return
	}
	for _, path := range hidden {
		first, _, deeper := cut(path, '/')
		if !e.Is(first) {
			continue
		}
		if !deeper {
			return
		}
		w.readable(folder, first, inside(hidden, first))
		return
	}
	rights := uint64(readRights)
	switch e.Kind(folder) {
	case syscall.DT_DIR:
	case syscall.DT_REG, syscall.DT_CHR, syscall.DT_BLK:
		rights &= fileRights
	default:
		return
	}
	fd, err := e.OpenPath(folder)
	if err != nil {
		return // it is gone, or closed
	}
	_ = w.add(fd, rights) // what has taken its place has another kind, and takes no rule
	syscall.Close(fd)
}
