package toolcall

import "strings"

// longestFolded is the longest tool name that folded gives.
const longestFolded = 32

// folded is the last part of a tool's name (after the server, in
// mcp__server__tool) without case, dashes and underscores, so that the spellings
// of one tool by different agents are the same. It only ever makes more calls
// subject to a check; what is allowed is decided by exact names.
func folded(buf *[longestFolded]byte, name string) []byte {
	if i := strings.LastIndex(name, "__"); i >= 0 {
		name = name[i+len("__"):]
	}
	out := buf[:0]
	for i := range len(name) {
		c := name[i]
		switch {
		case c == '_' || c == '-':
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if len(out) == longestFolded {
			return nil
		}
		out = append(out, c)
	}
	return out
}
