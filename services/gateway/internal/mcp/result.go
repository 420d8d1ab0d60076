package mcp

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxOutput bounds the output sent with a report (S6.4).
const maxOutput = 64 << 10

// resultBytes is what a result weighs in the agent's context: its content, or its
// structured content when there is no other.
func resultBytes(result *sdk.CallToolResult) int64 {
	var size int64
	for _, content := range result.Content {
		if text, ok := content.(*sdk.TextContent); ok {
			size += int64(len(text.Text))
			continue
		}
		if raw, err := json.Marshal(content); err == nil {
			size += int64(len(raw))
		}
	}
	if size == 0 && result.StructuredContent != nil {
		if raw, err := json.Marshal(result.StructuredContent); err == nil {
			size = int64(len(raw))
		}
	}
	return size
}

// resultOutput is the text of a result, cut at maxOutput.
func resultOutput(result *sdk.CallToolResult) []byte {
	var b strings.Builder
	for _, content := range result.Content {
		text, ok := content.(*sdk.TextContent)
		if !ok {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(text.Text)
		if b.Len() >= maxOutput {
			break
		}
	}
	out := strings.ToValidUTF8(b.String(), "\uFFFD")
	if len(out) > maxOutput {
		cut := maxOutput
		for cut > 0 && !utf8.RuneStart(out[cut]) {
			cut--
		}
		out = out[:cut]
	}
	return []byte(out)
}

// pathArguments names the arguments that hold the files which a tool changes, for
// file tools that agents and the usual servers have (S4.1).
var pathArguments = map[string][]string{
	"write_file": {"path"}, "edit_file": {"path"}, "create_file": {"path"}, "move_file": {"source", "destination"},
	"Write": {"file_path"}, "Edit": {"file_path"}, "MultiEdit": {"file_path"}, "NotebookEdit": {"notebook_path"},
}

// filesChanged is the files that a call that went well has changed, as far as its
// arguments tell.
func filesChanged(tool string, input json.RawMessage) []string {
	keys := pathArguments[tool]
	if keys == nil {
		return nil
	}
	var args map[string]json.RawMessage
	if json.Unmarshal(input, &args) != nil || string(args["dryRun"]) == "true" {
		return nil
	}
	var files []string
	for _, key := range keys {
		var path string
		if json.Unmarshal(args[key], &path) == nil && path != "" {
			files = append(files, path)
		}
	}
	return files
}
