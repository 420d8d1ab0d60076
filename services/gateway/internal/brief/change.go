package brief

import (
	"fmt"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// Changes describes in sentences the effects of an accepted event in addition to the new
// state: a run that was invoked or has ended, branches that have ended, a fork that has
// joined, an interrupt that is over. Both are the run whose rules are in force for the
// caller.
func Changes(before, after *enginev1.Run) []string {
	if before == nil || after == nil {
		return nil
	}
	if before.GetRunId() != after.GetRunId() {
		return []string{handedOver(before, after)}
	}
	var facts []string
	if in := before.GetInterrupt(); in != nil && after.GetInterrupt() == nil && before.GetBranch() == after.GetBranch() {
		facts = append(facts, fmt.Sprintf("The interrupt %s is over.", name(in.GetName())))
	}
	return append(facts, forkChanges(before, after)...)
}

// handedOver describes the run whose rules are in force instead.
func handedOver(before, after *enginev1.Run) string {
	if before.GetParentRunId() != after.GetRunId() && after.GetParentRunId() != "" && after.GetTransitionCount() == 0 {
		return fmt.Sprintf("A child run has started: %s of %s. Its rules are in force until it ends.", after.GetRunId(), name(after.GetWorkflow()))
	}
	return fmt.Sprintf("The child run %s of %s has ended; the run %s of %s continues.",
		before.GetRunId(), name(before.GetWorkflow()), after.GetRunId(), name(after.GetWorkflow()))
}

func forkChanges(before, after *enginev1.Run) []string {
	was, is := before.GetFork(), after.GetFork()
	switch {
	case was == nil && is == nil:
		return nil
	case was == nil:
		return []string{fmt.Sprintf("The run is now in %s.", plural(len(is.GetBranches())))}
	case is == nil:
		return append(endedBranch(before), forkEnd(was, after))
	}
	status := make(map[string]branch)
	for _, b := range branches(is, "") {
		status[b.path] = b
	}
	var facts []string
	for _, b := range branches(was, "") {
		now, found := status[b.path]
		switch {
		case !b.active():
		case !found: // one of a fork inside this one
			facts = append(facts, fmt.Sprintf("The branch %s has ended, and its fork has joined.", name(b.path)))
		case !now.active():
			facts = append(facts, fmt.Sprintf("The branch %s.", now.describe(after)))
		}
	}
	if path := after.GetBranch(); path != before.GetBranch() && path != "" && !after.GetBranchOver() {
		facts = append(facts, fmt.Sprintf("You are now in the branch %s.", name(path)))
	}
	return facts
}

func forkEnd(fork *enginev1.Fork, after *enginev1.Run) string {
	if after.GetStatus() == enginev1.RunStatus_RUN_STATUS_FAILED && ToolStatusOf(after) == Closed {
		return fmt.Sprintf("The fork of %s has failed, and the run with it.", name(fork.GetEvent()))
	}
	return fmt.Sprintf("The fork of %s has joined: the run is in %s.", name(fork.GetEvent()), name(after.GetState()))
}

// endedBranch describes the branch whose end has joined the fork.
func endedBranch(before *enginev1.Run) []string {
	if before.GetBranch() == "" || before.GetBranchOver() {
		return nil
	}
	return []string{fmt.Sprintf("The branch %s has ended.", name(before.GetBranch()))}
}

func plural(n int) string {
	if n == 1 {
		return "1 branch"
	}
	return fmt.Sprintf("%d branches", n)
}
