//go:build linux

package tree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// repo makes a repository with three tracked files, of which one is ignored, and an ignored one.
func repo(t *testing.T) (dir, cache string) {
	t.Helper()
	dir, cache = t.TempDir(), filepath.Join(t.TempDir(), "cache")
	git(t, dir, "init", "-q")
	write(t, filepath.Join(dir, ".gitignore"), "*.o\nbuild/\n")
	write(t, filepath.Join(dir, "main.go"), "package main")
	write(t, filepath.Join(dir, "lib/lib.go"), "package lib")
	write(t, filepath.Join(dir, "lib/kept.o"), "kept")
	git(t, dir, "add", "-f", "-A")
	write(t, filepath.Join(dir, "lib/other.o"), "other")
	write(t, filepath.Join(dir, "build/out.go"), "out")
	return dir, cache
}

// settle walks until all stamps are old enough for the next walk to believe them.
func settle(t *testing.T, dir, cache string) *Snapshot {
	t.Helper()
	for {
		s := take(t, dir, cache)
		sure := true
		var walk func(*folder)
		walk = func(f *folder) {
			sure = sure && f.sure
			for _, e := range f.entries {
				if e.child != nil {
					walk(e.child)
				} else {
					sure = sure && (e.sure || e.kind.ignored())
				}
			}
		}
		if walk(s.root); sure {
			return s
		}
	}
}

