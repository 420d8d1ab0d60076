package stage

import (
	"cmp"
	"errors"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/interlock-run/interlock/services/internal/jailer/stage/sys"
)

// replaced are the folders that the command has of its own.
var replaced = []string{"/tmp", "/var/tmp", "/run", "/var/run"}

// devices are the files of /dev that the command has.
var devices = []string{"null", "zero", "full", "random", "urandom", "tty"}

// scratchAt is where the copies' file system is mounted until the jail's own /dev covers it.
const scratchAt = "/dev"

// view is the tree of mounts that is being built.
type view struct {
	order   *Order
	scratch string // path of the scratch folder by its descriptor
	fd      int
	uppers  []upper
	notes   []string
	// clones are mounts that were copied before all was made read-only.
	clones map[string]int
	run    []link
}

// upper is a folder of scratch with changes that are discarded.
type upper struct {
	folder string
	// at is the folder that the command sees; empty for the workspace.
	at string
	// lower is the folder that it covers.
	lower int
}

// link is a symbolic link of /run that stays.
type link struct{ path, target string }

// How many files scratch has room for, because each takes memory that its size does not count.
const (
	filesOfMB  = 256
	leastFiles = 4096
)

// build replaces this process's view of files by the order's. It must be alone in its mount namespace.
func build(o *Order) (*view, error) {
	v := &view{order: o, clones: map[string]int{}}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return nil, about("private mounts", err)
	}
	// Lower folders are opened before anything covers them.
	lower := map[string]int{}
	for _, path := range v.copied() {
		fd, err := sys.OpenExact(path)
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		lower[path] = fd
	}
	if err := v.clone(); err != nil {
		return nil, err
	}
	v.runLinks()
	const everything = sys.MOUNT_ATTR_RDONLY | sys.MOUNT_ATTR_NOSUID | sys.MOUNT_ATTR_NODEV
	if err := sys.MountSetattr(sys.AT_FDCWD, "/", sys.AT_RECURSIVE, everything); err != nil {
		return nil, about("read-only file systems", err)
	}
	if err := v.makeScratch(); err != nil {
		return nil, about("scratch", err)
	}
	copies, err := v.copies(lower)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{v.ownFolders, v.dev, func() error { return v.trees(copies) }, v.protect, v.hide, v.proc} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// clone copies the mounts that stay writable, and those that a replaced folder would cover.
func (v *view) clone() error {
	o := v.order
	paths := slices.Clone(o.Write)
	if o.Workspace != "" && !o.Discard {
		paths = append(paths, o.Workspace)
	}
	paths = append(paths, o.Keep...)
	for _, path := range []string{o.Copies, o.Tmp, o.VarTmp} {
		if path != "" {
			paths = append(paths, path)
		}
	}
	for _, device := range devices {
		paths = append(paths, "/dev/"+device)
	}
	for _, path := range paths {
		if _, ok := v.clones[path]; ok {
			continue
		}
		fd, err := openTree(path)
		if errors.Is(err, syscall.ENOENT) && hasPrefix(path, "/dev/") {
			continue
		}
		if err != nil {
			return err
		}
		v.clones[path] = fd
	}
	return nil
}

// runLinks remembers the links of /run: some systems keep their programs behind one.
func (v *view) runLinks() {
	entries, err := os.ReadDir("/run")
	if err != nil {
		return
	}
	for _, entry := range entries {
		path := "/run/" + entry.Name()
		if target, err := os.Readlink(path); err == nil {
			v.run = append(v.run, link{path, target})
		}
	}
}

func (v *view) makeScratch() error {
	fs, err := sys.Fsopen("tmpfs")
	if err != nil {
		return err
	}
	defer syscall.Close(fs)
	err = errors.Join(
		sys.FsconfigString(fs, "size", strconv.FormatInt(v.order.ScratchMB, 10)+"m"),
		sys.FsconfigString(fs, "nr_inodes", strconv.FormatInt(v.order.ScratchMB*filesOfMB+leastFiles, 10)),
		sys.FsconfigString(fs, "mode", "0755"),
		sys.FsconfigCreate(fs))
	if err != nil {
		return err
	}
	v.fd, err = sys.Fsmount(fs, sys.MOUNT_ATTR_NOSUID|sys.MOUNT_ATTR_NODEV)
	if err != nil {
		return err
	}
	if err := attach(v.fd, scratchAt); err != nil {
		return err
	}
	v.scratch = "/proc/self/fd/" + strconv.Itoa(v.fd)
	return v.folders("empty", "tmp", "vartmp", "run", "dev", "shm", "copies", "up", "work", "homeup", "homework")
}

// folders makes folders in scratch.
func (v *view) folders(names ...string) error {
	for _, name := range names {
		mode := uint32(0o755)
		switch name {
		case "tmp", "vartmp", "shm":
			mode = 0o1777
		}
		if err := syscall.Mkdirat(v.fd, name, 0o755); err != nil {
			return err
		}
		if err := syscall.Fchmodat(v.fd, name, mode, 0); err != nil {
			return err
		}
	}
	return nil
}

// part returns a mount of one folder or file of scratch.
func (v *view) part(name string) (int, error) {
	fd, err := sys.OpenTree(v.fd, name, sys.OPEN_TREE_CLONE|sys.OPEN_TREE_CLOEXEC|sys.AT_RECURSIVE)
	if err != nil {
		return 0, &os.PathError{Op: "mount", Path: name, Err: err}
	}
	return fd, nil
}

// leastProcesses is the least that the kernel takes for pid_max.
const leastProcesses = 301

