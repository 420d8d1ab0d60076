package toolcall

import (
	"cmp"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Reasons explain the verdict of a state on a call.
type Reasons struct {
	// Verdict is that of Decide.
	Verdict Verdict
	// Matched is the entry of allowed_tools or disallowed_tools that the tool matches; empty
	// for none.
	Matched string
	// Calls are the state's conditions on the call, in their order.
	Calls []CallReason
	// Line is the command line of a call of a shell, judged; nil for other tools, and for
	// input without one.
	Line *Line
}

// Line is a command line as it is judged: with the folder of the input as a cd before it.
type Line struct {
	Text string
	// Parts are the commands and writes of the line, in the order of the text. A command
	// that another one runs lies within that one.
	Parts []Part
}

// Said is the judgement on a part of a line.
type Said uint8

// The judgements.
const (
	Fine    Said = iota + 1
	Refused      // by a rule of the state
	Unknown      // its effects are unknown
)

// Part is one simple command of a line, or something of the line that no command does.
type Part struct {
	// Start and End are its place in the line, in bytes: End is behind it.
	Start, End int
	// Words are those of a command after quotes are removed.
	Words []string
	Said  Said
	// Code and Message are why it is refused, or why it is not known; empty when it is fine.
	Code    Code
	Message string
	// Writes are files that it would write, and Reads variables that its words read, as far
	// as the text shows.
	Writes, Reads []string
	// Matched is the entry of allowed_commands that it matches; empty for none.
	Matched string
}

// Explain judges a call as Decide does, and returns the reasons.
func Explain(m *workflow.Machine, at *workflow.View, call Call) Reasons {
	r := Reasons{Verdict: Decide(m, at, call)}
	if m == nil || at == nil {
		return r
	}
	state := m.State(at.State)
	r.Matched = state.ToolEntry(call.Tool)
	if standingOf(m, at, state) == judged {
		r.Calls = explainCalls(state, call)
	}
	if !isShell(state, call.Tool) || toolinput.SpeaksOther(call.Tool) {
		return r
	}
	text, why := toolinput.CommandLine(call.Input)
	if why != "" {
		return r
	}
	o := objections{all: true}
	var list *shell.List
	if standingOf(m, at, state) == judged {
		o.command(m, at, call)
		list = state.Commands()
	}
	r.Line = explainedLine(text, list, o.found)
	return r
}

// ReadLine returns the command line of a call of a shell, by the call alone: without
// refusals; nil for other tools, and for input without one.
func ReadLine(call Call) *Line {
	if !Shell(nil, call.Tool) || toolinput.SpeaksOther(call.Tool) {
		return nil
	}
	text, why := toolinput.CommandLine(call.Input)
	if why != "" {
		return nil
	}
	return explainedLine(text, nil, nil)
}

// explainedLine makes the parts of a line of the objections to it.
func explainedLine(text string, list *shell.List, found []objection) *Line {
	line := &Line{Text: text}
	plan, err := shell.Parse(text)
	if err != nil {
		line.Parts = []Part{{End: len(text), Said: Unknown, Code: CodeCommandUnparsable, Message: err.Error()}}
		return line
	}
	for _, c := range plan.Commands {
		part := Part{Start: c.Start, End: c.End, Said: Fine, Reads: c.Variables()}
		for _, w := range c.Words {
			part.Words = append(part.Words, w.String())
		}
		part.Matched, _, _ = list.Entry(c)
		line.Parts = append(line.Parts, part)
	}
	for _, f := range plan.Findings {
		line.add(plan, f)
	}
	for i := range found {
		line.object(&found[i])
	}
	// A script that is read in two ways has its commands twice.
	distinct := line.Parts[:0:0]
	for _, part := range line.Parts {
		same := func(p Part) bool {
			return p.Start == part.Start && p.End == part.End && slices.Equal(p.Words, part.Words) && p.Message == part.Message
		}
		if !slices.ContainsFunc(distinct, same) {
			distinct = append(distinct, part)
		}
	}
	line.Parts = distinct
	slices.SortStableFunc(line.Parts, func(a, b Part) int { return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(b.End, a.End)) })
	return line
}

// add notes which files a finding writes. An effect without a command is a part of its
// own.
func (l *Line) add(plan *shell.Plan, f shell.Finding) {
	if f.Kind != shell.Writes || f.About == "" {
		return
	}
	if f.Command < 0 {
		l.at(f.Start, f.End).Writes = append(l.at(f.Start, f.End).Writes, f.About)
		return
	}
	c := plan.Commands[f.Command]
	if f.Word > c.Assigns && !strings.HasPrefix(f.About, "-") {
		l.Parts[f.Command].Writes = append(l.Parts[f.Command].Writes, f.About)
	}
}

// at returns the part of a place that no command has.
func (l *Line) at(start, end int) *Part {
	if end == 0 {
		end = len(l.Text)
	}
	i := slices.IndexFunc(l.Parts, func(p Part) bool { return p.Words == nil && p.Start == start && p.End == end })
	if i < 0 {
		i = len(l.Parts)
		l.Parts = append(l.Parts, Part{Start: start, End: end, Said: Fine})
	}
	return &l.Parts[i]
}

// object sets the first objection to a part. The parts of commands are in their order,
// before all others.
func (l *Line) object(o *objection) {
	var part *Part
	if o.command >= 0 {
		part = &l.Parts[o.command]
	} else {
		part = l.at(o.start, o.end)
	}
	if part.Said != Fine {
		return
	}
	part.Said, part.Code, part.Message = Refused, o.code, o.why
	if o.hidden {
		part.Said = Unknown
	}
}
