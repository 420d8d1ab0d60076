package toolcall_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// TestFiles: S3.6.
func TestFiles(t *testing.T) {
	t.Parallel()
	counted := toolcall.Files{"a.go", "b.go"}
	for _, c := range []struct {
		paths       []string
		most        int64
		want, added string
		ok          bool
	}{
		{[]string{"a.go"}, 2, "a.go b.go", "", true},
		{[]string{"b.go", "a.go", "b.go"}, 1, "a.go b.go", "", true}, // counted already, for any limit
		{[]string{"A.go"}, 2, "a.go b.go", "A.go", false},
		{[]string{"A.go"}, 3, "A.go a.go b.go", "A.go", true},
		{[]string{"z", "a.go", "c", "z"}, 4, "a.go b.go c z", "z c", true},
		{[]string{"z", "c"}, 3, "a.go b.go", "z c", false},
		{[]string{"c", "d", "e"}, 0, "a.go b.go c d e", "c d e", true},
		{nil, 1, "a.go b.go", "", true},
	} {
		files, added, ok := counted.Add(c.paths, c.most)
		if strings.Join(files, " ") != c.want || strings.Join(added, " ") != c.added || ok != c.ok {
			t.Errorf("%q of %d: %q, new %q, %t", c.paths, c.most, files, added, ok)
		}
	}
	if files, added, ok := toolcall.Files(nil).Add([]string{"a"}, 1); !slices.Equal(files, []string{"a"}) || len(added) != 1 || !ok {
		t.Errorf("the first file: %q %q %t", files, added, ok)
	}
}

// TestFilesCountEachOnce: S3.6. For any order and grouping of edits, a file
// costs one; the limit is never passed, and refused edits do not count.
func TestFilesCountEachOnce(t *testing.T) {
	t.Parallel()
	randtest.Check(t, func(t *rapid.T) {
		most := rapid.Int64Range(0, 5).Draw(t, "most")
		names := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "A", "a/b"}), 0, 4)
		var files toolcall.Files
		want := map[string]bool{}
		for range rapid.IntRange(1, 10).Draw(t, "edits") {
			paths := names.Draw(t, "paths")
			before := slices.Clone(files)
			fresh := map[string]bool{}
			for _, p := range paths {
				if !want[p] {
					fresh[p] = true
				}
			}
			next, added, ok := files.Add(paths, most)
			if len(added) != len(fresh) || slices.ContainsFunc(added, func(p string) bool { return !fresh[p] }) {
				t.Fatalf("%q has %q, and %q are new", before, paths, added)
			}
			if legal := most == 0 || len(fresh) == 0 || int64(len(want)+len(fresh)) <= most; ok != legal {
				t.Fatalf("%q and %q of %d: %t", before, paths, most, ok)
			}
			if !slices.Equal(files, before) {
				t.Fatalf("%q was written to", before)
			}
			if !ok {
				if !slices.Equal(next, before) {
					t.Fatalf("a refused edit made %q of %q", next, before)
				}
				continue
			}
			for p := range fresh {
				want[p] = true
			}
			data, err := json.Marshal(next)
			if err != nil {
				t.Fatal(err)
			}
			files = nil
			if err := json.Unmarshal(data, &files); err != nil || len(files) != len(want) || !slices.IsSorted(files) {
				t.Fatalf("%s is %q, want %v", data, files, want)
			}
		}
	})
}

// TestFileLimit: S3.6. The sentence names the new files, the limit, and those that
// are free.
func TestFileLimit(t *testing.T) {
	t.Parallel()
	m, run := inState(t, `{"max_files_per_state": 2, "max_iterations": 5}`, `{}`)
	v := decide(m, run, "apply_patch", `{"patch": "*** Begin Patch\n*** Delete File: b\n*** Delete File: \u202ec\n*** End Patch"}`)
	want(t, m, run, v, "")
	counted := toolcall.Files{"a", "b"}
	_, added, ok := counted.Add(v.Paths, v.MaxFiles)
	if ok || v.MaxFiles != 2 || v.MaxIterations != 5 || !v.Counted {
		t.Errorf("verdict: %+v, %t", v, ok)
	}
	v = toolcall.FileLimitReached(m, run, counted, added)
	want(t, m, run, v, toolcall.CodeTooManyFiles)
	if v.MaxFiles != 2 || v.Files != 2 || len(v.Paths) != 1 {
		t.Errorf("verdict: %+v", v)
	}
	message := v.Message(m, run)
	for _, part := range []string{`"\u202ec"`, "2 files", `"a", "b"`, "GO -> done"} {
		if !strings.Contains(message, part) {
			t.Errorf("the denial does not say %s: %s", part, message)
		}
	}
	many := strings.Fields(strings.Repeat("x ", 20))
	if message := toolcall.FileLimitReached(m, run, nil, many).Message(m, run); !strings.Contains(message, "and 12 more") || strings.Contains(message, "already") {
		t.Errorf("message: %s", message)
	}
	want(t, nil, nil, toolcall.FileLimitReached(nil, nil, counted, added), toolcall.CodeTooManyFiles)
}

