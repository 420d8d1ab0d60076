package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// divert calls a tool that edits, and reports a file that fires an interrupt.
func (s *counterexample) divert(w *model.GlobalState, m *explore.Move, n *model.Node) {
	file, ok := fileFor(n.Unit.Machine, m.Event)
	if !ok {
		s.wrong = "no file was found that fires the interrupt " + document.Quote(m.Event)
		return
	}
	lane := n.Run.At(m.Branch)
	for _, tool := range s.c.ToolsOf(n.Unit, lane.State, "*") {
		if !toolcall.Edits(n.Unit.Machine, tool) {
			continue
		}
		if a := s.c.Decide(w, m.Path, n, &lane, workflow.Subject{Tool: tool}); a.Certain && !a.Asks {
			s.call(n.Unit, &a)
			s.add(member("report", record(member("tool", text(a.Tool)), member("files_changed", document.ArrayValue([]document.Value{text(file)})))))
			return
		}
	}
	s.wrong = "no call that edits files is allowed in state " + document.Quote(lane.State) + ", and one of an earlier state would have to be reported late to fire the interrupt " +
		document.Quote(m.Event)
}

// approve lets people agree.
func (s *counterexample) approve(of *model.Unit, edited bool) {
	votes, _ := s.c.Terms(of).Grant(func(consent.Approver) bool { return true })
	waited := time.Duration(0)
	for i, vote := range votes {
		if vote.After > waited {
			s.add(member("advance", text((vote.After - waited).String())))
			waited = vote.After
		}
		by := []document.Member{member("by", text(vote.Name)), member("role", text(vote.Role))}
		if edited && i == 0 {
			s.wrong = "an approver would have to edit the data"
		}
		s.add(member("approve", record(by...)))
	}
}

// evidence lets something be observed, or be void.
func (s *counterexample) evidence(m *explore.Move, before *model.GlobalState, n *model.Node) {
	i := slices.IndexFunc(n.Unit.Machine.Evidence(), func(spec evidence.Spec) bool { return spec.Name == m.Event })
	spec := &n.Unit.Machine.Evidence()[i]
	switch m.Why {
	case "state":
		// A scenario has its evidence from its beginning. Where an earlier step needed that it is
		// not held, the play does not come as far.
		if m.Kind == explore.Gains && len(m.Path) == 0 {
			s.facts = append(s.facts, m.Event)
			return
		}
		s.wrong = "the shared state would have to lose what evidence " + document.Quote(m.Event) +
			" demands, which a scenario cannot do"
		if m.Kind == explore.Gains {
			s.wrong = "an invoked run would need evidence " + document.Quote(m.Event) + " of the shared state, which a scenario cannot give"
		}
	case "age":
		s.add(member("advance", text((spec.MaxAge + time.Second).String())))
	case "pause":
		s.add(member("pause", record()))
		s.add(member("resume", record()))
	case "late":
		s.wrong = "the report of a call that was allowed earlier would have to come late, and decide on evidence " +
			document.Quote(m.Event) + ", which a scenario cannot do"
	case "edit":
		s.edit(before, m.Event)
	default:
		s.sit(before, m.Path, m.Branch)
		s.observe(before, m, spec)
	}
}

// edit changes a file where a tool does that.
func (s *counterexample) edit(w *model.GlobalState, what string) {
	done := false
	w.Root.Each(nil, func(at []int, n *model.Node) {
		for _, lane := range n.Run.Lanes() {
			for _, tool := range s.c.Changers(n.Unit, lane.State) {
				a := s.c.Decide(w, at, n, &lane, workflow.Subject{Tool: tool})
				if done || !a.Certain || a.Asks || !s.c.Voids(w, at, n, &lane, &a) {
					continue
				}
				done = true
				s.sit(w, at, lane.Branch)
				s.call(n.Unit, &a)
				s.add(member("report", record(member("tool", text(a.Tool)), member("ok", document.BoolValue(true)))))
			}
		}
	})
	if !done {
		s.wrong = "a call that is allowed may change files and so void evidence " + document.Quote(what) +
			", and none was found that does"
	}
}

