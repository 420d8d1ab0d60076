package report

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// counterexample turns moves of an exploration into the steps of a scenario: with values in the
// places of those that stood for any.
type counterexample struct {
	c     *explore.Explorer
	lines []line
	given []model.Assignment
	// facts are evidence that a scenario cannot have observed.
	facts []string
	// seat is the branch that steps come from.
	seat string
	// wrong says why it cannot be notified, or is empty.
	wrong string
}

// line is one step of a scenario.
type line struct {
	members []document.Member
	// Of an event: its lane, the keys that its data sets, and those that it must not.
	fires  bool
	path   []int
	branch string
	data   []model.Assignment
	keep   []string
}

func text(s string) document.Value { return document.StringValue(s) }

func member(name string, v document.Value) document.Member {
	return document.Member{Name: name, Value: v}
}

func record(members ...document.Member) document.Value { return document.ObjectValue(members) }

// tell writes the steps that lead to a global state. calls are those made in each, for
// properties that count.
func tell(c *explore.Explorer, moves []explore.Move, globals []*model.GlobalState) *counterexample {
	s := &counterexample{c: c}
	for i := range moves {
		if moves[i].Kind == explore.Begins {
			continue
		}
		s.move(&moves[i], globals[i-1])
	}
	return s
}

func (s *counterexample) add(members ...document.Member) *line {
	s.lines = append(s.lines, line{members: members})
	return &s.lines[len(s.lines)-1]
}

// sit lets the steps that follow come from a branch.
func (s *counterexample) sit(w *model.GlobalState, path []int, branch string) {
	for branch == "" && len(path) > 0 { // the branch that the run was invoked in
		id := w.At(path).Run.ID
		path = path[:len(path)-1]
		for _, lane := range w.At(path).Run.Lanes() {
			if lane.Child != nil && lane.Child.RunID == id {
				branch = lane.Branch
			}
		}
	}
	if branch != s.seat {
		s.add(member("branch", text(branch)))
		s.seat = branch
	}
}

// choose sees to it that keys have these values when the next event of a lane is judged:
// by the data of the last event that could set them.
func (s *counterexample) choose(path []int, branch string, chosen []model.Assignment) {
	for _, a := range chosen {
		if !s.provide(path, branch, a) && !a.Value.IsZero() {
			s.given = append(s.given, a)
		}
	}
}

func (s *counterexample) provide(path []int, branch string, a model.Assignment) bool {
	for i := len(s.lines) - 1; i >= 0; i-- {
		l := &s.lines[i]
		if !l.fires || !slices.Equal(l.path, path) || slices.Contains(l.keep, a.Key) {
			continue
		}
		within := branch == "" || strings.HasPrefix(l.branch, branch+"/")
		if l.branch != branch && l.branch != "" && !strings.HasPrefix(branch, l.branch+"/") && !within {
			continue
		}
		if slices.ContainsFunc(l.data, func(b model.Assignment) bool { return b.Key == a.Key }) {
			return true // it has one already, which the play will judge
		}
		l.data = append(l.data, a)
		return true
	}
	return false
}

func (s *counterexample) move(m *explore.Move, before *model.GlobalState) {
	n := before.At(m.Path)
	switch m.Kind {
	case explore.Fires:
		s.sit(before, m.Path, m.Branch)
		s.choose(m.Path, m.Branch, m.Chosen)
		key := "event"
		if n.Unit.Process != nil {
			key = "answer"
		}
		l := s.add(member(key, text(m.Event)))
		l.fires, l.path, l.branch, l.keep = n.Unit.Process == nil, m.Path, m.Branch, m.Keep
	case explore.Diverts:
		s.sit(before, m.Path, m.Branch)
		s.divert(before, m, n)
	case explore.Grants:
		s.sit(before, m.Path, m.Branch)
		s.approve(n.Unit, m.Edited != "")
	case explore.Rejects:
		s.sit(before, m.Path, m.Branch)
		for _, who := range s.c.Terms(n.Unit).Rejection() {
			s.add(member("reject", record(member("by", text(who.Name)), member("role", text(who.Role)))))
		}
	case explore.Expires:
		ttl := n.Unit.Machine.Meta().Approval.TTL
		if ttl == 0 {
			ttl = consent.DefaultTTL
		}
		s.add(member("advance", text((ttl + time.Second).String())))
	case explore.Cancels:
		s.wrong = "an operator would have to cancel the run of " + document.Quote(n.Unit.Machine.Name()) +
			", which a scenario cannot do"
	case explore.Forces:
		s.sit(before, m.Path, m.Branch)
		s.add(member("force_state", record(member("state", text(m.Event)))))
	case explore.Gains, explore.Loses:
		s.evidence(m, before, n)
	case explore.Elapses:
		s.elapse(m, before)
	case explore.Begins:
	}
}

// elapse lets the time pass by which something is due.
func (s *counterexample) elapse(m *explore.Move, before *model.GlobalState) {
	s.choose(m.Path, m.Branch, m.Chosen)
	if m.Due.Kind == workflow.DueStale {
		s.sit(before, m.Path, m.Branch)
		s.add(member("advance", text(m.Due.After.String())))
		return
	}
	s.add(member("until", text(m.Due.Event)))
}

// expect sets the expectation of the last step from the property.
func (s *counterexample) expect(key string, want document.Value) {
	l := &s.lines[len(s.lines)-1]
	l.members = append(l.members, member("expect", record(member(key, want))))
}

// all returns the members of a line with its data, which stands before the expectation.
func (l *line) all() []document.Member {
	if len(l.data) == 0 {
		return l.members
	}
	return slices.Concat(l.members[:1], []document.Member{member("data", values(l.data))}, l.members[1:])
}

func values(all []model.Assignment) document.Value {
	var members []document.Member
	for _, a := range all {
		if !a.Value.IsZero() {
			members = append(members, member(a.Key, a.Value))
		}
	}
	return record(members...)
}
