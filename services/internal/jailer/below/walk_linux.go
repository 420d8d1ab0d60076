package below

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Snapshot has the folders and the settings of a workspace at one moment.
type Snapshot struct {
	root  string
	names *Names
	// folders are sorted by path; each is behind the one that it is in.
	folders []*folder
	byPath  map[string]*folder
	// changed says that it is not what the last snapshot was.
	changed bool
}

type folder struct {
	path  string
	state state
	stamp stamp
	// sure says that an equal stamp means equal names.
	sure  bool
	marks marks
	subs  []string
	items []item // sorted by name
}

// item is a setting.
type item struct {
	name  string
	stamp stamp
	sure  bool
	// large says that content is a hash, by which the file cannot be put back.
	large   bool
	content string // of a link its target
}

// stamp is what the system says of a file without its content.
type stamp struct {
	mode, uid, gid uint32
	size           int64
	mtime, ctime   int64
	// born is 0 where the file system keeps no time of birth. A number of an inode is used again.
	born       int64
	inode, dev uint64
}

func (s stamp) is(kind uint32) bool { return s.mode&unix.S_IFMT == kind }

// Bounds of the contents that are kept: of one file, and of all.
const (
	mostContent = 64 << 10
	mostOfAll   = 8 << 20
)

// longestPath is the longest path that programs can use.
const longestPath = unix.PathMax - 1

// walker makes a snapshot.
type walker struct {
	fd           int
	next, before *Snapshot
	start        int64
	trusted      bool
	device       uint64
	kept         int
	// seen has what the system says of the folders and settings of before.
	seen map[*folder]*sight
	// opens makes folders of the user readable that a command has closed.
	opens bool
}

type sight struct {
	same  bool
	items []stamp
}

// Take walks a folder. before is a snapshot of it, or nil.
func Take(root string, names *Names, before *Snapshot) (*Snapshot, error) {
	return walk(root, names, before, false)
}

// Again takes the snapshot anew when a command has ended, which may have closed folders: these are opened.
func (s *Snapshot) Again() (*Snapshot, error) { return walk(s.root, s.names, s, true) }

// Changed reports that a snapshot differs from the one that it was made from.
func (s *Snapshot) Changed() bool { return s.changed }

func walk(root string, names *Names, before *Snapshot, opens bool) (*Snapshot, error) {
	fd, err := unix.Open(root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: root, Err: err}
	}
	defer unix.Close(fd)
	w := &walker{
		fd: fd, before: before, start: time.Now().UnixNano(), opens: opens,
		next: &Snapshot{root: root, names: names, byPath: map[string]*folder{}, changed: before == nil},
	}
	w.trusts()
	if before != nil {
		w.look()
		w.next.folders = make([]*folder, 0, len(before.folders))
		w.next.byPath = make(map[string]*folder, len(before.folders))
	}
	first := plain
	if names.top {
		first = top
	}
	if err := w.folder("", first, false); err != nil {
		return nil, err
	}
	w.next.changed = w.next.changed || len(w.next.folders) != len(before.folders)
	return w.next, nil
}

// trusts finds whether the stamps of the file system are those of a kernel.
func (w *walker) trusts() {
	var fs unix.Statfs_t
	var st unix.Stat_t
	if unix.Fstatfs(w.fd, &fs) != nil || unix.Fstat(w.fd, &st) != nil {
		return
	}
	switch int64(uint32(fs.Type)) {
	case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.OVERLAYFS_SUPER_MAGIC, unix.F2FS_SUPER_MAGIC,
		0x2fc12fc1, 0xca451a4e: // ZFS, bcachefs
		w.trusted, w.device = true, st.Dev
	}
}

// look asks the system for all that before knows, by several threads.
func (w *walker) look() {
	all := w.before.folders
	sights := make([]sight, len(all))
	w.seen = make(map[*folder]*sight, len(all))
	var group sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), 8)
	for k := range workers {
		group.Go(func() {
			for i := len(all) * k / workers; i < len(all)*(k+1)/workers; i++ {
				f, s := all[i], &sights[i]
				st, err := w.stat(f.path)
				s.same = err == nil && st == f.stamp && f.sure && w.trusted && st.dev == w.device
				if len(f.items) == 0 || err != nil {
					continue
				}
				s.items = make([]stamp, len(f.items))
				for j := range f.items {
					s.items[j], _ = w.stat(join(f.path, f.items[j].name)) // without a stamp it is looked at again
				}
			}
		})
	}
	group.Wait()
	for i, f := range all {
		w.seen[f] = &sights[i]
	}
}

