package toolcall

import (
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// fetches are readers that can carry data away in an address.
var fetches = map[string]bool{"WebFetch": true, "WebSearch": true}

// decideReading judges a call after a failure, when only tools that read are left (S2.9).
func decideReading(m *workflow.Machine, state *workflow.StateView, call Call) Verdict {
	if !looksOnly(m, state, call) {
		return deny(call, CodeRunNotActive, "")
	}
	if code, why := Protected(m, state, call); code != "" {
		return deny(call, code, why)
	}
	return Verdict{Decision: Allow, Tool: call.Tool}
}

// looksOnly reports that a call is proved to read and to change nothing, here or elsewhere: its tool
// only looks, is declared in meta.read_tools, or is a shell with a line of readers.
func looksOnly(m *workflow.Machine, state *workflow.StateView, call Call) bool {
	if !Shell(state, call.Tool) {
		return !fetches[call.Tool] && readsOnly(m, nil, call, "")
	}
	line, why := commandLine(call.Input)
	if why != "" || speaksOther(call.Tool) {
		return false
	}
	plan, err := shell.Parse(line)
	return err == nil && plan.OnlyReads()
}
