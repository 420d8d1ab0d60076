package pathglob_test

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/randtest"
)

// TestClean: S3.8.
func TestClean(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		root, name, want string
		inside           bool
	}{
		{"/repo", "src/a.go", "src/a.go", true},
		{"/repo", "./src//./a.go", "src/a.go", true},
		{"/repo", "src/x/../a.go", "src/a.go", true},
		{"/repo", "/repo/src/a.go", "src/a.go", true},
		{"/repo/", "//repo//src/a.go", "src/a.go", true},
		{"/repo/./x/..", "/repo/a", "a", true},
		{"/", "/etc/passwd", "etc/passwd", true},
		{"/", "../a", "a", true},
		{"/repo", "../repo/a", "a", true},
		{"/repo", "../a", "/a", false},
		{"/repo", "src/../../a", "/a", false},
		{"/repo", "/repository/a", "/repository/a", false},
		{"/repo", "/repo/../etc/passwd", "/etc/passwd", false},
		{"/repo", "/REPO/a", "/REPO/a", false},
		// Characters like any other.
		{"/repo", " src/a.go", " src/a.go", true},
		{"/repo", "~/a.go", "~/a.go", true},
		{"/repo", "$PWD/a.go", "$PWD/a.go", true},
		{"/repo", "%2e%2e/a.go", "%2e%2e/a.go", true},
		{"/repo", `src\a.go`, `src\a.go`, true},
		{"/repo", "C:/a.go", "C:/a.go", true},
		{"/repo", "..a/...", "..a/...", true},
		{"/repo", "file:///repo/a", "file:/repo/a", true},
		// Folders, and names that no file has.
		{"/repo", "", "", false},
		{"/repo", ".", "", false},
		{"/repo", "..", "", false},
		{"/repo", "/repo", "", false},
		{"/repo", "/", "", false},
		{"/repo", "src/", "", false},
		{"/repo", "src/a.go/.", "", false},
		{"/repo", "src/..", "", false},
		{"/repo", "a\x00.go", "", false},
		{"/repo", strings.Repeat("a", 5000), "", false},
		{"/repo", strings.Repeat("a/../", 5000) + "a", "a", true},
		// An unknown workspace.
		{"", "src/./a.go", "src/a.go", true},
		{"", "../a.go", "../a.go", false},
		{"", "a/../../b", "../b", false},
		{"", "/repo/a.go", "/repo/a.go", false},
		{"repo", "/repo/a.go", "/repo/a.go", false},
		{"repo", "a.go", "a.go", true},
	} {
		root := pathglob.RootOf(c.root)
		got, inside := root.Clean(c.name)
		if got != c.want || inside != c.inside {
			t.Errorf("%q in %q: %q %t, want %q %t", c.name, c.root, got, inside, c.want, c.inside)
		}
		if got != "" && root.Outside(got) == inside {
			t.Errorf("%q in %q: inside is %t, and outside too", c.name, c.root, inside)
		}
	}
}

// TestCleanWindows: S3.8, names as Windows reads them.
func TestCleanWindows(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		root, name, want string
		inside           bool
	}{
		{`C:\repo`, `src\a.go`, "src/a.go", true},
		{`C:\repo`, `src/a.go`, "src/a.go", true},
		{`C:\repo`, `C:\repo\src\a.go`, "src/a.go", true},
		{`C:\repo`, `c:/REPO/Src/A.go`, "Src/A.go", true},
		{`C:\repo`, `\\?\C:\repo\a.go`, "a.go", true},
		{`C:\repo`, `\repo\a.go`, "a.go", true},
		{`C:\repo`, `C:a.go`, "a.go", true},
		{`C:\repo`, `src\a.go.`, "src/a.go", true},
		{`C:\repo`, `src .\a.go. .`, "src/a.go", true},
		{`C:\repo`, `a.go::$DATA`, "a.go", true},
		{`C:\repo`, `a.go:hidden`, "a.go", true},
		{`C:\repo`, `x\..\a.go`, "a.go", true},
		{`C:\repo`, `..\repo\a.go`, "a.go", true},
		{`C:\repo`, `..\..\..\repo\a.go`, "a.go", true},
		{`C:\repo`, `.. \a.go`, "C:/a.go", false},
		{`C:\repo`, `..\a.go`, "C:/a.go", false},
		{`C:\repo`, `C:\repository\a.go`, "C:/repository/a.go", false},
		{`C:\repo`, `D:\repo\a.go`, "D:/repo/a.go", false},
		{`C:\repo`, `D:a.go`, "D:/a.go", false},
		{`C:\repo`, `\\host\share\repo\a.go`, "//host/share/repo/a.go", false},
		{`C:\repo`, `\\?\GLOBALROOT\Device\X\a.go`, "//?/GLOBALROOT/Device/X/a.go", false},
		{`C:\repo`, `\\.\pipe\x`, "//?/pipe/x", false},
		{`C:\repo`, `C:\repo`, "", false},
		{`C:\repo`, `src\`, "", false},
		{`C:\repo`, `src\.`, "", false},
		{`C:\`, `C:\a.go`, "a.go", true},
		{`\\host\share\repo`, `\\HOST\Share\repo\a.go`, "a.go", true},
		{`\\host\share\repo`, `//?/UNC/host/share/repo/a.go`, "a.go", true},
		{`\\host\share\repo`, `..\..\a.go`, "//host/share/a.go", false},
	} {
		root := pathglob.RootOf(c.root)
		if !root.Windows || !root.FoldCase {
			t.Errorf("%s is not taken for a folder of Windows", c.root)
		}
		got, inside := root.Clean(c.name)
		if got != c.want || inside != c.inside {
			t.Errorf("%q in %q: %q %t, want %q %t", c.name, c.root, got, inside, c.want, c.inside)
		}
		if got != "" && root.Outside(got) == inside {
			t.Errorf("%q in %q: inside is %t, and outside too", c.name, c.root, inside)
		}
	}
	unknown := pathglob.Root{Windows: true}
	for name, want := range map[string]string{`a\b`: "a/b", `..\b`: "../b", `C:\b`: "C:/b", `a\..`: ""} {
		if got, inside := unknown.Clean(name); got != want || inside != (name == `a\b`) {
			t.Errorf("%q in an unknown folder: %q %t", name, got, inside)
		}
	}
}

