// Package outside has the common parts of the APIs for other gateways.
package outside

import (
	"strings"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// CodeNoWorkflow is the code of a denial because only policies could be asked.
const CodeNoWorkflow = "NO_WORKFLOW"

// NoWorkflow is the message that goes with it.
const NoWorkflow = "The session drives no run, so no workflow allows this call. " +
	"Load a workflow for the session, or have the operator set --allow-unbound."

// Unbound reports that a call was allowed without a run to judge it by. Policies that hold for a
// role or a session do not forbid it, and no workflow allows it: as at the MCP edge, that
// is enough only where the operator says so (S7).
func Unbound(resp *policyv1.CheckToolCallResponse) bool {
	return resp.GetDecision() == policyv1.Decision_DECISION_ALLOW && resp.GetRunId() == ""
}

// ValidServer reports that a name can be that of an MCP server in the full name of a tool,
// mcp__SERVER__TOOL, so that no other server and tool have the same.
func ValidServer(name string) bool {
	if name == "" || len(name) > 128 || strings.Contains(name, "__") || strings.Trim(name, "_") != name {
		return false
	}
	return !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '.' && c != '_'
	})
}