func (w *walker) stat(path string) (stamp, error) {
	var s unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW
	if path == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	err := unix.Statx(w.fd, path, flags, unix.STATX_BASIC_STATS|unix.STATX_BTIME, &s)
	return stampOf(&s), err
}

func stampOf(s *unix.Statx_t) stamp {
	nanoseconds := func(t unix.StatxTimestamp) int64 { return t.Sec*int64(time.Second) + int64(t.Nsec) }
	return stamp{
		mode: uint32(s.Mode), uid: s.Uid, gid: s.Gid, size: int64(s.Size), mtime: nanoseconds(s.Mtime), ctime: nanoseconds(s.Ctime), //nolint:gosec // the size of a file
		born: nanoseconds(s.Btime), inode: s.Ino, dev: unix.Mkdev(s.Dev_major, s.Dev_minor),
	}
}

// sure reports that a file with this stamp cannot change any more without another one.
func (w *walker) sure(s stamp) bool {
	grain := 50 * time.Millisecond
	if s.ctime%int64(time.Second) == 0 { // perhaps the grain of the file system
		grain = 2 * time.Second
	}
	return s.ctime < w.start-int64(grain)
}

// folder adds a folder and all below it. relist says that names in it may be read otherwise than before.
func (w *walker) folder(path string, as state, relist bool) error {
	if as == skipped || w.next.names.skipped[path] && (as != plain || w.alone(path)) || len(w.next.root)+len(path) > longestPath {
		return nil
	}
	var old *folder
	if w.before != nil {
		old = w.before.byPath[path]
	}
	f, wasRepository := old, old != nil && old.repository()
	if old == nil || relist || old.state != as || !w.seen[old].same {
		var err error
		if f, err = w.list(path, as, old); f == nil || err != nil {
			return err
		}
		w.next.changed = true
	} else if len(old.items) > 0 {
		f = w.again(old)
	}
	w.next.folders = append(w.next.folders, f)
	w.next.byPath[path] = f
	other := f.repository() != wasRepository
	for _, name := range f.subs {
		if err := w.folder(join(path, name), w.next.names.below(f, name), other && name == "hooks"); err != nil {
			return err
		}
	}
	return nil
}

// alone reports that a folder is a repository by what is in it.
func (w *walker) alone(path string) bool {
	f, err := w.list(path, plain, nil)
	return err == nil && f != nil && f.repository()
}

// again returns a folder whose names are those of before.
func (w *walker) again(old *folder) *folder {
	seen := w.seen[old].items
	same := !slices.ContainsFunc(old.items, func(i item) bool { return !i.sure })
	for i := range old.items {
		same = same && seen[i] == old.items[i].stamp
		w.kept += len(old.items[i].content)
	}
	if same {
		return old
	}
	w.next.changed = true
	f := *old
	f.items = nil
	for i := range old.items {
		if old.items[i].sure && seen[i] == old.items[i].stamp {
			f.items = append(f.items, old.items[i])
		} else if it, ok := w.item(f.path, old.items[i].name); ok {
			f.items = append(f.items, it)
		}
	}
	return &f
}

// list reads a folder. Nil: it is gone, or is no folder.
func (w *walker) list(path string, as state, old *folder) (*folder, error) {
	st, err := w.stat(path)
	if err != nil || !st.is(unix.S_IFDIR) {
		return nil, nil //nolint:nilerr // it is gone, or closed by the folder that it is in
	}
	f := &folder{path: path, state: as, stamp: st, sure: w.sure(st) && st.dev == w.device}
	closed := st.mode&0o500 != 0o500 && int(st.uid) == os.Geteuid() && st.uid != 0
	if closed && old != nil && old.stamp == st {
		return f, nil
	}
	if closed && w.opens {
		if err := w.open(path, st); err != nil {
			return nil, err
		}
	}
	fd, err := w.enter(path)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ELOOP), errors.Is(err, unix.ENOTDIR):
		return nil, nil
	case errors.Is(err, unix.EACCES):
		return f, nil
	case err != nil:
		return nil, &os.PathError{Op: "open", Path: join(w.next.root, path), Err: err}
	}
	defer unix.Close(fd)
	entries, err := w.entries(fd)
	if err != nil {
		return nil, &os.PathError{Op: "list", Path: join(w.next.root, path), Err: err}
	}
	w.fill(f, entries)
	return f, nil
}

