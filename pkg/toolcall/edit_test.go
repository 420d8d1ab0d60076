package toolcall_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

const limited = `{"max_edit_lines": 1000, "max_files_per_state": 100}`

// TestEditIsMeasured: S3.6, every known tool in the words of the agents that have
// it.
func TestEditIsMeasured(t *testing.T) {
	t.Parallel()
	m, run := inState(t, limited, `{}`)
	run.Workspace = "/repo"
	for _, c := range []struct {
		tool, input string
		lines       int64
		paths       string
	}{
		{"Edit", `{"file_path": "/repo/a.go", "old_string": "x", "new_string": "a\nb\nc"}`, 3, "a.go"},
		{"Edit", `{"file_path": "./a.go", "old_string": "a\nb\nc\nd", "new_string": "x"}`, 4, "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "a\nb\nc\n"}`, 3, "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "y", "replace_all": true}`, 1, "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "", "new_string": ""}`, 0, "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "a\r\nb\r\n", "new_string": "a\rb\rc"}`, 3, "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "\n\n"}`, 2, "a.go"},
		{"Edit", `{"file_path": "a.go/", "old_string": "x", "new_string": "y"}`, 1, "a.go"},
		{"Edit", `{"file_path": "/etc/passwd", "old_string": "x", "new_string": "y"}`, 1, "/etc/passwd"},
		{"Edit", `{"file_path": "../x", "old_string": "x", "new_string": "y"}`, 1, "/x"},
		{"edit", `{"filePath": "a.go", "oldString": "x", "newString": "y\nz"}`, 2, "a.go"},
		{"edit_file", `{"path": "a.go", "old_str": "x", "new_str": "y\nz", "replace_all": null}`, 2, "a.go"},
		{"replace", `{"file_path": "a.go", "instruction": "a\nb", "old_string": "x", "new_string": "y", "expected_replacements": 2}`, 1, "a.go"},
		{"search_replace", `{"file_path": "a.go", "old_string": "x", "new_string": "y\nz"}`, 2, "a.go"},
		{"replace_string_in_file", `{"filePath": "a.go", "oldString": "x\ny", "newString": "y", "explanation": "why"}`, 2, "a.go"},
		{"Write", `{"file_path": "a.go", "content": "a\nb\nc\nd\n"}`, 4, "a.go"},
		{"Write", `{"file_path": "a.go", "content": ""}`, 0, "a.go"},
		{"write", `{"path": "a.go", "contents": "a\nb"}`, 2, "a.go"},
		{"write_to_file", `{"path": "a.go", "content": "a", "task_progress": "- [x] a\n- [ ] b"}`, 1, "a.go"},
		{"create_file", `{"filePath": "a.go", "content": "a\nb"}`, 2, "a.go"},
		{"edit_file", `{"target_file": "a.go", "instructions": "I do", "code_edit": "// ...\nb"}`, 2, "a.go"},
		{"insert_edit_into_file", `{"filePath": "a.go", "code": "a\nb", "explanation": "x"}`, 2, "a.go"},
		{"MultiEdit", `{"file_path": "a.go", "edits": [{"old_string": "x", "new_string": "a\nb"}, {"old_string": "a\nb\nc", "new_string": "y", "replace_all": true}]}`, 5, "a.go"},
		{"MultiEdit", `{"file_path": "a.go", "edits": []}`, 0, "a.go"},
		{"multi_replace_string_in_file", `{"explanation": "x", "replacements": [{"filePath": "a.go", "oldString": "x", "newString": "y"}, {"filePath": "b.go", "oldString": "x", "newString": "y\nz"}]}`, 3, "a.go b.go"},
		{"mcp__fs__edit_file", `{"path": "a.go", "edits": [{"oldText": "x", "newText": "a\nb"}], "dryRun": true}`, 2, "a.go"},
		{"mcp__filesystem__write_file", `{"path": "a.go", "content": "x"}`, 1, "a.go"},
		{"mcp__fs__move_file", `{"source": "a.go", "destination": "/repo/b/../c.go"}`, 0, "a.go c.go"},
		{"delete_file", `{"target_file": "a.go", "explanation": "old"}`, 0, "a.go"},
		{"NotebookEdit", `{"notebook_path": "/repo/n.ipynb", "cell_id": "c", "new_source": "a\nb", "cell_type": "code", "edit_mode": "insert"}`, 2, "n.ipynb"},
		{"NotebookEdit", `{"notebook_path": "/repo/n.ipynb", "cell_id": "c", "edit_mode": "delete"}`, 0, "n.ipynb"},
		{"NotebookEdit", `{"notebook_path": "/repo/n.ipynb", "cell_id": "c", "edit_mode": "delete", "new_source": "a\nb"}`, 2, "n.ipynb"},
		{"edit_notebook", `{"target_notebook": "n.ipynb", "cell_idx": 1, "is_new_cell": false, "cell_language": "python", "old_string": "a\nb", "new_string": "c"}`, 2, "n.ipynb"},
		{"str_replace_editor", `{"command": "create", "path": "/repo/a.go", "file_text": "a\nb"}`, 2, "a.go"},
		{"str_replace_editor", `{"command": "str_replace", "path": "a.go", "old_str": "a\nb"}`, 2, "a.go"},
		{"str_replace_editor", `{"command": "insert", "path": "a.go", "insert_line": 3, "new_str": "a\nb"}`, 2, "a.go"},
		{"str_replace_based_edit_tool", `{"command": "insert", "path": "a.go", "insert_line": 3, "insert_text": "a"}`, 1, "a.go"},
		{"str_replace_based_edit_tool", `{"command": "view", "path": "a.go", "view_range": [1, 2]}`, 0, ""},
		{"apply_patch", `{"input": "*** Begin Patch\n*** Add File: a.go\n+a\n*** End Patch"}`, 1, "a.go"},
		{"apply_patch", `{"command": "*** Begin Patch\n*** Add File: a.go\n+a\n*** End Patch"}`, 1, "a.go"},
		{"apply_patch", `{"patchText": "--- a/a.go\n+++ b/a.go\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"}`, 2, "a.go"},
		{"apply_diff", `{"path": "a.go", "diff": "<<<<<<< SEARCH\nx\n=======\ny\nz\n>>>>>>> REPLACE"}`, 2, "a.go"},
		{"replace_in_file", `{"path": "a.go", "diff": "------- SEARCH\nx\n=======\ny\nz\n+++++++ REPLACE\n"}`, 2, "a.go"},
		// Not tools that edit.
		{"Read", `{"file_path": "a.go"}`, 0, ""},
		{"mcp__fs__read_file", `{"path": "a.go"}`, 0, ""},
		{"Editor", ``, 0, ""},
		{"credit", ``, 0, ""},
		{"Rewrite", ``, 0, ""},
		{"edit__notes", ``, 0, ""},
		{"edit_file_edit_file_edit_file_edit_file", ``, 0, ""},
	} {
		v := decide(m, run, c.tool, c.input)
		want(t, m, run, v, "")
		if v.EditLines != c.lines || strings.Join(v.Paths, " ") != c.paths {
			t.Errorf("%s %s: %d lines of %q, want %d of %q", c.tool, c.input, v.EditLines, v.Paths, c.lines, c.paths)
		}
		if limit := int64(min(len(v.Paths), 1)) * 100; v.MaxFiles != limit {
			t.Errorf("%s %s: at most %d files, want %d", c.tool, c.input, v.MaxFiles, limit)
		}
	}
}

// TestEditShapes: S3.6. Edits that cannot be measured are denied where a limit applies,
// and nowhere else.
func TestEditShapes(t *testing.T) {
	t.Parallel()
	open, started := inState(t, `{"context_budget_bytes": 1000}`, `{}`)
	for _, c := range []struct{ tool, input, says, paths string }{
		{"Edit", ``, "JSON object", ""},
		{"Edit", `"x"`, "JSON object", ""},
		{"Edit", `{"file_path": "a.go", "file_path": "b.go"}`, "duplicate", ""},
		{"Edit", `{}`, "old_string", ""},
		{"Edit", `{"file_path": "a.go"}`, "old_string", "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x"}`, "new_string", "a.go"},
		{"Edit", `{"file_path": "a.go", "new_string": "x"}`, "old_string", "a.go"},
		{"Edit", `{"old_string": "x", "new_string": "y"}`, "no file", ""},
		{"Edit", `{"file_path": "", "old_string": "x", "new_string": "y"}`, "not the name of a file", ""},
		{"Edit", `{"file_path": "/", "old_string": "x", "new_string": "y"}`, "not the name of a file", ""},
		{"Edit", `{"file_path": ["a.go"], "old_string": "x", "new_string": "y"}`, "file_path", ""},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": ["y"]}`, "new_string", "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": 5}`, "new_string", "a.go"},
		{"Edit", `{"path": "a.go", "patch": "a\nb\nc\nd"}`, "old_string", "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "y", "patch": "a\nb"}`, "more than one", "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "y", "content": "a\nb"}`, "more than one", "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "y", "new_str": "a\nb"}`, "twice", "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "y", "newSource2": "a\nb"}`, "newSource2", "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "y", "more": [{"new": "a"}]}`, "more", "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "y", "cwd": "site"}`, "cwd", "a.go"},
		{"Edit", `{"file_path": "a.go", "old_string": "x", "new_string": "y", "command": "z"}`, "more than one", "a.go"},
		{"Write", `{"file_path": "a.go"}`, "content", "a.go"},
		{"Write", `{"file_path": "a.go", "content": {"a": 1}}`, "content", "a.go"},
		{"Write", `{"file_path": "a.go", "content": "eA==", "encoding": "base64"}`, "encoding", "a.go"},
		{"Write", `{"file_path": "a.go", "old_string": "x", "new_string": "y"}`, "content", "a.go"},
		{"MultiEdit", `{"file_path": "a.go", "edits": "[]"}`, "edits", "a.go"},
		{"MultiEdit", `{"file_path": "a.go", "edits": ["x"]}`, "not an object", "a.go"},
		{"MultiEdit", `{"file_path": "a.go", "edits": [{"old_string": "x"}]}`, "new_string", "a.go"},
		{"MultiEdit", `{"file_path": "a.go", "edits": [{"old_string": "x", "new_string": "y", "content": "z"}]}`, "new_string", "a.go"},
		{"MultiEdit", `{"edits": [{"path": "a.go", "old_string": "x", "new_string": "y"}, {"old_string": "x", "new_string": "y"}]}`, "no file", "a.go"},
		{"MultiEdit", `{"file_path": "a.go", "edits": [], "replacements": [{}]}`, "replacements", "a.go"},
		{"MultiEdit", `{"file_path": "a.go", "old_string": "x", "new_string": "y"}`, "edits", "a.go"},
		{"NotebookEdit", `{"notebook_path": "n.ipynb", "cell_id": "c"}`, "content", "n.ipynb"},
		{"move_file", `{"source": "a.go"}`, "destination", "a.go"},
		{"delete_file", `{"path": "a.go", "content": "x"}`, "alone", "a.go"},
		{"delete_file", `{}`, "no file", ""},
		{"str_replace_editor", `{"path": "a.go"}`, "command", "a.go"},
		{"str_replace_editor", `{"command": "View", "path": "a.go"}`, "command", "a.go"},
		{"str_replace_editor", `{"command": "create", "path": "a.go", "new_str": "x"}`, "command", "a.go"},
		{"str_replace_editor", `{"command": "insert", "path": "a.go", "insert_line": 1}`, "command", "a.go"},
		{"str_replace_editor", `{"command": "str_replace", "path": "a.go", "old_str": "x", "file_text": "y"}`, "command", "a.go"},
		{"apply_patch", `{"input": "a\nb"}`, "begin with", ""},
		{"apply_patch", `{"input": ["apply_patch", "x"]}`, "input", ""},
		{"apply_patch", `{"input": "", "command": "*** Begin Patch\n*** Add File: a.go\n+a\n*** End Patch"}`, "more than one", ""},
		{"WRITE", `{"file_path": "a.go"}`, "content", "a.go"},
		{"mcp__any__apply-patch", `{"x": 1}`, "patch", ""},
	} {
		v := decide(open, started, c.tool, c.input)
		want(t, open, started, v, "")
		if strings.Join(v.Paths, " ") != c.paths || v.EditLines != 0 {
			t.Errorf("%s %s: %d lines of %q, want 0 of %q", c.tool, c.input, v.EditLines, v.Paths, c.paths)
		}
		for _, state := range []string{limited, `{"max_edit_lines": 1}`, `{"max_files_per_state": 1}`} {
			m, run := inState(t, state, `{}`)
			v := decide(m, run, c.tool, c.input)
			want(t, m, run, v, toolcall.CodeInvalidInput)
			if message := v.Message(m, run); !strings.Contains(message, c.says) {
				t.Errorf("%s %s: the denial does not say %q: %s", c.tool, c.input, c.says, message)
			}
		}
	}
}

