package toolcall

import (
	"fmt"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// noTool is said of a call without a name.
const noTool = "it names no tool"

// mostTools bounds how many tools a message lists.
const mostTools = 32

// Message describes the refusal, its reason, and the possible alternatives, for an agent to act on. For an allowed call it is
// empty, or the reason why the state is not enforced. m and at are those of the verdict; either may be nil when the run is
// unknown.
func (v Verdict) Message(m *workflow.Machine, at *workflow.View) string {
	switch {
	case v.Code == CodeNotEnforced:
		return v.Detail
	case v.Decision == Allow:
		return ""
	case v.Code == CodePolicyUnavailable || m == nil || at == nil:
		return "Denied: no decision could be made and recorded now. The call is valid; try again in a moment."
	}
	state := m.State(at.State)
	where := "in state " + document.Quote(at.State)
	tool := document.Quote(v.Tool)
	switch v.Code {
	case CodeRunNotActive:
		return fmt.Sprintf("Tool %s is denied: %s", tool, notActive(m, at, state))
	case CodeToolNotAllowed:
		return fmt.Sprintf("Tool %s is not allowed %s. %s %s", tool, where, listTools(state), state.DescribeEvents())
	case CodeToolDisallowed:
		return fmt.Sprintf("Tool %s is disallowed %s. %s %s", tool, where, listTools(state), state.DescribeEvents())
	case CodeCallNotAllowed:
		return fmt.Sprintf("Tool %s is allowed %s, but not with this input: %s. Call it with input that fits, or move on with an event. %s",
			tool, where, v.Detail, state.DescribeEvents())
	case CodeCallUnclear:
		return fmt.Sprintf("Tool %s is denied %s, because its effect is not clear: %s. Write the input plainly and in full, or move on with an event. %s",
			tool, where, v.Detail, state.DescribeEvents())
	case CodeNarrowed:
		return narrowedMessage(&v)
	case CodeSelfProtected:
		return SelfProtectedMessage(v.Tool, v.Detail)
	case CodeMaxIterations:
		return fmt.Sprintf("The limit of %d tool calls %s is reached (%d were allowed). Move on with an event. %s",
			v.MaxIterations, where, v.Iterations, state.DescribeEvents())
	case CodeEditTooLarge:
		return fmt.Sprintf("Tool %s would change %d lines in one call; %d are allowed %s. Make smaller edits, one after the other. %s",
			tool, v.EditLines, state.MaxEditLines, where, state.DescribeEvents())
	case CodeTooManyFiles:
		return fmt.Sprintf("The call would change %s, and %s %d files may be changed, of which %d are counted%s. "+
			"Keep to those, or move on with an event. %s",
			quoteNames(v.Paths), where, v.MaxFiles, v.Files, countedFiles(v.Detail), state.DescribeEvents())
	case CodeContextBudget:
		return fmt.Sprintf("The budget of %d bytes of tool results %s is spent (%d were reported). Move on with an event. %s",
			v.ContextBudget, where, v.ContextSpent, state.DescribeEvents())
	default:
		return fmt.Sprintf("Tool %s is denied %s: %s. %s %s", tool, where, v.Detail, listTools(state), state.DescribeEvents())
	}
}

func notActive(m *workflow.Machine, at *workflow.View, state *workflow.StateView) string {
	switch {
	case !m.Drives(at.Run) || !state.Known():
		return "the run does not match the workflow that judged it; ask an operator."
	case at.Held():
		return workflow.HeldBy(at.Holds) + "."
	case at.Status == workflow.Paused:
		return fmt.Sprintf("the run is PAUSED and its workflow has enforcement %q. Resume it first.", m.Enforcement())
	case standingOf(m, at, state) == reading:
		return "the run has FAILED. Only tools that read and Interlock's own are allowed; " +
			"start a new run of the same workflow, or ask an operator."
	case at.Status.Ended():
		return fmt.Sprintf("the run is %s. Only Interlock's own tools are allowed; start a new run.", at.Status)
	default:
		return fmt.Sprintf("the run is %s.", document.Quote(string(at.Status)))
	}
}

// listTools describes the allowed tools of the state.
func listTools(state *workflow.StateView) string {
	switch {
	case !state.ToolsRestricted && len(state.DisallowedTools) == 0:
		return "The state does not restrict other tools."
	case !state.ToolsRestricted:
		return "All tools are allowed but " + join(state.DisallowedTools) + "."
	}
	var usable []string
	for _, entry := range state.AllowedTools {
		if state.Tool(entry) == workflow.ToolAllowed {
			usable = append(usable, entry)
		}
	}
	if len(usable) == 0 {
		return "No tool is allowed here but Interlock's own."
	}
	return "Allowed tools: " + join(usable) + "."
}

func countedFiles(names string) string {
	switch names {
	case "":
		return ""
	case filesUnknown:
		return ": " + names
	}
	return " already (" + names + ")"
}

// mostNames bounds how many files a message lists.
const mostNames = 8

// quoteNames lists files, whose names are not to be trusted.
func quoteNames(names []string) string {
	quoted := make([]string, 0, mostNames)
	for _, name := range names[:min(len(names), mostNames)] {
		quoted = append(quoted, document.Quote(name))
	}
	list := strings.Join(quoted, ", ")
	if len(names) > mostNames {
		list += fmt.Sprintf(" and %d more", len(names)-mostNames)
	}
	return list
}

func join(names []string) string {
	if len(names) > mostTools {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostTools], ", "), len(names)-mostTools)
	}
	return strings.Join(names, ", ")
}

// MaxNoticeBytes bounds a notice: agents cut longer ones.
const MaxNoticeBytes = 9_500

// InterruptNotice returns the notice to an agent, with the result of its call, that an
// interrupt has moved its run from a state to where it stands now: the state, its tools,
// instructions and events (S4.3). It begins with [INTERLOCK INTERRUPT].
func InterruptNotice(m *workflow.Machine, at *workflow.View, interrupt, from string) string {
	state := m.State(at.State)
	var b strings.Builder
	fmt.Fprintf(&b, "[INTERLOCK INTERRUPT] A file that you changed fired the interrupt %s: the run has moved from state %s to %s. ",
		document.Quote(interrupt), document.Quote(from), document.Quote(at.State))
	fmt.Fprintf(&b, "%s %s", listTools(state), state.DescribeEvents())
	if state.Instructions != "" {
		b.WriteString(" Instructions: " + state.Instructions)
	}
	return clip(b.String())
}

// clip cuts a text for agents at its bound.
func clip(text string) string {
	if len(text) <= MaxNoticeBytes {
		return text
	}
	return strings.ToValidUTF8(text[:MaxNoticeBytes], "") + "\n[cut]"
}
