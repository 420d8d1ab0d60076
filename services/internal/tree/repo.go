package tree

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Bounds of the files that are read for rules.
const (
	mostRules = 1 << 20
	mostIndex = 512 << 20
)

// repository is what git knows of a folder.
type repository struct {
	root   string // of the working tree
	gitDir string
	// common has what worktrees share.
	common string

	once  sync.Once
	index *index
	err   error
}

// indexMark identifies what an index tracks.
type indexMark struct {
	stamp stamp
	sure  bool
	id    [32]byte
}

// findRepository looks for the repository of a folder, also above of it. Nil: there is none.
func findRepository(folder string) (*repository, error) {
	for {
		if r, err := openRepository(folder); r != nil || err != nil {
			return r, err
		}
		up := filepath.Dir(folder)
		if up == folder {
			return nil, nil
		}
		folder = up
	}
}

// openRepository opens the repository whose working tree begins at a folder. Nil: there is none.
func openRepository(root string) (*repository, error) {
	gitDir := filepath.Join(root, ".git")
	info, err := os.Stat(gitDir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.IsDir():
		content, err := readSmall(gitDir, mostRules)
		if err != nil {
			return nil, err
		}
		target, is := bytes.CutPrefix(bytes.TrimSpace(content), []byte("gitdir: "))
		if !is {
			return nil, nil
		}
		gitDir = within(root, string(target))
	}
	if _, err := os.Lstat(filepath.Join(gitDir, "HEAD")); err != nil {
		return nil, nil
	}
	r := &repository{root: root, gitDir: gitDir, common: gitDir}
	common, err := readSmall(filepath.Join(gitDir, "commondir"), mostRules)
	if err != nil {
		return nil, err
	}
	if common != nil {
		r.common = within(gitDir, string(bytes.TrimSpace(common)))
	}
	return r, nil
}

func within(folder, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(folder, path)
}

// readSmall reads a regular file, by a symbolic link as well. Nil: there is none.
func readSmall(path string, most int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonBlocking, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	data := bytes.NewBuffer(make([]byte, 0, min(info.Size(), most)+bytes.MinRead))
	if _, err := io.Copy(data, io.LimitReader(f, most+1)); err != nil {
		return nil, err
	}
	if int64(data.Len()) > most {
		return nil, fmt.Errorf("%s has more than %d MiB", path, most>>20)
	}
	return data.Bytes(), nil
}

// tracked returns the index, which is read once.
func (r *repository) tracked() (*index, error) {
	r.once.Do(func() { r.index, r.err = r.readIndex() })
	return r.index, r.err
}

func (r *repository) readIndex() (*index, error) {
	data, err := readSmall(filepath.Join(r.gitDir, "index"), mostIndex)
	if err != nil || data == nil {
		return &index{}, err
	}
	x, err := parseIndex(string(data))
	if err != nil || x.shared == "" {
		return x, err
	}
	if data, err = readSmall(filepath.Join(r.gitDir, x.shared), mostIndex); err != nil {
		return nil, err
	}
	shared, err := parseIndex(string(data))
	if err != nil {
		return nil, err
	}
	x.add(shared) // also the names that the split index has removed: more files count, never fewer
	return x, nil
}

