package model

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Open returns the branches whose callers take the next steps. Branches do not depend on
// each other until they join, unless evidence does: so it is enough that one of them moves
// while the others have not begun or have ended, in their order, and that each moves alone
// from the beginning.
func (n *Node) Open(reduced bool) []workflow.View {
	lanes := n.Run.Lanes()
	if n.Run.Fork == nil || !reduced {
		return lanes
	}
	allowed := n.ready(n.Run.State, n.Run.Fork, &n.Run.Lane, "")
	return slices.DeleteFunc(lanes, func(v workflow.View) bool { return !slices.Contains(allowed, v.Branch) })
}

func (n *Node) ready(state string, fork *workflow.ForkProgress, outer *workflow.Lane, prefix string) []string {
	def := n.Unit.Machine.State(state).Fork(fork.Event)
	var active []int
	begun, ended := -1, false
	for i := range fork.Branches {
		b := &fork.Branches[i]
		if b.Status != workflow.BranchActive {
			ended = true
			continue
		}
		active = append(active, i)
		if def != nil && begun < 0 && hasBegun(b, def.Branches[i].Initial, outer) {
			begun = i
		}
	}
	switch {
	case begun >= 0:
		active = []int{begun}
	case ended && len(active) > 1:
		active = active[:1]
	}
	var names []string
	for _, i := range active {
		b := &fork.Branches[i]
		name := b.Name
		if prefix != "" {
			name = prefix + "/" + b.Name
		}
		if b.Fork != nil {
			names = append(names, n.ready(b.State, b.Fork, &b.Lane, name)...)
			continue
		}
		names = append(names, name)
	}
	return names
}

func hasBegun(b *workflow.BranchProgress, initial string, outer *workflow.Lane) bool {
	return b.State != initial || b.Interrupt != nil || b.Approval != nil || b.Child != nil || b.Fork != nil ||
		!document.Equal(b.Context, outer.Context) || len(b.Sources) != len(outer.Sources)
}