// open lets the user read a folder.
func (w *walker) open(path string, st stamp) error {
	root, err := os.OpenRoot(w.next.root)
	if err != nil {
		return err
	}
	defer root.Close()
	if path == "" {
		path = "."
	}
	return root.Chmod(path, os.FileMode(st.mode&0o777|0o700))
}

// enter opens a folder, on a way without links.
func (w *walker) enter(path string) (int, error) {
	if path == "" {
		path = "."
	}
	for {
		fd, err := unix.Openat2(w.fd, path, &unix.OpenHow{
			Flags:   unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK,
			Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
		})
		if !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN) {
			return fd, err
		}
	}
}

// entry is one of a listing.
type entry struct {
	name string
	kind byte
}

// entries lists a folder: folders, and the names that can matter.
func (w *walker) entries(fd int) (list []entry, err error) {
	buffer := make([]byte, 32<<10)
	for {
		n, err := unix.Getdents(fd, buffer)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n <= 0 {
			return list, err
		}
		for data := buffer[:n]; len(data) > 19; {
			length := int(data[16]) | int(data[17])<<8
			name, kind := unix.ByteSliceToString(data[19:length]), data[18]
			data = data[length:]
			if name == "." || name == ".." {
				continue
			}
			if kind == unix.DT_UNKNOWN {
				var st unix.Stat_t
				if unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) != nil {
					continue
				}
				kind = byte(st.Mode & unix.S_IFMT >> 12)
			}
			list = append(list, entry{name, kind})
		}
	}
}

// fill sorts the entries of a folder into folders, marks and settings.
func (w *walker) fill(f *folder, entries []entry) {
	for _, e := range entries {
		f.marks |= markNames[e.name]
	}
	for _, e := range entries {
		switch {
		case e.kind == unix.DT_DIR:
			f.subs = append(f.subs, e.name)
		case w.next.names.setting(f, e.name, e.kind == unix.DT_LNK) && !w.next.names.skipped[join(f.path, e.name)]:
			if it, ok := w.item(f.path, e.name); ok {
				f.items = append(f.items, it)
			}
		}
	}
	slices.Sort(f.subs)
	slices.SortFunc(f.items, func(a, b item) int { return strings.Compare(a.name, b.name) })
}

// item reads a setting. False: it is gone.
func (w *walker) item(path, name string) (item, bool) {
	at := join(path, name)
	st, err := w.stat(at)
	if err != nil || st.is(unix.S_IFDIR) {
		return item{}, false
	}
	it := item{name: name, stamp: st, sure: w.sure(st) && w.trusted && st.dev == w.device}
	switch {
	case st.is(unix.S_IFLNK):
		buffer := make([]byte, unix.PathMax)
		n, _ := unix.Readlinkat(w.fd, at, buffer) // one that is gone is listed again
		it.content = string(buffer[:max(n, 0)])
	case st.is(unix.S_IFREG):
		it.large = st.size > mostContent || w.kept+int(st.size) > mostOfAll
		if it.content, err = w.read(at, it.large); err != nil {
			it.large, it.sure, it.content = true, false, fmt.Sprintf("closed %v", st)
		}
	}
	w.kept += len(it.content)
	return it, true
}

// read returns a file's content, or its hash.
func (w *walker) read(path string, large bool) (string, error) {
	fd, err := unix.Openat2(w.fd, path, &unix.OpenHow{
		Flags:   unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_CLOEXEC | unix.O_NONBLOCK | unix.O_NOCTTY,
		Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return "", err
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	if large {
		sum := sha256.New()
		_, err := io.Copy(sum, file)
		return string(sum.Sum(nil)), err
	}
	data, err := io.ReadAll(io.LimitReader(file, mostContent+1))
	if err == nil && len(data) > mostContent {
		err = unix.EFBIG
	}
	return string(data), err
}
