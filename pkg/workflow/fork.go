package workflow

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// Join is the end of a fork, as history and events show it (S5.4).
type Join struct {
	// Event that forked, and the state that the join leads to.
	Event, To string
	// Succeeded is false when on_fail was taken, or the lane failed without one.
	Succeeded bool
	Branches  []BranchOutcome
	// Conflicts are the keys of the context that several branches changed to
	// different values; the last branch in definition order has won.
	Conflicts []string
}

// BranchOutcome is how a branch ended.
type BranchOutcome struct {
	Name   string
	Status BranchStatus
}

// spawnBranches spawns the branches: each with a copy of the context (S5.1).
func (s *stepper) spawnBranches(at *cursor, next Lane, w *way, c *Fire) {
	fork := &ForkProgress{Event: w.event, Clock: Clock{Since: s.out.Entry.Time}, Branches: make([]BranchProgress, len(w.fork.Branches))}
	names := make([]string, len(w.fork.Branches))
	for i, b := range w.fork.Branches {
		names[i] = b.Name
		fork.Branches[i] = BranchProgress{
			Name: b.Name, Status: BranchActive,
			Lane: Lane{State: b.Initial, Entry: s.newEntry(), Clock: Clock{Since: s.out.Entry.Time}, Context: next.Context, Sources: next.Sources},
		}
	}
	fork.Current = fork.nextFree()
	next.Fork = fork
	s.out.Run.setLane(at.path, next)
	s.out.Entry.Type = EventForked
	s.announce(Event{
		Type: EventForked, Event: c.Event, From: s.out.Entry.From, To: s.out.Entry.To,
		Branch: s.out.Entry.Branch, Branches: names, Rationale: s.out.Entry.Rationale,
	})
}

// fails returns where a fork leads that fails.
func (f *Fork) fails() []string {
	if f.OnFail == "" {
		return nil
	}
	return []string{f.OnFail}
}

// nextFree returns the first branch that is active and no session's own, or empty (S5.2).
func (f *ForkProgress) nextFree() string {
	for i := range f.Branches {
		if b := &f.Branches[i]; b.Status == BranchActive && b.SessionID == "" {
			return b.Name
		}
	}
	return ""
}

// endBranch ends a branch, and joins its fork when that decides it.
func (s *stepper) endBranch(path []int, status BranchStatus) {
	s.out.Run.change(path, func(b *BranchProgress) { b.Status = status })
	run := s.out.Run // as it is now: later steps change it
	at := run.lane(path)
	s.announce(Event{Type: EventBranchEnded, Branch: at.Branch, To: at.State, BranchStatus: status})
	s.join(path[:len(path)-1])
}

// join takes the end of the fork of a lane, once its branches have decided it:
// all or any of them (S5.4).
func (s *stepper) join(path []int) {
	run := s.out.Run // as it is now: later steps change it
	at := run.lane(path)
	w := s.m.State(at.State).ways[at.Fork.Event]
	decided, succeeded := at.Fork.decided(w.fork.Join)
	if !decided {
		s.advance(path, at.Fork)
		return
	}
	j := Join{Event: at.Fork.Event, Succeeded: succeeded}
	var joined []string
	for i := range at.Fork.Branches {
		b := &at.Fork.Branches[i]
		status := b.Status
		switch status {
		case BranchActive:
			status = BranchCancelled
		case BranchSucceeded:
			joined = append(joined, branchIn(at.Branch, b.Name))
		}
		j.Branches = append(j.Branches, BranchOutcome{b.Name, status})
	}
	changes, conflicts := at.Fork.changes(at.Context)
	j.Conflicts = conflicts
	next := *at.Lane
	var reason string
	next.Context, reason = mergeFitting(at.Context, changes)
	next.Sources = s.m.sourceRules().joinedSources(&at, changes)
	if reason != "" {
		reason = "the join of event " + document.Quote(j.Event) + " " + reason
		s.because(reason)
	}
	end, why := w.done, ""
	switch {
	case succeeded && s.m.stopsEnd(j.Event, at.State, w.done):
		s.refusal = s.m.refusals().byFreeze(at.View, "the join of event "+document.Quote(j.Event))
		return
	case !succeeded:
		end, why = w.fail, fmt.Sprintf("the fork of %s failed and has no on_fail", document.Quote(j.Event))
	}
	s.out.Run.Joined = append(slices.Clip(s.out.Run.Joined), joined...)
	place := len(s.out.Entry.Joins)
	s.out.Entry.Joins = append(s.out.Entry.Joins, j)
	announced := len(s.out.Events)
	s.announce(Event{Type: EventJoined, Event: j.Event, From: at.State, Branch: at.Branch, Reason: reason})
	to := s.enterBy(&at, next, end, why)
	j.To = to
	s.out.Entry.Joins[place] = j
	s.out.Events[announced].To, s.out.Events[announced].Join = to, &j
}

// advance moves the unbound callers on when their branch has ended (S5.2).
func (s *stepper) advance(path []int, f *ForkProgress) {
	if i := f.place(f.Current); i >= 0 && f.Branches[i].Status == BranchActive && f.Branches[i].SessionID == "" {
		return
	}
	next := *f
	next.Current = f.nextFree()
	s.setForkAt(path, &next)
}

func (s *stepper) setForkAt(path []int, f *ForkProgress) {
	if len(path) == 0 {
		s.out.Run.Fork = f
		return
	}
	s.out.Run.change(path, func(b *BranchProgress) { b.Fork = f })
}

