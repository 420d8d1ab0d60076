// Package tree computes the digest of a workspace: of all its files that git does not ignore.
//
// A file counts when git tracks it, also when a rule ignores it, or when no rule ignores it. The rules
// are files named .gitignore and the repository's info/exclude; settings of the user such as
// core.excludesFile are not read, nor is any variable of the environment. A workspace without a
// repository has the rules of its .gitignore files, and no tracked files. Folders and files named .git
// do not count, at any depth. Files of nested repositories count as files; a submodule has the rules
// and the index of its own repository. A folder counts through its files alone.
//
// Rules are part of the digest: a .gitignore file counts even where it ignores itself, and the rules
// outside of the workspace (info/exclude, .gitignore files of parent folders) are mixed in. The index
// only ever adds files, and each file is in the digest by its name, so a change of the index that
// hides or shows a file changes the digest. Marks such as assume-unchanged are not read.
//
// Contents are read again unless size, mtime, ctime, inode, device and mode are those of the last
// time and the file was not written just before it. A digest is of one moment only as far as no
// program writes in the meantime; a file or folder that changes while it is read is an error. A program that
// holds a writable shared mapping of a file can change it without a new ctime: Reread sees that.
package tree

import (
	"context"
	"encoding/hex"
	"errors"
	"path/filepath"
	"strings"
)

// Tree is a workspace at one moment.
type Tree struct {
	// Digest is "tree:sha256:" and the hash of all names, modes and contents.
	Digest string
	// Files is how many there are.
	Files int
}

// Errors of Digest and Take.
var (
	// ErrChanging says that files changed while they were read, again and again.
	ErrChanging = errors.New("files of the workspace change while they are read")
	// ErrTooLarge says that a workspace exceeds MostFiles, MostDepth or MostBytes.
	ErrTooLarge = errors.New("the workspace is too large for a digest")
)

// Bounds of a workspace.
const (
	// MostFiles bounds the files and folders that are looked at, those that are ignored as well.
	MostFiles = 1_000_000
	// MostDepth bounds how deep folders are nested.
	MostDepth = 256
	// MostBytes bounds the contents that one walk reads. A sparse file of terabytes takes no room and hours to read.
	MostBytes = 16 << 30
)

// tries is how often a walk that meets changing files is made anew.
const tries = 3

// Digest walks a workspace. cache is a file that remembers contents between calls, outside of the
// workspace; empty for none. What cannot be read is an error: there is no digest of a part.
func Digest(ctx context.Context, workspace, cache string) (Tree, error) {
	s, err := Take(ctx, workspace, cache)
	if err != nil {
		return Tree{}, err
	}
	return s.Tree(), nil
}

// Snapshot is a workspace at one moment, with the hash of each file. It does not change.
type Snapshot struct {
	workspace, cache string
	root             *folder
	index            indexMark
	digest           [32]byte
	cacheErr         error
}

// Take walks a workspace as Digest does, and keeps the hashes of its files.
func Take(ctx context.Context, workspace, cache string) (*Snapshot, error) {
	return takeFrom(ctx, workspace, cache, loadCache)
}

// Reread is Take, and reads all contents: the cache is written anew.
func Reread(ctx context.Context, workspace, cache string) (*Snapshot, error) {
	return takeFrom(ctx, workspace, cache, func(*Snapshot) {})
}

func takeFrom(ctx context.Context, workspace, cache string, load func(*Snapshot)) (*Snapshot, error) {
	workspace, err := filepath.Abs(workspace)
	if err != nil {
		return nil, err
	}
	if workspace, err = filepath.EvalSymlinks(workspace); err != nil {
		return nil, err
	}
	before := &Snapshot{workspace: workspace}
	if cache != "" {
		if before.cache, err = outside(workspace, cache); err != nil {
			return nil, err
		}
		load(before)
	}
	return before.Again(ctx)
}

