//go:build unix

package datadir_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/interlock-run/interlock/services/internal/datadir"
)

// TestMain keeps default data folders out of the developer's home.
func TestMain(m *testing.M) {
	state, err := os.MkdirTemp("", "interlock-state-")
	if err != nil {
		panic(err)
	}
	if err := os.Setenv("XDG_STATE_HOME", state); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(state)
	os.Exit(code)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// made is a folder with tokens that claims to be of a workspace, as an agent could make one.
func made(t *testing.T, workspace string) datadir.Dir {
	t.Helper()
	dir := datadir.Dir(t.TempDir())
	must(t, os.WriteFile(dir.Tokens(), []byte("{}"), 0o600))
	if workspace != "" {
		must(t, os.WriteFile(filepath.Join(string(dir), "workspace"), []byte(workspace+"\n"), 0o600))
	}
	return dir
}

func point(t *testing.T, workspace, text string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(workspace, datadir.Default), []byte(text), 0o600))
}

// S13.8: the default folder of a workspace is outside of it, has a record of it, and is found
// from below, by a link, and without the pointer.
func TestDefaultFolder(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	workspace := filepath.Join(parent, "my shop")
	below, link := filepath.Join(workspace, "a", "b"), filepath.Join(parent, "link")
	must(t, os.MkdirAll(below, 0o700))
	must(t, os.Symlink(workspace, link))
	dir, err := datadir.New(workspace)
	must(t, err)
	if name := filepath.Base(string(dir)); !strings.HasPrefix(name, "my-shop-") || dir.Inside(workspace) {
		t.Errorf("the folder is %s", dir)
	}
	if other, err := datadir.New(link); err != nil || other != dir {
		t.Errorf("by a link: %s, %v", other, err)
	}
	if other, err := datadir.New(below); err != nil || other == dir {
		t.Errorf("of a folder in it: %s, %v", other, err)
	}
	if found, err := datadir.Find(below); found != "" || err != nil {
		t.Errorf("found before it was made: %s, %v", found, err)
	}
	must(t, dir.Make())
	must(t, dir.Claim(link))
	if text, err := os.ReadFile(filepath.Join(workspace, datadir.Default)); err != nil || string(text) != `{"data_dir":"`+string(dir)+`"}`+"\n" {
		t.Errorf("the pointer: %q, %v", text, err)
	}
	for range 2 {
		for _, start := range []string{workspace, below, link} {
			if found, err := datadir.Find(start); err != nil || found != dir {
				t.Errorf("from %s: %s, %v", start, found, err)
			}
		}
		if at, err := datadir.At(filepath.Join(workspace, datadir.Default)); err != nil || at != dir {
			t.Errorf("named by .interlock: %s, %v", at, err)
		}
		must(t, os.RemoveAll(filepath.Join(workspace, datadir.Default)))
	}
	if got := dir.NotServed(); !strings.HasSuffix(got, "start `interlock up` in "+realOf(t, workspace)) {
		t.Error(got)
	}
}

func realOf(t *testing.T, path string) string {
	t.Helper()
	real, err := filepath.EvalSymlinks(path)
	must(t, err)
	return real
}

// S13.8: files in the workspace never lead away from its own default folder.
func TestPointersDoNotLeadAway(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(t *testing.T, workspace string){
		"a pointer that is answered": func(t *testing.T, workspace string) {
			point(t, workspace, `{"data_dir": "`+string(made(t, workspace))+`"}`)
		},
		"a pointer to nothing": func(t *testing.T, workspace string) { point(t, workspace, `{"data_dir": "/nowhere/at/all"}`) },
		"junk":                 func(t *testing.T, workspace string) { point(t, workspace, "junk") },
		"a folder with tokens": func(t *testing.T, workspace string) {
			must(t, os.CopyFS(filepath.Join(workspace, datadir.Default), os.DirFS(string(made(t, workspace)))))
		},
		"a link to a folder": func(t *testing.T, workspace string) {
			must(t, os.Symlink(string(made(t, workspace)), filepath.Join(workspace, datadir.Default)))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			workspace := t.TempDir()
			dir, err := datadir.New(workspace)
			must(t, err)
			must(t, dir.Make())
			must(t, dir.Claim(workspace))
			must(t, os.Remove(filepath.Join(workspace, datadir.Default)))
			put(t, workspace)
			found, _ := datadir.Find(workspace)
			at, err := datadir.At(filepath.Join(workspace, datadir.Default))
			if again, other := datadir.New(workspace); found != dir || at != dir || again != dir || err != nil || other != nil {
				t.Errorf("found %s, at %s (%v), new %s (%v), want %s", found, at, err, again, other, dir)
			}
		})
	}
}

