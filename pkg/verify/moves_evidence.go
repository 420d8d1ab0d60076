package verify

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// evidenceMoves visits possible observations, and acts that void them.
func (c *Checker) evidenceMoves(w *globalState, visit func(*step) bool) {
	if !c.observing {
		return
	}
	going := true
	w.root.each(nil, func(path []int, n *node) {
		for _, spec := range n.of.Machine.Evidence() {
			if going {
				going = c.evidenceMove(w, path, n, &spec, visit)
			}
		}
	})
}

func (c *Checker) evidenceMove(w *globalState, path []int, n *node, spec *evidence.Spec, visit func(*step) bool) bool {
	doubtful, spends := false, false
	have := func(entry int64) bool { return slices.Contains(n.held, held{spec.Name, entry}) }
	change := func(kind moveKind, branch, why string, next *node) bool {
		s := &step{move: move{
			kind: kind, path: path, branch: branch, event: spec.Name, why: why, doubtful: kind == gains && doubtful,
			spends: kind == gains && spends,
		}, from: w}
		s.to = &globalState{root: replace(w.root, path, next), met: w.met, count: w.count}
		return visit(s)
	}
	without := func() *node {
		next := *n
		next.held = slices.DeleteFunc(slices.Clone(n.held), func(h held) bool { return h.name == spec.Name })
		return &next
	}
	gained := func(entry int64) *node {
		next := *n
		next.held = append(slices.Clone(n.held), held{spec.Name, entry})
		slices.SortFunc(next.held, func(a, b held) int {
			if a.name != b.name {
				return strings.Compare(a.name, b.name)
			}
			return int(a.entry - b.entry)
		})
		return &next
	}
	anyHeld := slices.ContainsFunc(n.held, func(h held) bool { return h.name == spec.Name })
	switch {
	case spec.Approval != "":
		if spec.MaxAge == 0 {
			return true
		}
		next := *n
		run := *n.run
		run.Approved = slices.DeleteFunc(slices.Clone(run.Approved), func(a evidence.Approved) bool {
			return a.State == spec.Approval || a.Event == spec.Approval
		})
		next.run = &run
		return len(run.Approved) == len(n.run.Approved) || change(loses, "", "age", &next)
	case spec.State != nil:
		if anyHeld {
			return change(loses, "", "state", without())
		}
		return writtenFor(spec).Unknown != "" || change(gains, "", "state", gained(0))
	}
	possible, edits := false, false
	var entries []int64
	var branch string
	w.root.each(nil, func(at []int, other *node) { edits = edits || c.edits(w, at, other) })
	for _, lane := range n.run.Lanes() {
		a := c.observable(w, path, n, &lane, spec)
		if !a.possible {
			continue
		}
		doubtful = doubtful || !a.certain
		if most := n.of.Machine.State(lane.State).MaxIterations; most > 0 && !c.leaves(w) { // a pause makes a new entry
			spends = true
			doubtful = doubtful || int64(spec.Count) > most
		}
		if !possible {
			branch = lane.Branch
		}
		possible = true
		entries = append(entries, lane.Entry)
	}
	if anyHeld {
		switch {
		case spec.AfterEdit && edits:
			return change(loses, "", "edit", without())
		case (spec.AfterEdit || spec.WithinEntry) && c.leaves(w): // a pause has no observations
			return change(loses, "", "pause", without())
		case spec.MaxAge > 0:
			return change(loses, "", "age", without())
		case possible:
			return change(loses, branch, "outcome", without())
		default: // a call that was allowed before is reported only now
			return change(loses, "", "late", without())
		}
	}
	if !possible {
		if slices.Contains(n.late, spec.Name) && !have(0) { // that is not certain
			doubtful = true
			return change(gains, "", "late", gained(0))
		}
		return true
	}
	if !spec.WithinEntry {
		return have(0) || change(gains, branch, "", gained(0))
	}
	for _, entry := range entries {
		if !have(entry) && !change(gains, branch, "", gained(entry)) {
			return false
		}
	}
	return true
}

// observable returns a call that an evidence may be of. A shell counts by any name.
func (c *Checker) observable(w *globalState, path []int, n *node, lane *workflow.View, spec *evidence.Spec) answer {
	a := c.calls(w, path, n, lane, workflow.Subject{Tool: spec.Tool, Command: spec.Command})
	if !a.certain && spec.Command != "" {
		if other := c.calls(w, path, n, lane, workflow.Subject{Command: spec.Command}); other.certain || !a.possible {
			return other
		}
	}
	if !strings.HasPrefix(spec.Tool, "mcp__") || names(n.of.Machine.State(lane.State).DisallowedTools, spec.Tool) {
		return a
	}
	// The gateway's settings may give it another name, which states allow.
	for _, tool := range c.toolsOf(n.of, lane.State, "*") {
		if a.possible || len(c.capabilities(tool)) == 0 {
			continue
		}
		a = c.calls(w, path, n, lane, workflow.Subject{Tool: tool, Command: spec.Command})
		a.certain = false // no scenario calls it so
	}
	return a
}

// names reports that a list of tools has an entry for a name.
func names(list []string, name string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		prefix, open := strings.CutSuffix(entry, "*")
		return entry == name || open && strings.HasPrefix(name, prefix)
	})
}

// edits reports that a call of a run may change files: by a tool that does, or by a
// command, without assumptions.
func (c *Checker) edits(w *globalState, path []int, n *node) bool {
	for _, lane := range n.run.Lanes() {
		for _, tool := range c.changers(n.of, lane.State) {
			if c.calls(w, path, n, &lane, workflow.Subject{Tool: tool}).possible {
				return true
			}
		}
	}
	return false
}

// editable reports that a call which may fire an interrupt is allowed in a lane.
func (c *Checker) editable(w *globalState, path []int, n *node, lane *workflow.View) bool {
	return slices.ContainsFunc(c.toolsOf(n.of, lane.State, "*"), func(tool string) bool {
		return toolcall.Edits(n.of.Machine, tool) && c.calls(w, path, n, lane, workflow.Subject{Tool: tool}).possible
	})
}

// changers returns the tools that may change files in a state, those first that are known
// to.
func (c *Checker) changers(of *Unit, state string) []string {
	var all, doubtful []string
	for _, tool := range c.toolsOf(of, state, "*") {
		switch {
		case toolcall.Edits(of.Machine, tool) || toolcall.Shell(of.Machine.State(state), tool):
			all = append(all, tool)
		case toolcall.MayChange(of.Machine, of.Machine.State(state), tool):
			doubtful = append(doubtful, tool)
		}
	}
	return append(all, doubtful...)
}
