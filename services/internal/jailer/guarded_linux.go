package jailer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/interlock-run/interlock/pkg/jail"
)

// guarded are protected names that no mount holds: those that are not there yet, links, and below level 3
// all. They are put back as they were when the command has ended.
type guarded struct {
	workspace string
	roots     []*guardedRoot
	below     []*belowGuard
}

// guardedRoot is a folder that the command can write. os.Root keeps what is put back in it, wherever the
// command has laid links to.
type guardedRoot struct {
	path string
	root *os.Root
	// names are relative to the folder; what was there is in before.
	names  []string
	before map[string]remembered
	bytes  int64
	// vacant are the folders around names that were not there.
	vacant map[string]bool
}

// remembered is a file, a folder or a link as it was.
type remembered struct {
	mode     fs.FileMode
	modified time.Time
	uid, gid int
	content  string // of a link its target
}

// Bounds of what is remembered.
const (
	mostRemembered      = 5000
	mostRememberedBytes = 64 << 20
	mostRememberedFile  = 4 << 20
)

// guard remembers the protected names that the command could change.
func guard(r *run) (*guarded, error) {
	g := &guarded{workspace: r.order.Workspace}
	var err error
	if g.below, err = belows(r); err != nil {
		return nil, err
	}
	folders := map[string]string{}
	for _, path := range r.plan.Write {
		if resolved, err := folder(path); err == nil && slices.Contains(r.order.Write, resolved) {
			folders[path] = resolved
		}
	}
	if r.order.Workspace != "" && r.plan.Writes == jail.WritesAllow {
		folders[r.plan.Workspace] = r.order.Workspace
	}
	for _, declared := range slices.Sorted(maps.Keys(folders)) {
		names := namesIn(append(slices.Clone(r.plan.Protect), pointers(r.plan.Protect)...), declared, folders[declared])
		hidden := namesIn(r.plan.Hide, declared, folders[declared])
		if len(names)+len(hidden) == 0 {
			continue
		}
		root, err := os.OpenRoot(folders[declared])
		if err != nil {
			return nil, err
		}
		r.undo = append(r.undo, func() { root.Close() })
		gr := &guardedRoot{path: folders[declared], root: root, before: map[string]remembered{}, vacant: map[string]bool{}}
		for _, name := range names {
			if err := gr.remember(name, r.order.Namespaces); err != nil {
				return nil, fmt.Errorf("%s is protected, and cannot be remembered to be put back: %w; `interlock jail show --why %s` explains the entry",
					filepath.Join(gr.path, name), err, filepath.Join(gr.path, name))
			}
		}
		for _, name := range hidden { // what is there is held otherwise
			if err := gr.remember(name, true); err != nil {
				return nil, fmt.Errorf("%s is hidden, and cannot be looked at: %w; `interlock jail show --why %s` explains the entry",
					filepath.Join(gr.path, name), err, filepath.Join(gr.path, name))
			}
		}
		g.roots = append(g.roots, gr)
	}
	return g, nil
}

// namesIn returns the paths that are in a folder, relative to it. The folder has two names: the declared
// one, and the one without links.
func namesIn(paths []string, declared, resolved string) []string {
	var names []string
	for _, path := range paths {
		for _, base := range []string{declared, resolved} {
			if path != base && within(path, base) {
				names = append(names, strings.TrimPrefix(path[len(base):], "/"))
				break
			}
		}
	}
	return names
}

// remember keeps how a name is. Where mounts hold what is there, only links and absent names are kept.
func (gr *guardedRoot) remember(name string, mounts bool) error {
	for at := range prefixes(name) {
		info, err := gr.root.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
			if errors.Is(err, fs.ErrNotExist) && at != name {
				gr.vacant[at] = true
			}
			gr.names = append(gr.names, name)
			return nil
		case err != nil:
			return err
		case info.Mode()&fs.ModeSymlink != 0:
			gr.names = append(gr.names, at)
			return gr.capture(at, gr.before)
		}
	}
	if mounts {
		return nil
	}
	gr.names = append(gr.names, name)
	return gr.capture(name, gr.before)
}

