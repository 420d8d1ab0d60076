package stage

import (
	"errors"
	"os"
	"strconv"
	"syscall"

	"github.com/interlock-run/interlock/services/internal/jailer/stage/sys"
)

// ownFolders covers the folders that other processes use as well.
func (v *view) ownFolders() error {
	for _, path := range replaced {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() {
			continue
		}
		var fd int
		switch {
		case path == "/tmp" && v.order.Tmp != "":
			fd = v.clones[v.order.Tmp]
		case path == "/tmp":
			fd, err = v.part("tmp")
		case path == "/var/tmp" && v.order.VarTmp != "":
			fd = v.clones[v.order.VarTmp]
		case path == "/var/tmp":
			fd, err = v.part("vartmp")
		default:
			fd, err = v.part("run")
		}
		if err == nil {
			err = attach(fd, path)
		}
		if err != nil {
			return about(path, err)
		}
	}
	for _, link := range v.run {
		_ = os.Symlink(link.target, link.path) // a link that is missing is a program that is not found
	}
	return nil
}

// dev builds a /dev of the few devices that are no one's.
func (v *view) dev() error {
	fd, err := v.part("dev")
	if err != nil {
		return err
	}
	if err := attach(fd, "/dev"); err != nil {
		return err
	}
	for _, device := range devices {
		clone, ok := v.clones["/dev/"+device]
		if !ok {
			continue
		}
		if err := touch("/dev/" + device); err != nil {
			return err
		}
		if err := attach(clone, "/dev/"+device); err != nil {
			return err
		}
	}
	for path, target := range map[string]string{
		"/dev/fd": "/proc/self/fd", "/dev/stdin": "/proc/self/fd/0", "/dev/stdout": "/proc/self/fd/1",
		"/dev/stderr": "/proc/self/fd/2", "/dev/ptmx": "pts/ptmx",
	} {
		if err := os.Symlink(target, path); err != nil {
			return err
		}
	}
	if err := errors.Join(os.Mkdir("/dev/pts", 0o755), os.Mkdir("/dev/shm", 0o755)); err != nil {
		return err
	}
	terminals, err := fileSystem("devpts", 0, "newinstance", "", "ptmxmode", "0666", "mode", "0620")
	if err != nil {
		return err
	}
	if err := attach(terminals, "/dev/pts"); err != nil {
		return err
	}
	memory, err := v.part("shm")
	if err != nil {
		return err
	}
	if err := attach(memory, "/dev/shm"); err != nil {
		return err
	}
	return sys.MountSetattr(sys.AT_FDCWD, "/dev", 0, sys.MOUNT_ATTR_RDONLY)
}

// kernelIs reports that the kernel is of a version, or a later one.
func kernelIs(major, minor int) bool {
	var name syscall.Utsname
	if syscall.Uname(&name) != nil {
		return false
	}
	release := make([]byte, 0, len(name.Release))
	for _, c := range name.Release {
		release = append(release, byte(c))
	}
	first, rest, _ := cut(string(release), '.')
	second, _, _ := cut(rest, '.')
	has, err := strconv.Atoi(first)
	if err != nil || has < major {
		return false
	}
	if has > major {
		return true
	}
	has, err = strconv.Atoi(second)
	return err == nil && has >= minor
}

// proc mounts the process namespace's own /proc, of which nothing can be written.
func (v *view) proc() error {
	fd, err := fileSystem("proc", sys.MOUNT_ATTR_NODEV|sys.MOUNT_ATTR_NOEXEC)
	if err != nil {
		return err
	}
	if err := attach(fd, "/proc"); err != nil {
		return err
	}
	if v.order.Processes > 0 && kernelIs(6, 14) {
		// The number of a process namespace's processes is its own since Linux 6.14; it was the whole machine's
		// before. RLIMIT_NPROC holds all users but root.
		most := max(v.order.Processes+ownThreads, leastProcesses)
		_ = os.WriteFile("/proc/sys/kernel/pid_max", []byte(strconv.Itoa(most)), 0)
	}
	if v.order.nests() { // it writes the maps of its namespaces; nothing else of /proc is a user's to write
		return nil
	}
	return sys.MountSetattr(sys.AT_FDCWD, "/proc", 0, sys.MOUNT_ATTR_RDONLY)
}

// fileSystem returns a new mount of a kind of file system; options are names and values, and flags where
// the value is empty.
func fileSystem(kind string, attributes uint, options ...string) (int, error) {
	fs, err := sys.Fsopen(kind)
	if err != nil {
		return 0, about(kind, err)
	}
	defer syscall.Close(fs)
	for i := 0; i < len(options) && err == nil; i += 2 {
		if options[i+1] == "" {
			err = sys.FsconfigFlag(fs, options[i])
		} else {
			err = sys.FsconfigString(fs, options[i], options[i+1])
		}
	}
	if err == nil {
		err = sys.FsconfigCreate(fs)
	}
	if err != nil {
		return 0, about(kind, complaint(fs, err))
	}
	fd, err := sys.Fsmount(fs, sys.MOUNT_ATTR_NOSUID|attributes)
	if err != nil {
		return 0, about(kind, err)
	}
	return fd, nil
}