// trees puts the workspace, the folders to write, the copies and what is kept in place, outer ones first.
func (v *view) trees(copies map[string]int) error {
	type tree struct {
		path     string
		fd       int
		readOnly bool
	}
	var all []tree
	for _, path := range v.order.Keep {
		all = append(all, tree{path, v.clones[path], true})
	}
	for path, fd := range copies {
		all = append(all, tree{path, fd, path == v.order.Workspace && v.order.Deny})
	}
	if w := v.order.Workspace; w != "" {
		if fd, ok := v.clones[w]; ok && copies[w] == 0 {
			all = append(all, tree{w, fd, v.order.Deny})
		}
	}
	for _, path := range v.order.Write {
		all = append(all, tree{path, v.clones[path], false})
	}
	slices.SortStableFunc(all, func(a, b tree) int { return cmp.Compare(depth(a.path), depth(b.path)) })
	for _, t := range all {
		if t.readOnly {
			if err := readOnly(t.fd); err != nil {
				return about(t.path, err)
			}
		}
		if err := place(t.path, t.fd); err != nil {
			return err
		}
	}
	return nil
}

// place attaches a mount at a path, which is made where a replaced folder does not have it.
func place(path string, fd int) error {
	if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
		var stat syscall.Stat_t
		if err := syscall.Fstat(fd, &stat); err != nil {
			return err
		}
		folder := path
		file := stat.Mode&syscall.S_IFMT != syscall.S_IFDIR
		if file {
			folder = parent(path)
		}
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		if file {
			if err := touch(path); err != nil {
				return err
			}
		}
	}
	return attach(fd, path)
}

// protect makes files and folders read-only where the folder around them can be written. Each folder on
// the way, also to what will be hidden, is made a mount of its own, because those cannot be renamed.
func (v *view) protect() error {
	roots := slices.Clone(v.order.Write)
	if v.order.Workspace != "" && !v.order.Discard && !v.order.Deny {
		roots = append(roots, v.order.Workspace)
	}
	done := map[string]bool{}
	for _, path := range byDepth(slices.Concat(v.order.Protect, v.order.Hide)) {
		root := ""
		for _, r := range roots {
			if within(path, r) && len(r) > len(root) {
				root = r
			}
		}
		if root == "" {
			continue
		}
		for at := root; at != path; {
			name, _, more := cut(path[len(join(at, "")):], '/')
			if !more {
				break
			}
			at += "/" + name
			if done[at] {
				continue
			}
			done[at] = true
			if err := self(at, false); err != nil {
				return err
			}
		}
		if done[path] || !slices.Contains(v.order.Protect, path) {
			continue
		}
		done[path] = true
		if err := self(path, true); err != nil {
			return err
		}
	}
	return nil
}

// self mounts a path on itself.
func self(path string, ro bool) error {
	fd, err := openTree(path)
	if err != nil {
		return err
	}
	if ro {
		if err := readOnly(fd); err != nil {
			return about(path, err)
		}
	}
	return attach(fd, path)
}

// hide covers files and folders by empty ones.
func (v *view) hide() error {
	if err := touch(v.scratch + "/emptyfile"); err != nil {
		return err
	}
	for i, path := range byDepth(v.order.Hide) {
		info, err := os.Lstat(path)
		if errors.Is(err, os.ErrNotExist) {
			continue // a folder around it is hidden, or replaced
		}
		if err != nil {
			return err
		}
		name := "emptyfile"
		var inside []string
		if info.IsDir() {
			name = "empty"
			for _, kept := range v.kept() {
				if kept != path && within(kept, path) {
					inside = append(inside, kept)
				}
			}
		}
		if len(inside) > 0 {
			name = "hidden" + strconv.Itoa(i)
			if err := os.Mkdir(v.scratch+"/"+name, 0o755); err != nil {
				return err
			}
		}
		var kept []int
		for _, path := range inside {
			fd, err := openTree(path)
			if err != nil {
				return err
			}
			kept = append(kept, fd)
		}
		fd, err := v.part(name)
		if err != nil {
			return err
		}
		if err := attach(fd, path); err != nil {
			return about(path, err)
		}
		for i, path := range inside {
			if err := place(path, kept[i]); err != nil {
				return err
			}
		}
		if err := sys.MountSetattr(sys.AT_FDCWD, path, 0, sys.MOUNT_ATTR_RDONLY); err != nil {
			return about(path, err)
		}
	}
	return nil
}

// kept returns the paths that stay where a folder around them is hidden. No rule of a workflow names one.
func (v *view) kept() []string {
	return byDepth(v.order.Keep)
}

func byDepth(paths []string) []string {
	sorted := slices.Clone(paths)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(depth(a), depth(b)) })
	return sorted
}

// openTree returns a copy of the mounts at a path without links: it was resolved, and a link in it now is one that another command
// has laid since then.
func openTree(path string) (int, error) {
	at, err := sys.OpenExact(path)
	if err != nil {
		return 0, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(at)
	fd, err := sys.OpenTree(at, "", sys.OPEN_TREE_CLONE|sys.OPEN_TREE_CLOEXEC|sys.AT_RECURSIVE|sys.AT_EMPTY_PATH)
	if err != nil {
		return 0, &os.PathError{Op: "mount", Path: path, Err: err}
	}
	return fd, nil
}

func attach(fd int, path string) error {
	if err := sys.MoveMount(fd, path); err != nil {
		return &os.PathError{Op: "mount", Path: path, Err: err}
	}
	return nil
}

func readOnly(fd int) error {
	return sys.MountSetattr(fd, "", sys.AT_EMPTY_PATH|sys.AT_RECURSIVE, sys.MOUNT_ATTR_RDONLY)
}

func touch(path string) error {
	fd, err := syscall.Open(path, syscall.O_CREAT|syscall.O_RDONLY|syscall.O_CLOEXEC, 0o644)
	if err != nil {
		return &os.PathError{Op: "create", Path: path, Err: err}
	}
	return syscall.Close(fd)
}