// observe makes the calls that an evidence asks for, as often as required.
func (s *counterexample) observe(w *model.GlobalState, m *explore.Move, spec *evidence.Spec) {
	n := w.At(m.Path)
	lane := n.Run.At(m.Branch)
	a := s.c.Observable(w, m.Path, n, &lane, spec)
	if !a.Certain {
		s.wrong = "no call was found that the evidence " + document.Quote(spec.Name) + " asks for"
		return
	}
	ok := spec.Outcome != evidence.Failed
	if m.Why == "outcome" {
		ok = !ok
	}
	times := spec.Count
	if m.Kind == explore.Loses {
		times = 1
	}
	for range times {
		s.call(n.Unit, &a)
		report := []document.Member{member("tool", text(a.Tool)), member("ok", document.BoolValue(ok))}
		if spec.Output != nil {
			report = append(report, member("output", outputFor(spec.Output)))
		}
		s.add(member("report", record(report...)))
	}
}

// outputFor returns a result that passes a test.
func outputFor(test *evidence.Test) document.Value {
	v := test.Value
	t := &model.Tree{Comparisons: []model.Comparison{{Op: test.Op, Value: test.Value}}}
	for _, candidate := range append([]document.Value{test.Value}, t.Values()...) {
		if test.Op.Holds(candidate, test.Value) {
			v = candidate
			break
		}
	}
	parts := strings.Split(test.Pointer, "/")
	for _, part := range slices.Backward(parts[1:]) {
		name, _ := document.UnescapeSegment(part)
		v = record(member(name, v))
	}
	return v
}

// call makes a call, and asks humans first where a policy does.
func (s *counterexample) call(of *model.Unit, a *calls.Answer) {
	if a.Asks {
		s.add(member("call", callOf(a)), member("expect", record(member("decision", text("ASK")))))
		votes, _ := s.c.Terms(of).Grant(func(consent.Approver) bool { return true })
		for _, vote := range votes {
			s.add(member("approve", record(member("by", text(vote.Name)), member("role", text(vote.Role)))))
		}
	}
	s.add(member("call", callOf(a)))
}

func callOf(a *calls.Answer) document.Value {
	members := []document.Member{member("tool", text(a.Tool))}
	if !a.Input.IsZero() {
		members = append(members, member("input", a.Input))
	}
	if a.Jail > jail.None && !a.Input.IsZero() {
		members = append(members, member("jail", document.NumberValue(fmt.Sprint(int(a.Jail)))))
	}
	return record(members...)
}

// fileFor returns a file that fires an interrupt, and no other.
func fileFor(m *workflow.Machine, name string) (string, bool) {
	for i := range m.Definition().Interrupts {
		in := &m.Definition().Interrupts[i]
		if in.Name != name {
			continue
		}
		for _, file := range filesOf(in.FilePattern) {
			if fired, ok := m.Watches(pathglob.RootOf(model.Workspace), []string{file}); ok && fired == name {
				return file, true
			}
		}
	}
	return "", false
}

// filesOf returns names that a pattern may match: each is tried.
func filesOf(pattern string) []string {
	all := []string{pattern}
	for {
		open := strings.IndexByte(all[0], '{')
		end := strings.IndexByte(all[0], '}')
		if open < 0 || end < open {
			break
		}
		var next []string
		for _, p := range all {
			open, end := strings.IndexByte(p, '{'), strings.IndexByte(p, '}')
			if open < 0 || end < open {
				next = append(next, p)
				continue
			}
			for option := range strings.SplitSeq(p[open+1:end], ",") {
				next = append(next, p[:open]+option+p[end+1:])
			}
		}
		if all = next; len(all) > 64 {
			break
		}
	}
	var files []string
	for _, p := range all {
		for _, word := range []string{"x", "example", "zq"} {
			flat := strings.ReplaceAll(p, "**/", "")
			deep := strings.ReplaceAll(p, "**/", word+"/")
			for _, f := range []string{flat, deep} {
				f = strings.ReplaceAll(f, "**", word)
				f = strings.ReplaceAll(f, "*", word)
				f = strings.ReplaceAll(f, "?", word[:1])
				for {
					open, end := strings.IndexByte(f, '['), strings.IndexByte(f, ']')
					if open < 0 || end < open+2 {
						break
					}
					f = f[:open] + f[open+1:open+2] + f[end+1:]
				}
				files = append(files, f)
			}
		}
	}
	return files
}
