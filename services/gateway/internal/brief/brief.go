// Package brief writes what an agent needs to know about its run, as facts: in
// the answers of MCP tools, and for injection into its context each turn (S3.4,
// seed 001 "What the agent sees on every turn").
package brief

import (
	"fmt"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// MaxBytes bounds what is injected: agents cut longer context.
const MaxBytes = 9_500

// Injected describes a run within MaxBytes.
func Injected(run *enginev1.Run) string {
	text := State(run, "")
	if len(text) <= MaxBytes {
		return text
	}
	return strings.ToValidUTF8(text[:MaxBytes], "") + "\n[cut]"
}

// Status is a status without its contract prefix, e.g. "RUNNING".
func Status(s enginev1.RunStatus) string {
	return strings.TrimPrefix(s.String(), "RUN_STATUS_")
}

// State is what an agent reads about its state: the three lines of the
// documented form, and what else it needs to act. prefix is that of Interlock's
// own tools.
func State(run *enginev1.Run, prefix string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Phase: %s. Tools: %s.\n", run.GetState(), Tools(run.GetToolsRestricted(), run.GetAllowedTools()))
	fmt.Fprintf(&b, "Transitions: %s.\n", Events(run.GetLegalEvents()))
	if run.GetInstructions() != "" {
		fmt.Fprintf(&b, "Instructions: %s\n", run.GetInstructions())
	}
	if len(run.GetDisallowedTools()) > 0 {
		fmt.Fprintf(&b, "Disallowed tools: %s.\n", strings.Join(run.GetDisallowedTools(), ", "))
	}
	if limit := run.GetMaxIterations(); limit > 0 {
		left := max(limit-run.GetIterations(), 0)
		fmt.Fprintf(&b, "Iterations: %d of %d used, %d left", run.GetIterations(), limit, left)
		if left == 0 {
			b.WriteString("; fire an event with " + prefix + "transition now")
		}
		b.WriteString(".\n")
	}
	fmt.Fprintf(&b, "Run: %s of %s version %d, %s.", run.GetRunId(), run.GetWorkflow(), run.GetWorkflowVersion(), Status(run.GetStatus()))
	if note := Note(run, prefix); note != "" {
		b.WriteString(" " + note)
	}
	return b.String()
}

// Note says what the run's status asks of the agent; empty when nothing.
func Note(run *enginev1.Run, prefix string) string {
	switch run.GetStatus() {
	case enginev1.RunStatus_RUN_STATUS_PAUSED:
		if run.GetHeld() {
			return "An operator holds it: calls are denied until the operator resumes it."
		}
		return fmt.Sprintf("Resume it with %sload_workflow(name=%q, resume=true).", prefix, run.GetWorkflow())
	case enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL:
		return "It waits for a human; the state's tools keep working, other transitions are rejected."
	case enginev1.RunStatus_RUN_STATUS_COMPLETED, enginev1.RunStatus_RUN_STATUS_FAILED,
		enginev1.RunStatus_RUN_STATUS_BLOCKED, enginev1.RunStatus_RUN_STATUS_CANCELLED:
		return "It has ended; begin another with " + prefix + "load_workflow."
	default:
		return ""
	}
}

// Tools lists what a state allows: "any", "none", or the names.
func Tools(restricted bool, allowed []string) string {
	switch {
	case !restricted:
		return "any"
	case len(allowed) == 0:
		return "none"
	}
	return strings.Join(allowed, ", ")
}

// Events lists legal events with their targets and guards:
// "DEPLOY -> deploying [guards: tests_passed], FAIL -> failed".
func Events(events []*enginev1.LegalEvent) string {
	if len(events) == 0 {
		return "none"
	}
	parts := make([]string, len(events))
	for i, e := range events {
		part := e.GetEvent() + " -> " + strings.Join(e.GetTargets(), " | ")
		if len(e.GetGuards()) > 0 {
			part += " [guards: " + strings.Join(e.GetGuards(), ", ") + "]"
		}
		if e.GetRequiresApproval() {
			part += " [needs approval]"
		}
		parts[i] = part
	}
	return strings.Join(parts, ", ")
}
