package workflow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// branchDone handles BRANCH_DONE:<name>. Reaching its terminal has completed a branch
// already, so it is only confirmed (S5.2); where no transition leads to the terminal,
// this event does, for callers in the branch (S15.6).
func (m branchRules) branchDone(run *Run, name string, c *Fire, now time.Time) Result {
	what := "event " + document.Quote(c.Event)
	if run.Status.Stopped() || run.Status == Blocked || run.Fork == nil && run.Status == AwaitingApproval {
		return rejected(run, *c, now, m.refusals().notRunning(run.whole(), what))
	}
	caller := run.locate(c.Branch, c.Lost)
	path, joined := run.findFrom(caller.Branch, name)
	switch {
	case joined:
		return unchanged(run, c.Actor, now, fmt.Sprintf("branch %s is complete, and its fork has joined.%s", document.Quote(name), tooLate(c.Data)))
	case path != nil && slices.Equal(path, caller.path) && m.endsBranch(&caller):
		c.Event = branchDone + ":" + run.branchAt(path).Name
		return m.fireIn(run, &caller, c, now)
	case path != nil:
		return m.branchStands(run, path, name, &caller, c, now)
	case run.Status.Ended():
		return rejected(run, *c, now, m.refusals().notRunning(run.whole(), what))
	default:
		return rejected(run, *c, now, m.refusals().unknownBranch(run, name, what))
	}
}

// branchStands handles it for a branch whose fork has not joined.
func (m branchRules) branchStands(run *Run, path []int, name string, caller *cursor, c *Fire, now time.Time) Result {
	what := "event " + document.Quote(c.Event)
	b, at := run.branchAt(path), run.lane(path)
	switch b.Status {
	case BranchSucceeded:
		return unchanged(run, c.Actor, now, fmt.Sprintf("branch %s is complete; the fork waits for %s.%s",
			document.Quote(name), at.outer().Fork.open(), tooLate(c.Data)))
	case BranchActive:
		if len(caller.path) > 0 && !slices.Equal(caller.path, path) { // its events are not the caller's
			return rejected(run, *c, now, m.refusals().refused(caller.View, RejectBranchNotDone,
				"%s refused: this session works in branch %s, and branch %s is in state %s and completes in %s. %s", what,
				document.Quote(caller.Branch), document.Quote(name), document.Quote(b.State), document.Quote(m.forkBranch(&at).Terminal), m.State(caller.State).moves))
		}
		return rejected(run, *c, now, m.refusals().refused(at.View, RejectBranchNotDone,
			"%s refused: branch %s is in state %s and completes in %s. %s", what, document.Quote(name),
			document.Quote(b.State), document.Quote(m.forkBranch(&at).Terminal), m.State(b.State).moves))
	default:
		return rejected(run, *c, now, m.refusals().refused(at.View, RejectBranchNotDone,
			"%s refused: branch %s has %s in state %s.", what, document.Quote(name), strings.ToLower(string(b.Status)), document.Quote(b.State)))
	}
}

// endsBranch reports that only this event completes the branch that a lane works in.
func (m branchRules) endsBranch(at *cursor) bool {
	if at.Over || len(at.path) == 0 {
		return false
	}
	b := at.outer().Fork.Branches[at.place()]
	return m.State(at.State).ways[branchDone+":"+b.Name] != nil
}

// tooLate returns the message to a caller whose data comes after the branch has ended.
func tooLate(data document.Value) string {
	if data.Len() == 0 {
		return ""
	}
	return " The data is not merged: give it with the event that leads to the branch's terminal."
}

// findFrom finds the branch that a caller in a branch means by a name: the nearest fork
// counts, also one that has joined since its lane moved last.
func (r *Run) findFrom(branch, name string) (path []int, joined bool) {
	for {
		if path, found := r.Fork.find(branchIn(branch, name)); found && len(path) > 0 {
			return path, false
		}
		if r.hasJoined(branch, name) {
			return nil, true
		}
		if branch == "" {
			return nil, false
		}
		branch = branch[:max(0, strings.LastIndex(branch, branchSeparator))]
	}
}

// hasJoined reports that a branch of this name has succeeded in a fork that has
// joined in a lane, or inside it.
func (r *Run) hasJoined(lane, name string) bool {
	return slices.ContainsFunc(r.Joined, func(branch string) bool {
		inside, found := strings.CutPrefix(branch, branchIn(lane, ""))
		return found && (inside == name || strings.HasSuffix(inside, branchSeparator+name))
	})
}

// forgetJoins drops the forks that have joined in a lane, or inside it: the lane moves
// on.
func (r *Run) forgetJoins(lane string) {
	if len(r.Joined) == 0 {
		return
	}
	var others []string
	for _, branch := range r.Joined {
		if !strings.HasPrefix(branch, branchIn(lane, "")) {
			others = append(others, branch)
		}
	}
	r.Joined = others
}
