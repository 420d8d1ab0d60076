package toolcall_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bluekeyes/go-gitdiff/gitdiff"
	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// patchReader is the state in which patches are measured: it limits all edits and
// reaches no limit.
type patchReader struct {
	machine *workflow.Machine
	run     *workflow.View
}

func newPatchReader(t testing.TB) patchReader {
	m, run := inState(t, `{"max_edit_lines": 1000000000, "max_files_per_state": 1000000000}`, `{}`)
	return patchReader{m, run}
}

// measure returns the size of a patch, given with the name of a file or alone. When
// it is refused, it is with that sentence.
func (r patchReader) measure(t testing.TB, text, path string) (lines int64, paths []string, refused string) {
	t.Helper()
	input := map[string]string{"patch": text}
	if path != "" {
		input["path"] = path
	}
	data, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	v := toolcall.Decide(r.machine, r.run, toolcall.Call{Tool: "apply_patch", Input: data})
	if v.Decision != toolcall.Allow {
		return 0, v.Paths, v.Message(r.machine, r.run)
	}
	return v.EditLines, v.Paths, ""
}

// TestEnvelope: S3.6, the form of Codex.
func TestEnvelope(t *testing.T) {
	t.Parallel()
	r := newPatchReader(t)
	for _, c := range []struct {
		body, paths string
		lines       int64
		says        string
	}{
		{"*** Add File: a/b.go\n+x\n+y\n+\n", "a/b.go", 3, ""},
		{"*** Add File: a.go\n*** Delete File: b.go\n", "a.go b.go", 0, ""},
		{"*** Update File: a.go\n@@\n ctx\n-x\n-y\n+z\n", "a.go", 2, ""},
		{"*** Update File: a.go\n@@ func f\n-x\n+y\n@@ func g\n@@ if\n-x\n+y\n+z\n", "a.go", 3, ""},
		{"*** Update File: a.go\n-x\n+y\n\n \n+z\n*** End of File\n", "a.go", 2, ""},
		{"*** Update File: a.go\n*** Move to: b.go\n@@\n-x\n+y\n", "a.go b.go", 1, ""},
		{"*** Update File: a.go\n*** Move to: b.go\n", "a.go b.go", 0, ""},
		{"*** Update File: a.go\n@@\n-x\n*** Update File: b.go\n@@\n+y\n*** Update File: a.go\n@@\n+z\n", "a.go b.go", 3, ""},
		{"  *** Update File: a.go\r\n@@\r\n-x\r\n+y\r\n", "a.go", 1, ""},
		{"*** Add File: a.go\n+x\ry\rz\n", "a.go", 3, ""},
		{"*** Add File: a.go\n+*** Delete File: b.go\n", "a.go", 1, ""},
		{"*** Update File: a.go\n@@\n-*** End Patch\n+++ b\n--- a\n", "a.go", 2, ""},
		{"*** Update File: a.go\n@@\n-x\n @@ indented\n+y\n", "a.go", 2, ""},
		{"\n*** Delete File: a.go\n\n*** Delete File: b c.go\n", "a.go b c.go", 0, ""},
		{"", "", 0, "names no file"},
		{"*** Add File: a.go\nx\n", "a.go", 0, "begins with +"},
		{"*** Add File: a.go\n+x\n\n+y\n", "a.go", 0, "begins with +"},
		{"*** Delete File: a.go\n+x\n", "a.go", 0, "begins with +"},
		{"+x\n", "", 0, "begins with +"},
		{"*** Update File: a.go\n@@\nx\n", "a.go", 0, "hunk"},
		{"*** Update File: a.go\n\tx\n", "a.go", 0, "hunk"},
		{"*** Update File: a.go\n@@\n+x\n *** Update File: b.go\n+y\n", "a.go", 0, "after a space"},
		{"*** Update File: a.go\n *** Move to: b.go\n", "a.go", 0, "after a space"},
		{"*** Update File: a.go\n@@\n+x\n *** End Patch\n", "a.go", 0, "after a space"},
		{"*** Update File: a.go\n@@\n+x\n*** Move to: b.go\n", "a.go", 0, "does not belong"},
		{"*** Add File: a.go\n*** Move to: b.go\n", "a.go", 0, "does not belong"},
		{"*** End of File\n", "", 0, "does not belong"},
		{"*** Begin Patch\n", "", 0, "does not belong"},
		{"*** End Patch?\n", "", 0, "does not belong"},
		{"*** Rename File: a.go\n", "", 0, "begins a file"},
		{"*** Update File:a.go\n", "a.go", 0, ""},
		{"*** Update File: \n", "", 0, "one space"},
		{"*** Update File:  a.go\n", "", 0, "one space"},
		{"*** Update File: a.go \n", "", 0, "one space"},
		{"*** End Patch\n*** Delete File: a.go\n", "", 0, "text after"},
	} {
		lines, paths, refused := r.measure(t, "\n *** Begin Patch\n"+c.body+"*** End Patch \n\n", "")
		if lines != c.lines || strings.Join(paths, " ") != c.paths {
			t.Errorf("%q: %d lines of %q, want %d of %q: %s", c.body, lines, paths, c.lines, c.paths, refused)
		}
		if (refused == "") != (c.says == "") || !strings.Contains(refused, c.says) {
			t.Errorf("%q: refused %q, want %q", c.body, refused, c.says)
		}
	}
	for _, text := range []string{"*** Begin Patch", "*** Begin Patch\n*** Delete File: a.go", "x\n*** Begin Patch\n*** End Patch"} {
		if _, _, refused := r.measure(t, text, ""); refused == "" {
			t.Errorf("%q is a patch", text)
		}
	}
}