// TestEditTooLarge: S3.6, S3's order, and both numbers in the sentence.
func TestEditTooLarge(t *testing.T) {
	t.Parallel()
	m, run := inState(t, `{"max_edit_lines": 3}`, `{}`)
	v := decide(m, run, "Write", `{"file_path": "a.go", "content": "a\nb\nc\nd"}`)
	want(t, m, run, v, toolcall.CodeEditTooLarge)
	if v.EditLines != 4 || !slices.Equal(v.Paths, []string{"a.go"}) {
		t.Errorf("verdict: %+v", v)
	}
	if message := v.Message(m, run); !strings.Contains(message, "4 lines") || !strings.Contains(message, "3 are allowed") || !strings.Contains(message, "GO -> done") {
		t.Errorf("message: %s", message)
	}
	want(t, m, run, decide(m, run, "Write", `{"file_path": "a.go", "content": "a\nb\nc\n"}`), "")
	// An undo restores text that no call shows.
	undo := `{"command": "undo_edit", "path": "a.go"}`
	want(t, m, run, decide(m, run, "str_replace_editor", undo), toolcall.CodeInvalidInput)
	m, run = inState(t, `{"max_files_per_state": 3}`, `{}`)
	if v := decide(m, run, "str_replace_editor", undo); v.Decision != toolcall.Allow || len(v.Paths) != 1 {
		t.Errorf("an undo where only files are limited: %+v", v)
	}
	// The gate comes first; own tools and lifted enforcement are not looked at.
	m, run = inState(t, `{"allowed_tools": ["Edit"], "max_edit_lines": 3}`, `{}`)
	want(t, m, run, decide(m, run, "Write", `{}`), toolcall.CodeToolNotAllowed)
	run.State, run.Status = "done", workflow.Completed
	if v := decide(m, run, "Write", `{"file_path": "a", "content": "a\nb\nc\nd"}`); v.Decision != toolcall.Allow || v.Paths != nil {
		t.Errorf("after the end: %+v", v)
	}
}

