package workflow

import (
	"fmt"
	"slices"

	"github.com/interlock-run/interlock/pkg/evidence"
)

// Replay returns a run as a change of its history has left it: before is the run as it
// was, and the run after the change is the result of the same command in its machine.
// Played from the start, a whole history gives the run itself. It fails where the history
// is not one of this machine.
//
// The constant fields of a run (ID, Workspace, Claimed, Owner, Parent) are not part of a history.
// For the entry of the start, before needs only these.
func (m *Machine) Replay(before *Run, e *HistoryEntry) (Run, error) {
	var out Result
	if e.Type == EventStarted {
		out = m.Start(StartParams{
			ID: before.ID, SessionID: e.SessionID, Workspace: before.Workspace, Claimed: before.Claimed, Owner: before.Owner, Parent: before.Parent,
			Context: e.Data, Deadline: before.Deadline, Schedule: before.Schedule, Cause: e.Cause, Reason: e.Reason,
		}, e.Actor, e.Time)
	} else {
		var err error
		if out, err = m.replay(before, e); err != nil {
			return Run{}, err
		}
		if e.SessionID != "" && (e.Type == EventResumed || e.Type == EventHoldLifted) {
			out.Run.SessionID = e.SessionID
		}
	}
	return replayed(&out, e)
}

// ReplayMigration does the work of Replay for the entry of a migration, from the version
// that the run had before to m.
func (m *Machine) ReplayMigration(from *Machine, before *Run, e *HistoryEntry) (Run, error) {
	out := from.Step(before, Migrate{To: m, States: StatesOf(e), Actor: e.Actor}, e.Time)
	return replayed(&out, e)
}

// replayed returns the run that a replay gives, where the entry says the same.
func replayed(out *Result, e *HistoryEntry) (Run, error) {
	switch {
	case out.Rejection != nil:
		return Run{}, fmt.Errorf("version %d (%s) is refused: %s", e.RunVersion, e.Type, out.Rejection.Message)
	case !out.Changed:
		return Run{}, fmt.Errorf("version %d (%s) has no effect: %s", e.RunVersion, e.Type, out.Note)
	case out.Run.Version != e.RunVersion || out.Entry.Type != e.Type || out.Entry.To != e.To || out.Run.Status != e.Status:
		return Run{}, fmt.Errorf("version %d (%s) leads to %s at version %d, %s, not to %s, %s",
			e.RunVersion, e.Type, out.Entry.To, out.Run.Version, out.Run.Status, e.To, e.Status)
	}
	return out.Run, nil
}

// replay gives the command again that has led to an entry.
func (m *Machine) replay(before *Run, e *HistoryEntry) (Result, error) {
	if e.Cause != nil {
		if e.Type == EventTimerBlocked { // by a freeze, where its guards pass
			m = m.Under(&Freeze{Until: e.Time, KeepsEnd: true})
		}
		due := Due{Kind: e.Cause.Kind, Branch: e.Branch, After: e.Cause.After}
		return m.Step(before, Elapse{Due: due, Evidence: m.EvidencePassed(e.Guards), Actor: e.Actor}, e.Time), nil
	}
	switch e.Type {
	case EventTransitioned:
		if e.ApprovalID != "" {
			return m.Step(before, Grant{ApprovalID: e.ApprovalID, Data: e.Data, Actor: e.Actor, Evidence: m.EvidencePassed(e.Guards)}, e.Time), nil
		}
		return m.Step(before, m.fireAgain(e), e.Time), nil
	case EventForked, EventParked:
		return m.Step(before, m.fireAgain(e), e.Time), nil
	case EventInvoked:
		fire := m.fireAgain(e)
		fire.Child, fire.ChildID = childNamed(m.State(e.From).Invokes(e.Event)), e.ChildRunID
		return m.Step(before, fire, e.Time), nil
	case EventChildEnded:
		child := Run{ID: e.ChildRunID, Status: e.ChildStatus, Lane: Lane{Context: e.Data}}
		return m.Step(before, ChildEnded{Child: child, Actor: e.Actor}, e.Time), nil
	case EventApprovalRejected, EventApprovalExpired, EventApprovalCancelled, EventStale:
		return m.Step(before, Reject{ApprovalID: e.ApprovalID, Outcome: outcomesOf[e.Type], Note: e.Reason, Actor: e.Actor}, e.Time), nil
	case EventInterrupted:
		return m.Step(before, Divert{Interrupt: e.Interrupt, Files: e.Files, Branch: e.Branch, Actor: e.Actor}, e.Time), nil
	case EventBound:
		return m.Step(before, Bind{Branch: e.Branch, SessionID: e.SessionID, Actor: e.Actor}, e.Time), nil
	case EventForced:
		return m.forceAgain(before, e)
	case EventPaused, EventHeld:
		var cause HoldCause
		if len(e.HoldCauses) > 0 {
			cause = e.HoldCauses[0]
		}
		return m.Step(before, Pause{Reason: e.Reason, Hold: cause, Actor: e.Actor}, e.Time), nil
	case EventHoldLifted, EventResumed:
		return m.Step(before, Resume{Lifts: e.HoldCauses, Actor: e.Actor}, e.Time), nil
	case EventCancelled:
		return m.Step(before, Cancel{Reason: e.Reason, Actor: e.Actor}, e.Time), nil
	default:
		return Result{}, fmt.Errorf("version %d: there is no change of type %q", e.RunVersion, e.Type)
	}
}