// TestUnified: S3.6, diffs.
func TestUnified(t *testing.T) {
	t.Parallel()
	r := newPatchReader(t)
	const hunk = "@@ -1,2 +1,3 @@ func f\n x\n-y\n+z\n+z\n"
	const index = "index 0000000..1111111 100644\n"
	for _, c := range []struct {
		text, paths string
		lines       int64
		says        string
	}{
		{"--- a/a.go\n+++ b/a.go\n" + hunk, "a.go", 2, ""},
		{"diff --git a/a.go b/a.go\n" + index + "--- a/a.go\n+++ b/a.go\n" + hunk + hunk, "a.go", 4, ""},
		{"--- a.go\n+++ a.go\n" + hunk, "a.go", 2, ""},
		{"--- a.go\t2026-01-01\n+++ b.go\t2026-01-01\n" + hunk, "a.go b.go", 2, ""},
		{"--- i/a.go\n+++ w/a.go\n" + hunk, "a.go", 2, ""},
		{"--- c/a.go\n+++ d/a.go\n" + hunk, "c/a.go d/a.go", 2, ""},
		{"--- a/a.go\n+++ c/a.go\n" + hunk, "", 0, "neither"},
		{"--- b/a.go\n+++ b/a.go\n" + hunk, "", 0, "neither"},
		{"--- a/a b\t\n+++ b/a b\t2026\n" + hunk, "a b", 2, ""},
		{"--- a/a b\n+++ b/a b\n" + hunk, "", 0, "quotes"},
		{"--- a/a 2026-01-01\n+++ b/a\n" + hunk, "", 0, "quotes"},
		{"--- /dev/null\n+++ b/a.go\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n", "a.go", 2, ""},
		{"--- a/a.go\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n", "a.go", 2, ""},
		{"--- a/a.go\n+++ b/a.go\n@@ -1,3 +1 @@\n-a\n\\ No newline\n\n-b\n", "a.go", 2, ""},
		{"--- a/a.go\r\n+++ b/a.go\r\n@@ -1 +1 @@\r\n-a\r\n+b\r\n", "a.go", 1, ""},
		{"diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n", "a b", 0, ""},
		{"diff --git x y\nrename from x\nrename to y\n", "x y", 0, ""},
		{"diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n" + hunk, "x y", 2, ""},
		{"diff --git a/x b/x\nnew file mode 100644\n" + index, "x", 0, ""},
		{"diff --git \"a/\\303\\251\" \"b/\\303\\251\"\n" + index + "--- \"a/\\303\\251\"\n+++ \"b/\\303\\251\"\n" + hunk, "é", 2, ""},
		{"diff --git x x\ndeleted file mode 100644\n" + index + "--- x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "x", 1, ""},
		{"\n--- a/a\n+++ b/a\n" + hunk + "\n--- a/b\n+++ b/b\n" + hunk, "a b", 4, ""},
		{"--- a/a\n+++ b/a\n@@ -1 +1 @@\n--- x\n+++ y\n", "a", 1, ""},
		// Lines that some programs skip and others apply.
		{"Subject: x\n--- a/a\n+++ b/a\n" + hunk, "", 0, "begin with"},
		{"--- a/a\n+++ b/a\n" + hunk + "+z\n", "a", 0, "does not belong to a file"},
		{"--- a/a\n+++ b/a\n" + hunk + "1c1\n< x\n---\n> y\n", "a", 0, "does not belong to a file"},
		{"--- a/a\n+++ b/a\n" + hunk + "*** c/b\n", "a", 0, "does not belong to a file"},
		{"--- a/a\n+++ b/a\n" + hunk + "Index: b\n", "a", 0, "does not belong to a file"},
		{"diff --git a/x b/x\nGIT binary patch\nliteral 1\n", "x", 0, "does not belong to a file"},
		{"diff --git a/x b/x\nBinary files a/x and b/x differ\n", "x", 0, "does not belong to a file"},
		{"--- a/a\n+++ b/a\nindex 1..2\n" + hunk, "a", 0, "does not belong to a file"},
		{"diff --git a/x b/y\n" + index, "", 0, "name of a file is not clear"},
		{"diff --git a/x b/y\n" + hunk, "", 0, "does not belong to a file"},
		{"diff --git a/x b/y\ndiff --git a/z b/z\n", "", 0, "name of a file is not clear"},
		{"--- a/a\n" + hunk, "", 0, "must follow"},
		{"--- a/a\n", "", 0, "must follow"},
		{"--- /dev/null\n+++ /dev/null\n" + hunk, "", 0, "no file"},
		{"--- \n+++ \n" + hunk, "", 0, "no file"},
		{"--- \"a\n+++ b\n" + hunk, "", 0, "no file"},
		{"diff --git a/x b/x\nrename from x\nrename to \"y\n", "x", 0, "no file"},
		{"diff --git a/x b/y\nrename to y\n", "", 0, "does not belong to a file"},
		{"diff --git a/x b/y\nrename from x\ncopy to y\n", "", 0, "must follow"},
		{"diff --git \"a/x b/x\n" + index, "", 0, "name of a file is not clear"},
		{"diff --git \"a/x\"\n" + index, "", 0, "name of a file is not clear"},
		{"diff --git b/x b/x\n" + index, "", 0, "name of a file is not clear"},
		{"--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n x\n", "a", 0, "fewer lines"},
		{"--- a/a\n+++ b/a\n@@ -1,2 +1,3 @@\n x\nx\n", "a", 0, "fewer lines"},
		{"--- a/a\n+++ b/a\n@@ -1,1 +1,0 @@\n x\n", "a", 0, "other lines"},
		{"--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n-x\n-x\n", "a", 0, "other lines"},
		{"--- a/a\n+++ b/a\n@@ @@\n-x\n", "a", 0, "begins with a line"},
		{"--- a/a\n+++ b/a\n@@ -1,-1 +1 @@\n-x\n", "a", 0, "begins with a line"},
		{"--- a/a\n+++ b/a\n@@ -1 +1,99999999999 @@\n-x\n", "a", 0, "begins with a line"},
		{"--- a/a\n+++ b/a\n@@@ -1 -1 +1 @@@\n--x\n", "a", 0, "does not belong to a file"},
		{"@@ -1 +1 @@\n-x\n+y\n", "", 0, "begin with"},
		{"", "", 0, "begin with"},
	} {
		lines, paths, refused := r.measure(t, c.text, "")
		if lines != c.lines || strings.Join(paths, " ") != c.paths {
			t.Errorf("%q: %d lines of %q, want %d of %q: %s", c.text, lines, paths, c.lines, c.paths, refused)
		}
		if (refused == "") != (c.says == "") || !strings.Contains(refused, c.says) {
			t.Errorf("%q: refused %q, want %q", c.text, refused, c.says)
		}
	}
}

// TestBlocks: S3.6, the form of Cline, Roo and Aider, and hunks of a named file.
func TestBlocks(t *testing.T) {
	t.Parallel()
	r := newPatchReader(t)
	const one = "<<<<<<< SEARCH\na\nb\n=======\nc\n>>>>>>> REPLACE\n"
	for _, c := range []struct {
		text  string
		lines int64
		says  string
	}{
		{one, 2, ""},
		{one + "\n" + one, 4, ""},
		{"------- SEARCH\r\na\r\n=======\r\nc\r\nd\r\n+++++++ REPLACE", 2, ""},
		{"<<<<<<< SEARCH>\n=======\nc\n\n>>>>>>> REPLACE>\n", 2, ""},
		{"<<<<<<< SEARCH\n:start_line:3\n:end_line:4\n-------\na\n=======\n>>>>>>> REPLACE\n", 1, ""},
		{"<<<<<<< SEARCH\n-------\n=======\n>>>>>>> REPLACE\n", 1, ""},
		{one + "more\n", 0, "outside"},
		{"<<<<<<< SEARCH\na\n=======\nb\n=======\nc\n>>>>>>> REPLACE\n", 0, "each once"},
		{"<<<<<<< SEARCH\na\n===\nb\n", 0, "each once"},
		{"<<<<<<< SEARCH\na\n", 0, "each once"},
		{"<<<<<<< SEARCH\na\n>>>>>>> REPLACE\n", 0, "each once"},
		{"<<<<<<< SEARCH\n=======\n<<<<<<< SEARCH\n", 0, "each once"},
		{"--- SEARCH\n+++ b\n@@ -1 +1 @@\n-a\n+b\n", 0, "each once"},
		{"@@ -1,2 +1 @@\n-a\n-b\n+c\n", 2, ""},
		{"@@\n-a\n+c\n\\ No newline\n@@\n+d\n*** End of File\n", 2, ""},
		{"@@\n-a\n--- a/x\n+++ b/x\n", 0, "another file"},
		{"@@\n-a\n*** Update File: x\n", 0, "another file"},
		{"@@\n-a\nx\n", 0, "hunk"},
		{"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", 1, ""},
	} {
		lines, paths, refused := r.measure(t, c.text, "f")
		if lines != c.lines || paths[0] != "f" {
			t.Errorf("%q: %d lines of %q, want %d: %s", c.text, lines, paths, c.lines, refused)
		}
		if (refused == "") != (c.says == "") || !strings.Contains(refused, c.says) {
			t.Errorf("%q: refused %q, want %q", c.text, refused, c.says)
		}
	}
}

// drawnPatch is a patch in both forms, and its size.
type drawnPatch struct {
	envelope, unified string
	lines             int64
	paths             []string
}

func drawPatch(t *rapid.T) drawnPatch {
	var p drawnPatch
	var envelope, unified strings.Builder
	envelope.WriteString("*** Begin Patch\n")
	texts := rapid.SampledFrom([]string{"x", "", "@@", "-- a", "++ b", "*** Add File: c", "\\", "diff --git a/x b/x"})
	for i := range rapid.IntRange(1, 4).Draw(t, "files") {
		name := fmt.Sprintf("dir %d/f.go", i)
		p.paths = append(p.paths, name)
		fmt.Fprintf(&envelope, "*** Update File: %s\n", name)
		fmt.Fprintf(&unified, "diff --git a/%s b/%s\n--- a/%s\t\n+++ b/%s\t\n", name, name, name, name)
		for range rapid.IntRange(1, 3).Draw(t, "hunks") {
			removed, added := rapid.SliceOfN(texts, 0, 4).Draw(t, "removed"), rapid.SliceOfN(texts, 1, 4).Draw(t, "added")
			fmt.Fprint(&envelope, "@@\n")
			fmt.Fprintf(&unified, "@@ -1,%d +1,%d @@\n", len(removed)+1, len(added)+1)
			body := " context\n"
			for _, line := range removed {
				body += "-" + line + "\n"
			}
			for _, line := range added {
				body += "+" + line + "\n"
			}
			envelope.WriteString(body)
			unified.WriteString(body)
			p.lines += int64(max(len(removed), len(added)))
		}
	}
	p.envelope, p.unified = envelope.String()+"*** End Patch\n", unified.String()
	return p
}

// TestPatchIsMeasured: S3.6. Both forms of a patch have the size of their edits.
func TestPatchIsMeasured(t *testing.T) {
	t.Parallel()
	r := newPatchReader(t)
	randtest.Check(t, func(rt *rapid.T) {
		p := drawPatch(rt)
		for _, text := range []string{p.envelope, p.unified} {
			lines, paths, refused := r.measure(t, text, "")
			if lines != p.lines || !slices.Equal(paths, p.paths) {
				rt.Fatalf("%s: %d lines of %q, want %d of %q: %s", text, lines, paths, p.lines, p.paths, refused)
			}
		}
	})
}

// TestPatchIsBounded: a patch of 1 MiB is read in one pass, for any
// contents.
func TestPatchIsBounded(t *testing.T) {
	t.Parallel()
	r := newPatchReader(t)
	const update, add = "*** Begin Patch\n*** Update File: a\n", "*** Begin Patch\n*** Add File: a\n"
	for _, c := range []struct{ head, line string }{
		{"", "\n"},
		{"", "\r"},
		{update, "\n"},
		{update, " "},
		{update, "@@\n"},
		{update, "*** "},
		{add, "+\n"},
		{add, "+\r"},
		{"*** Begin Patch\n", "*** Delete File: a\n"},
		{"", "diff --git a/a b/a\n"},
		{"diff --git ", " "},
		{"diff --git ", "a/a b/"},
		{"--- a\n+++ b\n@@ -1,1048576 +1,1048576 @@\n", "\n"},
		{"--- a\n+++ b\n", "@@ -1 +1 @@\n-a\n+b\n"},
		{"", "--- a\n+++ b\n"},
		{"<<<<<<< SEARCH\n", "=======\n"},
		{"<<<<<<< SEARCH\n", "a\n"},
		{"@@\n", "+\n"},
		{"--- \"", "\\"},
	} {
		r.measure(t, c.head+strings.Repeat(c.line, 1<<20/len(c.line)), "f")
	}
}

// FuzzPatch: no panic, and a diff that another reader takes too has as
// many lines of the same files.
func FuzzPatch(f *testing.F) {
	r := newPatchReader(f)
	for _, text := range []string{
		"*** Begin Patch\n*** Update File: a.go\n*** Move to: b.go\n@@ f\n-x\n+y\n*** End of File\n*** End Patch",
		"diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1,2 +1,3 @@\n x\n-y\n+z\n+z\n",
		"--- x\t2026-01-01\n+++ x\n@@ -1 +1 @@\n-y\n+z\n\\ No newline at end of file\n",
		"diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n",
		"------- SEARCH\na\n=======\nb\n+++++++ REPLACE\n",
	} {
		f.Add(text, "")
		f.Add(text, "f")
	}
	f.Fuzz(func(t *testing.T, text, path string) {
		lines, paths, refused := r.measure(t, text, path)
		if lines < 0 || refused == "" && len(paths) == 0 {
			t.Errorf("%d lines of %q", lines, paths)
		}
		first := strings.TrimLeft(text, " \t\r\n")
		if refused != "" || path != "" || strings.Contains(text, "\r") || strings.HasPrefix(first, "***") || len(text) > 1<<16 {
			return
		}
		peer, _, err := gitdiff.Parse(strings.NewReader(strings.TrimRight(text, "\n") + "\n"))
		if err != nil {
			return
		}
		var sum int64
		for _, file := range peer {
			for _, hunk := range file.TextFragments {
				sum += max(hunk.LinesAdded, hunk.LinesDeleted)
			}
		}
		if sum > lines {
			t.Errorf("%q: %d lines, and %d by another reader", text, lines, sum)
		}
	})
}