// TestContextBudget: S3.7.
func TestContextBudget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spent, budget int64
		denied        bool
		says          string
	}{
		{0, 0, false, ""},
		{1 << 62, 0, false, ""},
		{0, 1000, false, ""},
		{899, 1000, false, ""},
		{900, 1000, false, "900 of the 1000"},
		{999, 1000, false, "999 of the 1000"},
		{1000, 1000, true, "is spent"},
		{1001, 1000, true, "is spent"},
		{0, 1, false, ""},
		{1, 1, true, "is spent"},
		{13, 15, false, ""},
		{14, 15, false, "14 of the 15"},
		{1 << 62, 1<<63 - 1, false, ""},
		{1<<63 - 2, 1<<63 - 1, false, "are spent"},
	} {
		if got := toolcall.BudgetSpent(c.spent, c.budget); got != c.denied {
			t.Errorf("%d of %d is spent: %t", c.spent, c.budget, got)
		}
		if got := toolcall.BudgetWarning(c.spent, c.budget); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
			t.Errorf("%d of %d: %q", c.spent, c.budget, got)
		}
	}
	m, run := inState(t, `{"context_budget_bytes": 1000}`, `{}`)
	if v := decide(m, run, "Read", ""); v.ContextBudget != 1000 {
		t.Errorf("verdict: %+v", v)
	}
	if v := decide(m, run, "transition", ""); v.ContextBudget != 0 {
		t.Errorf("an own tool: %+v", v)
	}
	v := toolcall.ContextBudgetSpent(m, run, 1200)
	want(t, m, run, v, toolcall.CodeContextBudget)
	if message := v.Message(m, run); !strings.Contains(message, "1000 bytes") || !strings.Contains(message, "1200") || !strings.Contains(message, "GO -> done") {
		t.Errorf("message: %s", message)
	}
	want(t, nil, nil, toolcall.ContextBudgetSpent(nil, nil, 1), toolcall.CodeContextBudget)
}

// TestInterruptsThatFilesMatch: S4.1, S3.8.
func TestInterruptsThatFilesMatch(t *testing.T) {
	t.Parallel()
	def, problems := workflow.Parse([]byte(`{"id": "w", "initial": "a", "states": {"a": {"on": {"GO": "z"}}, "h": {"on": {"OK": "$return"}}, "z": {"type": "final"}},
	  "interrupts": {
	    "hooks": {"trigger": {"file_pattern": "site/pb/**/*.js"}, "target": "h"},
	    "js": {"trigger": {"file_pattern": "**/*.js"}, "target": "h"},
	    "env": {"trigger": {"file_pattern": "**/*.env*"}, "target": "h"}}}`))
	if problems.HasErrors() {
		t.Fatal(problems)
	}
	m := workflow.Compile(def, 1)
	root := pathglob.RootOf("/repo")
	for _, c := range []struct {
		files []string
		want  string
	}{
		{[]string{"site/pb/main.js"}, "hooks"},
		{[]string{"app.js", "/repo/site/pb/hooks/a.pb.js"}, "hooks"},
		{[]string{".env.local", "app.js"}, "js"},
		{[]string{"x", "./a//.env"}, "env"},
		{[]string{"link", "site/pb/x.js"}, "hooks"},
		{[]string{"/other/site/pb/main.js", "../app.js", "app.js/", "app.ts", ""}, ""},
		{nil, ""},
	} {
		if got, ok := m.Watches(root, c.files); got != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q %t, want %q", c.files, got, ok, c.want)
		}
	}
	// An edit's own paths are names that interrupts know.
	m2, run := inState(t, `{}`, `{}`)
	run.Workspace = "/repo"
	v := decide(m2, run, "Edit", `{"file_path": "/repo/x/../site/pb/a.js/", "old_string": "", "new_string": "x"}`)
	if got, _ := m.Watches(root, v.Paths); got != "hooks" {
		t.Errorf("%q: %q", v.Paths, got)
	}
	if _, ok := m2.Watches(root, []string{"site/pb/main.js"}); ok {
		t.Error("a workflow without interrupts has one")
	}
}