// decided reports whether the branches decide the join, and how.
func (f *ForkProgress) decided(join string) (decided, succeeded bool) {
	count := make(map[BranchStatus]int, 3)
	for i := range f.Branches {
		count[f.Branches[i].Status]++
	}
	if join == "any" {
		return count[BranchSucceeded] > 0 || count[BranchActive] == 0, count[BranchSucceeded] > 0
	}
	return count[BranchFailed] > 0 || count[BranchActive] == 0, count[BranchFailed] == 0
}

// changes returns the keys that branches which have ended set otherwise than the context
// they began with, merged in definition order (S5.1). Results of child runs under
// results.<event> count by event: a branch does not undo the results of another.
func (f *ForkProgress) changes(base document.Value) (document.Value, []string) {
	var top changeSet
	results := changeSet{prefix: resultsKey + "."}
	before, _ := base.Get(resultsKey)
	apart := f.keepResults(before)
	for i := range f.Branches {
		b := &f.Branches[i]
		if b.Status == BranchActive {
			continue
		}
		for name, v := range b.Context.Members() {
			if apart && name == resultsKey {
				results.addAll(before, v)
			} else {
				top.add(base, name, v)
			}
		}
	}
	if len(results.members) > 0 {
		all := document.MergeTop(before, document.ObjectValue(results.members))
		top.members = append(top.members, document.Member{Name: resultsKey, Value: all})
	}
	return document.ObjectValue(top.members), append(top.conflicts, results.conflicts...)
}

// keepResults reports that results is an object wherever a branch that has ended
// has it.
func (f *ForkProgress) keepResults(before document.Value) bool {
	object := func(v document.Value) bool { return v.IsZero() || v.Kind() == document.Object }
	return object(before) && !slices.ContainsFunc(f.Branches, func(b BranchProgress) bool {
		v, _ := b.Context.Get(resultsKey)
		return b.Status != BranchActive && !object(v)
	})
}

// changeSet gathers the changes of several branches; the last one wins.
type changeSet struct {
	prefix    string
	members   []document.Member
	places    map[string]int // of members
	conflicts []string
	disputed  map[string]bool // by name
}

func (c *changeSet) addAll(base, values document.Value) {
	for name, v := range values.Members() {
		c.add(base, name, v)
	}
}

func (c *changeSet) add(base document.Value, name string, v document.Value) {
	if was, had := base.Get(name); had && document.Equal(was, v) {
		return
	}
	place, repeated := c.places[name]
	if !repeated {
		if c.places == nil {
			c.places, c.disputed = make(map[string]int), make(map[string]bool)
		}
		c.places[name] = len(c.members)
		c.members = append(c.members, document.Member{Name: name, Value: v})
		return
	}
	if !c.disputed[name] && !document.Equal(c.members[place].Value, v) {
		c.disputed[name] = true
		c.conflicts = append(c.conflicts, c.prefix+name)
	}
	c.members[place].Value = v
}

// forkBranch returns the definition of a branch.
func (m branchRules) forkBranch(at *cursor) *ForkBranch {
	outer := at.outer()
	return &m.State(outer.State).ways[outer.Fork.Event].fork.Branches[at.place()]
}

// leavesBranch refuses a transition that leads out of a branch: it goes past the join
// (S5.1). A handler that was entered from the branch is part of it in the meantime.
// Validation sees to the branch's own states, but a handler may have been written for the
// run outside of the fork.
func (m branchRules) leavesBranch(at *cursor, end *arm, c *Fire) *Rejection {
	if len(at.path) == 0 || end == nil || end.target == nil || end.target.Final || m.belongs(at, end.target) {
		return nil
	}
	return m.refusals().refused(at.View, RejectUnsupported,
		"event %s refused in state %s: it leads to %s, which is outside branch %s; a branch uses only its own states until it ends. %s",
		document.Quote(c.Event), document.Quote(at.State), document.Quote(end.target.Name), document.Quote(at.Branch), m.State(at.State).moves)
}

// forkable reports that every branch can begin. Validation sees to that.
func (m branchRules) forkable(fork *Fork) bool {
	return len(fork.Branches) > 0 && !slices.ContainsFunc(fork.Branches, func(b ForkBranch) bool {
		initial := m.State(b.Initial)
		return !initial.Known() || initial.Final
	})
}

// belongs reports that a state is one of the branch's, or of the handler at work
// in it.
func (m branchRules) belongs(at *cursor, target *StateView) bool {
	return m.inside(at)[target] || at.Interrupt != nil && m.handling(at.Interrupt, target)
}

// inside returns the states of a branch.
func (m branchRules) inside(at *cursor) region {
	outer := at.outer()
	way := m.State(outer.State).ways[outer.Fork.Event]
	if way == nil || at.place() >= len(way.branches) {
		return nil
	}
	return way.branches[at.place()]
}

// open lists the branches that have not ended.
func (f *ForkProgress) open() string {
	var names []string
	for i := range f.Branches {
		if f.Branches[i].Status == BranchActive {
			names = append(names, f.Branches[i].Name)
		}
	}
	return strings.Join(names, ", ")
}

// unchanged returns the outcome of a command without effect.
func unchanged(run *Run, actor string, now time.Time, note string) Result {
	return Result{Run: *run, Entry: HistoryEntry{Time: now, Actor: actor}, Note: note}
}
