package brief

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/shell"
)

// limits returns the facts about the restrictions of the state in addition to the tools,
// and the rest of its limits. They hold for calls that are judged.
func limits(run *enginev1.Run, prefix string, size int) []string {
	if ToolStatusOf(run) != Judged {
		return nil
	}
	var facts []string
	add := func(format string, values ...any) { facts = append(facts, fmt.Sprintf(format, values...)) }
	if hint := runtimeHint(run.GetRules()); hint != "" {
		add("%s", hint)
	}
	if tools := run.GetRules().GetDisallowedTools(); len(tools) > 0 {
		add("Disallowed tools: %s.", list(tools, size/32))
	}
	if limit := run.GetRules().GetMaxIterations(); limit > 0 {
		left := max(limit-run.GetUsage().GetIterations(), 0)
		end := ""
		if left == 0 {
			end = "; fire an event with " + prefix + "transition now"
		}
		add("Iterations: %d of %d used, %d left%s.", run.GetUsage().GetIterations(), limit, left, end)
	}
	if edits := edits(run); edits != "" {
		add("Edits: %s.", edits)
	}
	if budget := run.GetRules().GetContextBudgetBytes(); budget > 0 {
		add("Context budget: %d of %d bytes of tool results used, %d left.",
			run.GetUsage().GetContextBytes(), budget, max(budget-run.GetUsage().GetContextBytes(), 0))
	}
	if run.GetRules().GetCommandsRestricted() {
		add("Allowed commands: %s.", cmp.Or(list(entries(run.GetRules().GetAllowedCommands()), size/16), "none"))
	}
	if blocked := run.GetRules().GetBlockedEnv(); len(blocked) > 0 {
		add("Blocked environment variables: %s.", list(blocked, size/32))
	}
	if vars := run.GetRules().GetEnvOverrides(); len(vars) > 0 {
		add("Environment: %s.", list(assignments(vars), size/16))
	}
	return facts
}

// runtimeHint returns the advice of a state to the agent's runtime. Neither hooks nor MCP
// servers can switch models, so the text says that (S15.12).
func runtimeHint(rules *enginev1.StateRules) string {
	var hints []string
	if rules.GetModel() != "" {
		hints = append(hints, "model "+name(rules.GetModel()))
	}
	if rules.GetThinkingLevel() != "" {
		hints = append(hints, "thinking level "+name(rules.GetThinkingLevel()))
	}
	if hints == nil {
		return ""
	}
	return "Meant for: " + strings.Join(hints, ", ") + ". Interlock cannot switch that for you; who runs you can."
}

func edits(run *enginev1.Run) string {
	var parts []string
	if lines := run.GetRules().GetMaxEditLines(); lines > 0 {
		parts = append(parts, fmt.Sprintf("at most %d lines each", lines))
	}
	if files := run.GetRules().GetMaxFilesPerState(); files > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d files changed, %d left", run.GetUsage().GetFilesChanged(), files, max(files-run.GetUsage().GetFilesChanged(), 0)))
	}
	return strings.Join(parts, "; ")
}

func quoted(texts []string) []string {
	out := make([]string, len(texts))
	for i, text := range texts {
		out[i] = strconv.Quote(text)
	}
	return out
}

// example returns a line that an entry of allowed_commands is about.
func example(entry string) string {
	if c := shell.ReadConfinement(entry); c != nil {
		return c.Examples()[0]
	}
	return strings.TrimSuffix(entry, " *")
}

// entries returns those of allowed_commands for people.
func entries(texts []string) []string {
	out := quoted(texts)
	for i, text := range texts {
		if shell.IsConfinement(text) {
			out[i] = text
		}
	}
	return out
}

// assignments returns variables as a shell would set them.
func assignments(vars []*enginev1.EnvVar) []string {
	out := make([]string, len(vars))
	for i, v := range vars {
		out[i] = v.GetName() + "=" + strconv.Quote(clip(v.GetValue(), nameSize))
	}
	return out
}
