package workflow

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// RejectionCode says why a command was refused, for programs.
type RejectionCode string

// The codes.
const (
	RejectUnknownEvent           RejectionCode = "UNKNOWN_EVENT"
	RejectGuardFailed            RejectionCode = "GUARD_FAILED"
	RejectNoBranchMatched        RejectionCode = "NO_BRANCH_MATCHED"
	RejectRunNotRunning          RejectionCode = "RUN_NOT_RUNNING"
	RejectApprovalPending        RejectionCode = "APPROVAL_PENDING"
	RejectReturnOutsideInterrupt RejectionCode = "RETURN_OUTSIDE_INTERRUPT"
	RejectBranchNotDone          RejectionCode = "BRANCH_NOT_DONE"
	RejectUnknownBranch          RejectionCode = "UNKNOWN_BRANCH"
	RejectUnknownWorkflow        RejectionCode = "UNKNOWN_WORKFLOW"
	RejectInvokeTooDeep          RejectionCode = "INVOKE_TOO_DEEP"
	RejectReservedKey            RejectionCode = "RESERVED_KEY"
	RejectDebugDisabled          RejectionCode = "DEBUG_DISABLED"
	// RejectUnsupported: the workflow language has it, this version does not
	// execute it yet.
	RejectUnsupported RejectionCode = "UNSUPPORTED"
	// RejectRunNotPaused refuses a Resume of a run that is not paused.
	RejectRunNotPaused RejectionCode = "RUN_NOT_PAUSED"
	// RejectInvalidData: the data is not an object, or the context would grow
	// beyond MaxContextBytes.
	RejectInvalidData RejectionCode = "INVALID_DATA"
	// RejectNotParked refuses a Grant or Reject that no transition waits for.
	RejectNotParked RejectionCode = "NOT_PARKED"
	// RejectNoImage refuses to migrate a run that the other version has no place for (S17.1).
	RejectNoImage RejectionCode = "NO_IMAGE"
	// RejectTooEarly refuses a transition before its not_before (S25.6).
	RejectTooEarly RejectionCode = "TOO_EARLY"
	// RejectOutsideWindow refuses a transition outside of its window (S25.7).
	RejectOutsideWindow RejectionCode = "OUTSIDE_WINDOW"
	// RejectFrozen refuses a transition that a freeze stops (S25.12).
	RejectFrozen RejectionCode = "FROZEN"
	// RejectNotDue refuses an Elapse that is not due.
	RejectNotDue RejectionCode = "NOT_DUE"
)

// Rejection describes why a command was refused, and the legal ones (S2.7).
type Rejection struct {
	Code RejectionCode
	// Message is one text that an agent can act on.
	Message string
	// Guards has every failing guard.
	Guards []GuardResult
	// LegalEvents of the state; shared, read only.
	LegalEvents []LegalEvent
	State       string
	Status      Status

	// public is Message without anything of the context.
	public string
}

// refused builds the rejection of a command on a run.
func (m refusals) refused(at View, code RejectionCode, format string, args ...any) *Rejection {
	text := fmt.Sprintf(format, args...)
	return &Rejection{
		Code: code, Message: text, public: text,
		LegalEvents: m.LegalEvents(at.State), State: at.State, Status: at.Status,
	}
}

// rejected returns the outcome of a refusal: the run does not change. The refusal of an
// event is announced.
func rejected(run *Run, cmd Command, now time.Time, r *Rejection) Result {
	out := Result{Run: *run, Rejection: r, Entry: HistoryEntry{Time: now}}
	if cmd != nil {
		out.Entry.Actor = cmd.actor()
	}
	if fire, ok := cmd.(Fire); ok {
		out.Events = []Event{{
			Type: EventRejected, Event: fire.Event, From: r.State, Branch: fire.Branch,
			Code: r.Code, Message: r.public, Guards: guardNames(r.Guards, false),
		}}
	}
	return out
}

// foreign refuses to step a run that another workflow or version drives.
func (m refusals) foreign(run *Run) *Rejection {
	return m.refused(run.whole(), RejectUnsupported,
		"run %s belongs to version %d of workflow %s, and this is version %d of %s; load the run's own version",
		run.ID, run.WorkflowVersion, document.Quote(run.Workflow), m.version, document.Quote(m.Name()))
}

