// Package brief writes what an agent needs to know about its run, as facts, for
// injection into its context (S3.4, seed 001 "What the agent sees on every
// turn").
package brief

import (
	"fmt"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// MaxBytes bounds a brief: agents' hooks cut longer context.
const MaxBytes = 9_500

// Run describes a run: phase, tools, transitions, iterations left, instructions.
func Run(run *enginev1.Run) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Workflow: %s (run %s, %s).\n", run.GetWorkflow(), run.GetRunId(), Status(run.GetStatus()))
	fmt.Fprintf(&b, "Phase: %s. %s\n", run.GetState(), tools(run))
	if Ended(run.GetStatus()) {
		return b.String()
	}
	fmt.Fprintf(&b, "Transitions: %s.\n", Events(run.GetLegalEvents()))
	if limit := run.GetMaxIterations(); limit > 0 {
		fmt.Fprintf(&b, "Tool calls left in this phase: %d of %d.\n", max(0, limit-run.GetIterations()), limit)
	}
	if text := run.GetInstructions(); text != "" {
		fmt.Fprintf(&b, "Instructions: %s\n", text)
	}
	return cut(b.String())
}

func tools(run *enginev1.Run) string {
	var parts []string
	switch {
	case !run.GetToolsRestricted():
		parts = append(parts, "Tools: all.")
	case len(run.GetAllowedTools()) == 0:
		parts = append(parts, "Tools: none.")
	default:
		parts = append(parts, "Tools: "+strings.Join(run.GetAllowedTools(), ", ")+".")
	}
	if denied := run.GetDisallowedTools(); len(denied) > 0 {
		parts = append(parts, "Never: "+strings.Join(denied, ", ")+".")
	}
	return strings.Join(parts, " ")
}

// Events lists legal events with their targets and guards:
// "DEPLOY -> deploying (guard tests_passed), FAIL -> failed".
func Events(events []*enginev1.LegalEvent) string {
	if len(events) == 0 {
		return "none"
	}
	parts := make([]string, len(events))
	for i, e := range events {
		parts[i] = e.GetEvent() + " -> " + strings.Join(e.GetTargets(), " | ")
		var notes []string
		if g := e.GetGuards(); len(g) > 0 {
			notes = append(notes, "guard "+strings.Join(g, ", "))
		}
		if e.GetRequiresApproval() {
			notes = append(notes, "needs approval")
		}
		if len(notes) > 0 {
			parts[i] += " (" + strings.Join(notes, "; ") + ")"
		}
	}
	return strings.Join(parts, ", ")
}

// Status is the status without its contract prefix, e.g. "RUNNING".
func Status(s enginev1.RunStatus) string {
	return strings.TrimPrefix(s.String(), "RUN_STATUS_")
}

// Ended is true for a run that will not change any more.
func Ended(s enginev1.RunStatus) bool {
	switch s {
	case enginev1.RunStatus_RUN_STATUS_COMPLETED, enginev1.RunStatus_RUN_STATUS_FAILED,
		enginev1.RunStatus_RUN_STATUS_BLOCKED, enginev1.RunStatus_RUN_STATUS_CANCELLED:
		return true
	default:
		return false
	}
}

func cut(text string) string {
	if len(text) <= MaxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:MaxBytes], "") + "\n[cut]\n"
}
