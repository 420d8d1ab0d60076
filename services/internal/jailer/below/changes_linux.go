package below

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/interlock-run/interlock/pkg/jail"
)

// Change is what becomes of a setting that a command has changed.
type Change struct {
	// Path is relative to the folder that was walked.
	Path string
	// Remove has the file removed. Otherwise it is made as the rest says.
	Remove   bool
	Mode     fs.FileMode
	Modified time.Time
	UID, GID int
	Content  string // of a link its target
}

// Changes decides what becomes of the settings that differ between two snapshots.
//
// A setting that was there is put back, and one that was not is removed. Settings of a repository that run nothing stay, as do
// settings in a folder that was renamed. What else is in a repository stays as it is.
func Changes(before, after *Snapshot) []Change {
	c := &comparison{before: before, after: after, inodes: map[identity]*folder{}}
	for _, f := range before.folders {
		c.inodes[f.stamp.id()] = f
	}
	for _, f := range after.folders {
		c.folder(f)
	}
	for _, f := range before.folders {
		c.removed(f)
	}
	return c.all
}

type comparison struct {
	before, after *Snapshot
	inodes        map[identity]*folder
	all           []Change
	// disarmed are folders that are no repositories any more.
	disarmed []string
}

// identity is that of one file: its number may be of another one later.
type identity struct {
	dev, inode uint64
	born       int64
}

func (s stamp) id() identity { return identity{s.dev, s.inode, s.born} }

// equal reports that a setting is what it was: its times and its owner decide nothing.
func (i *item) equal(other *item) bool {
	return i.stamp.mode == other.stamp.mode && i.large == other.large && i.content == other.content
}

func (f *folder) item(name string) *item {
	if f == nil {
		return nil
	}
	at, ok := slices.BinarySearchFunc(f.items, name, func(i item, name string) int { return strings.Compare(i.name, name) })
	if !ok {
		return nil
	}
	return &f.items[at]
}

func (c *comparison) folder(f *folder) {
	was, same := c.before.byPath[f.path], c.inodes[f.stamp.id()]
	if was == f { // not a name and not a setting has changed
		return
	}
	if f.state != topGit && f.repository() && same != nil && !same.repository() && same.marks&(hasConfig|hasWorktree|hasHooks) != 0 {
		c.disarm(f, same)
		return
	}
	if f.state == hooks && slices.ContainsFunc(c.disarmed, func(folder string) bool { return strings.HasPrefix(f.path, folder+"/") }) {
		return
	}
	for i := range f.items {
		is, old := &f.items[i], was.item(f.items[i].name)
		if old != nil && old.equal(is) {
			continue
		}
		if moved := same.item(is.name); old == nil && moved != nil && moved.equal(is) {
			continue
		}
		c.judge(f, is, old)
	}
}

// disarm keeps a folder of the user from being a repository: its files with the names of git's settings are other files.
func (c *comparison) disarm(f, was *folder) {
	c.disarmed = append(c.disarmed, f.path)
	for _, name := range []string{"HEAD", "commondir", "refs", "objects"} {
		if m := markNames[name]; f.marks&m != 0 && was.marks&m == 0 {
			c.all = append(c.all, Change{Path: join(f.path, name), Remove: true})
			return
		}
	}
}

// judge decides on a setting that is new, or other than it was.
func (c *comparison) judge(f *folder, is, old *item) {
	if c.harmless(f, is) {
		return
	}
	at := join(f.path, is.name)
	switch {
	case old != nil && old.restorable():
		c.all = append(c.all, old.change(at))
	case old == nil && f.config(is) && !is.large:
		change := is.change(at)
		change.Content = jail.HarmlessGitConfig(is.content)
		c.all = append(c.all, change)
	default:
		c.all = append(c.all, Change{Path: at, Remove: true})
	}
}

func (f *folder) config(is *item) bool {
	return f.state != whole && f.state != hooks && (is.name == "config" || is.name == "config.worktree") && is.stamp.is(unix.S_IFREG)
}

// harmless reports that a setting leads git to run nothing.
func (c *comparison) harmless(f *folder, is *item) bool {
	if f.state == whole || f.state == hooks || f.state == partly || !is.stamp.is(unix.S_IFREG) || is.large {
		return false
	}
	switch is.name {
	case "config", "config.worktree":
		return jail.HarmlessGitConfig(is.content) == is.content
	case "commondir": // of a linked worktree
		repository := path.Dir(path.Dir(f.path))
		around := c.after.byPath[repository]
		return strings.TrimSuffix(is.content, "\n") == "../.." && base(path.Dir(f.path)) == "worktrees" && around != nil && around.repository()
	case ".git":
		return c.known(f, is.content)
	}
	return false
}

// known reports that a pointer leads to a repository of the workspace, whose settings are looked at as well.
func (c *comparison) known(f *folder, content string) bool {
	target, ok := jail.GitPointer(content)
	if !ok {
		return false
	}
	if !path.IsAbs(target) {
		target = path.Join(c.after.root, f.path, target)
	}
	inside, ok := strings.CutPrefix(target, c.after.root+"/")
	if !ok {
		return false
	}
	if c.after.names.top && (strings.HasPrefix(inside, ".git/modules/") || strings.HasPrefix(inside, ".git/worktrees/")) {
		return true // protected as a whole
	}
	for lifted := range c.after.names.skipped {
		if inside == lifted || strings.HasPrefix(inside, lifted+"/") {
			return true
		}
	}
	repository := c.after.byPath[inside]
	return repository != nil && repository.state != topGit && repository.repository()
}

// removed puts settings back that are gone from a folder that is still there.
func (c *comparison) removed(was *folder) {
	f := c.after.byPath[was.path]
	if f == was || f == nil || f.stamp.id() != was.stamp.id() {
		return
	}
	for i := range was.items {
		old := &was.items[i]
		if f.item(old.name) != nil || !old.restorable() || !c.setting(f, old) {
			continue
		}
		c.all = append(c.all, old.change(join(f.path, old.name)))
	}
}

// setting reports that what was a setting would be one now, and is in the place of no repository.
func (c *comparison) setting(f *folder, old *item) bool {
	return c.after.names.setting(f, old.name, old.stamp.is(unix.S_IFLNK)) && (old.name != ".git" || !slices.Contains(f.subs, ".git"))
}

func (i *item) restorable() bool {
	return !i.large && (i.stamp.is(unix.S_IFREG) || i.stamp.is(unix.S_IFLNK))
}

func (i *item) change(at string) Change {
	mode := fs.FileMode(i.stamp.mode & 0o777)
	for bit, of := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if i.stamp.mode&bit != 0 {
			mode |= of
		}
	}
	if i.stamp.is(unix.S_IFLNK) {
		mode |= fs.ModeSymlink
	}
	return Change{Path: at, Mode: mode, Modified: time.Unix(0, i.stamp.mtime), UID: int(i.stamp.uid), GID: int(i.stamp.gid), Content: i.content}
}

// Emptied returns the new folders that can be empty when the changes are made, inner ones first.
func Emptied(before, after *Snapshot) (paths []string) {
	for _, f := range slices.Backward(after.folders) {
		if (f.state == whole || f.state == partly) && before.byPath[f.path] == nil {
			paths = append(paths, f.path)
		}
	}
	return paths
}