// prefixes yields "a", "a/b" and "a/b/c" of "a/b/c".
func prefixes(name string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i := range len(name) {
			if name[i] == '/' && !yield(name[:i]) {
				return
			}
		}
		yield(name)
	}
}

// capture records a file, or a folder and all in it.
func (gr *guardedRoot) capture(name string, into map[string]remembered) error {
	info, err := gr.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(into) >= mostRemembered {
		return fmt.Errorf("it has more than %d files", mostRemembered)
	}
	r := remembered{mode: info.Mode(), modified: info.ModTime()}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		r.uid, r.gid = int(stat.Uid), int(stat.Gid)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		r.content, err = gr.root.Readlink(name)
	case info.Mode().IsRegular():
		r.content, err = gr.read(name, info)
	}
	if err != nil {
		return err
	}
	into[name] = r
	if !info.IsDir() {
		return nil
	}
	return gr.captureIn(name, into)
}

func (gr *guardedRoot) captureIn(name string, into map[string]remembered) error {
	file, err := gr.root.Open(name)
	if err != nil {
		return err
	}
	entries, err := file.ReadDir(-1)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	for _, entry := range entries {
		// git names objects by their content: one that is changed is one that is broken.
		if entry.IsDir() && entry.Name() == "objects" && strings.HasPrefix(name, ".git/") {
			continue
		}
		if err := gr.capture(name+"/"+entry.Name(), into); err != nil {
			return err
		}
	}
	return nil
}

// read returns a file's content.
func (gr *guardedRoot) read(name string, info fs.FileInfo) (string, error) {
	if info.Size() > mostRememberedFile {
		return "", fmt.Errorf("%s has more than %d bytes", name, mostRememberedFile)
	}
	if gr.bytes += info.Size(); gr.bytes > mostRememberedBytes {
		return "", fmt.Errorf("its files have more than %d bytes", mostRememberedBytes)
	}
	file, err := gr.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, mostRememberedFile+1))
	return string(data), err
}

// finish puts the names back, and reports those that were changed.
func (g *guarded) finish(w *jail.Witness) {
	for _, gr := range g.roots {
		for _, name := range gr.names {
			for _, changed := range gr.putBack(name) {
				w.Tried = append(w.Tried, g.shown(filepath.Join(gr.path, changed)))
			}
		}
	}
	for _, bg := range g.below {
		changed, err := bg.putBack()
		for _, name := range changed {
			w.Tried = append(w.Tried, g.shown(name))
		}
		if err != nil {
			w.Notes = append(w.Notes, fmt.Sprintf("settings in folders of the workspace could not be put back: %v", err))
		}
	}
}

// shown returns how a witness names a path.
func (g *guarded) shown(path string) string {
	if g.workspace != "" && within(path, g.workspace) {
		if relative, err := filepath.Rel(g.workspace, path); err == nil {
			return relative
		}
	}
	return path
}

// putBack makes a name as it was, and returns the files that were changed.
func (gr *guardedRoot) putBack(name string) []string {
	changed := gr.plainFolders(name)
	gr.bytes = 0
	now := map[string]remembered{}
	if err := gr.capture(name, now); err != nil { // it is larger than it was, or closed
		_ = gr.root.RemoveAll(name)
		changed, now = append(changed, name), map[string]remembered{}
	}
	for _, path := range slices.Backward(slices.Sorted(maps.Keys(now))) {
		before, ok := gr.before[path]
		if ok && before.mode.Type() == now[path].mode.Type() {
			continue
		}
		changed = append(changed, path)
		_ = gr.root.RemoveAll(path)
		delete(now, path)
	}
	for _, path := range slices.Sorted(maps.Keys(gr.before)) {
		if !within(path, name) {
			continue
		}
		before := gr.before[path]
		is, ok := now[path]
		if ok && (is == before || before.mode.IsDir() && is.mode == before.mode && is.uid == before.uid && is.gid == before.gid) {
			continue
		}
		changed = append(changed, path)
		if err := gr.restore(path, before, ok); err != nil {
			changed = append(changed, path+" (it could not be put back: "+err.Error()+")")
		}
	}
	return changed
}

