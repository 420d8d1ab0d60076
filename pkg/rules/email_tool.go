package rules

import (
	"bytes"
	"strings"
)

// What sends email where a policy does not name it: all tools of servers that have
// emailServer in their names, as a plugin's server has, and tools whose names end with
// emailTool on whatever server. More than that are only restricted.
const (
	emailServer = "resend"
	emailTool   = "resend-email"
)

func sendsEmail(capability []byte) bool {
	kind, rest, _ := bytes.Cut(capability, []byte(":"))
	server, tool := []byte(nil), rest
	if string(kind) == "mcp" {
		at := bytes.LastIndexByte(rest, ':')
		server, tool = rest[:max(at, 0)], rest[at+1:]
	}
	return hasInside(server, emailServer) || endsWith(tool, emailTool)
}

// hasInside reports a text that has another one in it, in whatever case.
func hasInside(text []byte, part string) bool {
	for i := 0; i+len(part) <= len(text); i++ {
		if strings.EqualFold(string(text[i:i+len(part)]), part) {
			return true
		}
	}
	return false
}

// endsWith reports the end of a name, in whatever case, with _ or - in it.
func endsWith(name []byte, end string) bool {
	if len(name) < len(end) {
		return false
	}
	for i, c := range name[len(name)-len(end):] {
		switch {
		case c == '_':
			c = '-'
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if c != end[i] {
			return false
		}
	}
	return true
}
