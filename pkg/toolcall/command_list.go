package toolcall

import (
	"fmt"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// checkList applies allowed_commands (R2): every simple command that could run
// must match an entry. It returns how many words of each command its entry names.
func checkList(state *workflow.StateView, plan *shell.Plan) (named []int, why string) {
	if plan.Empty {
		return nil, "there is no command in it. " + listed(state)
	}
	list := state.Commands()
	named = make([]int, len(plan.Commands))
	for i, command := range plan.Commands {
		n, ok := list.Match(command)
		if !ok {
			return nil, notListed(command) + ". " + listed(state)
		}
		named[i] = n
	}
	for _, name := range plan.Sets {
		if environmental(state, name) {
			return nil, fmt.Sprintf("it sets the variable %s, which the program may read. %s", document.Quote(name), listed(state))
		}
	}
	for _, f := range plan.Findings {
		if f.Kind == shell.Hidden {
			return nil, fmt.Sprintf("it %s, so the program that it runs cannot be compared with the list. %s", describe(f), listed(state))
		}
	}
	return named, ""
}

// notListed says why a command matches no entry.
func notListed(c shell.Command) string {
	text := document.Quote(c.String())
	for _, w := range c.Words {
		if !w.Static {
			return fmt.Sprintf("the command %s cannot be matched with the list (… is known only when the line runs); write out its first words", text)
		}
	}
	if c.Assigns > 0 {
		return fmt.Sprintf("the assignment in %s is not in the list; run the command without it", text)
	}
	return fmt.Sprintf("the command %s is not in the list", text)
}

// mostCommands bounds how many entries a message lists.
const mostCommands = 24

// listed says what the state allows.
func listed(state *workflow.StateView) string {
	entries := state.AllowedCommands
	if len(entries) == 0 {
		return "The state allows no command at all"
	}
	quoted := make([]string, 0, mostCommands)
	for _, entry := range entries[:min(len(entries), mostCommands)] {
		quoted = append(quoted, document.Quote(entry))
	}
	more := ""
	if len(entries) > mostCommands {
		more = fmt.Sprintf(" and %d more", len(entries)-mostCommands)
	}
	return "Allowed commands, each with any further words: " + strings.Join(quoted, ", ") + more
}

// environmental reports variables that programs read: those that the state sets,
// names in capitals, and the few others that are known.
func environmental(state *workflow.StateView, name string) bool {
	return len(name) > 1 && name == strings.ToUpper(name) && strings.ToLower(name) != name ||
		strings.HasPrefix(name, "npm_config_") || strings.HasSuffix(name, "_proxy") ||
		slices.ContainsFunc(state.EnvOverrides, func(v workflow.EnvVar) bool { return v.Name == name })
}

// describe says what a finding is about.
func describe(f shell.Finding) string {
	if f.About == "" {
		return f.What
	}
	return f.What + " (" + document.Quote(strings.ReplaceAll(f.About, string(shell.Unknown), "…")) + ")"
}