// S13.8: without a default folder, a pointer counts where the folder names the workspace back;
// any other is an error with a remedy.
func TestPointers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		text func(t *testing.T, workspace string) string
		want string // of the error; empty where it counts
	}{
		{"answered", func(t *testing.T, workspace string) string {
			return `{"data_dir": "` + string(made(t, workspace)) + `"}`
		}, ""},
		{"of another workspace", func(t *testing.T, _ string) string { return `{"data_dir": "` + string(made(t, t.TempDir())) + `"}` }, "if this is a copy, remove the file"},
		{"without a record", func(t *testing.T, _ string) string { return `{"data_dir": "` + string(made(t, "")) + `"}` }, "the data folder of no workspace"},
		{"to nothing", func(*testing.T, string) string { return `{"data_dir": "/nowhere/at/all"}` }, "does not exist; start `interlock up` there again"},
		{"relative", func(*testing.T, string) string { return `{"data_dir": "data"}` }, "is no pointer"},
		{"empty", func(*testing.T, string) string { return "" }, "is no pointer"},
		{"another member", func(*testing.T, string) string { return `{"data": "/x"}` }, "is no pointer"},
		{"junk", func(*testing.T, string) string { return "/tmp" }, "is no pointer"},
		{"too long", func(t *testing.T, workspace string) string {
			return `{"data_dir": "` + string(made(t, workspace)) + `"}` + strings.Repeat(" ", 1<<20)
		}, "is no pointer"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			workspace := t.TempDir()
			point(t, workspace, tc.text(t, workspace))
			at, err := datadir.At(filepath.Join(workspace, datadir.Default))
			below := filepath.Join(workspace, "a", "b")
			must(t, os.MkdirAll(below, 0o700))
			for _, start := range []string{workspace, below} {
				found, wrong := datadir.Find(start)
				switch {
				case tc.want == "":
					if err != nil || wrong != nil || at != found || at == "" {
						t.Errorf("%s %v, found %s %v", at, err, found, wrong)
					}
				case err == nil || !strings.Contains(err.Error(), tc.want) || wrong == nil || wrong.Error() != err.Error():
					t.Errorf("%s %v, found %s %v; want %q", at, err, found, wrong, tc.want)
				}
			}
		})
	}
}

// A copy to another file system keeps modes, and leaves sockets out.
func TestMoveAcrossFileSystems(t *testing.T) {
	t.Parallel()
	shm, err := os.MkdirTemp("/dev/shm", "interlock-")
	if err != nil {
		t.Fatalf("this test needs a second file system at /dev/shm: %v", err)
	}
	t.Cleanup(func() { os.RemoveAll(shm) })
	workspace := filepath.Join(shm, "w")
	inside := datadir.Dir(filepath.Join(workspace, datadir.Default))
	must(t, os.MkdirAll(inside.NATS(), 0o700))
	must(t, os.WriteFile(inside.Tokens(), []byte("{}"), 0o600))
	must(t, os.WriteFile(filepath.Join(inside.NATS(), "x"), []byte("1"), 0o640))
	from, to, err := datadir.Move(workspace)
	if err != nil || from != inside || to.Inside(workspace) {
		t.Fatalf("%s %s %v", from, to, err)
	}
	for file, want := range map[string]os.FileMode{to.Tokens(): 0o600, filepath.Join(to.NATS(), "x"): 0o640, to.NATS(): 0o700, string(to): 0o700} {
		info, err := os.Stat(file)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v %v", file, info, err)
		}
	}
	if info, err := os.Stat(string(inside)); err != nil || info.IsDir() {
		t.Errorf("the folder in the workspace is there still: %v", err)
	}
}
