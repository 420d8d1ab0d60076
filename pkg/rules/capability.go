package rules

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// Shell is the capability of every tool that runs command lines (S7.1).
const Shell = "bash"

// longestName is how long a capability can be without memory of its own.
const longestName = 256

// CapabilityOf is what a policy calls a tool, by the name that agents know it by
// (S7.1): mcp:<server>:<tool> for mcp__server__tool, Shell for one that runs
// command lines, tool:<name> for any other. A tool of an MCP server that runs
// command lines is the server's first, and what restricts Shell restricts it too.
func CapabilityOf(tool string) string {
	var room [longestName]byte
	return string(appendCapability(room[:0], tool, toolcall.Shell(nil, tool)))
}

func appendCapability(dst []byte, tool string, shell bool) []byte {
	if rest, ok := strings.CutPrefix(tool, "mcp__"); ok {
		if server, name, ok := strings.Cut(rest, "__"); ok && server != "" && name != "" {
			dst = append(append(dst, "mcp:"...), server...)
			return append(append(dst, ':'), name...)
		}
	}
	if shell {
		return append(dst, Shell...)
	}
	return append(append(dst, "tool:"...), tool...)
}

// separates reports the characters between the parts of a capability: a pattern
// without * matches what continues after one of them (S7.1).
func separates(c byte) bool { return c == ':' || c == '.' }
