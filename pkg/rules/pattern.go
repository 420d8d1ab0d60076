package rules

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// longestPattern is more than the capability of any tool has, in bytes.
const longestPattern = 1_024

// capabilityFix says how to fix a pattern that matches no capability, or "".
// Capabilities are bash, mcp:<server>:<tool> and tool:<name> (S7.1).
func capabilityFix(pattern string) string {
	prefix, wild := strings.CutSuffix(pattern, "*")
	switch {
	case strings.TrimSpace(pattern) == "" || strings.ContainsFunc(pattern, notInCapability):
		return "write one, without blanks and control characters"
	case len(pattern) > longestPattern:
		return fmt.Sprintf("no capability has more than %d bytes", longestPattern)
	case strings.Contains(prefix, "*"):
		return "a * is allowed only at the end, where it matches any rest"
	case pattern == "*":
		return ""
	}
	parts := strings.Split(prefix, ":")
	for i, part := range parts {
		if part == "" && (i == 0 || i < len(parts)-1 || !wild) {
			return "there is an empty part between colons; fill it"
		}
	}
	return kindFix(parts, wild)
}

func kindFix(parts []string, wild bool) string {
	kinds := []string{"bash", "mcp", "tool"}
	if len(parts) == 1 && wild {
		if slices.ContainsFunc(kinds, func(kind string) bool { return strings.HasPrefix(kind, parts[0]) }) {
			return ""
		}
	}
	switch {
	case !slices.Contains(kinds, parts[0]):
		return "begin with bash, mcp:<server>:<tool> or tool:<name>"
	case parts[0] == "bash" && len(parts) > 1:
		return "bash has no parts; limit commands with \"allowed_commands\" of a workflow"
	case parts[0] == "mcp" && len(parts) > 1:
		return serverFix(parts[1:], wild)
	}
	return ""
}

// serverFix is about servers whose tools have ambiguous names: agents write
// mcp__server__tool, which is read up to the first "__".
func serverFix(parts []string, wild bool) string {
	whole := len(parts) > 1 || !wild // the server is named to its end
	name := parts[0]
	if whole {
		name += "__" + strings.Join(parts[1:], ":")
	}
	server, tool, found := strings.Cut(name, "__")
	if !found || whole && server == parts[0] {
		return ""
	}
	if wild || len(parts) == 1 {
		tool += "*"
	}
	return fmt.Sprintf("agents' tool names are split at the first \"__\", so a server's name cannot contain \"__\" or end in \"_\"; write mcp:%s:%s", server, tool)
}

func notInCapability(c rune) bool { return !unicode.IsPrint(c) || unicode.IsSpace(c) }