// outcomesOf maps entries of the end of a wait to outcomes.
var outcomesOf = map[string]ApprovalOutcome{
	EventApprovalRejected: ApprovalRejected, EventApprovalExpired: ApprovalExpired,
	EventApprovalCancelled: ApprovalCancelled, EventStale: ApprovalStale,
}

func (m *Machine) fireAgain(e *HistoryEntry) Fire {
	return Fire{
		Event: e.Event, Data: e.Data, Branch: e.Branch, ApprovalID: e.ApprovalID, Actor: e.Actor, Evidence: m.EvidencePassed(e.Guards),
	}
}

// EvidencePassed returns how evidence stood when guards were evaluated, by their results:
// evidence that they have passed by was held.
func (m *Machine) EvidencePassed(results []GuardResult) evidence.Statuses {
	all := evidence.Statuses{}
	for i := range results {
		g := &results[i]
		if g.Name == evidence.NoUnknownEffects && g.Passed {
			all[g.Name] = evidence.Status{Name: g.Name, Held: true}
		}
		for j := range m.definition.Guards {
			if def := &m.definition.Guards[j]; def.Name == g.Name && g.Passed {
				heldBy(def, all)
			}
		}
	}
	return all
}

func heldBy(g *Guard, all evidence.Statuses) {
	if g.Evidence != "" {
		all[g.Evidence] = evidence.Status{Name: g.Evidence, Held: true}
	}
	for _, list := range [][]Guard{g.All, g.Any} {
		for i := range list {
			heldBy(&list[i], all)
		}
	}
}

// childNamed returns a machine that stands for that of an invoked workflow: of the child,
// the invoking run keeps the name and the id.
func childNamed(workflow string) *Machine {
	const only = "only"
	return Compile(&Definition{ID: workflow, Initial: only, States: []State{{Name: only}}}, 1)
}

// forceAgain jumps in the very lane that has jumped then: callers work further inside.
func (m *Machine) forceAgain(before *Run, e *HistoryEntry) (Result, error) {
	path, found := before.Fork.find(e.Branch)
	if !found || !m.State(e.To).Known() {
		return Result{}, fmt.Errorf("version %d: there is no branch %q or no state %q", e.RunVersion, e.Branch, e.To)
	}
	at := before.lane(path)
	return m.jumpFrom(&at, &Force{State: e.To, Context: e.Data, Branch: e.Branch, Actor: e.Actor}, e.Time), nil
}

// lifted returns the causes of holds that are there no more.
func lifted(before, kept []Hold) []HoldCause {
	var causes []HoldCause
	for _, h := range before {
		if !slices.ContainsFunc(kept, func(k Hold) bool { return k.Cause == h.Cause }) {
			causes = append(causes, h.Cause)
		}
	}
	return causes
}
