package hook

import (
	"path/filepath"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// pathArguments names the arguments that hold the files which a tool changes, for
// the file tools of agents and of the usual MCP servers (S4.1).
var pathArguments = map[string][]string{
	"Edit": {"file_path"}, "Write": {"file_path"}, "MultiEdit": {"file_path"}, "NotebookEdit": {"notebook_path"},
	"write_file": {"path"}, "edit_file": {"path"}, "create_file": {"path"}, "move_file": {"source", "destination"},
}

// maxFiles is how many files one report may name.
const maxFiles = 10_000

// filesChanged answers the files that a successful call changed, as far as its
// input tells. Relative ones are relative to the agent's working folder.
func (ev *event) filesChanged() []string {
	tool := ev.Tool
	if i := strings.LastIndex(tool, "__"); i >= 0 { // mcp__server__tool
		tool = tool[i+2:]
	}
	var input map[string]jsontext.Value
	if json.Unmarshal(ev.Input, &input, jsontext.AllowInvalidUTF8(true)) != nil || string(input["dryRun"]) == "true" {
		return nil
	}
	var files []string
	for _, name := range pathArguments[tool] {
		files = append(files, text(input[name]))
	}
	if tool == "apply_patch" {
		for _, name := range []string{"command", "input", "patch"} {
			files = append(files, patched(text(input[name]))...)
		}
	}
	changed := files[:0]
	for _, file := range files {
		if file == "" || len(changed) == maxFiles {
			continue
		}
		if !filepath.IsAbs(file) && ev.WorkingDir != "" {
			file = filepath.Join(ev.WorkingDir, file)
		}
		changed = append(changed, file)
	}
	return changed
}

func text(value jsontext.Value) string {
	var s string
	if json.Unmarshal(value, &s) != nil {
		return ""
	}
	return s
}

// patched lists the files that a patch in the format of apply_patch changes.
func patched(patch string) []string {
	var files []string
	for line := range strings.SplitSeq(patch, "\n") {
		for _, header := range []string{"*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "} {
			if file, ok := strings.CutPrefix(line, header); ok {
				files = append(files, strings.TrimSpace(file))
			}
		}
	}
	return files
}
