package toolname

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// ShellCapability is the capability of every tool that runs command lines (S7.1).
const ShellCapability = "bash"

// AppendCapability appends the name of a tool in policies, by the name that agents know it by
// (S7.1): mcp:<server>:<tool> for mcp__server__tool, ShellCapability for one that runs command
// lines, tool:<name> for any other. A tool of an MCP server that runs command lines is
// the server's first, and restrictions of ShellCapability restrict it too.
func AppendCapability(dst []byte, tool string, shell bool) []byte {
	if server, name, ok := OfServer(tool); ok {
		dst = append(append(dst, "mcp:"...), server...)
		return append(append(dst, ':'), name...)
	}
	if shell {
		return append(dst, ShellCapability...)
	}
	return append(append(dst, "tool:"...), tool...)
}

// OfServer returns the server and the name there of a tool that is called mcp__SERVER__TOOL.
func OfServer(full string) (server, tool string, ok bool) {
	rest, ok := strings.CutPrefix(full, "mcp__")
	if !ok {
		return "", "", false
	}
	server, tool, ok = strings.Cut(rest, "__")
	return server, tool, ok && server != "" && tool != ""
}

// Capability returns that name of a tool which is known by its name alone.
func Capability(tool string) string { return string(AppendCapability(nil, tool, Shell(tool))) }

// Separates reports the characters between the parts of a capability: a pattern without *
// matches names that continue after one of them (S7.1).
func Separates(c byte) bool { return c == ':' || c == '.' }

// Covers reports that a pattern of capabilities matches one (S7.1).
func Covers(pattern, capability string) bool {
	prefix, wild := strings.CutSuffix(pattern, "*")
	rest, ok := strings.CutPrefix(capability, prefix)
	return ok && (wild || rest == "" || Separates(rest[0]))
}

// longestPattern is more than the capability of any tool has, in bytes.
const longestPattern = 1_024

// CapabilityFix describes how to fix a pattern that matches no capability, or "".
// Capabilities are bash, mcp:<server>:<tool> and tool:<name> (S7.1).
func CapabilityFix(pattern string) string {
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
		return "begin with bash, mcp:<server>:<tool> or tool:<name>" + meant(parts)
	case parts[0] == "bash" && len(parts) > 1:
		return "bash has no parts; limit commands with \"allowed_commands\" of a workflow"
	case parts[0] == "mcp" && len(parts) > 1:
		return serverFix(parts[1:], wild)
	case parts[0] == "tool" && len(parts) > 1:
		return toolFix(strings.Join(parts[1:], ":"), wild)
	}
	return ""
}

// meant suggests the capability of a tool whose name stands alone.
func meant(parts []string) string {
	near := ""
	if len(parts) == 1 {
		near = Near(parts[0])
	}
	if near == "" {
		return ""
	}
	wanted := "tool:" + near
	if fix := CapabilityFix(wanted); fix != "" { // a shell has another
		wanted = "bash"
	}
	return fmt.Sprintf("; did you mean %q?", wanted)
}

// toolFix suggests how to fix names whose calls have another capability, or none.
func toolFix(name string, wild bool) string {
	star := ""
	if wild {
		star = "*"
	}
	if rest, ok := strings.CutPrefix(name, "mcp__"); ok {
		server, tool, found := strings.Cut(rest, "__")
		switch {
		case server == "":
			return "the tools of MCP servers are mcp:<server>:<tool>; write mcp:*"
		case !found:
			return fmt.Sprintf("the tools of MCP servers are mcp:<server>:<tool>; write mcp:%s%s", server, star)
		case tool == "":
			return fmt.Sprintf("the tools of MCP servers are mcp:<server>:<tool>; write mcp:%s", server)
		}
		return fmt.Sprintf("the tools of MCP servers are mcp:<server>:<tool>; write mcp:%s:%s%s", server, tool, star)
	}
	switch {
	case wild:
		return ""
	case Capability(name) == ShellCapability:
		return "the capability of every tool that runs command lines is bash; write bash"
	case Own(name):
		return "Interlock's own tools are exempt from policies; remove the rule"
	}
	return ""
}

// BuiltIn returns the tool that a pattern names, or "" when it names none, or several.
func BuiltIn(pattern string) string {
	name, ok := strings.CutPrefix(pattern, "tool:")
	if !ok || strings.HasSuffix(name, "*") {
		return ""
	}
	return name
}

// serverFix suggests how to fix names of servers whose tools have ambiguous names: agents
// write mcp__server__tool, which is read up to the first "__".
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
