package workflow_test

import (
	"maps"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// model is a run as S4, S5 and S6 define it, written again in the plainest way: lanes
// that are written to, and contexts that are maps of text. It knows which states belong
// together by their names alone: "m.0a.1" is the state 1 of the branch "m.0a", states of
// handlers are "h.0", "h.1"..., and all that are final have no dot, or end in ".done" or
// ".lost".
type model struct {
	def         *workflow.Definition
	session     string
	main        place
	ended       workflow.Status // or empty
	paused      bool
	holds       map[workflow.HoldCause]string // who holds it, by cause
	transitions int64
	joins       int
	conflicts   []string // of the last join
}

// place is where one lane stands.
type place struct {
	state, region string
	context       map[string]string
	interrupt     string // the state to return to, or empty
	child, event  string // a child run that is waited for, and the event that invoked it
	split         *split
	twig          *twig  // the branch that this is the place of, or nil
	outer         *place // the lane that it was forked from, or nil
}

type split struct {
	def     *workflow.Fork
	twigs   []*twig
	current string
}

type twig struct {
	place
	name, terminal, session string
	status                  workflow.BranchStatus
}

func newModel(def *workflow.Definition, session string) *model {
	m := &model{def: def, session: session, holds: map[workflow.HoldCause]string{}}
	m.main = place{state: def.Initial, region: regionOf(def.Initial), context: flat(def.Context)}
	return m
}

func regionOf(state string) string {
	return state[:max(0, strings.LastIndex(state, "."))]
}

func final(state string) bool {
	return !strings.Contains(state, ".") || strings.HasSuffix(state, ".done") || strings.HasSuffix(state, ".lost")
}

// flat writes a context as text by key, with results of children as results.<event>.
func flat(context document.Value) map[string]string {
	keys := make(map[string]string)
	for name, v := range context.Members() {
		if name != "results" {
			keys[name] = v.String()
			continue
		}
		for event, result := range v.Members() {
			keys["results."+event] = result.String()
		}
	}
	return keys
}

// path returns the branch that a name means: one of the outermost fork, or the only one
// of that name further inside.
func (m *model) path(branch string) string {
	if named := m.main.split.named(branch, ""); branch != "" && len(named) == 1 {
		return named[0]
	}
	return branch
}

func (s *split) named(name, path string) (paths []string) {
	switch {
	case s == nil:
		return nil
	case s.twig(name) != nil:
		return []string{inner(path, name)}
	}
	for _, t := range s.twigs {
		paths = append(paths, t.split.named(name, inner(path, t.name))...)
	}
	return paths
}

// at finds the lane of a caller, or nil.
func (m *model) at(branch string) *place {
	branch = m.path(branch)
	p := &m.main
	for name := range strings.SplitSeq(branch, "/") {
		if branch == "" {
			break
		}
		t := p.split.twig(name)
		if t == nil || t.status != workflow.BranchActive {
			return nil
		}
		p = &t.place
	}
	for p.split.twig(p.split.now()) != nil {
		p = &p.split.twig(p.split.now()).place
	}
	return p
}

func (s *split) now() string {
	if s == nil {
		return ""
	}
	return s.current
}

func (s *split) twig(name string) *twig {
	if s == nil {
		return nil
	}
	for _, t := range s.twigs {
		if t.name == name {
			return t
		}
	}
	return nil
}

func (p *place) waits() bool { return p.split != nil || p.child != "" }

// home reports that a lane may go to a state.
func (p *place) home(state string) bool {
	return p.twig == nil || final(state) || regionOf(state) == p.region || p.interrupt != "" && regionOf(state) == "h"
}

func (m *model) moving() bool { return m.ended == "" && !m.paused }

// fire reports whether the event is accepted. child is the id of the run that it would
// start.
func (m *model) fire(branch, event string, data map[string]string, child string) bool {
	p := m.at(branch)
	if !m.moving() || p == nil || p.waits() {
		return false
	}
	t := m.transition(p.state, event)
	if t == nil {
		return false
	}
	var ends []string
	switch {
	case t.Invoke != nil:
		ends = []string{t.Invoke.OnComplete, t.Invoke.OnFail}
	case t.Fork != nil:
		ends = []string{t.Fork.OnComplete, t.Fork.OnFail}
	case t.Branches[0].Target == workflow.ReturnTarget:
		ends = []string{p.interrupt}
	default:
		ends = []string{t.Branches[0].Target}
	}
	if ends[0] == "" || slices.ContainsFunc(ends, func(s string) bool { return s != "" && !p.home(s) }) {
		return false
	}
	m.transitions++
	p.context = maps.Clone(p.context)
	maps.Copy(p.context, data)
	switch {
	case t.Invoke != nil:
		p.child, p.event = child, event
	case t.Fork != nil:
		p.fork(t.Fork)
	default:
		if t.Branches[0].Target == workflow.ReturnTarget {
			p.interrupt = ""
		}
		m.enter(p, ends[0])
	}
	return true
}

func (m *model) transition(state, event string) *workflow.Transition {
	for i := range m.def.States {
		for j := range m.def.States[i].On {
			if m.def.States[i].Name == state && m.def.States[i].On[j].Event == event {
				return &m.def.States[i].On[j]
			}
		}
	}
	return nil
}

func (p *place) fork(def *workflow.Fork) {
	p.split = &split{def: def}
	for _, b := range def.Branches {
		t := &twig{name: b.Name, terminal: b.Terminal, status: workflow.BranchActive}
		t.place = place{state: b.Initial, region: regionOf(b.Initial), context: maps.Clone(p.context), twig: t, outer: p}
		p.split.twigs = append(p.split.twigs, t)
	}
	p.split.sort()
}

// sort finds work for unbound callers (S5.2).
func (s *split) sort() {
	if t := s.twig(s.current); t != nil && t.status == workflow.BranchActive && t.session == "" {
		return
	}
	s.current = ""
	for _, t := range s.twigs {
		if s.current == "" && t.status == workflow.BranchActive && t.session == "" {
			s.current = t.name
		}
	}
}

// enter brings a lane into a state; no state is that of a lane that failed.
func (m *model) enter(p *place, state string) {
	p.split, p.child, p.event = nil, "", ""
	if state != "" {
		p.state = state
		if regionOf(state) != "h" {
			p.interrupt = ""
		}
	}
	switch {
	case state != "" && !final(state):
	case p.twig != nil:
		p.twig.status = workflow.BranchFailed
		if state == p.twig.terminal {
			p.twig.status = workflow.BranchSucceeded
		}
		m.join(p.outer)
	case state == "" || state == "failed":
		m.finish(workflow.Failed)
	default:
		m.finish(workflow.Completed)
	}
}

func (m *model) finish(status workflow.Status) {
	m.ended, m.paused, m.holds = status, false, map[workflow.HoldCause]string{}
	m.main.split, m.main.child, m.main.interrupt = nil, "", ""
}

// join ends the fork of a lane when its branches have decided it (S5.4).
func (m *model) join(p *place) {
	won, lost, open := 0, 0, 0
	changed := make(map[string]map[string]bool)
	merged := maps.Clone(p.context)
	for _, t := range p.split.twigs {
		switch t.status {
		case workflow.BranchSucceeded:
			won++
		case workflow.BranchFailed:
			lost++
		default:
			open++
			continue
		}
		for key, v := range t.context {
			if was, had := p.context[key]; had && was == v {
				continue
			}
			merged[key] = v
			if changed[key] == nil {
				changed[key] = make(map[string]bool)
			}
			changed[key][v] = true
		}
	}
	success := won == len(p.split.twigs)
	decided := success || lost > 0
	if p.split.def.Join == "any" {
		success = won > 0
		decided = success || open == 0
	}
	if !decided {
		p.split.sort()
		return
	}
	m.joins++
	m.conflicts = nil
	for key, values := range changed {
		if len(values) > 1 {
			m.conflicts = append(m.conflicts, key)
		}
	}
	slices.Sort(m.conflicts)
	p.context = merged
	if success {
		m.enter(p, p.split.def.OnComplete)
	} else {
		m.enter(p, p.split.def.OnFail)
	}
}

// divert reports whether the interrupt fires.
func (m *model) divert(branch, target string) bool {
	p := m.at(branch)
	if !m.moving() || p == nil || p.waits() || p.state == target {
		return false
	}
	for lane := p; lane != nil; lane = lane.outer {
		if lane.interrupt != "" {
			return false
		}
	}
	from := p.state
	m.enter(p, target)
	p.interrupt = from
	return true
}

// force reports whether the jump is made; to is a state that is not final.
func (m *model) force(branch, to string, data map[string]string) bool {
	p := m.at(branch)
	if !m.moving() || p == nil {
		return false
	}
	for p.twig != nil && !p.home(to) {
		p = p.outer
	}
	p.context = maps.Clone(p.context)
	maps.Copy(p.context, data)
	m.enter(p, to)
	return true
}

func (m *model) childEnded(id string, status workflow.Status, result string) bool {
	p := m.waiting(&m.main, id)
	if p == nil || !status.Ended() {
		return false
	}
	t := m.transition(p.state, p.event)
	m.transitions++
	p.context = maps.Clone(p.context)
	p.context["results."+p.event] = result
	if status == workflow.Completed {
		m.enter(p, t.Invoke.OnComplete)
	} else {
		m.enter(p, t.Invoke.OnFail)
	}
	return true
}

func (m *model) waiting(p *place, id string) *place {
	if p.child == id && id != "" {
		return p
	}
	if p.split != nil {
		for _, t := range p.split.twigs {
			if found := m.waiting(&t.place, id); found != nil && t.status == workflow.BranchActive {
				return found
			}
		}
	}
	return nil
}

// pause reports whether that has an effect: a paused run can only be held, and for each
// cause once.
func (m *model) pause(cause workflow.HoldCause, by string) bool {
	_, repeated := m.holds[cause]
	if m.ended != "" || m.paused && (cause == "" || repeated) {
		return false
	}
	m.paused = true
	if cause != "" {
		m.holds[cause] = by
	}
	return true
}

// resume reports whether that has an effect: the run continues when it has no hold any
// more.
func (m *model) resume(lifts []workflow.HoldCause) bool {
	if !m.paused {
		return false
	}
	had := len(m.holds)
	for _, cause := range lifts {
		delete(m.holds, cause)
	}
	m.paused = len(m.holds) > 0
	return !m.paused || len(m.holds) < had
}
