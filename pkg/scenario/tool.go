package scenario

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/jail"
	"github.com/interlock-run/interlock/pkg/pathglob"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// call asks whether a tool may be called. An allowed one counts.
type call struct {
	tool  string
	input []byte // JSON, or none
	// jail is the level at which the caller runs its command line.
	jail jail.Level
	// estimate is reserved of budgets until the report.
	estimate rules.MicroUSD
	// id that the report may name; empty for none.
	id string
}

func (a call) String() string {
	if len(a.input) == 0 {
		return "call " + a.tool
	}
	return "call " + a.tool + " " + string(a.input)
}

// act judges the call by the state and the policies, and counts it when it is
// allowed.
func (a call) act(w *simulation) outcome {
	s := w.here()
	at := s.at()
	state, after := s.weigh(w.who.at(w.began, w.now, w.depth), &at, a)
	j := w.judge(s, &at, a, state)
	if j.Decision == toolcall.Allow {
		*s.count(at.Entry) = after
		s.progressed(at.Branch, w.now)
		id := cmp.Or(a.id, fmt.Sprintf("call_%d", len(w.made)+1))
		notice, edits := w.notice(s, &at, a, id)
		w.made = append(w.made, made{s.tracked, at.Entry, a.tool, state.Paths, j.Spends, id, notice, edits})
	}
	return outcome{
		decision: j.Decision, code: j.Code, asks: j.Decision == toolcall.Ask || w.parked(),
		message: j.message(s.of.machine, &at), judged: j.verdicts(s.of.machine, &at),
	}
}

// weigh judges a call by the state (S3), and returns the counts if it is allowed: the
// files that it would change, and the call itself. The rest of the budget of results is
// checked last.
func (t *tracked) weigh(caller facet.Subject, at *workflow.View, a call) (toolcall.Verdict, count) {
	m := t.of.machine
	v := toolcall.Decide(m, at, facet.InRunBy(caller, m, at, toolcall.Call{Tool: a.tool, Input: a.input, Jail: a.jail}))
	n := *t.count(at.Entry)
	if !v.Counted {
		return v, n
	}
	over := func(denied toolcall.Verdict) (toolcall.Verdict, count) {
		denied.Tool = a.tool
		return denied, n
	}
	after := n
	if v.MaxFiles > 0 {
		files, added, fits := n.files.Add(v.Paths, v.MaxFiles)
		if !fits {
			return over(toolcall.FileLimitReached(m, at, n.files, added))
		}
		after.files = files
	}
	if v.MaxIterations > 0 && n.iterations >= v.MaxIterations {
		return over(toolcall.IterationLimitReached(m, at, n.iterations))
	}
	if toolcall.BudgetSpent(n.bytes, v.ContextBudget) {
		return over(toolcall.ContextBudgetSpent(m, at, n.bytes))
	}
	after.iterations++
	return v, after
}

// made is an allowed call, until its result is reported.
type made struct {
	in    *tracked
	entry int64
	tool  string
	// paths are the files that its input names, spends its counts against policies'
	// limits.
	paths  []string
	spends []rules.Spend
	// id of the call, and its effect on evidence.
	id     string
	notice toolcall.Meaning
	edits  int64
}

// report gives the result of a call, whether the case has that call or not.
type report struct {
	tool  string
	ok    bool
	files []string
	bytes int64
	cost  rules.MicroUSD
	// costed is false when the cost of the call is not given.
	costed bool
	// id of the call; empty for the last of the tool. output is JSON, or text.
	id     string
	output []byte
}

func (a report) String() string {
	if len(a.files) == 0 {
		return "report " + a.tool
	}
	return "report " + a.tool + " of " + strings.Join(a.files, ", ")
}

// act settles the cost of the call, counts the bytes of the result, and lets a changed
// file fire its interrupt (S4.1).
func (a report) act(w *simulation) outcome {
	s := w.here()
	at := s.at()
	of, called := w.reported(s.tracked, at.Entry, a.tool, a.id)
	if !called {
		of = w.uncalled(s, &at, a.tool)
	}
	if a.costed || !a.ok { // otherwise the cost is not known, and the estimate stays
		w.tally.Correct(rules.Settle(of.spends, a.cost), w.now)
	}
	w.show(&of, &a)
	s.progressed(at.Branch, w.now)
	n := s.count(at.Entry)
	n.bytes = min(n.bytes, math.MaxInt64-a.bytes) + a.bytes
	m := s.of.machine
	if !a.ok || !toolcall.Edits(m, a.tool) {
		return outcome{}
	}
	files := a.files
	if of.in == s.tracked && of.entry == at.Entry {
		files = slices.Concat(of.paths, files)
	}
	if name, matches := m.Watches(pathglob.RootOf(at.Workspace), files); matches {
		w.step(s.tracked, workflow.Divert{Interrupt: name, Files: files, Branch: at.Branch, Actor: actor})
	}
	return outcome{}
}

// reported takes the last call of a tool that was not reported yet: of this entry,
// or else of any.
func (w *simulation) reported(in *tracked, entry int64, tool, id string) (made, bool) {
	named := func(c made) bool { return c.tool == tool && (id == "" || c.id == id) }
	here := func(c made) bool { return named(c) && c.in == in && c.entry == entry }
	for _, fits := range []func(made) bool{here, named} {
		for i, c := range slices.Backward(w.made) {
			if fits(c) {
				w.made = slices.Delete(w.made, i, i+1)
				return c, true
			}
		}
	}
	return made{}, false
}

// uncalled returns a call that the case does not have: it has taken no units, and its
// cost belongs to the budgets that it would have been counted in.
func (w *simulation) uncalled(s binding, at *workflow.View, tool string) made {
	verdicts := w.verdicts(s, at, call{tool: tool}, true)
	verdicts = slices.DeleteFunc(verdicts, func(v rules.Verdict) bool { return v.Decision == toolcall.Deny })
	return made{spends: rules.Combine(toolcall.Verdict{Decision: toolcall.Allow}, verdicts, nil).Spends}
}
