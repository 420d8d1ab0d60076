package workflow

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// CallRule is a condition that every call of some tools must meet in a state (S21.10). It allows
// no tool: allowed_tools does.
type CallRule struct {
	// Tool is a tool's name, or a prefix of names with a trailing *; Capability is a pattern as
	// policies have them (S7.1). Exactly one is set.
	Tool, Capability string
	// Only must hold; doubt is a refusal.
	Only *condition.Condition
}

// Pattern returns the pattern of the tools that the rule is about.
func (c *CallRule) Pattern() string {
	if c.Tool != "" {
		return c.Tool
	}
	return c.Capability
}

// Covers reports a rule about calls of a tool. qualified is the full name of a tool of an MCP server
// that is called by its plain name, or empty; commands is true of a call that may run commands.
func (c *CallRule) Covers(tool, qualified string, commands bool) bool {
	if c.Tool != "" {
		return toolCovers(c.Tool, tool) || qualified != "" && toolCovers(c.Tool, qualified)
	}
	return c.Capability == every || toolname.Covers(c.Capability, toolname.Capability(tool)) ||
		qualified != "" && toolname.Covers(c.Capability, toolname.Capability(qualified)) ||
		commands && toolname.Covers(c.Capability, toolname.ShellCapability)
}

// same reports a rule that says what another one says.
func (c *CallRule) same(other *CallRule) bool {
	return c.Tool == other.Tool && c.Capability == other.Capability && document.Equal(c.Only.Value(), other.Only.Value())
}

// DropsCalls returns the rules of a state that another one does not have, in their order: calls
// that it refuses may be allowed there.
func (s *State) DropsCalls(other *State) []CallRule {
	var dropped []CallRule
	for i := range s.Calls {
		rule := &s.Calls[i]
		if !slices.ContainsFunc(other.Calls, func(c CallRule) bool { return rule.same(&c) }) {
			dropped = append(dropped, *rule)
		}
	}
	return dropped
}

// maxCallRules bounds the rules of one state.
const maxCallRules = 64

// calls reads the conditions of a state on its calls. It needs the state's tools.
func (r stateSection) calls(f document.Fields, s *State) {
	list, ok := f.List("calls", maxCallRules)
	if !ok {
		return
	}
	base := f.At.Key("calls")
	for i, v := range list.Elements() {
		entry, ok := r.report.Object(v, base.At(i), "an entry of \"calls\"")
		if !ok {
			continue
		}
		entry.Known("an entry of \"calls\"", "tool", "capability", "only")
		if rule, ok := r.callRule(entry); ok {
			s.Calls = append(s.Calls, rule)
			if !r.report.HasErrors() && !rule.canCover(s) {
				r.report.Warnf(entry.At, document.CodeNoEffect,
					"no tool that the state allows matches %s, so the entry has no effect; correct the name, or remove the entry", document.Quote(rule.Pattern()))
			}
		}
	}
}

func (r stateSection) callRule(f document.Fields) (rule CallRule, ok bool) {
	f.Require("only")
	switch tool, capability := f.Has("tool"), f.Has("capability"); {
	case tool && capability:
		r.report.Errorf(f.At.Key("capability"), document.CodeConflict, "an entry is about a \"tool\" or a \"capability\"; write two entries")
		return rule, false
	case tool:
		if rule.Tool, ok = f.Str("tool"); ok {
			r.callTool(rule.Tool, f.At.Key("tool"))
		}
	case capability:
		if rule.Capability, ok = f.Str("capability"); ok {
			r.callCapability(rule.Capability, f.At.Key("capability"))
		}
	default:
		r.report.Errorf(f.At, document.CodeRequired, "an entry of \"calls\" needs \"tool\" or \"capability\"; \"*\" stands for every tool")
	}
	if v, has := f.Value.Get("only"); has {
		rule.Only = condition.Read(&r.report, v, f.At.Key("only"), condition.Use{Stance: condition.Requires})
		r.reviewOnly(rule.Only, f.At.Key("only"))
	}
	return rule, ok && rule.Only != nil
}

// reviewOnly warns of a condition that every call meets, or none (S21.21).
func (r stateSection) reviewOnly(only *condition.Condition, at *document.Path) {
	if only == nil {
		return
	}
	switch placed := (condition.Placed{Clause: condition.Clause{When: only}, Stance: condition.Requires}); {
	case condition.NeverApplies(placed):
		r.report.Warnf(at, condition.CodeNeverTrue, "no call can meet this, so every call that the entry is about is denied; compare its bounds and lists")
	case condition.AlwaysApplies(placed):
		r.report.Warnf(at, condition.CodeAlwaysTrue, "every call that has these values meets this, so it decides nothing; compare its bounds, or remove the entry")
	}
}

// callTool checks the name of a tool. A rule for all of them is no mistake.
func (r stateSection) callTool(name string, at *document.Path) {
	if name != every {
		r.toolName(name, at, toolname.Restricts)
	}
}

// callCapability reports a pattern that matches no call.
func (r stateSection) callCapability(pattern string, at *document.Path) {
	if fix := toolname.CapabilityFix(pattern); fix != "" {
		r.report.Errorf(at, document.CodeName, "%s matches no call; %s", document.Quote(pattern), fix)
		return
	}
	if fault := r.toolNames.Fault(toolname.BuiltIn(pattern), toolname.Restricts); fault != "" {
		r.report.Errorf(at, toolname.CodeUnknownTool, "%s", fault)
	}
}

// canCover reports a rule that can be about a tool which the state allows. In doubt it can.
func (c *CallRule) canCover(s *State) bool {
	if !s.ToolsRestricted {
		return true
	}
	table := newToolTable(s)
	for _, entry := range s.AllowedTools {
		if entry == toolname.ClientGroup {
			if slices.ContainsFunc(toolname.Client, func(tool string) bool { return c.Covers(tool, "", toolname.Shell(tool)) }) {
				return true
			}
			continue
		}
		prefix, wild := strings.CutSuffix(entry, "*")
		switch {
		case !wild && table.rule(entry) == ToolDisallowed:
		case wild && c.meets(prefix), !wild && c.Covers(entry, "", mayCommand(s, entry)):
			return true
		case !wild && c.Capability != "" && !strings.HasPrefix(entry, "mcp__") && !toolname.Known(entry):
			return true // a tool of a server that is called by its plain name
		}
	}
	for of := range table.offered {
		if c.meets("mcp__" + of.server + "__" + of.kind) {
			return true
		}
	}
	return false
}

// mayCommand reports a tool that may run commands: a tool that is not known may take a command line.
func mayCommand(s *State, tool string) bool {
	return tool == s.AllowedCommandsTool || toolname.Shell(tool) || !toolname.Known(tool)
}

// meets reports a rule that can be about a tool whose name begins so.
func (c *CallRule) meets(prefix string) bool {
	if c.Tool != "" {
		own, wild := strings.CutSuffix(c.Tool, "*")
		return strings.HasPrefix(own, prefix) || wild && strings.HasPrefix(prefix, own)
	}
	if server, rest, ok := strings.Cut(strings.TrimPrefix(prefix, "mcp__"), "__"); ok && strings.HasPrefix(prefix, "mcp__") {
		own, wild := strings.CutSuffix(c.Capability, "*")
		whole := "mcp:" + server + ":" + rest
		return strings.HasPrefix(own, whole) || wild && strings.HasPrefix(whole, own) || toolname.Covers(c.Capability, whole) || c.Capability == toolname.ShellCapability
	}
	return true
}
