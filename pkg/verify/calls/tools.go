package calls

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// known are tools that agents have without an entry in a list.
var known = []string{
	"Read", "Grep", "Glob", "LS", "Edit", "Write", "MultiEdit", "NotebookEdit", "Bash", "Task", "WebFetch", "WebSearch",
	"TodoWrite",
	"read_file", "write_file", "edit_file", "create_file", "apply_patch", "shell", "exec_command", "run_command",
	"run_terminal_cmd",
}

// UnlistedAmong returns an ending of names that no entry of some lists names, after any
// beginning: no entry ends with a beginning of it, as the entry mcp__ci__z* does of zq_any.
func UnlistedAmong(entries []string) string {
	const end = "zq_any"
	named := slices.ContainsFunc(entries, func(entry string) bool {
		entry, open := strings.CutSuffix(entry, "*")
		for n := 1; open && n < len(end); n++ {
			if strings.HasSuffix(entry, end[:n]) {
				return true
			}
		}
		return strings.HasSuffix(entry, end)
	})
	if !named {
		return end
	}
	return string(model.UnusedRune(entries, "qxzjkwvyQXZJKWVY0123456789")) + end // no entry has that character at all
}

// Lists returns the entries of all lists of tools that there are.
func (j *Judge) Lists() []string {
	all := slices.Concat(j.policyTools, toolname.Client, known)
	for _, u := range j.Units {
		all = append(all, listsOf(u.Machine)...)
	}
	return all
}

// listsOf returns those of a workflow.
func listsOf(m *workflow.Machine) (all []string) {
	for i := range m.Definition().States {
		s := m.State(m.Definition().States[i].Name)
		all = append(append(append(all, s.AllowedTools...), s.DisallowedTools...), s.AllowedCommandsTool)
		all = append(all, toolsOfCalls(s)...)
	}
	for tool := range m.Meta().EditTools {
		all = append(all, tool)
	}
	return append(all, readTools(m)...)
}

// toolsOfCalls returns names, or prefixes with a trailing *, of the tools that the calls of a state are about.
func toolsOfCalls(s *workflow.StateView) (all []string) {
	for i := range s.Calls {
		if rule := &s.Calls[i]; rule.Tool != "" {
			all = append(all, rule.Tool)
		} else {
			all = append(all, ToolsOfCapability(rule.Capability)...)
		}
	}
	return all
}

// readTools returns those that a workflow declares to read.
func readTools(m *workflow.Machine) []string {
	all := slices.Clone(m.Meta().ReadTools)
	for _, r := range m.Meta().Reconcile {
		all = append(all, r.Tool)
	}
	return all
}

// ToolsOf returns tools of a pattern: one for each way in which the lists of a state and
// of the policies can tell its tools apart.
func (j *Judge) ToolsOf(of *model.Unit, state, pattern string) []string {
	prefix, wild := strings.CutSuffix(pattern, "*")
	if !wild {
		return []string{pattern}
	}
	key := [3]string{of.Machine.Name(), state, prefix}
	all, listed := j.tools[key]
	if !listed {
		all = slices.Clip(j.listTools(of, state, prefix)) // others append to it
		j.tools[key] = all
	}
	return all
}

func (j *Judge) listTools(of *model.Unit, state, prefix string) []string {
	var all []string
	add := func(name string) {
		if strings.HasPrefix(name, prefix) && !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	shells := func(start string) {
		for _, name := range toolcall.Shells() {
			add(start + name)
		}
	}
	s := of.Machine.State(state)
	if s.AllowedCommandsTool != "" {
		add(s.AllowedCommandsTool)
	}
	for _, entry := range slices.Concat(s.AllowedTools, s.DisallowedTools, toolsOfCalls(s), j.policyTools, toolname.Client, readTools(of.Machine)) {
		start, open := strings.CutSuffix(entry, "*")
		switch {
		case !open:
			add(entry)
		case strings.HasPrefix(start, prefix):
			add(start + j.Unlisted)
		default:
			add(prefix + j.Unlisted)
		}
		if rest, ok := strings.CutPrefix(entry, "mcp__"); ok {
			if server, _, ok := strings.Cut(rest, "__"); ok {
				add("mcp__" + server + "__resource:" + j.Unlisted)
				add("mcp__" + server + "__prompt:" + j.Unlisted)
			}
		}
		if open { // shells among them have rules of their own
			shells(start)
		}
	}
	for _, name := range known {
		add(name)
	}
	for tool := range of.Machine.Meta().EditTools {
		add(tool)
	}
	add(prefix + j.Unlisted)
	shells(prefix)
	shells("mcp__" + j.Unlisted + "__")
	slices.Sort(all)
	return slices.DeleteFunc(all, toolcall.Own)
}

// toolsOfPolicies returns names, or prefixes with a trailing *, of the tools that rules
// are about.
func toolsOfPolicies(policies []model.Policy) []string {
	var all []string
	for i := range policies {
		p := policies[i].Policy
		for _, list := range [][]rules.Rule{p.Allow, p.Ask, p.Deny} {
			for j := range list {
				all = append(all, ToolsOfCapability(list[j].Capability)...)
			}
		}
		if p.Email != nil {
			for _, capability := range p.Email.Tools {
				all = append(all, ToolsOfCapability(capability)...)
			}
			all = append(all, "resend-email", "mcp__resend__*")
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// ToolsOfCapability returns names of the tools of a capability, or prefixes with a trailing *.
func ToolsOfCapability(capability string) []string {
	text, wild := strings.CutSuffix(capability, "*")
	star := ""
	if wild {
		star = "*"
	}
	switch kind, rest, _ := strings.Cut(text, ":"); kind {
	case "bash":
		return []string{"Bash"}
	case "mcp":
		server, tool, whole := strings.Cut(rest, ":")
		switch {
		case !whole && !wild:
			return []string{"mcp__" + server + "__*"}
		case !whole:
			return []string{"mcp__" + server + "*"}
		case wild:
			return []string{"mcp__" + server + "__" + tool + "*"}
		}
		// Names that continue after a separator belong to it.
		return []string{"mcp__" + server + "__" + tool, "mcp__" + server + "__" + tool + ":*", "mcp__" + server + "__" +
			tool + ".*"}
	case "tool":
		if wild {
			return []string{rest + "*"}
		}
		return []string{rest, rest + ":*", rest + ".*"}
	default:
		return []string{star}
	}
}

// ToolsOf returns names of tools that the rules of a policy are about, or prefixes with a
// trailing *.
func ToolsOf(p model.Policy) []string { return toolsOfPolicies([]model.Policy{p}) }

// names reports that a list of tools has an entry for a name.
func names(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		prefix, open := strings.CutSuffix(entry, "*")
		return entry == name || open && strings.HasPrefix(name, prefix)
	})
}

// Uncounted reports that max_iterations does not count all calls of a subject (S3).
func Uncounted(in *workflow.StateView, s workflow.Subject) bool {
	switch {
	case toolcall.Own(s.Tool):
		return true
	case names([]string{s.Tool}, toolname.Loader):
		return in.Tool(toolname.Loader) != workflow.ToolDisallowed
	default:
		return false
	}
}
