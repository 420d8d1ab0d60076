package toolcall

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// fetches are readers that can carry data away in an address.
var fetches = map[string]bool{"WebFetch": true, "WebSearch": true}

// decideReading judges a call after a failure, when only tools that read are left (S2.9).
func decideReading(m *workflow.Machine, state *workflow.StateView, call Call) Verdict {
	if !looksOnly(m, call) {
		return deny(call, CodeRunNotActive, "")
	}
	if code, why := Protected(m, state, call); code != "" {
		return deny(call, code, why)
	}
	return Verdict{Decision: Allow, Tool: call.Tool}
}

// looksOnly reports that a call is proved to read and to change nothing, here or elsewhere: its tool
// only looks, or is declared in meta.read_tools and edits nothing, or is a shell with a line of readers.
func looksOnly(m *workflow.Machine, call Call) bool {
	named := slices.ContainsFunc(m.Definition().States, func(s workflow.State) bool { return s.AllowedCommandsTool == call.Tool })
	if !named && !Shell(nil, call.Tool) {
		return !fetches[call.Tool] && measure(m, call) == nil && readsOnly(m, nil, call, "")
	}
	// What a tool types into runs already, and a server's shell may be another machine's.
	if !waits(call.Tool) || speaksOther(call.Tool) || strings.HasPrefix(call.Tool, mcpPrefix) && !named {
		return false
	}
	line, why := commandLine(call.Input)
	if why != "" {
		return false
	}
	plan, err := shell.Parse(line)
	return err == nil && plan.OnlyReads()
}

// mcpPrefix begins the names of tools of MCP servers.
const mcpPrefix = "mcp__"
