package explore

import (
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// MoveKind is the kind of an act.
type MoveKind uint8

// The kinds of moves.
const (
	Begins MoveKind = iota
	Fires
	Diverts
	Grants
	Rejects
	Expires
	Cancels // an operator ends a run that was invoked
	Forces
	Gains // an evidence
	Loses
	Elapses // time has made something due
)

// Move is the step from one global state to the next.
type Move struct {
	Kind   MoveKind
	Path   []int  // of the run
	Branch string // of its lane
	Event  string // or the name of an interrupt, of an evidence, or of a state that is forced
	// Chosen are the values that guards were judged by.
	Chosen []model.Assignment
	guards []string
	// Keep are the keys that data leaves as they are.
	Keep []string
	// Edited is the data that an approver sets in the place of the agent's; empty for none.
	Edited string
	// Due is what time brings about, of Elapses.
	Due workflow.Due
	// Why an evidence is lost.
	Why string
	// unsure is true when the values are not known to be those that a run has.
	unsure bool
	// doubtful is true when no call is known by which an evidence is gained, or an interrupt
	// fires. spends is true when the call may be one that max_iterations has no room for.
	doubtful, spends bool
}

// Step is a move with its result.
type Step struct {
	Move
	From, To *model.GlobalState
	// Before is the lane that it began in, and runEvents its events.
	Before    workflow.View
	runEvents []runEvents
	Entry     *workflow.HistoryEntry
}

// runEvents are the events of one run.
type runEvents struct {
	Unit   *model.Unit
	Events []workflow.Event
}

// Words say a move shortly.
func (m *Move) Words() string {
	in := ""
	if m.Branch != "" {
		in = " in " + m.Branch
	}
	switch m.Kind {
	case Begins:
		return ""
	case Fires:
		return m.Event + in
	case Diverts:
		return "interrupt " + m.Event + in
	case Grants:
		return m.Event + in + " is approved"
	case Rejects:
		return m.Event + in + " is rejected"
	case Expires:
		return m.Event + in + " expires"
	case Cancels:
		return "an invoked run is cancelled"
	case Forces:
		return "state " + m.Event + " is forced"
	case Gains:
		return "evidence " + m.Event
	case Elapses:
		return "time (" + m.Event + ")" + in
	default:
		return "evidence " + m.Event + " is void"
	}
}

// RecordedStep returns the step of one recorded change of a run, with its result.
func RecordedStep(of *model.Unit, before *workflow.Run, e *workflow.HistoryEntry, out *workflow.Result) *Step {
	s := &Step{
		From: &model.GlobalState{Root: &model.Node{Unit: of, Run: before}}, Before: before.At(e.Branch), Entry: &out.Entry,
		runEvents: []runEvents{{Unit: of, Events: out.Events}},
	}
	if _, waits := before.Asking(e.ApprovalID); waits && e.Type == workflow.EventTransitioned {
		s.Kind = Grants
	}
	return s
}
