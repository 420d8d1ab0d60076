//go:build unix

package datadir

import (
	"os"
	"path/filepath"
	"testing"
)

// Data folders are named after the path of their workspace without links, so it must be the one of package filepath.
func TestPathsWithoutLinks(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.MkdirAll(filepath.Join(root, "a", "b"), 0o700))
	must(os.WriteFile(filepath.Join(root, "a", "file"), nil, 0o600))
	for link, target := range map[string]string{
		"relative": "a/b", "absolute": filepath.Join(root, "a"), "up": "a/b/../../a", "chain": "relative", "through": "absolute/b/../b/.",
		"to-file": "a/file", "past-file": "a/file/.", "over-file": "a/file/../b", "loop": "loop", "dangling": "nowhere", "root": "/",
		"a/b/out": "../../chain", "slash": "a//b/",
	} {
		must(os.Symlink(target, filepath.Join(root, link)))
	}
	for _, name := range []string{
		"", "a", "a/b", "a/file", "relative", "absolute", "absolute/b", "up/b", "chain", "through", "through/out/out", "to-file", "past-file",
		"over-file", "loop", "dangling", "root", "root/..", "nowhere", "a/file/x", "a/b/out", "slash", "../../../../../../../..",
	} {
		path := root + "/" + name
		want, wantErr := filepath.EvalSymlinks(path)
		got, err := withoutLinks(path)
		if got != want || (err == nil) != (wantErr == nil) {
			t.Errorf("%s: %q, %v, want %q, %v", name, got, err, want, wantErr)
		}
	}
}

// The absolute path of a workspace is the one of package filepath, too.
func TestAbsolutePaths(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", ".", "a/../b", "..", "/", "/a//b/..", "../../x/"} {
		want, err := filepath.Abs(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := absolute(name); got != want || err != nil {
			t.Errorf("%q: %q, %v, want %q", name, got, err, want)
		}
	}
}
