package brief

import (
	"strings"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// timeFacts returns what time will bring about in the lane of the agent, and in its run (S25).
func timeFacts(run *enginev1.Run, size int) []string {
	var parts []string
	for _, d := range run.GetDues() {
		if len(d.GetTargets()) == 0 || d.GetAt() == nil || d.GetKind() == "stale" || d.GetBranch() != "" && d.GetBranch() != run.GetBranch() {
			continue
		}
		names := make([]string, len(d.GetTargets()))
		for i, to := range d.GetTargets() {
			names[i] = name(to)
		}
		text := "at " + d.GetAt().AsTime().UTC().Format("2006-01-02 15:04:05") + " the run goes to " + strings.Join(names, " or ")
		if d.GetBlocked() {
			text = "the run goes to " + strings.Join(names, " or ") + " as soon as its guards pass and no freeze stops it"
		}
		parts = append(parts, text)
	}
	if len(parts) == 0 {
		return nil
	}
	return []string{clip("Time (UTC): "+strings.Join(parts, "; ")+".", size)}
}

// haltFacts returns what a halt stops, since when, and why (S23.42).
func haltFacts(run *enginev1.Run, size int) []string {
	halt := run.GetHalt()
	if halt == nil {
		return nil
	}
	head := "Halted since " + halt.GetCreatedAt().AsTime().UTC().Format(time.RFC3339) + " by " + quote(halt.GetCreatedBy(), nameSize) + ": "
	return []string{head + clip(halt.GetScope(), nameSize) + ". Reason: " + quote(halt.GetReason(), size/2) +
		". Nothing in its scope goes on until an operator lifts it; wait, and do not try another way."}
}

// freezeFacts returns the transitions that a freeze stops, until when, and why (S25.15).
func freezeFacts(run *enginev1.Run, size int) []string {
	freeze := run.GetFreeze()
	var events []string
	for _, e := range run.GetRules().GetLegalEvents() {
		if e.GetFrozen() {
			events = append(events, name(e.GetEvent()))
		}
	}
	if freeze == nil || len(events) == 0 || ToolStatusOf(run) != Judged {
		return nil
	}
	head := "Frozen until " + freeze.GetUntil().AsTime().UTC().Format(time.RFC3339) + " by " + quote(freeze.GetCreatedBy(), nameSize) + ": "
	tail := ". Reason: " + quote(freeze.GetReason(), size/2) + ". Wait, and do not try another way."
	return []string{head + list(events, max(nameSize, size/2-len(head))) + tail}
}
