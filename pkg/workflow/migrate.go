package workflow

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
)

// Migrate moves a run to another version of its workflow (S17): it stands in the images of
// its states, in the same entries of them, and waits for the same branches and runs. Parts
// that the other version does not know are dropped, and only its own context is added.
type Migrate struct {
	// From is the version that the run must have; 0 for any.
	From int64
	// To is the version to move to.
	To *Machine
	// States are the names that states of the run have in To; one that is not here keeps
	// its name.
	States map[string]string
	// Unmoved refuses a run that has come from another version before: plans speak of others.
	Unmoved bool
	// Accepted is the digest of the plan by which it moves; empty where none had to be accepted.
	// The history keeps it.
	Accepted string
	Actor    string
}

func (c Migrate) actor() string { return c.Actor }

// StatesData returns how the history of a run keeps renamed states, and StatesOf reads
// it.
func StatesData(states map[string]string) document.Value {
	if len(states) == 0 {
		return document.Value{}
	}
	members := make([]document.Member, 0, len(states))
	for from, to := range states {
		members = append(members, document.Member{Name: from, Value: document.StringValue(to)})
	}
	slices.SortFunc(members, func(a, b document.Member) int { return strings.Compare(a.Name, b.Name) })
	return document.ObjectValue([]document.Member{{Name: statesKey, Value: document.ObjectValue(members)}})
}

const statesKey = "states"

// StatesOf returns the renamed states of an entry of EventMigrated.
func StatesOf(e *HistoryEntry) map[string]string {
	renamed, _ := e.Data.Get(statesKey)
	states := map[string]string{}
	for from, to := range renamed.Members() {
		states[from] = to.Str()
	}
	return states
}

// migrate moves a run, or says why it has no image in the other version.
func (m *Machine) migrate(run *Run, c Migrate, now time.Time) Result {
	refuse := func(code RejectionCode, why string) Result {
		return rejected(run, c, now, m.refusals().refused(run.whole(), code, "the run stays at version %d: %s.", run.WorkflowVersion, why))
	}
	switch {
	case run.Status.Ended():
		return refuse(RejectRunNotRunning, "it has ended")
	case c.To == nil || c.To.Name() != m.Name():
		return refuse(RejectUnsupported, "a run moves to another version of its own workflow, "+document.Quote(m.Name()))
	case c.To.version == m.version:
		return unchanged(run, c.Actor, now, "the run is at that version already.")
	case c.From != 0 && c.From != m.version:
		return refuse(RejectUnsupported, fmt.Sprintf("it was to be moved from version %d", c.From))
	}
	if c.Unmoved && run.Moved {
		return refuse(RejectUnsupported, "it has come from another version in the meantime")
	}
	im := &imager{from: m, to: c.To, states: c.States}
	s := m.begin(run, c.Actor, now)
	next := &s.out.Run
	lane, why := im.lane(run.lane(nil), nil)
	if why != "" {
		return refuse(RejectNoImage, why)
	}
	next.Lane = lane
	next.WorkflowVersion, next.Moved = c.To.version, true
	next.Approved = im.approved(run.Approved)
	next.Deadline = im.deadline(run)
	if next.Fork != nil && next.Bytes() > MaxRunBytes {
		return refuse(RejectInvalidData, tooLargeTogether)
	}
	e := &s.out.Entry
	e.Type, e.From, e.To, e.Data = EventMigrated, run.State, lane.State, StatesData(c.States)
	e.WorkflowVersion = c.To.version
	e.Reason = im.summary(c.Accepted)
	s.m = c.To
	s.announce(Event{Type: EventMigrated, From: e.From, To: e.To, FromVersion: run.WorkflowVersion, Reason: e.Reason})
	return s.finish()
}

// imager maps a run of one version to another.
type imager struct {
	from, to *Machine
	states   map[string]string
	dropped  []string
}

// deadline returns that of the other version, from the start of the run and within that of a run above it.
func (im *imager) deadline(run *Run) time.Time {
	if run.Parent == nil {
		return im.to.deadline(run.CreatedAt, time.Time{})
	}
	return im.to.deadline(run.CreatedAt, run.Deadline)
}

// name returns the name of a state in the other version.
func (im *imager) name(state string) string {
	if to, renamed := im.states[state]; renamed {
		return to
	}
	return state
}

// lane returns the image of a lane, or why there is none. inside are the states of the
// branch that it is in; nil for the run's own.
func (im *imager) lane(at cursor, inside region) (Lane, string) {
	l := *at.Lane
	target, why := im.imageOf(l.State)
	if why != "" {
		return l, why
	}
	if why := im.interrupt(&l, target); why != "" {
		return l, why
	}
	if inside != nil && !inside[target] && (l.Interrupt == nil || !im.to.handling(l.Interrupt, target)) {
		return l, fmt.Sprintf("state %s is outside of branch %s in version %d", document.Quote(target.Name), document.Quote(at.Branch), im.to.version)
	}
	if l.Child != nil {
		if other := target.Invokes(l.Child.Event); other != l.Child.Workflow {
			return l, fmt.Sprintf("it waits for a run of %s, and event %s of state %s does not invoke that in version %d",
				document.Quote(l.Child.Workflow), document.Quote(l.Child.Event), document.Quote(target.Name), im.to.version)
		}
	}
	l.State = target.Name
	l.Clock.Blocked = nil
	if l.Approval.Pending() {
		im.dropped = append(im.dropped, "approval "+l.Approval.ID+", which was asked by the other version")
	}
	l.Approval = nil
	if why := im.context(&l); why != "" {
		return l, why
	}
	return l, im.fork(&at, &l, target)
}

