package scenario

import (
	"math"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// call asks whether a tool may be called. An allowed one counts.
type call struct {
	tool  string
	input []byte // JSON, or none
}

func (a call) String() string {
	if len(a.input) == 0 {
		return "call " + a.tool
	}
	return "call " + a.tool + " " + string(a.input)
}

func (a call) act(w *world) outcome {
	if w.suite.missingForCalls != "" {
		return outcome{missing: w.suite.missingForCalls}
	}
	s := w.here()
	at := s.at()
	v := s.decide(&at, a)
	return outcome{decision: v.Decision, code: v.Code, message: v.Message(s.of.machine, &at)}
}

// decide judges a call, and counts it when it is allowed (S3): the files that it
// would change, the call itself, and what the results so far leave of the budget.
func (t *tracked) decide(at *workflow.Run, a call) toolcall.Verdict {
	m := t.of.machine
	v := toolcall.Decide(m, at, toolcall.Call{Tool: a.tool, Input: a.input})
	if !v.Counted {
		return v
	}
	n := t.count(at.Entry)
	files := n.files
	over := func(denied toolcall.Verdict) toolcall.Verdict {
		denied.Tool = a.tool
		return denied
	}
	if v.MaxFiles > 0 {
		after, added, fits := n.files.Add(v.Paths, v.MaxFiles)
		if !fits {
			return over(toolcall.FileLimitReached(m, at, n.files, added))
		}
		files = after
	}
	if v.MaxIterations > 0 && n.iterations >= v.MaxIterations {
		return over(toolcall.IterationLimitReached(m, at, n.iterations))
	}
	if toolcall.BudgetSpent(n.bytes, v.ContextBudget) {
		return over(toolcall.ContextBudgetSpent(m, at, n.bytes))
	}
	n.files = files
	n.iterations++
	if len(v.Paths) > 0 {
		n.edits = append(n.edits, madeEdit{a.tool, v.Paths})
	}
	return v
}

// madeEdit is an allowed call that changes files, until its result is reported.
type madeEdit struct {
	tool  string
	paths []string
}

// reported takes the last call of a tool in this entry that was not reported yet,
// and answers the files that its input names.
func (n *count) reported(tool string) []string {
	for i := len(n.edits) - 1; i >= 0; i-- {
		if n.edits[i].tool == tool {
			paths := n.edits[i].paths
			n.edits = slices.Delete(n.edits, i, i+1)
			return paths
		}
	}
	return nil
}

// report tells the result of a call, whether the case has that call or not.
type report struct {
	tool  string
	ok    bool
	files []string
	bytes int64
}

func (a report) String() string {
	if len(a.files) == 0 {
		return "report " + a.tool
	}
	return "report " + a.tool + " of " + strings.Join(a.files, ", ")
}

// act counts the bytes of the result, and lets a changed file fire its interrupt
// (S4.1).
func (a report) act(w *world) outcome {
	if w.suite.missingForCalls != "" {
		return outcome{missing: w.suite.missingForCalls}
	}
	s := w.here()
	at := s.at()
	n := s.count(at.Entry)
	n.bytes = min(n.bytes, math.MaxInt64-a.bytes) + a.bytes
	files := slices.Concat(n.reported(a.tool), a.files)
	m := s.of.machine
	if !a.ok || !toolcall.Edits(m, a.tool) {
		return outcome{}
	}
	if name, matches := m.Watches(pathglob.RootOf(at.Workspace), files); matches {
		w.step(s.tracked, workflow.Divert{Interrupt: name, Files: files, Branch: at.Branch, Actor: actor})
	}
	return outcome{}
}
