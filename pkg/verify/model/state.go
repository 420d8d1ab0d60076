package model

import (
	"slices"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// The names of an exploration: actors, and sessions.
const (
	Agent     = "agent"
	Workspace = "/workspace"
)

// Node is a run, and the runs that it has invoked. It is an immutable snapshot.
type Node struct {
	Unit *Unit
	Run  *workflow.Run
	// Held are the observations that count.
	Held []Held
	// Late are the names of evidence of which a call may have been allowed in a state that
	// the run has left, and may be reported yet.
	Late     []string
	Children []*Node
}

// Held is an evidence that was observed, in an entry of a state.
type Held struct {
	Name  string
	Entry int64
}

// GlobalState is a state of an exploration: a run with the runs that it has invoked.
type GlobalState struct {
	Root *Node
	// Met is true when the condition of the property has been met.
	Met bool
	// Count of the calls of the property, at most one more than it admits.
	Count int
}

// At returns the node at a path of places among kids.
func (w *GlobalState) At(path []int) *Node {
	n := w.Root
	for _, i := range path {
		n = n.Children[i]
	}
	return n
}

// Replace returns a tree with another node at a path.
func Replace(n *Node, path []int, with *Node) *Node {
	if len(path) == 0 {
		return with
	}
	next := *n
	next.Children = slices.Clone(n.Children)
	next.Children[path[0]] = Replace(n.Children[path[0]], path[1:], with)
	return &next
}

// Each visits every live run, from outside in.
func (n *Node) Each(path []int, visit func(path []int, n *Node)) {
	visit(path, n)
	for i, kid := range n.Children {
		kid.Each(append(slices.Clip(path), i), visit)
	}
}

// Chain returns the runs down to the one at a path, from outside in.
func (w *GlobalState) Chain(path []int) []*Node {
	n := w.Root
	chain := []*Node{n}
	for _, i := range path {
		n = n.Children[i]
		chain = append(chain, n)
	}
	return chain
}

// Tidy drops the parts of a run that no further step depends on.
func Tidy(run *workflow.Run, v *Vocabulary, ended bool) *workflow.Run {
	next := *run
	next.Joined = nil
	next.Version, next.TransitionCount = 1, 0
	if !next.Deadline.IsZero() {
		next.Deadline = Epoch
	}
	tidyLane(&next.Lane, v, ended)
	return &next
}

// tidyLane does so in a lane. The results of an invoked run that has just ended are any.
func tidyLane(l *workflow.Lane, v *Vocabulary, ended bool) {
	l.Clock = workflow.Clock{}
	if l.Interrupt != nil {
		l.Interrupt = &workflow.Interruption{Name: l.Interrupt.Name, ReturnTo: l.Interrupt.ReturnTo}
	}
	if l.Approval != nil && !l.Approval.Pending() {
		l.Approval = nil
	}
	if ended {
		if results, ok := l.Context.Get(ResultsKey); ok && results.Kind() == document.Object {
			l.Context = document.MergeTop(l.Context, document.ObjectValue([]document.Member{{
				Name:  ResultsKey,
				Value: freeByResult,
			}}))
			l.Context = v.Restrict(l.Context)
		}
	}
	if l.Fork == nil {
		return
	}
	fork := *l.Fork
	fork.Clock = workflow.Clock{}
	fork.Branches = slices.Clone(fork.Branches)
	for i := range fork.Branches {
		tidyLane(&fork.Branches[i].Lane, v, ended)
	}
	l.Fork = &fork
}

func sortedKeys(s workflow.Sources) []string {
	names := make([]string, 0, len(s))
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// MayPause reports that the agent may pause the run when it waits for no other, which lifts enforcement.
func (w *GlobalState) MayPause() bool {
	return !w.Root.Unit.Machine.Enforcement().Keeps() && w.Root.Unit.Process == nil
}
