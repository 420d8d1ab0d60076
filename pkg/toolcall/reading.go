package toolcall

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// carries are readers that can carry data away in an address.
var carries = map[string]bool{"WebFetch": true, "WebSearch": true}

// decideReading judges a call after a failure, when only tools that read are left (S2.9).
func decideReading(m *workflow.Machine, at *workflow.View, state *workflow.StateView, call Call) Verdict {
	if runsLines(m, call.Tool) && state.JailRules().Level > jailed(state, call) {
		return deny(call, CodeJailRequired, shortOf(state.JailRules().Level, jailed(state, call)))
	}
	if !looksOnly(m, call) {
		return deny(call, CodeRunNotActive, "")
	}
	held := readingProfile(at, state, call)
	if held == nil {
		call.Jail = jail.None
	}
	if code, why := SelfProtected(m, state, call); code != "" {
		return deny(call, code, why)
	}
	return Verdict{Decision: Allow, Tool: call.Tool, Jail: held}
}

// readingProfile returns the jail of a line after a failure: it reads files of this machine,
// regardless of the rules of states grant (S20.6). Nil for a call that runs in no jail.
func readingProfile(at *workflow.View, state *workflow.StateView, call Call) *jail.Profile {
	level := jailed(state, call)
	if level == jail.None {
		return nil
	}
	rules := state.JailRules()
	p := jail.Compile(jail.Rules{Level: rules.Level, Writes: rules.Writes, Caches: rules.Caches, Hosts: []string{}, Limits: rules.Limits}, jail.Command{
		Level: level, ReadOnly: true, Workspace: at.Workspace, Folder: startFolder(at, call), DropEnv: state.BlockedEnv,
	})
	return &p
}

// MayRead reports that only tools that read are left in a run (S2.9), and that some call of a tool
// may be one: by a line with a command that matches an entry, unless that is empty. False is certain.
func MayRead(m *workflow.Machine, at *workflow.View, tool, entry string) bool {
	switch {
	case m == nil || standingOf(m, at, m.State(at.State)) != reading:
		return false
	case runsLines(m, tool):
		return readsLines(m, tool) && (entry == "" || shell.NewPattern(entry).MayRead())
	case toolinput.FormsOf(tool).MayLook():
		return true // it may view
	default:
		return looksOnly(m, Call{Tool: tool})
	}
}

// looksOnly reports that a call is proved to only read, here or elsewhere: its tool only looks, or is
// declared in meta.read_tools and does not edit, or is a shell with a line of readers.
func looksOnly(m *workflow.Machine, call Call) bool {
	if !runsLines(m, call.Tool) {
		_, apart := isolation(call)
		return !apart && !carries[call.Tool] && measure(m, call) == nil && readsOnly(m, nil, call, "")
	}
	if !readsLines(m, call.Tool) {
		return false
	}
	line, why := toolinput.CommandLine(call.Input)
	if why != "" {
		return false
	}
	plan, err := shell.Parse(line)
	return err == nil && plan.OnlyReads()
}

// runsLines reports a tool that some state may take for a shell.
func runsLines(m *workflow.Machine, tool string) bool { return Shell(nil, tool) || namedShell(m, tool) }

func namedShell(m *workflow.Machine, tool string) bool {
	return slices.ContainsFunc(m.Definition().States, func(s workflow.State) bool { return s.AllowedCommandsTool == tool })
}

// readsLines reports a shell whose lines can be proved to read: not one that types into a running
// program, nor that of a server, which may be another machine's, unless a state names it.
func readsLines(m *workflow.Machine, tool string) bool {
	return waits(tool) && !toolinput.SpeaksOther(tool) && (!strings.HasPrefix(tool, mcpPrefix) || namedShell(m, tool))
}

// mcpPrefix begins the names of tools of MCP servers.
const mcpPrefix = "mcp__"