// TestWhatChangesADigest does things to a workspace, and expects the digest to change with the file, or to stay.
func TestWhatChangesADigest(t *testing.T) {
	t.Parallel()
	do := func(err error) {
		if err != nil {
			panic(err)
		}
	}
	tests := map[string]struct {
		change  func(t *testing.T, dir string)
		changed string // the files, or "" for an equal digest; "*" for the rules alone
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"edited":  {func(t *testing.T, d string) { write(t, d+"/main.go", "package nain") }, "main.go"},
		"edited, mtime put back": {func(t *testing.T, d string) {
			i, _ := os.Stat(d + "/main.go")
			write(t, d+"/main.go", "package nain")
			do(os.Chtimes(d+"/main.go", i.ModTime(), i.ModTime()))
		}, "main.go"},
		"replaced, mtime put back": {func(t *testing.T, d string) {
			i, _ := os.Stat(d + "/main.go")
			write(t, d+"/main.new", "package nain")
			do(os.Chtimes(d+"/main.new", i.ModTime(), i.ModTime()))
			do(os.Rename(d+"/main.new", d+"/main.go"))
		}, "main.go"},
		"touched":                     {func(_ *testing.T, d string) { do(os.Chtimes(d+"/main.go", time.Unix(1, 0), time.Unix(1, 0))) }, ""},
		"executable":                  {func(_ *testing.T, d string) { do(os.Chmod(d+"/main.go", 0o755)) }, "main.go"},
		"other permissions":           {func(_ *testing.T, d string) { do(os.Chmod(d+"/main.go", 0o600)) }, ""},
		"added":                       {func(t *testing.T, d string) { write(t, d+"/new/a", "") }, "new/a"},
		"added, ignored":              {func(t *testing.T, d string) { write(t, d+"/new/a.o", "") }, ""},
		"empty folder":                {func(_ *testing.T, d string) { do(os.MkdirAll(d+"/x/y", 0o755)) }, ""},
		"removed":                     {func(_ *testing.T, d string) { do(os.Remove(d + "/main.go")) }, "main.go"},
		"moved":                       {func(_ *testing.T, d string) { do(os.Rename(d+"/main.go", d+"/lib/main.go")) }, "lib/main.go main.go"},
		"ignored file edited":         {func(t *testing.T, d string) { write(t, d+"/lib/other.o", "x"); write(t, d+"/build/out.go", "x") }, ""},
		"tracked ignored file edited": {func(t *testing.T, d string) { write(t, d+"/lib/kept.o", "x") }, "lib/kept.o"},
		"tracked ignored file let go": {func(t *testing.T, d string) { git(t, d, "rm", "-q", "--cached", "lib/kept.o") }, "lib/kept.o"},
		"tracked file let go":         {func(t *testing.T, d string) { git(t, d, "rm", "-q", "--cached", "main.go") }, ""},
		"ignored file tracked":        {func(t *testing.T, d string) { git(t, d, "add", "-f", "build/out.go") }, "build/out.go"},
		"committed":                   {func(t *testing.T, d string) { git(t, d, "commit", "-q", "-m", "x") }, ""},
		"assume-unchanged": {func(t *testing.T, d string) {
			git(t, d, "update-index", "--assume-unchanged", "main.go")
			write(t, d+"/main.go", "x")
		}, "main.go"},
		"skip-worktree": {func(t *testing.T, d string) {
			git(t, d, "update-index", "--skip-worktree", "lib/kept.o")
			write(t, d+"/lib/kept.o", "x")
		}, "lib/kept.o"},
		"split index": {func(t *testing.T, d string) {
			git(t, d, "update-index", "--split-index")
			write(t, d+"/lib/kept.o", "x")
			git(t, d, "add", "-u")
		}, "lib/kept.o"},
		"index of version 4":           {func(t *testing.T, d string) { git(t, d, "update-index", "--index-version", "4") }, ""},
		"rules edited":                 {func(t *testing.T, d string) { write(t, d+"/.gitignore", "*.o\nbuild/\n# and\n") }, ".gitignore"},
		"rules hide":                   {func(t *testing.T, d string) { write(t, d+"/lib/.gitignore", "*\n"); write(t, d+"/lib/x.go", "x") }, "lib/.gitignore"},
		"info/exclude":                 {func(t *testing.T, d string) { write(t, d+"/.git/info/exclude", "*.txt\n") }, "*"},
		"info/exclude, a comment":      {func(t *testing.T, d string) { write(t, d+"/.git/info/exclude", "# none\n\n") }, ""},
		"info/exclude hides a new one": {func(t *testing.T, d string) { write(t, d+"/.git/info/exclude", "*.go\n"); write(t, d+"/x.go", "x") }, "*"},
		"settings of the repository": {func(t *testing.T, d string) {
			write(t, d+"/../all", "*\n")
			git(t, d, "config", "core.excludesFile", d+"/../all")
			write(t, d+"/x.go", "x")
		}, "x.go"},
		"repository hidden": {func(_ *testing.T, d string) { do(os.Rename(d+"/.git", d+"/build/.git")) }, "lib/kept.o"},
		"folder becomes a link": {func(_ *testing.T, d string) {
			do(os.Rename(d+"/lib", d+"/build/lib"))
			do(os.Symlink("build/lib", d+"/lib"))
		}, "lib lib/kept.o lib/lib.go"},
		"file becomes a link": {func(_ *testing.T, d string) {
			do(os.Rename(d+"/main.go", d+"/build/main.go"))
			do(os.Symlink("build/main.go", d+"/main.go"))
		}, "main.go"},
		"rules become a link": {func(_ *testing.T, d string) {
			do(os.Rename(d+"/.gitignore", d+"/build/x"))
			do(os.Symlink("build/x", d+"/.gitignore"))
		}, ".gitignore build/out.go build/x lib/other.o"},
		"FIFO": {func(_ *testing.T, d string) { do(unix.Mkfifo(d+"/fifo", 0o600)) }, "fifo"},
		"rules become a FIFO": {func(_ *testing.T, d string) {
			do(os.Remove(d + "/.gitignore"))
			do(unix.Mkfifo(d+"/.gitignore", 0o600))
		}, ".gitignore build/out.go lib/other.o"},
		"socket": {func(_ *testing.T, d string) { do(unix.Mknod(d+"/s", unix.S_IFSOCK|0o600, 0)) }, "s"},
		"nested repository": {func(t *testing.T, d string) {
			write(t, d+"/n/a.go", "x")
			git(t, d+"/n", "init", "-q")
			write(t, d+"/n/.git/info/exclude", "*\n")
		}, "n/a.go"},
		"nested rules of .git": {func(t *testing.T, d string) {
			git(t, d+"/lib", "init", "-q")
			write(t, d+"/lib/.git/info/exclude", "*\n")
			write(t, d+"/lib/x.go", "x")
		}, "lib/x.go"},
		"name with a newline": {func(t *testing.T, d string) { write(t, d+"/a\nb", "x") }, "a\nb"},
		"name of any bytes":   {func(t *testing.T, d string) { write(t, d+"/\xff\x80", "x") }, "\xff\x80"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, cache := repo(t)
			before := settle(t, dir, cache)
			test.change(t, dir)
			after := take(t, dir, cache)
			paths, more := Changed(before, after, 100)
			slices.Sort(paths)
			if got := strings.Join(paths, " "); got != strings.Trim(test.changed, "*") || more {
				t.Errorf("changed are %q, want %q", got, test.changed)
			}
			if same := before.Tree().Digest == after.Tree().Digest; same != (test.changed == "") {
				t.Errorf("equal digests: %v", same)
			}
			if cold := take(t, dir, ""); cold.Tree() != after.Tree() {
				t.Errorf("with cache %v, without %v", after.Tree(), cold.Tree())
			}
			again, err := before.Again(t.Context())
			if err != nil || again.Tree() != after.Tree() {
				t.Errorf("again %v, %v; want %v", again.Tree(), err, after.Tree())
			}
		})
	}
}

