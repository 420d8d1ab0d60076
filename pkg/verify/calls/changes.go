package calls

import (
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Observable returns a call that an evidence may be of. A shell counts by any name.
func (j *Judge) Observable(w *model.GlobalState, path []int, n *model.Node, lane *workflow.View, spec *evidence.Spec) Answer {
	a := j.Decide(w, path, n, lane, workflow.Subject{Tool: spec.Tool, Command: spec.Command})
	if !a.Certain && spec.Command != "" {
		if other := j.Decide(w, path, n, lane, workflow.Subject{Command: spec.Command}); other.Certain || !a.Possible {
			return other
		}
	}
	if !strings.HasPrefix(spec.Tool, "mcp__") || names(n.Unit.Machine.State(lane.State).DisallowedTools, spec.Tool) {
		return a
	}
	// The gateway's settings may give it another name, which states allow.
	for _, tool := range j.ToolsOf(n.Unit, lane.State, "*") {
		if a.Possible || len(j.capabilities(tool)) == 0 {
			continue
		}
		a = j.Decide(w, path, n, lane, workflow.Subject{Tool: tool, Command: spec.Command})
		a.Certain = false // no scenario calls it so
	}
	return a
}

// Edits reports that a call of a run may change files: by a tool that does, or by a
// command, without assumptions.
func (j *Judge) Edits(w *model.GlobalState, path []int, n *model.Node) bool {
	for _, lane := range n.Run.Lanes() {
		for _, tool := range j.Changers(n.Unit, lane.State) {
			if j.Decide(w, path, n, &lane, workflow.Subject{Tool: tool}).Possible {
				return true
			}
		}
	}
	return false
}

// Editable reports that a call which may fire an interrupt is allowed in a lane.
func (j *Judge) Editable(w *model.GlobalState, path []int, n *model.Node, lane *workflow.View) bool {
	return slices.ContainsFunc(j.ToolsOf(n.Unit, lane.State, "*"), func(tool string) bool {
		return toolcall.Edits(n.Unit.Machine, tool) && j.Decide(w, path, n, lane, workflow.Subject{Tool: tool}).Possible
	})
}

// Changers returns the tools that may change files in a state, those first that are known
// to.
func (j *Judge) Changers(of *model.Unit, state string) []string {
	var all, doubtful []string
	for _, tool := range j.ToolsOf(of, state, "*") {
		switch {
		case toolcall.Edits(of.Machine, tool) || toolcall.Shell(of.Machine.State(state), tool):
			all = append(all, tool)
		case toolcall.MayChange(of.Machine, of.Machine.State(state), tool):
			doubtful = append(doubtful, tool)
		}
	}
	return append(all, doubtful...)
}

// Asked returns a tool of which a policy asks humans in a lane, or empty.
func (j *Judge) Asked(w *model.GlobalState, path []int, n *model.Node, lane *workflow.View) string {
	for _, tool := range j.ToolsOf(n.Unit, lane.State, "*") {
		if a := j.Decide(w, path, n, lane, workflow.Subject{Tool: tool}); a.Asks || a.mayAsk {
			return tool
		}
	}
	return ""
}

// Voids reports that a call counts as one that may have changed files, by the function
// that decides it. Where it may be written otherwise, the answer has another input then.
func (j *Judge) Voids(w *model.GlobalState, path []int, n *model.Node, lane *workflow.View, a *Answer) bool {
	var family []*workflow.Machine
	for _, of := range w.Chain(path) {
		family = append(family, of.Unit.Machine)
	}
	inputs, _ := j.inputs(n.Unit, lane, a.Tool, workflow.Subject{Tool: a.Tool})
	for _, input := range append([]document.Value{a.Input}, inputs...) {
		call := facet.InRun(n.Unit.Machine, lane, toolcall.Call{Tool: a.Tool, Input: written(input), Jail: n.Unit.Machine.State(lane.State).JailRules().Level})
		if toolcall.Decide(n.Unit.Machine, lane, call).Decision == toolcall.Allow && toolcall.MeaningOf(n.Unit.Machine, family,
			lane, call, "").Voids {
			a.Input = input
			return true
		}
	}
	return false
}
