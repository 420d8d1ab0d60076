package hook_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

// TestFilesByTheFolderOfTheAgent: relative names are relative to where the agent
// works, which need not be the workspace.
func TestFilesByTheFolderOfTheAgent(t *testing.T) {
	t.Parallel()
	const patch = `*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-*** Add File: no\n+y\n*** Add File: /c\n+x\n*** Delete File: d\n*** End Patch`
	for name, tc := range map[string]struct {
		cwd, tool, input string
		want             []string
	}{
		"relative":                {"/w", "Write", `{"file_path":"b/../a","content":""}`, []string{"/w/a"}},
		"absolute":                {"/w", "Edit", `{"file_path":"/x/./a","old_string":"a","new_string":"b"}`, []string{"/x/a"}},
		"above":                   {"/w/deep", "Write", `{"file_path":"../a","content":""}`, []string{"/w/a"}},
		"at the top":              {"/", "Write", `{"file_path":"a","content":""}`, []string{"/a"}},
		"notebook":                {"/w", "NotebookEdit", `{"notebook_path":"n.ipynb","new_source":"x"}`, []string{"/w/n.ipynb"}},
		"an MCP server's":         {"/w", "mcp__fs__move_file", `{"source":"a","destination":"b"}`, []string{"/w/a", "/w/b"}},
		"patch":                   {"/w", "apply_patch", `{"command":"` + patch + `"}`, []string{"/w/a", "/w/b", "/c", "/w/d"}},
		"Windows":                 {`C:\w`, "Write", `{"file_path":"src\\a","content":""}`, []string{`C:\w/src/a`}},
		"Windows, absolute":       {`C:\w`, "Write", `{"file_path":"D:\\a","content":""}`, []string{"D:/a"}},
		"no working folder":       {"", "Write", `{"file_path":"a","content":""}`, nil},
		"a tool that only reads":  {"/w", "Read", `{"file_path":"a"}`, nil},
		"a file that is not text": {"/w", "Edit", `{"file_path":7}`, nil},
		"no input":                {"/w", "Edit", `null`, nil},
	} {
		got := changed(t, planning, tc.cwd, tc.tool, tc.input, false)
		if diff := cmp.Diff(tc.want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestFilesByTheirRealNames: a link is no way round an interrupt (S4.1).
func TestFilesByTheirRealNames(t *testing.T) {
	t.Parallel()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in := func(name string) string { return filepath.Join(top, name) }
	for _, dir := range []string{"repo/migrations", "repo/src", "elsewhere"} {
		if err := os.MkdirAll(in(dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"repo/src/m": "../migrations", "repo/src/one.sql": "../migrations/1.sql", "repo/loop": "loop", "repo/out": "../elsewhere",
		"work": "repo", "repo/gone": "nowhere/at/all",
	} {
		if err := os.Symlink(to, in(link)); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"repo/migrations/1.sql", "repo/plain", "elsewhere/x"} {
		if err := os.WriteFile(in(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		workspace, cwd, file string
		want                 []string
	}{
		"no link":                            {"repo", "repo", "plain", []string{"repo/plain"}},
		"a link to a file":                   {"repo", "repo", "src/one.sql", []string{"repo/src/one.sql", "repo/migrations/1.sql"}},
		"a linked folder":                    {"repo", "repo/src", "m/1.sql", []string{"repo/src/m/1.sql", "repo/migrations/1.sql"}},
		"a file that is gone":                {"repo", "repo", "src/m/2.sql", []string{"repo/src/m/2.sql", "repo/migrations/2.sql"}},
		"folders that are gone":              {"repo", "repo", "src/m/x/y/2.sql", []string{"repo/src/m/x/y/2.sql", "repo/migrations/x/y/2.sql"}},
		"a way out":                          {"repo", "repo", "out/x", []string{"repo/out/x", "elsewhere/x"}},
		"a link to nothing":                  {"repo", "repo", "gone", []string{"repo/gone", "repo/nowhere/at/all"}},
		"a link to itself":                   {"repo", "repo", "loop/x", []string{"repo/loop/x"}},
		"a workspace that is a link":         {"work", "work", "src/one.sql", []string{"work/src/one.sql", "work/migrations/1.sql"}},
		"that workspace by its real name":    {"work", "repo", "plain", []string{"repo/plain", "work/plain"}},
		"that workspace, nothing to add":     {"work", "work", "plain", []string{"work/plain"}},
		"no workspace":                       {"", "work", "plain", []string{"work/plain", "repo/plain"}},
		"a workspace that is somewhere else": {"elsewhere", "repo", "src/one.sql", []string{"repo/src/one.sql", "repo/migrations/1.sql"}},
	} {
		run := &enginev1.Run{RunId: "run_1", Status: enginev1.RunStatus_RUN_STATUS_RUNNING}
		if tc.workspace != "" {
			run.Workspace = in(tc.workspace)
		}
		input := `{"file_path":"` + tc.file + `","content":""}`
		var want []string
		for _, file := range tc.want {
			want = append(want, in(file))
		}
		if diff := cmp.Diff(want, changed(t, run, in(tc.cwd), "Write", input, true)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		// Files of another machine are not looked for on this one.
		if diff := cmp.Diff(want[:1], changed(t, run, in(tc.cwd), "Write", input, false)); diff != "" {
			t.Errorf("%s, remote (-want +got):\n%s", name, diff)
		}
	}
}

// TestLocalRequests: only who calls from this machine has its files.
func TestLocalRequests(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	event := `{"session_id":"s","hook_event_name":"PostToolUse","cwd":"` + filepath.ToSlash(dir) + `","tool_name":"Write","tool_use_id":"c",` +
		`"tool_input":{"file_path":"link/a","content":""}}`
	for from, local := range map[string]bool{
		"@": true, "": true, "127.0.0.1:1": true, "127.9.9.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true,
		"192.0.2.1:1": false, "[2001:db8::1]:1": false, "10.0.0.1:1": false,
	} {
		s := &services{run: planning}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/hook", strings.NewReader(event))
		r.RemoteAddr = from
		w := httptest.NewRecorder()
		door(s, hook.Handler{}, nil).ServeHTTP(w, r)
		report, ok := s.asked[len(s.asked)-1].(*policyv1.ReportToolCallRequest)
		if !ok || (len(report.GetFilesChanged()) == 2) != local {
			t.Errorf("from %q: %s, %v", from, w.Body, s.asked)
		}
	}
}
