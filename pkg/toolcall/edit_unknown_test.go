package toolcall_test

import (
	"strings"
	"testing"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestEditsByUnknownTools: S3.6. Where the state limits edits, a call of an unknown tool
// counts as an edit when it names a file and carries text.
func TestEditsByUnknownTools(t *testing.T) {
	t.Parallel()
	const long = `a\nb\nc\nd`
	limits := map[string]string{"lines": `{"max_edit_lines": 3}`, "files": `{"max_files_per_state": 1}`}
	for _, c := range []struct {
		tool, input string
		code        toolcall.Code // with at most 3 lines
		paths       string        // with one file
	}{
		{"mcp__fs__append_file", `{"path": "a.go", "content": "` + long + `"}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__fs__append_file", `{"path": "a.go", "content": "a\nb"}`, "", "a.go"},
		{"mcp__serena__replace_lines", `{"relative_path": "a.go", "start_line": 1, "end_line": 2, "content": "` + long + `"}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__x__put", `{"file": "a.go", "data": "` + long + `"}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__x__put", `{"path": "a.go", "lines": ["a", "b", "c", "d"]}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__x__swap", `{"path": "a.go", "old_text": "` + long + `", "new_text": "x"}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__x__swap", `{"path": "a.go", "old_text": "a\nb", "new_text": "c\nd\ne"}`, "", "a.go"},
		{"mcp__x__many", `{"changes": [{"path": "a.go", "content": "a\nb"}, {"path": "b.go", "content": "c\nd"}]}`, toolcall.CodeEditTooLarge, "a.go b.go"},
		{"mcp__x__get_and_set", `{"path": "a.go", "content": "` + long + `"}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__github__push_files", `{"owner": "o", "repo": "r", "branch": "b", "message": "m", "files": [{"path": "a.go", "content": "` + long + `"}]}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__github__create_or_update_file", `{"owner": "o", "repo": "r", "path": "a.go", "content": "a\nb\nc", "message": "m"}`, "", "a.go"},
		{"mcp__x__save_file", `{"name": "a.go", "body": "` + long + `"}`, toolcall.CodeInvalidInput, ""},
		{"SaveBuffer", `{"path": "a.go", "text": "` + long + `"}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__x__put", `{"path": "a.go", "lines": [{"t": "a"}, {"t": "b"}, {"t": "c"}, {"t": "d"}]}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__x__put", `{"path": "a.go", "lines": [["a", "b"], [["c"], "d"]]}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__x__put", `{"path": "a.go", "content": [1, 2, null, true]}`, toolcall.CodeEditTooLarge, "a.go"},
		{"mcp__x__put", `{"path": "a.go", "content": [{"type": "text", "text": "a\nb\nc"}]}`, "", "a.go"},
		{"mcp__x__put", `{"path": ["a.go", "b.go"], "text": "` + long + `"}`, toolcall.CodeEditTooLarge, "a.go b.go"},
		{"mcp__x__put", `{"path": [["a.go"]], "text": "` + long + `"}`, toolcall.CodeEditTooLarge, "a.go"},
		// Calls that are no edits.
		{"mcp__fs__read_text_file", `{"path": "a.go", "head": 9}`, "", ""},
		{"mcp__fs__search_files", `{"path": "a", "pattern": "x", "text": "y"}`, "", ""},
		{"mcp__fs__read_multiple_files", `{"paths": ["a.go", "b.go"]}`, "", ""},
		{"mcp__fs__list_directory", `{"path": "a"}`, "", ""},
		{"mcp__tr__translate", `{"from": "en", "to": "de", "text": "` + long + `"}`, "", ""},
		{"mcp__github__create_issue", `{"title": "t", "body": "` + long + `"}`, "", ""},
		{"mcp__x__look", `{"path": "a.go", "text": "` + long + `"}`, "", ""}, // the author says so
		{"Agent", `{"description": "a", "prompt": "` + long + `", "path": "a"}`, "", ""},
		{"Read", `{"file_path": "a.go"}`, "", ""},
	} {
		for name, state := range limits {
			m, run := inState(t, state, `{"read_tools": ["mcp__x__look"]}`)
			v := decide(m, run, c.tool, c.input)
			want := c.code
			if name == "files" && want != toolcall.CodeInvalidInput {
				want = ""
			}
			if paths := strings.Join(v.Paths, " "); v.Code != want || paths != c.paths {
				t.Errorf("%s: %s %s: %s %q, want %s %q", state, c.tool, c.input, v.Code, paths, want, c.paths)
			}
		}
		m, run := inState(t, `{}`, `{}`)
		if v := decide(m, run, c.tool, c.input); v.Code != "" || len(v.Paths) > 0 && c.tool != "Read" {
			t.Errorf("without limits %s is %s, %v", c.tool, v.Code, v.Paths)
		}
	}
}