// TestTakenBack expects the digest of before when a change is taken back.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	dir, cache := repo(t)
	before := take(t, dir, cache).Tree()
	write(t, dir+"/main.go", "x")
	if take(t, dir, cache).Tree() == before {
		t.Error("an edit is not seen")
	}
	write(t, dir+"/main.go", "package main")
	if after := take(t, dir, cache).Tree(); after != before {
		t.Errorf("taken back %v, want %v", after, before)
	}
}

// TestEditedInTheSameTick edits a file right after each walk, with equal size.
func TestEditedInTheSameTick(t *testing.T) {
	t.Parallel()
	dir, cache := repo(t)
	last := take(t, dir, cache).Tree()
	for i := range 200 {
		write(t, dir+"/main.go", fmt.Sprintf("package m%03d", i))
		next := take(t, dir, cache).Tree()
		if next == last {
			t.Fatalf("edit %d is not seen", i)
		}
		last = next
	}
}

// TestCaches expects the digest of no cache with each sort of bad cache.
func TestCaches(t *testing.T) {
	t.Parallel()
	dir, cache := repo(t)
	want := settle(t, dir, cache).Tree()
	good, err := os.ReadFile(cache)
	if err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(cache); info.Mode().Perm() != 0o600 {
		t.Errorf("mode is %v", info.Mode())
	}
	other, otherCache := repo(t)
	write(t, other+"/main.go", "other")
	settle(t, other, otherCache)
	foreign, _ := os.ReadFile(otherCache)
	for name, content := range map[string][]byte{
		"empty": {}, "short": good[:40], "cut": good[:len(good)-9], "foreign": foreign, "text": []byte("hello"), "zeros": make([]byte, len(good)),
	} {
		path := filepath.Join(t.TempDir(), "cache")
		write(t, path, string(content))
		if err := os.Chmod(path, 0o600); err != nil {
			t.Fatal(err)
		}
		if got := take(t, dir, path).Tree(); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
		if got := take(t, dir, path); got.Tree() != want || got.CacheError() != nil {
			t.Errorf("%s, rebuilt: %v, %v", name, got.Tree(), got.CacheError())
		}
	}
	if _, err := Take(t.Context(), dir, dir+"/sub/cache"); err == nil {
		t.Error("a cache in the workspace is accepted")
	}
	if err := os.Chmod(cache, 0o644); err != nil {
		t.Fatal(err)
	}
	s := &Snapshot{workspace: dir, cache: cache}
	if loadCache(s); s.root != nil {
		t.Error("a cache that others can read is used")
	}
}

