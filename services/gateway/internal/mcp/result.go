package mcp

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxOutput bounds the output that history keeps (S6.4).
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

// resultOutput is the text of a result. One that is longer than maxOutput is cut
// behind it, so that whoever keeps it sees that it was.
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
		if b.Len() > maxOutput {
			break
		}
	}
	out := strings.ToValidUTF8(b.String(), "\uFFFD")
	if len(out) > maxOutput {
		cut := maxOutput + 1
		for cut < len(out) && !utf8.RuneStart(out[cut]) {
			cut++
		}
		out = out[:cut]
	}
	return []byte(out)
}
