// Package brief writes the knowledge that an agent needs about its run, as facts: in the
// returns of MCP tools, and for injection into its context each turn (S3.4). It makes no
// decision.
package brief

import (
	"fmt"
	"slices"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Bounds of a description, in bytes.
const (
	// MaxBytes bounds injected text: agents cut longer context.
	MaxBytes = 9_500
	// MaxStateBytes bounds text that an agent asks for.
	MaxStateBytes = 95_000
)

// Injected describes a run within MaxBytes. Long lists and instructions are clipped; the
// transitions come before them and are always named.
func Injected(run *enginev1.Run) string { return describe(run, "", MaxBytes) }

// State returns the text for an agent about its state: the three lines of the documented
// form, and the further facts that it needs to act, within MaxStateBytes. prefix is that
// of Interlock's own tools.
func State(run *enginev1.Run, prefix string) string { return describe(run, prefix, MaxStateBytes) }

// describe writes the facts within a number of bytes. Each list has a part of them, and
// the instructions have the rest.
func describe(run *enginev1.Run, prefix string, size int) string {
	head := fmt.Sprintf("Phase: %s. Tools: %s.", name(run.GetState()), describeTools(run, size/10))
	var tail []string
	if run.GetWorkflowMeta().GetProcess() {
		tail = answerFacts(run, prefix, size/4)
	} else {
		head += fmt.Sprintf("\nTransitions: %s.", transitions(run, size/4))
	}
	tail = append(tail, evidenceFacts(run, size/8)...)
	tail = append(tail, timeFacts(run, size/16)...)
	tail = append(tail, haltFacts(run, size/16)...)
	tail = append(tail, freezeFacts(run, size/16)...)
	tail = append(tail, approvalFacts(run, size/16)...)
	tail = append(tail, limits(run, prefix, size)...)
	tail = append(tail, forkFacts(run, prefix, size/10)...)
	tail = append(tail, detours(run)...)
	line := fmt.Sprintf("Run: %s of %s version %d, %s.", run.GetRunId(), name(run.GetWorkflow()), run.GetWorkflowVersion(), jsonview.StatusName(run.GetStatus()))
	if note := Note(run, prefix); note != "" {
		line += " " + note
	}
	rest := strings.Join(append(tail, line), "\n")
	return clip(head+instructions(run, size-len(head)-len(rest)-1)+"\n"+rest, size)
}

// instructions returns a line of them within a number of bytes, or empty: for a process
// its question. They are for agents that can act.
func instructions(run *enginev1.Run, size int) string {
	text := run.GetRules().GetInstructions()
	if text == "" || ToolStatusOf(run) != Judged {
		return ""
	}
	line := "\nInstructions: " + text
	if run.GetWorkflowMeta().GetProcess() {
		line = "\nQuestion: " + text
	}
	if len(line) <= size {
		return line
	}
	cut := fmt.Sprintf(" [cut: they have %d bytes; the structured content of get_state has them all]", len(text))
	if size < 2*len(cut) {
		return ""
	}
	return clip(line, size-len(cut)) + cut
}

// evidenceFacts returns facts about held and missing evidence: claims do not help an
// agent, acts do.
func evidenceFacts(run *enginev1.Run, size int) []string {
	if ToolStatusOf(run) != Judged || len(run.GetEvidence()) == 0 {
		return nil
	}
	parts := make([]string, len(run.GetEvidence()))
	for i, e := range run.GetEvidence() {
		parts[i] = name(e.GetName()) + ": " + e.GetMissing()
		if e.GetHeld() {
			parts[i] = name(e.GetName()) + ": held since " + e.GetSince().AsTime().UTC().Format("15:04:05")
		}
	}
	return []string{clip("Evidence, which Interlock observes and you cannot claim: "+strings.Join(parts, "; ")+".", size)}
}

// describeTools returns the tools that may be called now.
func describeTools(run *enginev1.Run, size int) string {
	switch ToolStatusOf(run) {
	case Open:
		return "any"
	case Closed:
		return "none"
	}
	if run.GetRules().GetToolsRestricted() && len(run.GetRules().GetAllowedTools()) > 0 {
		return list(run.GetRules().GetAllowedTools(), size)
	}
	return Tools(run.GetRules().GetToolsRestricted(), run.GetRules().GetAllowedTools())
}

// transitions returns the events that may be fired now: in full, or with less of each
// event when that is too long.
func transitions(run *enginev1.Run, size int) string {
	if ToolStatusOf(run) != Judged {
		return "none"
	}
	events := run.GetRules().GetLegalEvents()
	if full := Events(events); len(full) <= size {
		return full
	}
	short := make([]string, len(events))
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.GetEvent()
		short[i] = e.GetEvent() + " -> " + list(e.GetTargets(), nameSize)
	}
	if text := strings.Join(short, ", "); len(text) <= size {
		return text
	}
	return list(names, size)
}