// Again takes the snapshot of the same workspace anew, with what this one remembers.
func (s *Snapshot) Again(ctx context.Context) (*Snapshot, error) {
	var err error
	for range tries {
		var next *Snapshot
		var changed bool
		if next, changed, err = walk(ctx, s); err == nil {
			if changed && next.cache != "" {
				next.cacheErr = saveCache(next)
			}
			return next, nil
		}
		if !errors.Is(err, ErrChanging) {
			break
		}
	}
	return nil, err
}

// Tree returns the digest and the number of files.
func (s *Snapshot) Tree() Tree {
	return Tree{Digest: "tree:sha256:" + hex.EncodeToString(s.digest[:]), Files: s.root.files}
}

// CacheError returns the reason why the cache could not be written; nil when it was, or had no need to be.
// The snapshot is right without it, and the next one slow.
func (s *Snapshot) CacheError() error { return s.cacheErr }

// Hash returns the SHA-256 of a file's content or of a symbolic link's target, by its path relative to
// the workspace with slashes. False: no such file counts.
func (s *Snapshot) Hash(path string) ([32]byte, bool) {
	f := s.root
	for {
		name, rest, nested := strings.Cut(path, "/")
		e := f.find(name)
		switch {
		case e == nil || e.kind.ignored() || nested != (e.child != nil):
			return [32]byte{}, false
		case !nested:
			return e.hash, true
		}
		f, path = e.child, rest
	}
}

// Changed returns the files that differ between two snapshots: added, removed, or with another content or
// mode. Paths are relative to the workspace, with slashes, sorted by folder; at most most, and more is
// true when there are others.
func Changed(before, after *Snapshot, most int) (paths []string, more bool) {
	c := &changes{most: most}
	c.folders("", before.root, after.root)
	return c.paths, c.more
}

// Touched returns the first file that was written or replaced between two snapshots although it is as it was: by its ctime, which
// programs cannot set. A folder counts that was renamed and renamed back. Empty: there is none, or the system has no ctime.
func Touched(before, after *Snapshot) string { return firstTouched("", before.root, after.root) }

func firstTouched(path string, a, b *folder) string {
	for i := range b.entries {
		is := &b.entries[i]
		was := a.at2(i, is.name)
		switch {
		case was == nil || !was.counts() || !is.counts():
		case is.child == nil && was.child == nil:
			if is.stamp.ctime != was.stamp.ctime {
				return path + is.name
			}
		case is.child != nil && was.child != nil:
			if is.child.stamp.ctime != was.child.stamp.ctime && is.child.stamp.mtime == was.child.stamp.mtime {
				return path + is.name
			}
			if found := firstTouched(path+is.name+"/", was.child, is.child); found != "" {
				return found
			}
		}
	}
	return ""
}

type changes struct {
	paths []string
	most  int
	more  bool
}

func (c *changes) add(path string) {
	if len(c.paths) < c.most {
		c.paths = append(c.paths, path)
	} else {
		c.more = true
	}
}

// folders compares two folders, of which one may be nil.
func (c *changes) folders(path string, a, b *folder) {
	if a == b || a != nil && b != nil && a.hash == b.hash {
		return
	}
	as, bs := a.visible(), b.visible()
	for (len(as) > 0 || len(bs) > 0) && !c.more {
		switch {
		case len(bs) == 0 || len(as) > 0 && as[0].name < bs[0].name:
			c.one(path, &as[0])
			as = as[1:]
		case len(as) == 0 || bs[0].name < as[0].name:
			c.one(path, &bs[0])
			bs = bs[1:]
		default:
			c.both(path, &as[0], &bs[0])
			as, bs = as[1:], bs[1:]
		}
	}
}

func (c *changes) one(path string, e *entry) {
	if e.child != nil {
		c.folders(path+e.name+"/", e.child, nil)
		return
	}
	c.add(path + e.name)
}

func (c *changes) both(path string, a, b *entry) {
	switch {
	case a.child != nil && b.child != nil:
		c.folders(path+a.name+"/", a.child, b.child)
	case a.child != nil || b.child != nil:
		c.one(path, a)
		c.one(path, b)
	case a.kind != b.kind || a.hash != b.hash:
		c.add(path + a.name)
	}
}
