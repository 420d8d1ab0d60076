package session

import (
	"fmt"
	"strings"
	"unicode"
)

const (
	// maxInlined is the longest state or schema, in bytes, that a prompt shows whole.
	maxInlined = 64 << 10
	// maxLine is how much of a name or an error it shows, in runes.
	maxLine = 1000
)

// Shared describes, for a prompt, the state that a session shares.
type Shared struct {
	// Data and Schema are JSON.
	Data, Schema string
	Version      int64
	// Prefix of the names of the tools that the agent has (S15.8).
	Prefix string
}

// UpdatePrompt returns the prompt for an agent that must update the state: stronger with
// each attempt, from 1; from the third on only the essential (S11.2, S11.5).
func UpdatePrompt(attempt, attempts int, state Shared) string {
	switch {
	case attempt <= 1:
		return firstPrompt(state)
	case attempt == 2:
		return fmt.Sprintf(`## Warning: the workflow state was not updated

You were asked to update the workflow state and stopped without doing it. This is attempt %d of %d.
If the state is not updated, your work counts as FAILED and your parent is notified.

`, attempt, attempts) + firstPrompt(state)
	default:
		return fmt.Sprintf(`Call the tool %s (or %s) NOW, before any other action. This is attempt %d of %d.

The arguments of %s: {"operations": [{"op": "add", "path": "/...", "value": ...}]}

%s
%s`, tool("state_patch", state.Prefix), tool("state_update", state.Prefix), attempt, attempts, tool("state_patch", state.Prefix),
			block("Current State", state.Data, state.Prefix), block("Schema", state.Schema, state.Prefix))
	}
}

// tool returns the name of one of Interlock's tools, as the agent knows it.
func tool(name, prefix string) string { return "`" + prefix + name + "`" }

func firstPrompt(state Shared) string {
	change := tool("state_update", state.Prefix) + " or " + tool("state_patch", state.Prefix)
	return `## Required: Update Workflow State

Your task is complete. You must now update the workflow state to record your results.

` + block("Current State", state.Data, state.Prefix) + "\n" + block("Schema", state.Schema, state.Prefix) + `
**Instructions:**
1. Review your work results from this session
2. Call the ` + change + ` tool to record:
   - Task status (completed/failed)
   - Results or outputs
   - Any relevant metadata
3. The state must conform to the schema above

**IMPORTANT:** You MUST call ` + change + ` before completing.
Failure to update state will be treated as a task failure.
` + fmt.Sprintf("\nThe current state is version %d.\n", state.Version)
}

// block shows JSON between fences that it cannot close itself.
func block(title, text, prefix string) string {
	if len(text) > maxInlined {
		return fmt.Sprintf("**%s:** %d bytes, too long to show; read what you need with %s and its pointers, or %s.\n", title, len(text),
			tool("state_read", prefix), tool("state_schema", prefix))
	}
	return quoted(title, text)
}

func quoted(title, text string) string {
	fence := strings.Repeat("`", max(3, backticks(text)+1))
	return fmt.Sprintf("**%s:**\n%sjson\n%s\n%s\n", title, fence, text, fence)
}

// backticks is the length of the longest row of them.
func backticks(text string) int {
	longest, row := 0, 0
	for i := range len(text) {
		if text[i] != '`' {
			row = 0
			continue
		}
		row++
		longest = max(longest, row)
	}
	return longest
}

// CallbackPrompt returns the prompt that informs a parent which children have ended, and
// how (S11.4).
func CallbackPrompt(callbacks []Callback, prefix string) string {
	var b strings.Builder
	for i := range callbacks {
		if i > 0 {
			b.WriteString("\n")
		}
		writeCallback(&b, &callbacks[i], prefix)
	}
	return b.String()
}

func writeCallback(b *strings.Builder, cb *Callback, prefix string) {
	fmt.Fprintf(b, "## Child Session Completed\n\nSession: `%s`\nStatus: finished\n", oneLine(cb.Name))
	if cb.StateVersion > 0 {
		fmt.Fprintf(b, "Workflow State Version: %d\n", cb.StateVersion)
	}
	fmt.Fprintf(b, "State Update: %s\n\n", strings.ToLower(string(cb.Update)))
	if cb.Update == UpdateCompleted {
		fmt.Fprintf(b, "The workflow state has been updated. Use %s to see current state.\n\n", tool("state_read", prefix))
	}
	switch reason := oneLine(cb.Error); {
	case cb.Update == UpdateFailed:
		fmt.Fprintf(b, "Warning: Child failed to update workflow state. Error: %s\n\n", reason)
		if cb.StateVersion > 0 {
			fmt.Fprintf(b, "Use %s to see current state.\n\n", tool("state_read", prefix))
		}
	case reason != "":
		fmt.Fprintf(b, "Warning: the child's agent failed. Error: %s\n\n", reason)
	}
	if cb.Result != "" {
		title := "Result"
		if cb.Cut {
			title = "Result (its beginning; " + tool("session_result", prefix) + " with the session's name reads all of it)"
		}
		b.WriteString(quoted(title, cb.Result) + "\n")
	}
	if cb.StateVersion > 0 {
		updated := "no"
		if cb.Update == UpdateCompleted {
			updated = "yes"
		}
		fmt.Fprintf(b, "Workflow State Updated: %s\n", updated)
	}
	fmt.Fprintf(b, "Callback: %s\n", oneLine(cb.ID))
}

// oneLine keeps text that agents have chosen from looking like more of the prompt,
// and from being all of it.
func oneLine(text string) string {
	shown := 0
	line := strings.Map(func(r rune) rune {
		shown++
		switch {
		case shown > maxLine:
			return -1
		case r == '`' || !unicode.IsPrint(r):
			return ' '
		default:
			return r
		}
	}, text)
	if shown > maxLine {
		line += " ..."
	}
	return line
}