// TestWritten: a slash at the end of a name does not bypass a pattern.
func TestWritten(t *testing.T) {
	t.Parallel()
	root := pathglob.RootOf("/repo")
	for name, want := range map[string]string{
		"src/a.go/": "src/a.go", "src/a.go//": "src/a.go", "src/a.go/.": "src/a.go", "/repo/a/": "a", "a": "a",
		"": "", "/": "", ".": "", "/repo/": "", "a/..": "",
	} {
		if got, _ := root.Written(name); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

var (
	part  = rapid.SampledFrom([]string{"a", "b", "repo", "..", ".", "", " ", "~", "a.go", "A", "c:", `x\y`, "...", "é"})
	roots = rapid.SampledFrom([]pathglob.Root{
		{},
		{Path: "/repo"},
		{Path: "/"},
		{Path: "/a/repo/"},
		{Path: "repo"},
		{Path: "/repo", FoldCase: true},
		pathglob.RootOf(`C:\repo`), pathglob.RootOf(`C:\`), pathglob.RootOf(`\\a\b\repo`),
		{Windows: true},
	})
)

func drawName(t *rapid.T) string {
	name := strings.Join(rapid.SliceOfN(part, 1, 8).Draw(t, "parts"), "/")
	if rapid.Bool().Draw(t, "absolute") {
		name = "/" + name
	}
	return name
}

// TestCleanIsOneName: S3.8. The many ways to write a name come to one, which has
// none of their marks and is its own clean name.
func TestCleanIsOneName(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		root, name := roots.Draw(t, "root"), drawName(t)
		clean, inside := root.Clean(name)
		if again, still := root.Clean(clean); again != clean || still != inside {
			t.Fatalf("%q is %q %t, which is %q %t", name, clean, inside, again, still)
		}
		if clean == "" {
			if inside {
				t.Fatalf("%q is inside, and no file", name)
			}
			return
		}
		if root.Outside(clean) == inside {
			t.Fatalf("%q: inside is %t, and outside too", clean, inside)
		}
		if inside && (path.Clean(clean) != clean || clean == "." || strings.HasPrefix(clean, "../")) {
			t.Fatalf("%q is %q, which is not clean", name, clean)
		}
		if written, in := root.Written(name); written != clean || in != inside {
			t.Fatalf("%q is written to %q %t, and is %q %t", name, written, in, clean, inside)
		}
		i := rapid.IntRange(0, len(name)).Draw(t, "place")
		if i > 0 && name[i-1] != '/' {
			return
		}
		for _, detour := range []string{"./", "x/../", "/"} {
			if i == 0 && (path.IsAbs(name) || detour == "/" || strings.HasPrefix(name, "c:")) {
				continue
			}
			if root.Windows && (i <= 1 || strings.HasPrefix(name, "//")) {
				continue // two slashes begin the name of a host
			}
			if other, _ := root.Clean(name[:i] + detour + name[i:]); other != clean {
				t.Fatalf("%q is %q, and with %q at %d %q", name, clean, detour, i, other)
			}
		}
	})
}

// TestAbsoluteNamesAreRelative: S3.8. Both names of a file under the workspace are
// the same.
func TestAbsoluteNamesAreRelative(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		root := pathglob.RootOf(rapid.SampledFrom([]string{"/repo", "/a/repo/", `C:\repo`}).Draw(t, "root"))
		name := strings.TrimLeft(drawName(t), "/")
		if strings.HasPrefix(name, "c:") {
			return
		}
		clean, inside := root.Clean(name)
		absolute, in := root.Clean(root.Path + "/" + name)
		if clean != absolute || inside != in {
			t.Fatalf("%q: %q %t, and by its absolute name %q %t", name, clean, inside, absolute, in)
		}
	})
}
