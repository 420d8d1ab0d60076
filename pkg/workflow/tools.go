package workflow

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolname"
)

// ToolRule is the rule of a state's tool lists for a tool (S3.1).
type ToolRule uint8

// The rules. The zero value refuses.
const (
	// ToolNotListed: allowed_tools is given, and the tool is not in it.
	ToolNotListed ToolRule = iota
	// ToolDisallowed: disallowed_tools names it, which wins.
	ToolDisallowed
	// ToolAllowed: it is listed, or allowed_tools was omitted.
	ToolAllowed
)

// toolTable decides by one look-up for every name that the state lists, and by
// one binary search per list of prefixes for any other.
type toolTable struct {
	exact      map[string]ToolRule
	disallowed prefixes
	allowed    prefixes
	offered    Offered
	otherwise  ToolRule
	editable   bool
	commands   *shell.List
	blockedEnv map[string]bool
}

// writers are the tools that write files: only where one of them is allowed may
// the shell write too (R3 of the rules for command lines).
var writers = []string{
	"Edit", "Write", "MultiEdit", "NotebookEdit", "write_file", "edit_file", "create_file", "apply_patch",
}

func newToolTable(s *State) toolTable {
	t := toolTable{exact: make(map[string]ToolRule), otherwise: ToolAllowed}
	allowed, allowedPrefixes := splitTools(s.AllowedTools)
	disallowed, disallowedPrefixes := splitTools(s.DisallowedTools)
	t.disallowed = newPrefixes(disallowedPrefixes)
	if s.ToolsRestricted {
		t.otherwise = ToolNotListed
		t.allowed = newPrefixes(allowedPrefixes)
		t.offered = OfferedBy(s.AllowedTools)
		if i := slices.Index(allowed, toolname.ClientGroup); i >= 0 {
			allowed = append(slices.Delete(allowed, i, i+1), toolname.Client...)
		}
		for _, name := range allowed {
			t.exact[name] = ToolAllowed
			if t.disallowed.match(name) {
				t.exact[name] = ToolDisallowed
			}
		}
	}
	for _, name := range disallowed {
		t.exact[name] = ToolDisallowed
	}
	t.editable = slices.ContainsFunc(writers, func(name string) bool { return t.rule(name) == ToolAllowed })
	t.commands = shell.NewList(s.AllowedCommands)
	t.blockedEnv = make(map[string]bool, len(s.BlockedEnv))
	for _, name := range s.BlockedEnv {
		t.blockedEnv[name] = true
	}
	return t
}

// Tool judges a tool by its exact name. A * in the name is a character like any
// other; only a trailing * of an entry is a wildcard.
func (s *StateView) Tool(name string) ToolRule { return s.tools.rule(name) }

// ToolEntry returns the entry of disallowed_tools or allowed_tools by which Tool judges a tool;
// empty when none names it.
func (s *StateView) ToolEntry(name string) string {
	list := s.AllowedTools
	switch s.Tool(name) {
	case ToolNotListed:
		return ""
	case ToolDisallowed:
		list = s.DisallowedTools
	case ToolAllowed:
		if !s.ToolsRestricted {
			return ""
		}
	}
	found := ""
	for _, entry := range list {
		prefix, wild := strings.CutSuffix(entry, "*")
		switch {
		case entry == name:
			return entry
		case found != "":
		case wild && strings.HasPrefix(name, prefix), entry == toolname.ClientGroup && slices.Contains(toolname.Client, name):
			found = entry
		}
	}
	return found
}

// Editable reports that the state allows a tool that writes files.
func (s *StateView) Editable() bool { return s.tools.editable }

// Commands returns the state's allowed_commands, compiled (S3.3, R2).
func (s *StateView) Commands() *shell.List { return s.tools.commands }

// BlocksEnv reports that no command may read a variable (S3.3, R4).
func (s *StateView) BlocksEnv(name string) bool { return s.tools.blockedEnv[name] }

func (t *toolTable) rule(name string) ToolRule {
	if rule, ok := t.exact[name]; ok {
		return rule
	}
	switch {
	case t.disallowed.match(name):
		return ToolDisallowed
	case t.allowed.match(name), t.offered.Has(name):
		return ToolAllowed
	}
	return t.otherwise
}

// Offered are the resources and prompts of MCP servers that a list of tools allows without
// naming them (S3.1): those of servers of which it has a tool, unless it names some of their
// kind.
type Offered map[offering]bool

// offering is a kind of offer of a server in addition to tools: its resources, or its
// prompts.
type offering struct{ server, kind string }

// OfferedBy reads a list of tools.
func OfferedBy(allowed []string) Offered {
	offered := Offered{}
	named := map[offering]bool{}
	for _, entry := range allowed {
		rest, ok := strings.CutPrefix(entry, "mcp__")
		server, name, found := strings.Cut(rest, "__")
		if !ok || !found || server == "" {
			continue
		}
		if of := offeringOf(entry); of.server != "" {
			named[of] = true
			continue
		}
		if name != "" {
			offered[offering{server, "resource"}], offered[offering{server, "prompt"}] = true, true
		}
	}
	for of := range named {
		delete(offered, of)
	}
	return offered
}

// Has reports the name of a resource or a prompt that is allowed so.
func (o Offered) Has(name string) bool { return len(o) > 0 && o[offeringOf(name)] }

// offeringOf returns the offering that the name of a resource or a prompt belongs to;
// empty for any other name.
func offeringOf(name string) offering {
	rest, ok := strings.CutPrefix(name, "mcp__")
	if !ok {
		return offering{}
	}
	server, offer, _ := strings.Cut(rest, "__")
	switch {
	case strings.HasPrefix(offer, "resource:"):
		return offering{server, "resource"}
	case strings.HasPrefix(offer, "prompt:"):
		return offering{server, "prompt"}
	default:
		return offering{}
	}
}

// splitTools parts the exact names of a list from the prefixes of its wildcards.
func splitTools(entries []string) (exact, prefixes []string) {
	for _, entry := range entries {
		if prefix, wild := strings.CutSuffix(entry, "*"); wild {
			prefixes = append(prefixes, prefix)
		} else {
			exact = append(exact, entry)
		}
	}
	return exact, prefixes
}

// prefixes is sorted, and none is a prefix of another.
type prefixes []string

func newPrefixes(list []string) prefixes {
	slices.Sort(list)
	var kept prefixes
	for _, p := range list {
		if len(kept) == 0 || !strings.HasPrefix(p, kept[len(kept)-1]) {
			kept = append(kept, p)
		}
	}
	return kept
}

// match reports whether one of the prefixes begins name. That can only be the
// last one that does not sort after name, because none begins another.
func (p prefixes) match(name string) bool {
	if len(p) == 0 {
		return false
	}
	place, found := slices.BinarySearch(p, name)
	return found || place > 0 && strings.HasPrefix(name, p[place-1])
}
