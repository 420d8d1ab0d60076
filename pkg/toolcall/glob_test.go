package toolcall_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/workflow"
)

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
