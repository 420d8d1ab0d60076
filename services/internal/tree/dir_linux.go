package tree

import (
	"context"
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// hasCtime says that stamps have a ctime that programs cannot set.
const hasCtime = true

// nonBlocking keeps the opening of a FIFO from waiting.
const nonBlocking = unix.O_NONBLOCK

// trust is how far stamps of a file system are believed.
type trust int

const (
	// trustNothing reads files again each time.
	trustNothing trust = iota
	// trustSlowly believes stamps of files after a minute, and lists folders again each time.
	trustSlowly
	// trustFully believes stamps of folders as well.
	trustFully
)

// trusts has the file systems whose ctime is kept by a kernel. What is not listed, FUSE for one, may let
// programs set it.
var trusts = map[int64]trust{
	unix.EXT4_SUPER_MAGIC:      trustFully,
	unix.XFS_SUPER_MAGIC:       trustFully,
	unix.BTRFS_SUPER_MAGIC:     trustFully,
	unix.TMPFS_MAGIC:           trustFully,
	unix.OVERLAYFS_SUPER_MAGIC: trustFully,
	unix.F2FS_SUPER_MAGIC:      trustFully,
	unix.SQUASHFS_MAGIC:        trustFully,
	0x2fc12fc1:                 trustFully, // ZFS
	0xca451a4e:                 trustFully, // bcachefs
	unix.NFS_SUPER_MAGIC:       trustSlowly,
	unix.CIFS_SUPER_MAGIC:      trustSlowly,
	unix.SMB2_SUPER_MAGIC:      trustSlowly,
	unix.CEPH_SUPER_MAGIC:      trustSlowly,
}

// dir is an open folder.
type dir struct {
	fd      int
	users   atomic.Int32
	device  uint64
	trust   trust
	overlay bool
}

func openDir(path string) (*dir, stamp, error) { return openDirAt(unix.AT_FDCWD, path, nil) }

// open opens a folder of the folder; a symbolic link is an error.
func (d *dir) open(name string) (*dir, stamp, error) { return openDirAt(d.fd, name, d) }

func openDirAt(at int, name string, parent *dir) (*dir, stamp, error) {
	fd, err := retry(func() (int, error) {
		return unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	})
	if err != nil {
		return nil, stamp{}, err
	}
	d := &dir{fd: fd}
	d.users.Store(1)
	st, err := d.stat()
	if err != nil {
		d.release()
		return nil, stamp{}, err
	}
	d.device = st.dev
	if parent != nil && parent.device == st.dev {
		d.trust, d.overlay = parent.trust, parent.overlay
		return d, st, nil
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(fd, &fs); err != nil {
		d.release()
		return nil, stamp{}, err
	}
	magic := int64(uint32(fs.Type)) // its type differs by architecture
	d.trust, d.overlay = trusts[magic], magic == unix.OVERLAYFS_SUPER_MAGIC
	return d, st, nil
}

func (d *dir) hold() { d.users.Add(1) }

func (d *dir) release() {
	if d.users.Add(-1) == 0 {
		_ = unix.Close(d.fd)
	}
}

// trustIn is how far the stamp of a file in the folder is believed: a file of its own mount is not.
func (d *dir) trustIn(s stamp) trust {
	if s.dev != d.device && !d.overlay {
		return trustNothing
	}
	return d.trust
}

func (d *dir) stat() (stamp, error) {
	var s unix.Stat_t
	err := unix.Fstat(d.fd, &s)
	return stampOf(&s), err
}

// statEntry does not follow a symbolic link.
func (d *dir) statEntry(name string) (stamp, error) { return new(statter).entry(d, name) }

// statter is the memory of many calls of stat.
type statter struct{ result unix.Stat_t }

// entry is statEntry.
func (s *statter) entry(d *dir, name string) (stamp, error) {
	for {
		err := unix.Fstatat(d.fd, name, &s.result, unix.AT_SYMLINK_NOFOLLOW)
		if err == nil {
			return stampOf(&s.result), nil
		}
		if !errors.Is(err, unix.EINTR) {
			return stamp{}, err
		}
	}
}

func statPath(path string) (stamp, error) {
	var s unix.Stat_t
	err := unix.Stat(path, &s)
	return stampOf(&s), err
}

func stampOf(s *unix.Stat_t) stamp {
	return stamp{
		mode: s.Mode, size: s.Size,
		mtime: s.Mtim.Nano(), ctime: s.Ctim.Nano(),
		inode: s.Ino, dev: uint64(s.Dev), //nolint:unconvert // its type differs by architecture
	}
}

func (d *dir) readlink(name string) (string, error) {
	buffer := make([]byte, 4096)
	n, err := retry(func() (int, error) { return unix.Readlinkat(d.fd, name, buffer) })
	if err != nil {
		return "", err
	}
	return string(buffer[:n]), nil
}

// list returns all entries but .git, unsorted.
func (d *dir) list() ([]entry, error) {
	if _, err := unix.Seek(d.fd, 0, io.SeekStart); err != nil {
		return nil, err
	}
	var entries []entry
	buffer := make([]byte, 32<<10)
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(d.fd, buffer) })
		if err != nil {
			return nil, err
		}
		if n <= 0 {
			return entries, nil
		}
		if entries, err = d.parse(entries, buffer[:n]); err != nil {
			return nil, err
		}
	}
}

