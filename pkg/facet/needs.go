package facet

import (
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/toolinput"
)

// NeedsDescription reports a facet that no call of a tool of an MCP server has: the tool has no form that is known,
// and is not described.
func NeedsDescription(tool string, name condition.Facet, tools Tools) bool {
	switch family, _, _ := strings.Cut(string(name), "."); family {
	case "time", "caller", "human", "agent", "session", "state", "workflow":
		return false
	}
	if _, described := tools[tool]; described || toolinput.FormsOf(tool) != 0 {
		return false
	}
	return !Of(Subject{Tool: tool, SessionDepth: -1}).Facet(name).Known
}
