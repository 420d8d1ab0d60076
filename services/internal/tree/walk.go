package tree

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// chunk is how many entries of a folder one worker looks at.
const chunk = 512

// walker makes a snapshot from the one before.
type walker struct {
	ctx          context.Context
	before, next *Snapshot
	// start is when the walk began, in nanoseconds.
	start int64
	// changed says that the next snapshot does not equal the one before in all that a cache keeps.
	changed atomic.Bool
	count   atomic.Int64
	bytes   atomic.Int64 // of the contents that are read
	failed  atomic.Bool

	mu    sync.Mutex
	more  sync.Cond
	tasks []func(*worker)
	open  int // tasks that are not done
	err   error
}

// worker is one goroutine of a walk.
type worker struct {
	*walker
	statter statter
	buffer  []byte
}

// place is a folder that is being walked.
type place struct {
	dir *dir
	*folder
	scope *scope
	// shown is the path in the workspace, path that in the repository.
	shown, path string
	depth       int
}

// walk makes the snapshot after s, and reports whether a cache of s would have to change.
func walk(ctx context.Context, s *Snapshot) (next *Snapshot, changed bool, err error) {
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	w := &walker{ctx: ctx, before: s, start: time.Now().UnixNano()}
	w.more.L = &w.mu
	w.next = &Snapshot{workspace: s.workspace, cache: s.cache, root: &folder{was: s.root}}
	sc, outer, prefix, err := w.outerScope()
	if err != nil {
		return nil, false, err
	}
	d, st, err := openDir(s.workspace)
	if err != nil {
		return nil, false, err
	}
	p := place{dir: d, folder: w.next.root, scope: sc, path: prefix}
	w.push(func(k *worker) { k.folder(p, st) })
	w.run()
	if w.err != nil {
		return nil, false, w.err
	}
	w.next.root.seal()
	sum := sha256.New()
	sum.Write([]byte("interlock tree 1\n"))
	sum.Write(w.next.root.hash[:])
	sum.Write(outer[:])
	sum.Sum(w.next.digest[:0])
	return w.next, w.changed.Load() || s.root == nil || s.index != w.next.index, nil
}

func (w *walker) run() {
	var all sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 16) {
		all.Go(func() {
			k := &worker{walker: w}
			for task := w.pop(); task != nil; task = w.pop() {
				task(k)
				w.done()
			}
		})
	}
	all.Wait()
}

func (w *walker) push(task func(*worker)) {
	w.mu.Lock()
	w.tasks = append(w.tasks, task)
	w.open++
	w.mu.Unlock()
	w.more.Signal()
}

// pop takes the newest task, so that few folders are open at once. Nil: all are done.
func (w *walker) pop() func(*worker) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.tasks) == 0 && w.open > 0 {
		w.more.Wait()
	}
	if len(w.tasks) == 0 {
		return nil
	}
	last := len(w.tasks) - 1
	task := w.tasks[last]
	w.tasks[last] = nil
	w.tasks = w.tasks[:last]
	return task
}

func (w *walker) done() {
	w.mu.Lock()
	w.open--
	end := w.open == 0
	w.mu.Unlock()
	if end {
		w.more.Broadcast()
	}
}

// fail ends the walk. Tasks that are left return at once.
func (w *walker) fail(path string, err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil {
		if path == "" {
			path = "."
		}
		w.err = fmt.Errorf("%s: %w", path, err)
	}
	w.failed.Store(true)
}

// stop reports whether the walk has ended early.
func (w *walker) stop() bool {
	if !w.failed.Load() && w.ctx.Err() != nil {
		w.mu.Lock()
		if w.err == nil {
			w.err = context.Cause(w.ctx)
		}
		w.mu.Unlock()
		w.failed.Store(true)
	}
	return w.failed.Load()
}

// sure reports that a file with this stamp cannot have changed after it was looked at without another
// stamp: its ctime is older than the walk by more than the grain of the clock.
func (w *walker) sure(t trust, s stamp) bool {
	var grain time.Duration
	switch {
	case t == trustNothing:
		return false
	case t == trustSlowly:
		grain = time.Minute
	case s.ctime%int64(time.Second) == 0:
		grain = 2 * time.Second // perhaps the grain of the file system
	default:
		grain = 50 * time.Millisecond
	}
	return s.ctime < w.start-int64(grain)
}

// sureRule is sure for a file outside of the workspace.
func (w *walker) sureRule(s stamp) bool { return w.sure(trustSlowly, s) && hasCtime }

