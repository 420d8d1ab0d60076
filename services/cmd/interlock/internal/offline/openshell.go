package offline

import (
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// CodeOpenShell warns where people approve, and the agent's shell is unrestricted: its
// commands run with the rights of the user who could approve.
const CodeOpenShell document.Code = "OPEN_SHELL"

const openShellFix = "list the commands in allowed_commands, or run the agent as another user (docs/security.md)"

// OpenShells finds the states of a workflow that people approve something of, and that let
// the agent run any command (S13.7). A definition that is not valid has none.
func OpenShells(value document.Value) document.Problems {
	def, problems := workflow.ParseValue(value)
	if problems.HasErrors() || def.Meta.ApprovalMode != "ui" {
		return nil
	}
	m := workflow.Compile(def, 0)
	approved := false
	var open document.Problems
	for i := range def.States {
		state := m.State(def.States[i].Name)
		for _, event := range state.LegalEvents() {
			approved = approved || event.RequiresApproval
		}
		if !state.Final && state.Tool("Bash") == workflow.ToolAllowed && !state.CommandsRestricted {
			open = append(open, warnOpen(document.Pointer("states", state.Name),
				"people approve transitions of this workflow, and this state lets the agent run any command; "+openShellFix))
		}
	}
	if !approved {
		return nil
	}
	return open
}

// openPolicy returns the same for a policy that has people asked: its own rules on the
// shell are all that it can know.
func openPolicy(value document.Value) document.Problems {
	asks, restricts := false, false
	for _, list := range []string{"deny", "ask"} {
		rules, _ := value.Get(list)
		for _, rule := range rules.Elements() {
			capability, _ := rule.Get("capability")
			asks = asks || list == "ask"
			restricts = restricts || capability.Str() == "bash" || capability.Str() == "*"
		}
	}
	fallback, _ := value.Get("default")
	if !asks || restricts || fallback.Str() == "deny" {
		return nil
	}
	return document.Problems{warnOpen("/ask",
		"people are asked about calls, and no rule denies or asks about \"bash\": where states do not restrict it, the agent runs any command; "+openShellFix)}
}

func warnOpen(pointer, message string) document.Problem {
	return document.Problem{Pointer: pointer, Code: CodeOpenShell, Severity: document.SeverityWarning, Message: message}
}