// mark identifies the index, by its stamp where that is the one of before.
func (r *repository) mark(before indexMark, sure func(stamp) bool) (indexMark, error) {
	now, err := statPath(filepath.Join(r.gitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return indexMark{}, nil
	}
	if err != nil {
		return indexMark{}, err
	}
	if before.sure && before.stamp == now {
		return before, nil
	}
	id, err := r.indexID()
	return indexMark{stamp: now, sure: sure(now), id: id}, err
}

// indexID is a hash of what the index tracks.
func (r *repository) indexID() (id [32]byte, err error) {
	x, err := r.tracked()
	if err != nil {
		return id, err
	}
	h := sha256.New()
	for _, list := range [][]string{x.names, x.folders} {
		for _, name := range list {
			_, _ = io.WriteString(h, name)
			h.Write([]byte{0})
		}
		h.Write([]byte{0})
	}
	h.Sum(id[:0])
	return id, nil
}

// scope decides which entries of a folder count.
type scope struct {
	rules *rules
	repo  *repository // nil for none
	id    [32]byte    // of the index
	// only says that nothing but tracked files counts.
	only bool
	// context is a hash of all of it.
	context [32]byte
}

func newScope(r *rules, repo *repository, id [32]byte, only bool) *scope {
	s := &scope{rules: r, repo: repo, id: id, only: only}
	h := sha256.New()
	if r != nil {
		h.Write(r.context[:])
	}
	h.Write([]byte{0})
	h.Write(id[:])
	if only {
		h.Write([]byte{1})
	}
	h.Sum(s.context[:0])
	return s
}

// verdict decides whether an entry counts; path is relative to the repository.
func (s *scope) verdict(path string, isFolder bool) (kind, error) {
	ignored := s.only || s.rules.ignores(path, isFolder)
	if !ignored && !isFolder {
		return unknownFile, nil
	}
	tracked := &index{}
	if s.repo != nil {
		var err error
		if tracked, err = s.repo.tracked(); err != nil {
			return 0, err
		}
	}
	switch {
	case !isFolder && tracked.has(path):
		return unknownFile, nil
	case !isFolder:
		return ignoredFile, nil
	case tracked.hasFolder(path):
		return submodule, nil
	case !ignored:
		return directory, nil
	case tracked.hasBelow(path):
		return trackedOnly, nil
	}
	return ignoredFolder, nil
}

// outerScope returns the rules of a workspace that are not in it, a hash of them for the digest, and the
// workspace's path in its repository.
func (w *walker) outerScope() (sc *scope, outer [32]byte, prefix string, err error) {
	workspace := w.next.workspace
	repo, err := findRepository(workspace)
	if err != nil {
		return nil, outer, "", err
	}
	alone := newScope(nil, nil, [32]byte{}, false)
	if repo == nil {
		return alone, outer, "", nil
	}
	if w.next.index, err = repo.mark(w.before.index, w.sureRule); err != nil {
		return nil, outer, "", err
	}
	content, err := readSmall(filepath.Join(repo.common, "info", "exclude"), mostRules)
	if err != nil {
		return nil, outer, "", err
	}
	sc = newScope((*rules)(nil).with("", content), repo, w.next.index.id, false)
	if workspace != repo.root {
		relative, err := filepath.Rel(repo.root, workspace)
		if err != nil {
			return nil, outer, "", err
		}
		prefix = filepath.ToSlash(relative)
		if sc, err = sc.descend(prefix); err != nil {
			return nil, outer, "", err
		}
		if sc == nil { // the repository ignores the whole workspace
			return alone, outer, "", nil
		}
	}
	if sc.rules != nil {
		outer = sc.rules.context
	}
	return sc, outer, prefix, nil
}

// descend returns the scope of a folder of the repository, before its own rules. Nil: it is ignored.
func (s *scope) descend(prefix string) (*scope, error) {
	path := ""
	for name := range strings.SplitSeq(prefix, "/") {
		if !s.only {
			file := filepath.Join(s.repo.root, filepath.FromSlash(path), ".gitignore")
			if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() {
				content, err := readSmall(file, mostRules)
				if err != nil {
					return nil, err
				}
				s = newScope(s.rules.with(path, content), s.repo, s.id, false)
			}
		}
		path = join(path, name)
		kind, err := s.verdict(path, true)
		switch {
		case err != nil:
			return nil, err
		case kind == ignoredFolder:
			return nil, nil
		case kind == trackedOnly:
			s = newScope(s.rules, s.repo, s.id, true)
		}
	}
	return s, nil
}

func join(folder, name string) string {
	if folder == "" {
		return name
	}
	return folder + "/" + name
}