// moved turns an error about an entry that was there a moment ago.
func moved(err error) error {
	if errors.Is(err, fs.ErrNotExist) || isReplaced(err) {
		return ErrChanging
	}
	return err
}

// folder looks at a folder that is open, and closes it when all of its entries have been looked at.
func (w *worker) folder(p place, st stamp) {
	defer p.dir.release()
	if w.stop() {
		return
	}
	same, err := w.list(p, st)
	if err != nil {
		w.fail(p.shown, err)
		return
	}
	if w.count.Add(int64(len(p.entries))) > MostFiles || p.depth > MostDepth {
		w.fail(p.shown, fmt.Errorf("%w: it has more than %d files, or folders that are nested deeper than %d", ErrTooLarge, MostFiles, MostDepth))
		return
	}
	if p.scope, err = w.ownRules(p); err == nil && (!same || p.was.context != p.scope.context) {
		err = w.judge(p)
	}
	if err != nil {
		w.fail(p.shown, err)
		return
	}
	for from := chunk; from < len(p.entries); from += chunk {
		p.dir.hold()
		w.push(func(k *worker) {
			defer p.dir.release()
			k.entriesOf(p, from)
		})
	}
	w.entriesOf(p, 0)
}

// list fills in the names of a folder. Where the folder has not changed, its entries are those of last time, and same is true.
func (w *worker) list(p place, st stamp) (same bool, err error) {
	f, t := p.folder, p.dir.trust
	if t == trustFully && f.was != nil && f.was.sure && f.was.stamp == st {
		if f.entries, same = f.was.copy(); same {
			f.stamp, f.sure, f.context = st, true, f.was.context
			return true, nil
		}
	}
	if f.was != nil && !f.was.load() {
		f.was = nil
	}
	old := f.was
	for range tries {
		var err error
		if f.entries, err = p.dir.list(); err != nil {
			return false, err
		}
		again, err := p.dir.stat()
		if err != nil {
			return false, err
		}
		if again == st {
			f.stamp, f.sure = st, t == trustFully && w.sure(t, st)
			slices.SortFunc(f.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
			if old == nil || old.stamp != st || old.sure != f.sure {
				w.changed.Store(true)
			}
			return false, nil
		}
		st = again
	}
	return false, ErrChanging
}

// ownRules adds the rules of the folder's .gitignore file.
func (w *worker) ownRules(p place) (*scope, error) {
	e := p.find(".gitignore")
	if e == nil || p.scope.only || e.kind.folder() {
		return p.scope, nil
	}
	st, err := p.dir.statEntry(".gitignore")
	if err != nil {
		return nil, moved(err)
	}
	if st.kind() != regular && st.kind() != executable {
		return p.scope, nil
	}
	if st.size > mostRules {
		return nil, fmt.Errorf(".gitignore has more than %d MiB", mostRules>>20)
	}
	content := make([]byte, 0, st.size)
	if err := p.dir.read(w.ctx, ".gitignore", st, w.space(), func(part []byte) { content = append(content, part...) }); err != nil {
		return nil, moved(err)
	}
	own := p.scope.rules.with(p.path, content)
	if own == p.scope.rules {
		return p.scope, nil
	}
	return newScope(own, p.scope.repo, p.scope.id, false), nil
}

// judge decides which entries count, and takes over what is known of them.
func (w *worker) judge(p place) error {
	f := p.folder
	if f.was != nil && !f.was.load() {
		f.was = nil
	}
	old := f.was
	f.context = p.scope.context
	if old == nil || old.context != f.context {
		w.changed.Store(true)
	}
	matched := 0
	for i := range f.entries {
		e := &f.entries[i]
		var o *entry
		if old != nil {
			if o = old.at2(i, e.name); o != nil {
				matched++
			}
		}
		k, err := w.verdict(p, e, o, old)
		if err != nil {
			return err
		}
		if o == nil || o.kind.ignored() != k.ignored() || o.kind.folder() != k.folder() {
			f.dirty.Store(true)
			*e = entry{name: e.name, kind: k}
			continue
		}
		*e = *o
		if k.folder() {
			e.kind = k
		}
	}
	if old == nil || matched != len(old.entries) {
		f.dirty.Store(true)
	}
	if f.dirty.Load() {
		w.changed.Store(true)
	}
	return nil
}

// verdict decides whether an entry counts; o is the same one of old.
func (w *worker) verdict(p place, e, o *entry, old *folder) (kind, error) {
	isFolder := e.kind.folder()
	if o != nil && old.context == p.context && o.kind.folder() == isFolder {
		return o.kind, nil
	}
	if e.name == ".gitignore" && !isFolder && !p.scope.only {
		return unknownFile, nil // rules are part of the digest
	}
	return p.scope.verdict(join(p.path, e.name), isFolder)
}

// entriesOf looks at a chunk of the entries of a folder.
func (w *worker) entriesOf(p place, from int) {
	if w.stop() {
		return
	}
	entries := p.entries[from:min(from+chunk, len(p.entries))]
	for i := range entries {
		e := &entries[i]
		var err error
		switch {
		case e.kind.ignored():
		case e.kind.folder():
			err = w.descend(p, e)
		default:
			err = w.file(p, e)
		}
		if err != nil {
			w.fail(join(p.shown, e.name), moved(err))
			return
		}
	}
}

// descend makes the walk of a folder a task.
func (w *worker) descend(p place, e *entry) error {
	old := e.child
	e.child = &folder{was: old}
	below := place{folder: e.child, scope: p.scope, shown: join(p.shown, e.name), path: join(p.path, e.name), depth: p.depth + 1}
	switch {
	case e.kind == trackedOnly && !p.scope.only:
		below.scope = newScope(p.scope.rules, p.scope.repo, p.scope.id, true)
	case e.kind == submodule:
		var err error
		if below.scope, err = w.submodule(below.shown); err != nil {
			return err
		}
		below.path = ""
	}
	p.dir.hold()
	w.push(func(k *worker) {
		defer p.dir.release()
		if k.stop() {
			return
		}
		d, st, err := p.dir.open(e.name)
		if err != nil {
			k.fail(below.shown, moved(err))
			return
		}
		below.dir = d
		k.folder(below, st)
	})
	return nil
}

// submodule returns the scope of a repository in the workspace. A folder without one has no rules.
func (w *worker) submodule(shown string) (*scope, error) {
	repo, err := openRepository(filepath.Join(w.next.workspace, filepath.FromSlash(shown)))
	if err != nil || repo == nil {
		return newScope(nil, nil, [32]byte{}, false), err
	}
	id, err := repo.indexID()
	return newScope(nil, repo, id, false), err
}

// file hashes a file, unless its stamp is the one of last time.
func (w *worker) file(p place, e *entry) error {
	st, err := w.statter.entry(p.dir, e.name)
	if err != nil {
		return err
	}
	if e.sure && e.stamp == st {
		return nil
	}
	t := p.dir.trustIn(st)
	for range tries {
		k := st.kind()
		if k == directory {
			return ErrChanging
		}
		hash, err := w.hash(p, e.name, st)
		if err == nil {
			if e.kind != k || e.hash != hash {
				p.dirty.Store(true)
			}
			sure := w.sure(t, st)
			if e.kind != k || e.hash != hash || e.stamp != st || e.sure != sure {
				w.changed.Store(true)
			}
			e.kind, e.hash, e.stamp, e.sure = k, hash, st, sure
			return nil
		}
		if !errors.Is(moved(err), ErrChanging) {
			return err
		}
		if st, err = p.dir.statEntry(e.name); err != nil {
			return err
		}
	}
	return ErrChanging
}

// hash returns the hash of a file that has a stamp, or ErrChanging.
func (w *worker) hash(p place, name string, st stamp) (hash [32]byte, err error) {
	switch st.kind() {
	case symlink:
		target, err := p.dir.readlink(name)
		if err != nil {
			return hash, err
		}
		if again, err := p.dir.statEntry(name); err != nil || again != st {
			return hash, errors.Join(ErrChanging, err)
		}
		return sha256.Sum256([]byte(target)), nil
	case regular, executable:
		if w.bytes.Add(st.size) > MostBytes {
			return hash, fmt.Errorf("%w: more than %d GiB of files would have to be read", ErrTooLarge, MostBytes>>30)
		}
		h := sha256.New()
		err := p.dir.read(w.ctx, name, st, w.space(), func(part []byte) { h.Write(part) })
		h.Sum(hash[:0])
		return hash, err
	}
	return hash, nil
}

// space returns the worker's buffer.
func (w *worker) space() []byte {
	if w.buffer == nil {
		w.buffer = make([]byte, 128<<10)
	}
	return w.buffer
}