// parse reads records of getdents64: inode, offset, length, type, name.
func (d *dir) parse(entries []entry, data []byte) ([]entry, error) {
	for len(data) > 19 {
		length := int(data[16]) | int(data[17])<<8
		name := data[19:length]
		kind := unknownFile
		switch data[18] {
		case unix.DT_DIR:
			kind = directory
		case unix.DT_UNKNOWN:
			kind = unknownType
		}
		data = data[length:]
		text := unix.ByteSliceToString(name)
		if text == "." || text == ".." || text == ".git" {
			continue
		}
		if kind == unknownType {
			st, err := d.statEntry(text)
			if err != nil {
				return nil, moved(err)
			}
			if kind = unknownFile; st.kind() == directory {
				kind = directory
			}
		}
		entries = append(entries, entry{name: text, kind: kind})
	}
	return entries, nil
}

// read reads a file that has a stamp, and returns ErrChanging if it has another one.
func (d *dir) read(ctx context.Context, name string, st stamp, buffer []byte, each func([]byte)) error {
	fd, err := retry(func() (int, error) {
		return unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	})
	if err != nil {
		return err
	}
	file := dir{fd: fd}
	defer func() { _ = unix.Close(fd) }()
	if now, err := file.stat(); err != nil || now != st {
		return errors.Join(ErrChanging, err)
	}
	for left := st.size; ; {
		n, err := retry(func() (int, error) { return unix.Read(fd, buffer) })
		if err != nil {
			return err
		}
		if n <= 0 {
			if left != 0 {
				return ErrChanging
			}
			break
		}
		if left -= int64(n); left < 0 {
			return ErrChanging
		}
		each(buffer[:n])
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
	if now, err := file.stat(); err != nil || now != st {
		return errors.Join(ErrChanging, err)
	}
	return nil
}

func (s stamp) kind() kind {
	switch s.mode & unix.S_IFMT {
	case unix.S_IFREG:
		if s.mode&0o111 != 0 {
			return executable
		}
		return regular
	case unix.S_IFLNK:
		return symlink
	case unix.S_IFDIR:
		return directory
	case unix.S_IFIFO:
		return fifo
	case unix.S_IFSOCK:
		return socket
	case unix.S_IFBLK:
		return blockDev
	}
	return charDev
}

// isReplaced reports that an entry is not of the type that it had: a link in place of a folder or file.
func isReplaced(err error) bool {
	return errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ESTALE) || errors.Is(err, unix.ENXIO)
}

// isPrivate reports that a file belongs to the user of this process, and to them alone.
func isPrivate(info os.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}

func retry(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