// notRunning refuses commands that need a running run (S2.9).
func (m refusals) notRunning(at View, what string) *Rejection {
	if at.Status == AwaitingApproval && at.Approval.Pending() {
		return m.refused(at, RejectApprovalPending,
			"%s refused: event %s is parked in state %s, and no other event is accepted until humans have decided approval %s; wait for that. The tools of the state do not change.",
			what, document.Quote(at.Approval.Event), document.Quote(at.State), document.Quote(at.Approval.ID))
	}
	var why string
	switch {
	case at.Status.Ended():
		why = "it has ended and can no longer change; start a new run"
	case at.Held():
		why = HeldBy(at.Holds)
	case at.Status == Paused:
		why = "resume it first"
	case at.Status == AwaitingApproval:
		why = "a human must decide first"
	case at.Child != nil:
		why = fmt.Sprintf("it waits for run %s of workflow %s; continue there", at.Child.RunID, document.Quote(at.Child.Workflow))
	case at.Fork != nil:
		why = "it waits for branches that other sessions work in: " + at.Fork.open()
	default:
		why = "wait until it is RUNNING again"
	}
	return m.refused(at, RejectRunNotRunning, "%s refused: the run is %s in state %s; %s.",
		what, at.Status, document.Quote(at.State), why)
}

// unknownBranch refuses a name that is not a branch of the run's forks.
func (m refusals) unknownBranch(run *Run, name, what string) *Rejection {
	at := run.At("")
	if run.Fork == nil {
		return m.refused(at, RejectUnknownBranch, "%s refused: the run is not in a fork, so it has no branch %s. %s",
			what, document.Quote(name), m.State(at.State).moves)
	}
	return m.refused(at, RejectUnknownBranch, "%s refused: the run's fork has no branch %s, or more than one; open branches: %s.",
		what, document.Quote(name), run.Fork.open())
}

// branchOver refuses a command in a branch that has ended, or never was.
func (m refusals) branchOver(at View, branch, what string) *Rejection {
	if at.State == "" {
		return m.unknownBranch(at.Run, branch, what)
	}
	return m.refused(at, RejectRunNotRunning, "%s refused: branch %s has ended in state %s, and it takes no more events.",
		what, document.Quote(at.Branch), document.Quote(at.State))
}

// unknownEvent refuses an event that the state does not define. A guess at the caller's
// meaning is only named, never taken (S2.1).
func (m refusals) unknownEvent(at View, state *StateView, event string) *Rejection {
	hint := new(document.Report).DidYouMean(event, state.eventNames())
	return m.refused(at, RejectUnknownEvent, "state %s defines no event %s%s Events match exactly. %s",
		document.Quote(at.State), document.Quote(event), sentence(hint), state.moves)
}

func sentence(hint string) string {
	if hint == "" {
		return "."
	}
	return hint
}

func (s *StateView) eventNames() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range s.legal {
			if !yield(s.legal[i].Event) {
				return
			}
		}
	}
}

// guardsFailed refuses an event none of whose ways is open, and names every
// guard that failed (S2.3, S2.4).
func (m refusals) guardsFailed(at View, state *StateView, w *way, data document.Value, results []GuardResult) *Rejection {
	code, why := RejectGuardFailed, "its guards do not all pass"
	if w.branched {
		code, why = RejectNoBranchMatched, "none of its branches has guards that all pass"
	}
	intro := fmt.Sprintf("event %s refused in state %s: %s: ", document.Quote(w.event), document.Quote(at.State), why)
	r := m.refused(at, code, "")
	var full, public []string
	for _, g := range results {
		if !g.Passed {
			r.Guards = append(r.Guards, g)
			full, public = append(full, g.String()), append(public, g.wanted())
		}
	}
	r.Message = intro + strings.Join(full, "; ") + "." + timing(r.Guards, data) + " " + state.moves
	r.public = intro + strings.Join(public, "; ") + ". " + state.moves
	return r
}

// timing explains S2.3 to a caller who sends the value that the guard needs together with
// the event that it guards.
func timing(failed []GuardResult, data document.Value) string {
	for _, g := range failed {
		if g.Op == opEvidence {
			continue
		}
		key := topKey(g.Field)
		if _, ok := data.Get(key); ok {
			return fmt.Sprintf(" Guards see the context as it was before this event: set %s in the data of an earlier event.", document.Quote(key))
		}
	}
	return ""
}

// guardNames names the guards that passed, or those that failed.
func guardNames(results []GuardResult, passed bool) []string {
	if len(results) == 0 {
		return nil
	}
	names := make([]string, 0, len(results))
	for i := range results {
		if results[i].Passed == passed {
			names = append(names, results[i].Name)
		}
	}
	return names
}