// plainFolders makes the way to a name one of folders again, where it was.
func (gr *guardedRoot) plainFolders(name string) (changed []string) {
	for at := range prefixes(name) {
		if at == name {
			break
		}
		info, err := gr.root.Lstat(at)
		if err == nil && info.Mode()&fs.ModeSymlink != 0 {
			_ = gr.root.Remove(at)
			changed = append(changed, at)
		} else if err == nil && !info.IsDir() && gr.vacant[at] {
			// A file in the place of a folder can lead elsewhere, as .git does.
			_ = gr.root.Remove(at)
			changed = append(changed, at)
		}
	}
	return changed
}

// restore writes a file, folder or link as it was.
func (gr *guardedRoot) restore(path string, before remembered, exists bool) error {
	if before.mode.IsDir() {
		if !exists {
			if err := gr.root.MkdirAll(path, 0o700); err != nil {
				return err
			}
		}
	} else {
		if err := gr.parents(path); err != nil {
			return err
		}
		if err := gr.root.RemoveAll(path); err != nil { // a hard link to it keeps what the command wrote
			return err
		}
		if before.mode&fs.ModeSymlink != 0 {
			return gr.root.Symlink(before.content, path)
		}
		if !before.mode.IsRegular() {
			return errors.New("it was a device, socket or pipe")
		}
		if err := gr.root.WriteFile(path, []byte(before.content), 0o600); err != nil {
			return err
		}
	}
	if os.Geteuid() == 0 {
		if err := gr.root.Lchown(path, before.uid, before.gid); err != nil {
			return err
		}
	}
	return errors.Join(gr.root.Chmod(path, before.mode.Perm()|before.mode&(fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky)),
		gr.root.Chtimes(path, before.modified, before.modified))
}

// parents makes the folders around a path.
func (gr *guardedRoot) parents(path string) error {
	around := filepath.Dir(path)
	if around == "." {
		return nil
	}
	for at := range prefixes(around) {
		if info, err := gr.root.Lstat(at); err == nil && !info.IsDir() {
			if err := gr.root.RemoveAll(at); err != nil {
				return err
			}
		}
	}
	return gr.root.MkdirAll(around, 0o755)
}

// Bounds of the lists of a witness in bytes: names are escaped in JSON, by up to six bytes for one, and a server takes no
// witness of more than 1 MiB.
const (
	mostWrittenBytes = 96 << 10
	mostTriedBytes   = 16 << 10
	// mostReason is what is left of a reason: it begins with a path, which may be long.
	mostReason = 256
)

// tidy sorts and bounds what a witness lists.
func tidy(w *jail.Witness) {
	var less bool
	if w.Written, less = bounded(w.Written, jail.MostWritten, mostWrittenBytes); less {
		w.TreeFailed = "it has changed more files than are listed"
	}
	if w.Tried, less = bounded(w.Tried, jail.MostFiles, mostTriedBytes); less {
		w.More = true
	}
	if len(w.Hosts) > jail.MostFiles {
		w.Hosts, w.More = w.Hosts[:jail.MostFiles], true
	}
	if long := len(w.TreeFailed) - mostReason; long > 0 {
		w.TreeFailed = "…" + strings.ToValidUTF8(w.TreeFailed[long:], "")
	}
}

// bounded returns the first of some names, and whether there are more.
func bounded(names []string, most, bytes int) (first []string, less bool) {
	slices.Sort(names)
	names = slices.Compact(names)
	for i, name := range names {
		if bytes -= len(name); i == most || bytes < 0 {
			return names[:i], true
		}
	}
	return names, false
}