// TestEditPaths: S3.8. One name for each file, in the order of the call.
func TestEditPaths(t *testing.T) {
	t.Parallel()
	m, run := inState(t, `{}`, `{}`)
	input := `{"path": "b", "edits": [{"path": "./a", "oldText": "x", "newText": "y"}, {"path": "/w/b", "oldText": "x", "newText": "y"}]}`
	run.Workspace = "/w"
	if v := decide(m, run, "edit_file", input); !slices.Equal(v.Paths, []string{"b", "a"}) || v.MaxFiles != 0 {
		t.Errorf("verdict: %+v", v)
	}
	run.Workspace = ""
	if v := decide(m, run, "edit_file", input); !slices.Equal(v.Paths, []string{"b", "a", "/w/b"}) {
		t.Errorf("without a workspace: %+v", v)
	}
	run.Workspace = `C:\w`
	if v := decide(m, run, "edit_file", `{"path": "c:\\W\\a.go.", "oldText": "x", "newText": "y"}`); !slices.Equal(v.Paths, []string{"a.go"}) {
		t.Errorf("under Windows: %+v", v)
	}
}

const editTools = `{"edit_tools": {
  "save_buffer": {"kind": "write", "path": "file", "content": "/body/text"},
  "swap": {"kind": "edit", "path": "f", "old": "before", "new": "after"},
  "swap_all": {"kind": "multi_edit", "path": "f", "edits": "list", "old": "a", "new": "/b/0"},
  "refactor": {"kind": "patch", "patch": "diff", "path": "f"},
  "drop": {"kind": "delete", "path": "f"},
  "rename": {"kind": "move", "from": "a", "to": "b"},
  "Write": {"kind": "write", "path": "file", "content": "text"}}}`

