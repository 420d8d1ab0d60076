package toolcall

// longestFolded is the longest name that folded gives.
const longestFolded = 32

// folded is the last part of a tool's name (after the server, in
// mcp__server__tool) without case, dashes and underscores, so that the spellings
// of one tool by different agents are the same. It is empty when that is too
// long. It only ever makes more calls subject to a check; what is allowed is
// decided by exact names.
func folded(buf *[longestFolded]byte, name string) []byte {
	start := len(name)
	for start > 0 && (start < 2 || name[start-1] != '_' || name[start-2] != '_') {
		start--
	}
	out := buf[:0]
	for i := start; i < len(name); i++ {
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