// TestConcurrentCallers share a cache, while another caller edits.
func TestConcurrentCallers(t *testing.T) {
	t.Parallel()
	dir, cache := repo(t)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			for j := range 20 {
				if i == 0 {
					if err := os.WriteFile(dir+"/main.go", fmt.Appendf(nil, "package m%03d", j), 0o644); err != nil {
						t.Error(err)
					}
				}
				if _, err := Digest(t.Context(), dir, cache); err != nil && !errors.Is(err, ErrChanging) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if got, want := take(t, dir, cache).Tree(), take(t, dir, "").Tree(); got != want {
		t.Errorf("with cache %v, without %v", got, want)
	}
}

// TestWorkspaces are of several shapes; it names the files that count.
func TestWorkspaces(t *testing.T) {
	t.Parallel()
	dir, _ := repo(t)
	write(t, dir+"/lib/deep/x.go", "x")
	plain := t.TempDir()
	write(t, plain+"/.gitignore", "*.o\n")
	write(t, plain+"/a.o", "")
	write(t, plain+"/a.go", "")
	home := t.TempDir()
	git(t, home, "init", "-q")
	write(t, home+"/.git/info/exclude", "*\n")
	write(t, home+"/code/a.go", "")
	git(t, dir, "commit", "-q", "-m", "x")
	tree := filepath.Join(t.TempDir(), "wt")
	git(t, dir, "worktree", "add", "-q", tree)
	write(t, tree+"/new.o", "")
	write(t, dir+"/.git/info/exclude", "*.tmp\n")
	write(t, tree+"/new.tmp", "")
	super := t.TempDir()
	git(t, super, "init", "-q")
	write(t, super+"/.gitignore", "*.go\n")
	git(t, super, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", dir, "sub")
	for folder, want := range map[string]string{
		dir:            ".gitignore lib/deep/x.go lib/kept.o lib/lib.go main.go",
		dir + "/lib":   "deep/x.go kept.o lib.go",
		plain:          ".gitignore a.go",
		home + "/code": "a.go",
		tree:           ".gitignore lib/kept.o lib/lib.go main.go",
		super:          ".gitignore .gitmodules sub/.gitignore sub/lib/kept.o sub/lib/lib.go sub/main.go",
	} {
		if got := strings.Join(files(take(t, folder, "")), " "); got != want {
			t.Errorf("%s: %s; want %s", folder, got, want)
		}
	}
}

// TestErrors are those of walks that cannot be finished.
func TestErrors(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	dir, _ := repo(t)
	if _, err := Digest(ended, dir, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
	if _, err := Digest(t.Context(), dir+"/none", ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no workspace: %v", err)
	}
	write(t, dir+"/.git/index", "DIRC nonsense")
	if _, err := Digest(t.Context(), dir, ""); !errors.Is(err, errIndex) {
		t.Errorf("a broken index: %v", err)
	}
	deep := t.TempDir()
	write(t, deep+strings.Repeat("/d", MostDepth+2)+"/f", "")
	if _, err := Digest(t.Context(), deep, ""); !errors.Is(err, ErrTooLarge) {
		t.Errorf("deep folders: %v", err)
	}
	sparse := t.TempDir()
	write(t, sparse+"/big", "")
	if err := os.Truncate(sparse+"/big", MostBytes+1); err != nil {
		t.Fatal(err)
	}
	if _, err := Digest(t.Context(), sparse, ""); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a sparse file: %v", err)
	}
}

// TestReread: a program's write into its memory of a file is seen, although the file has the time that it had.
func TestReread(t *testing.T) {
	t.Parallel()
	dir, cache := repo(t)
	file, err := os.OpenFile(dir+"/main.go", os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	mapped, err := unix.Mmap(int(file.Fd()), 0, 7, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(mapped) }()
	mapped[0] = 'p' // as it is, so that the page is one that is written
	before := settle(t, dir, cache).Tree()
	copy(mapped, "PACKAGE")
	for range 2 {
		after, err := Reread(t.Context(), dir, cache)
		if err != nil || after.Tree() == before {
			t.Errorf("%v, %v", after, err)
		}
	}
	if known := take(t, dir, cache).Tree(); known == before {
		t.Error("what was read anew is not kept")
	}
}

// TestTouched: a file that was changed in between is named although all is as it was.
func TestTouched(t *testing.T) {
	t.Parallel()
	do := func(errs ...error) {
		if err := errors.Join(errs...); err != nil {
			panic(err)
		}
	}
	for name, tc := range map[string]struct {
		change func(t *testing.T, dir string)
		want   string
	}{
		"nothing": {func(*testing.T, string) {}, ""},
		"changed and changed back": {func(t *testing.T, d string) {
			write(t, d+"/main.go", "package nain")
			write(t, d+"/main.go", "package main")
		}, "main.go"},
		"with its time": {func(t *testing.T, d string) {
			i, err := os.Stat(d + "/lib/lib.go")
			do(err)
			write(t, d+"/lib/lib.go", "package bil")
			write(t, d+"/lib/lib.go", "package lib")
			do(os.Chtimes(d+"/lib/lib.go", i.ModTime(), i.ModTime()))
		}, "lib/lib.go"},
		"replaced": {func(t *testing.T, d string) {
			do(os.Rename(d+"/main.go", d+"/build/away"))
			write(t, d+"/main.go", "package nain")
			do(os.Rename(d+"/build/away", d+"/main.go"))
		}, "main.go"},
		"another in the place of its folder": {func(t *testing.T, d string) {
			do(os.Rename(d+"/lib", d+"/build/away"), os.Mkdir(d+"/lib", 0o700), os.Remove(d+"/lib"), os.Rename(d+"/build/away", d+"/lib"))
		}, "lib"},
		"an ignored file":          {func(t *testing.T, d string) { write(t, d+"/lib/other.o", "more") }, ""},
		"a file that came":         {func(t *testing.T, d string) { write(t, d+"/lib/new.go", "x") }, ""}, // Changed has it
		"one that came and went":   {func(t *testing.T, d string) { write(t, d+"/lib/new.go", "x"); do(os.Remove(d + "/lib/new.go")) }, ""},
		"one that is read":         {func(_ *testing.T, d string) { _, err := os.ReadFile(d + "/main.go"); do(err) }, ""},
		"a file of the repository": {func(t *testing.T, d string) { git(t, d, "status") }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, cache := repo(t)
			before := settle(t, dir, cache)
			tc.change(t, dir)
			if got := Touched(before, take(t, dir, cache)); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

// TestHash finds files of a snapshot by path.
func TestHash(t *testing.T) {
	t.Parallel()
	dir, cache := repo(t)
	s := take(t, dir, cache)
	for path, want := range map[string]bool{"main.go": true, "lib/lib.go": true, "lib": false, "lib/other.o": false, "main.go/x": false, "": false, "build/out.go": false} {
		if _, ok := s.Hash(path); ok != want {
			t.Errorf("%q: %v", path, ok)
		}
	}
	if _, more := Changed(s, take(t, t.TempDir(), ""), 2); !more {
		t.Error("a bounded list does not say that there is more")
	}
}

// FuzzIndex reads any bytes as an index.
func FuzzIndex(f *testing.F) {
	f.Add("DIRC\x00\x00\x00\x02\x00\x00\x00\x00" + strings.Repeat("\x00", 20))
	f.Fuzz(func(_ *testing.T, data string) {
		if x, err := parseIndex(data); err == nil {
			x.has("a")
			x.hasBelow("a")
		}
	})
}

// TestPatternsAreBounded matches patterns that take exponential time elsewhere.
func TestPatternsAreBounded(t *testing.T) {
	t.Parallel()
	r := (*rules)(nil).with("", []byte(strings.Repeat("**/a*", 30)+"b\n"))
	if r.ignores(strings.Repeat("a/aaaa/", 200)+"c", false) {
		t.Error("it matches")
	}
}

// TestWhichStampsAreBelieved asks for ctimes before the start of a walk.
func TestWhichStampsAreBelieved(t *testing.T) {
	t.Parallel()
	start := int64(1_000_000 * time.Second)
	odd := start + 1 // a ctime of nanoseconds
	for _, test := range []struct {
		trust trust
		ctime int64
		want  bool
	}{
		{trustFully, odd - int64(time.Second), true},
		{trustFully, odd - int64(40*time.Millisecond), false},
		{trustFully, odd, false},
		{trustFully, odd + int64(time.Hour), false}, // the clock was put back
		{trustFully, start - int64(time.Second), false},
		{trustFully, start - int64(3*time.Second), true},
		{trustSlowly, odd - int64(59*time.Second), false},
		{trustSlowly, odd - int64(61*time.Second), true},
		{trustNothing, odd - int64(time.Hour), false},
	} {
		w := &walker{start: start}
		if got := w.sure(test.trust, stamp{ctime: test.ctime}); got != test.want {
			t.Errorf("trust %d, %v before the start: %v", test.trust, time.Duration(start-test.ctime), got)
		}
	}
}

// TestSwappedWhileWalked opens and reads entries that are no longer of the type that was listed.
func TestSwappedWhileWalked(t *testing.T) {
	t.Parallel()
	dir, _ := repo(t)
	d, _, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.release()
	st, err := d.statEntry("main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.Rename(dir+"/lib", dir+"/build/lib"), os.Symlink("build/lib", dir+"/lib"),
		os.Rename(dir+"/main.go", dir+"/build/main.go"), os.Symlink("build/main.go", dir+"/main.go"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := d.open("lib"); !errors.Is(moved(err), ErrChanging) {
		t.Errorf("a link in place of a folder: %v", err)
	}
	none := func([]byte) { t.Error("it is read") }
	if err := d.read(t.Context(), "main.go", st, make([]byte, 10), none); !errors.Is(moved(err), ErrChanging) {
		t.Errorf("a link in place of a file: %v", err)
	}
	if err := d.read(t.Context(), ".gitignore", st, make([]byte, 10), none); !errors.Is(err, ErrChanging) {
		t.Errorf("another file: %v", err)
	}
}