// TestEditTools: the workflow says where other tools have their arguments.
func TestEditTools(t *testing.T) {
	t.Parallel()
	m, run := inState(t, `{"max_edit_lines": 3, "max_files_per_state": 2}`, editTools)
	for _, c := range []struct {
		tool, input string
		lines       int64
		paths       string
		code        toolcall.Code
	}{
		{"save_buffer", `{"file": "./a", "body": {"text": "a\nb"}, "cwd": "vouched for"}`, 2, "a", ""},
		{"save_buffer", `{"file": "a", "body": {"text": "a\nb\nc\nd"}}`, 4, "a", toolcall.CodeEditTooLarge},
		{"save_buffer", `{"file": "a", "body": "a"}`, 0, "a", toolcall.CodeInvalidInput},
		{"save_buffer", `{"file": "a", "/body/text": "a"}`, 0, "a", toolcall.CodeInvalidInput},
		{"save_buffer", `{"file": "", "body": {"text": "a"}}`, 0, "", toolcall.CodeInvalidInput},
		{"save_buffer", `{"file": ["a"], "body": {"text": "a"}}`, 0, "", toolcall.CodeInvalidInput},
		{"save_buffer", ``, 0, "", toolcall.CodeInvalidInput},
		{"swap", `{"f": "a", "before": "a\nb", "after": ""}`, 2, "a", ""},
		{"swap", `{"f": "a", "before": "a"}`, 0, "a", toolcall.CodeInvalidInput},
		{"swap_all", `{"f": "a", "list": [{"a": "x", "b": ["y\nz"]}, {"a": "x", "b": ["y"]}]}`, 3, "a", ""},
		{"swap_all", `{"list": [{"f": "a", "a": "x", "b": ["y"]}, {"f": "b", "a": "x", "b": ["y"]}]}`, 2, "a b", ""},
		{"swap_all", `{"list": [{"a": "x", "b": ["y"]}]}`, 0, "", toolcall.CodeInvalidInput},
		{"swap_all", `{"f": "a", "list": [{"a": "x"}]}`, 0, "a", toolcall.CodeInvalidInput},
		{"swap_all", `{"f": "a", "list": {"a": "x"}}`, 0, "a", toolcall.CodeInvalidInput},
		{"swap_all", `{"list": []}`, 0, "", toolcall.CodeInvalidInput},
		{"refactor", `{"diff": "*** Begin Patch\n*** Delete File: a\n*** End Patch"}`, 0, "a", ""},
		{"refactor", `{"f": "a", "diff": "@@\n-x\n+y"}`, 1, "a", ""},
		{"refactor", `{"diff": "@@\n-x\n+y"}`, 0, "", toolcall.CodeInvalidInput},
		{"drop", `{"f": "a"}`, 0, "a", ""},
		{"drop", `{}`, 0, "", toolcall.CodeInvalidInput},
		{"rename", `{"a": "x", "b": "y"}`, 0, "x y", ""},
		{"rename", `{"a": "x"}`, 0, "x", toolcall.CodeInvalidInput},
		// The workflow wins over the known meaning of a name, which is exact.
		{"Write", `{"file": "a", "text": "x"}`, 1, "a", ""},
		{"write", `{"file": "a", "text": "x"}`, 1, "a", ""},
		{"Save_Buffer", `{}`, 0, "", ""},
		{"mcp__x__save_buffer", `{}`, 0, "", ""},
	} {
		v := decide(m, run, c.tool, c.input)
		t.Logf("%s %s", c.tool, c.input)
		want(t, m, run, v, c.code)
		if v.EditLines != c.lines || strings.Join(v.Paths, " ") != c.paths {
			t.Errorf("%d lines of %q, want %d of %q", v.EditLines, v.Paths, c.lines, c.paths)
		}
	}
}

