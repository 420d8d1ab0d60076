package suggest

import (
	"fmt"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolcall"

	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// seenIn has the observations in a state.
type seenIn struct {
	runs runSet
	// tools by how often they were allowed or asked about, and counted by run and entry.
	tools   map[string]int
	counted map[string]int64
	calls   int
	// commands that were allowed; hidden is true when a line is not known.
	commands []shell.Command
	hidden   bool
	taken    map[string]bool
	// lines are the sizes of edits, and files the edited ones by run and entry; unmeasured is
	// true when an edit is not known.
	lines      []int64
	files      map[string]toolcall.Files
	unmeasured bool
	// values are the calls by tool.
	values map[string]*seenCalls
}

// runSet are runs, each once, in the order in which they were first seen.
type runSet struct {
	ids []string
	has map[string]bool
}

func (r *runSet) add(run string) {
	if r.has[run] {
		return
	}
	if r.has == nil {
		r.has = map[string]bool{}
	}
	r.has[run] = true
	r.ids = append(r.ids, run)
}

// measuring returns a definition with limits on edits that none reaches: it says of an edit how
// large it is, and refuses one that cannot be measured.
func measuring(text document.Value, m *workflow.Machine, version int64) (*workflow.Machine, error) {
	for i := range m.Definition().States {
		state := m.State(m.Definition().States[i].Name)
		if state.Final || !state.Editable() {
			continue
		}
		for _, field := range []string{fieldEditLines, fieldFiles} {
			text = applied(text, &Proposal{State: state.Name, Field: field, Is: "1000000000"})
		}
	}
	return compiled(text, version)
}

func (s *suggester) in(state, run string) *seenIn {
	in := s.seen[state]
	if in == nil {
		in = &seenIn{tools: map[string]int{}, counted: map[string]int64{}, taken: map[string]bool{}, files: map[string]toolcall.Files{}, values: map[string]*seenCalls{}}
		s.seen[state] = in
	}
	in.runs.add(run)
	return in
}

// look takes down the acts of a run.
func (s *suggester) look(m *workflow.Machine, t *conform.Trace) {
	for i := range t.History {
		e := &t.History[i]
		s.in(e.To, t.RunID)
		if e.From != "" && e.Event != "" {
			s.in(e.From, t.RunID).taken[e.Event] = true
		}
	}
	at := t.RunsOn(m)
	for i := range t.Decisions {
		s.call(m, t, &t.Decisions[i], at[t.Decisions[i].RunVersion])
	}
}

func (s *suggester) call(m *workflow.Machine, t *conform.Trace, d *conform.Traced, run *workflow.Run) {
	if d.Decision == toolcall.Deny || d.State == "" {
		return
	}
	in := s.in(d.State, t.RunID)
	in.calls++
	in.tools[d.Tool]++
	entry := t.RunID // as one entry, as far as it is known
	if run != nil {
		entry = fmt.Sprint(t.RunID, " ", d.Branch, " ", run.At(d.Branch).Entry)
	}
	if !toolcall.Own(d.Tool) {
		in.counted[entry]++
	}
	if toolcall.Edits(m, d.Tool) {
		s.edit(in, d, run, entry)
	}
	if s.o.Conditions && !toolcall.Own(d.Tool) {
		s.values(m, in, t, d, run)
	}
	if !toolcall.Shell(m.State(d.State), d.Tool) {
		return
	}
	commands, known := commandsIn(d)
	in.hidden = in.hidden || !known
	in.commands = append(in.commands, commands...)
}

// edit takes down the changes of a call.
func (s *suggester) edit(in *seenIn, d *conform.Traced, run *workflow.Run, entry string) {
	if run == nil || d.Input == nil || toolcall.InputDigest(d.Tool, d.Input) != d.Digest {
		in.unmeasured = true
		return
	}
	at := run.At(d.Branch)
	v := toolcall.Decide(s.measure, &at, toolcall.Call{Tool: d.Tool, Input: d.Input})
	if v.Decision == toolcall.Deny {
		in.unmeasured = true
		return
	}
	in.lines = append(in.lines, v.EditLines)
	in.files[entry], _, _ = in.files[entry].Add(v.Paths, 0)
}

// commandsIn returns the commands of a call, as far as its input was kept as it was.
func commandsIn(d *conform.Traced) ([]shell.Command, bool) {
	if d.Input == nil || toolcall.InputDigest(d.Tool, d.Input) != d.Digest {
		return nil, false
	}
	v, problem := document.Parse(d.Input, document.Limits{})
	if problem != nil {
		return nil, false
	}
	line, _ := v.Get("command")
	plan, err := shell.Parse(line.Str())
	if err != nil {
		return nil, false
	}
	return plan.Commands, true
}