// Tools lists the tools that a state allows: "any", "none", or the names.
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
		if e.GetFrozen() {
			part += " [frozen]"
		}
		parts[i] = part
	}
	return strings.Join(parts, ", ")
}

// Note returns the consequence of the run's status for the agent; empty if there is none.
func Note(run *enginev1.Run, prefix string) string {
	if now := run.GetSupersededBy(); now != "" {
		return "Its session drives run " + now + " now: this one judges no calls, and only Interlock's own tools are allowed for callers that name it."
	}
	switch run.GetStatus() {
	case enginev1.RunStatus_RUN_STATUS_PAUSED:
		if run.GetParentRunId() != "" {
			return "It is paused with the run that invoked it, and is resumed with that run."
		}
		enforced := "Enforcement is off while it is paused."
		if run.GetWorkflowMeta().GetEnforcement() != "while_running" {
			enforced = "Its workflow keeps its agents, so only Interlock's own tools are allowed."
		}
		return fmt.Sprintf("%s Resume it with %sload_workflow(name=%q, resume=true).", enforced, prefix, name(run.GetWorkflow()))
	case enginev1.RunStatus_RUN_STATUS_HELD:
		return heldNote(run)
	case enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL:
		return awaitingNote(run, prefix)
	case enginev1.RunStatus_RUN_STATUS_WAITING:
		return waitingNote(run, prefix)
	case enginev1.RunStatus_RUN_STATUS_COMPLETED, enginev1.RunStatus_RUN_STATUS_FAILED,
		enginev1.RunStatus_RUN_STATUS_BLOCKED, enginev1.RunStatus_RUN_STATUS_CANCELLED:
		return endedNote(run, prefix)
	default:
		return ""
	}
}

func heldNote(run *enginev1.Run) string {
	otherwise := func(h *enginev1.Hold) bool { return h.GetCause() == enginev1.HoldCause_HOLD_CAUSE_OPERATOR }
	stale := func(h *enginev1.Hold) bool { return h.GetCause() == enginev1.HoldCause_HOLD_CAUSE_STALE }
	switch {
	case len(run.GetHolds()) == 0, slices.ContainsFunc(run.GetHolds(), otherwise):
		return "An operator holds it: calls are denied until an operator resumes it."
	case slices.ContainsFunc(run.GetHolds(), stale):
		return "It is held because no progress was made: calls are denied until an operator resumes it."
	}
	return "Its session has ended: calls are denied until the session or an operator resumes it."
}

func awaitingNote(run *enginev1.Run, prefix string) string {
	what := "other transitions are rejected"
	if run.GetWorkflowMeta().GetProcess() {
		what = "no answer is accepted"
	}
	note := "It waits for a human; the state's tools keep working, " + what + ". "
	if run.GetApproval().GetPending() {
		return note + prefix + "wait_approval returns when that is decided."
	}
	return note + prefix + "wait returns when that has changed."
}

func endedNote(run *enginev1.Run, prefix string) string {
	if run.GetWorkflowMeta().GetProcess() && run.GetStatus() == enginev1.RunStatus_RUN_STATUS_BLOCKED {
		return "It is blocked, and this session cannot continue: stop, and inform the person you work for."
	}
	if run.GetStatus() == enginev1.RunStatus_RUN_STATUS_FAILED && run.GetWorkflowMeta().GetEnforcement() == string(workflow.UntilSuccess) {
		return fmt.Sprintf("It has failed: only tools that read are allowed, until you begin the same workflow anew with %sload_workflow(name=%q).", prefix, name(run.GetWorkflow()))
	}
	return "It has ended; begin another with " + prefix + "load_workflow."
}

func waitingNote(run *enginev1.Run, prefix string) string {
	what := "other branches"
	if child := run.GetChild(); child != nil {
		what = fmt.Sprintf("the run %s of %s, which it invoked", child.GetRunId(), name(child.GetWorkflow()))
	}
	return fmt.Sprintf("It waits for %s: no tool and no event is allowed until then. %swait returns when that has changed.", what, prefix)
}