// TestEditSizeHasNoWayRound: S3.6. However a text of n lines comes into a call of
// a tool that edits, the call is denied or measured as n lines at least.
func TestEditSizeHasNoWayRound(t *testing.T) {
	t.Parallel()
	m, run := inState(t, limited, `{}`)
	names := []string{
		"content", "contents", "text", "new_string", "newText", "old_string", "patch", "diff", "edits", "input", "new_source",
		"file_text", "insert_text", "data", "body", "value", "lines", "replacement", "code", "Content", "NEW_STRING", "new string",
	}
	randtest.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 20).Draw(t, "lines")
		text := strings.Repeat("x\n", n)
		input := map[string]any{}
		for _, name := range rapid.SliceOfN(rapid.SampledFrom(names), 0, 4).Draw(t, "small") {
			input[name] = rapid.SampledFrom([]any{"y", "", nil, 1, true, []any{}}).Draw(t, "value")
		}
		hidden := rapid.SampledFrom(names).Draw(t, "hidden")
		input["path"] = "a.go"
		input[hidden] = rapid.SampledFrom([]any{text, []any{text}, map[string]any{"x": text}}).Draw(t, "as")
		if list, ok := input["edits"].([]any); ok && len(list) == 0 {
			input["edits"] = []any{map[string]any{"oldText": "x", "newText": text}}
		}
		data, err := json.Marshal(input)
		if err != nil {
			t.Fatal(err)
		}
		tool := rapid.SampledFrom([]string{
			"Edit", "Write", "MultiEdit", "NotebookEdit", "edit_file", "apply_patch", "replace_in_file", "delete_file", "move_file",
		}).Draw(t, "tool")
		if v := decide(m, run, tool, string(data)); v.Decision == toolcall.Allow && v.EditLines < int64(n) {
			t.Fatalf("%s %s: %d lines", tool, data, v.EditLines)
		}
	})
}
