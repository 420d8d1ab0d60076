package realpath

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAsWritten(t *testing.T) {
	t.Parallel()
	folders := map[string][]string{
		"/": {"Users"}, "/Users": {"me", "ME"}, "/Users/me": {"Migrations", "straße"}, "/Users/ME": {"other"},
	}
	list := func(dir string) []string { return folders[filepath.ToSlash(dir)] }
	for name, want := range map[string]string{
		"/":                      "/",
		"/users/me/MIGRATIONS/X": "/Users/me/Migrations/X",
		"/Users/me/Migrations":   "/Users/me/Migrations",
		"/Users/ME/OTHER":        "/Users/ME/other",
		"/USERS/me/stra\u1e9ee":  "/Users/me/straße",
		"/nowhere/at/all":        "/nowhere/at/all",
	} {
		if got := filepath.ToSlash(asWritten(filepath.FromSlash(name), list)); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// Links are followed where they lead to what is there, and where they do not: what is
// written by such a link is written there.
func TestOf(t *testing.T) {
	t.Parallel()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(root, name) }
	if err := os.MkdirAll(in("a/b"), 0o700); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{
		"dir": "a/b", "a/up": "..", "gone": "a/nothing", "abs": in("a/nowhere"), "chain": "gone", "round": "dnuor", "dnuor": "round", "slash": "a/b/none/",
	} {
		if err := os.Symlink(to, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"a/b": "a/b", "dir/x": "a/b/x", "dir/../c": "a/c", "a/up/c": "c", "gone": "a/nothing", "gone/x": "a/nothing/x", "abs": "a/nowhere",
		"chain": "a/nothing", "new": "new", "dir/new/x": "a/b/new/x", "slash": "a/b/none",
	} {
		if got := Of(root + "/" + name); got != filepath.ToSlash(in(want)) {
			t.Errorf("%s: got %s, want %s", name, got, in(want))
		}
	}
	if got := Of(in("round/x")); got == "" { // it ends
		t.Error("a round of links has no name")
	}
}
