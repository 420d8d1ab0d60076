package brief

import (
	"fmt"
	"slices"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// branchSeparator parts the names of a nested branch's path.
const branchSeparator = "/"

// branch is one branch of a fork, or of one inside of it.
type branch struct {
	path string
	// current is the one that callers work in who have no branch of their own.
	current bool
	*enginev1.ForkBranch
}

func (b branch) active() bool {
	return b.GetStatus() == enginev1.BranchStatus_BRANCH_STATUS_ACTIVE
}

// branches returns those of a fork in order; one that is in branches itself is followed
// by them.
func branches(f *enginev1.Fork, outer string) []branch {
	var all []branch
	for _, b := range f.GetBranches() {
		path := outer + b.GetName()
		all = append(all, branch{path, b.GetName() == f.GetCurrent(), b})
		all = append(all, branches(b.GetFork(), path+branchSeparator)...)
	}
	return all
}

// forkFacts returns facts about open branches, their agents, and the next steps.
func forkFacts(run *enginev1.Run, prefix string, size int) []string {
	fork := run.GetFork()
	var facts []string
	if path := run.GetBranch(); path != "" {
		facts = append(facts, ownBranch(run, path))
	}
	if fork == nil {
		return facts
	}
	facts = append(facts, fmt.Sprintf("Fork: %s in %s; %s.", name(fork.GetEvent()), name(fork.GetState()), joins(fork)))
	all := branches(fork, "")
	parts := make([]string, 0, len(all))
	for _, b := range all {
		parts = append(parts, b.describe(run))
	}
	facts = append(facts, "Branches: "+list(parts, size)+".")
	if free := slices.ContainsFunc(all, branch.free); free && ToolStatusOf(run) == Judged {
		facts = append(facts, fmt.Sprintf("A subagent gets a free branch with %sload_workflow(name=%q, branch=NAME); the remaining branches follow when this branch has ended.",
			prefix, name(run.GetWorkflow())))
	}
	return facts
}

// free reports whether the branch has no agent yet.
func (b branch) free() bool {
	return b.active() && !b.current && b.GetSessionId() == "" && b.GetFork() == nil
}

func ownBranch(run *enginev1.Run, path string) string {
	for _, b := range branches(run.GetFork(), "") {
		if b.path == path && b.active() && !run.GetBranchOver() {
			return fmt.Sprintf("Branch: %s. Reaching %s completes it.", name(path), name(b.GetTerminal()))
		}
	}
	if run.GetFork() == nil {
		return fmt.Sprintf("Branch: %s. It has ended and its fork has joined: no more calls are allowed here.", name(path))
	}
	return fmt.Sprintf("Branch: %s. It has ended: no more calls are allowed here.", name(path))
}

// describe returns a branch in the list of all.
func (b branch) describe(run *enginev1.Run) string {
	title := name(b.path)
	switch b.GetStatus() {
	case enginev1.BranchStatus_BRANCH_STATUS_SUCCEEDED:
		return title + " is complete"
	case enginev1.BranchStatus_BRANCH_STATUS_FAILED:
		return title + " has failed in " + name(b.GetState())
	case enginev1.BranchStatus_BRANCH_STATUS_CANCELLED:
		return title + " is cancelled"
	default:
	}
	who := "free"
	switch {
	case b.path == run.GetBranch():
		who = "yours"
	case b.GetFork() != nil:
		who = "itself in branches"
	case b.GetSessionId() != "":
		who = fmt.Sprintf("used by session %q", b.GetSessionId())
	case b.current:
		who = "used by sessions without their own branch"
	}
	return fmt.Sprintf("%s is open in %s (%s)", title, name(b.GetState()), who)
}

// joins describes how a fork ends (S5.4).
func joins(f *enginev1.Fork) string {
	fail := "the run fails"
	if f.GetOnFail() != "" {
		fail = "it continues to " + name(f.GetOnFail())
	}
	if f.GetJoin() == enginev1.JoinMode_JOIN_MODE_ANY {
		return fmt.Sprintf("it continues to %s when one branch is complete; when all have failed, %s", name(f.GetOnComplete()), fail)
	}
	return fmt.Sprintf("it continues to %s when all branches are complete; when one fails, %s", name(f.GetOnComplete()), fail)
}

// detours returns the facts about an interrupt and about runs that invoke each other.
func detours(run *enginev1.Run) []string {
	var facts []string
	if in := run.GetInterrupt(); in != nil {
		facts = append(facts, fmt.Sprintf("Interrupt: %s is being handled; $return leads back to %s.", name(in.GetName()), name(in.GetReturnTo())))
	}
	if parent := run.GetParentRunId(); parent != "" && !ended(run.GetStatus()) {
		facts = append(facts, fmt.Sprintf("Child run: invoked by the run %s, which continues when this one has ended.", parent))
	}
	return facts
}

func ended(s enginev1.RunStatus) bool {
	switch s {
	case enginev1.RunStatus_RUN_STATUS_COMPLETED, enginev1.RunStatus_RUN_STATUS_FAILED,
		enginev1.RunStatus_RUN_STATUS_BLOCKED, enginev1.RunStatus_RUN_STATUS_CANCELLED:
		return true
	default:
		return false
	}
}