// imageOf returns the image of a state in which a lane stands.
func (im *imager) imageOf(state string) (*StateView, string) {
	name := im.name(state)
	target := im.to.State(name)
	switch {
	case !target.Known() && name == state:
		return nil, fmt.Sprintf("version %d has no state %s; map it to one, as OLD=NEW", im.to.version, document.Quote(state))
	case !target.Known():
		return nil, fmt.Sprintf("version %d has no state %s, which %s is mapped to", im.to.version, document.Quote(name), document.Quote(state))
	case target.Final:
		return nil, fmt.Sprintf("state %s is final in version %d", document.Quote(name), im.to.version)
	default:
		return target, ""
	}
}

// interrupt finds the image of a handler at work.
func (im *imager) interrupt(l *Lane, target *StateView) string {
	if l.Interrupt == nil {
		return ""
	}
	back, why := im.imageOf(l.Interrupt.ReturnTo)
	if why != "" {
		return why
	}
	next := Interruption{Name: l.Interrupt.Name, ReturnTo: back.Name}
	if !im.to.handling(&next, target) {
		return fmt.Sprintf("state %s does not handle interrupt %s in version %d", document.Quote(target.Name), document.Quote(next.Name), im.to.version)
	}
	l.Interrupt = &next
	return ""
}

// fork finds the images of the branches that a lane is in.
func (im *imager) fork(at *cursor, l *Lane, target *StateView) string {
	if l.Fork == nil {
		return ""
	}
	way := target.ways[l.Fork.Event]
	same := way != nil && way.fork != nil && slices.EqualFunc(way.fork.Branches, l.Fork.Branches,
		func(a ForkBranch, b BranchProgress) bool { return a.Name == b.Name })
	if !same {
		return fmt.Sprintf("event %s of state %s has no fork with the same branches in version %d",
			document.Quote(l.Fork.Event), document.Quote(target.Name), im.to.version)
	}
	next := *l.Fork
	next.Branches = slices.Clone(next.Branches)
	for i := range next.Branches {
		b := &next.Branches[i]
		if b.Status != BranchActive {
			b.State = im.name(b.State)
			if why := im.context(&b.Lane); why != "" {
				return why
			}
			continue
		}
		lane, why := im.lane(at.lane(append(slices.Clip(at.path), i)), way.branches[i])
		if why != "" {
			return why
		}
		b.Lane = lane
	}
	l.Fork = &next
	return ""
}

// context adds the initial values of the other version that the run does not have. It is
// the definition's, as at a start.
func (im *imager) context(l *Lane) string {
	var added []document.Member
	for name, v := range im.to.definition.Context.Members() {
		if _, has := l.Context.Get(name); !has {
			added = append(added, document.Member{Name: name, Value: v})
		}
	}
	data := document.ObjectValue(added)
	context, fits := merged(l.Context, data)
	if !fits {
		return tooLarge
	}
	l.Context = context
	l.Sources = im.to.sourceRules().sourcesAfter(l.Sources, data, evidence.Operator, nil)
	return ""
}

// approved keeps agreements of humans, where the other version asks for the same.
func (im *imager) approved(all []evidence.Approved) []evidence.Approved {
	var kept []evidence.Approved
	before, after := im.from.Meta(), im.to.Meta()
	for _, a := range all {
		same := func(state string) string { return state }
		was, is := asks(im.from, a.State, a.Event, im.name), asks(im.to, im.name(a.State), a.Event, same)
		if len(is) == 0 || !reflect.DeepEqual(was, is) || !before.SameApproval(&after) {
			im.dropped = append(im.dropped, fmt.Sprintf("the agreed data of event %s in state %s", document.Quote(a.Event), document.Quote(a.State)))
			continue
		}
		a.State = im.name(a.State)
		kept = append(kept, a)
	}
	return kept
}

// agreed is an agreement of humans: the words, the conditions, and where it leads.
type agreed struct {
	message, target, rejected string
	returns                   bool
	guards                    []*predicate
}

// asks returns the arms of an event about which humans are asked, with the names of
// states.
func asks(m *Machine, state, event string, name func(string) string) (all []agreed) {
	way := m.State(state).ways[event]
	if way == nil {
		return nil
	}
	for i := range way.arms {
		arm := &way.arms[i]
		if !arm.approval {
			continue
		}
		one := agreed{message: arm.message, returns: arm.returns}
		if arm.target != nil {
			one.target = name(arm.target.Name)
		}
		if arm.rejected != nil {
			one.rejected = name(arm.rejected.Name)
		}
		for _, at := range arm.guards {
			one.guards = append(one.guards, way.guards[at])
		}
		all = append(all, one)
	}
	return all
}

// summary says from where, by which plan, and the dropped parts.
func (im *imager) summary(accepted string) string {
	text := fmt.Sprintf("from version %d to version %d", im.from.version, im.to.version)
	if accepted != "" {
		text += "; accepted: plan " + accepted
	}
	dropped := im.dropped
	kept := KeptEvidence(im.from, im.to, im.states)
	for i := range im.from.Evidence() {
		if name := im.from.Evidence()[i].Name; !slices.Contains(kept, name) {
			dropped = append(dropped, "evidence "+document.Quote(name))
		}
	}
	if len(dropped) > 0 {
		text += "; dropped: " + someOf(dropped)
	}
	return text
}

// KeptEvidence returns the names of the evidence that two versions of a workflow declare
// alike: observations for it count in both.
func KeptEvidence(from, to *Machine, states map[string]string) []string {
	var names []string
	for _, spec := range from.Evidence() {
		if name, renamed := states[spec.Approval]; renamed && from.State(spec.Approval).Known() {
			spec.Approval = name
		}
		if slices.ContainsFunc(to.Evidence(), func(other evidence.Spec) bool { return reflect.DeepEqual(spec, other) }) {
			names = append(names, spec.Name)
		}
	}
	return names
}
