package explore

import (
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Violation is where a property is not kept.
type Violation struct {
	// At is the global state before it, and by the step that is one; nil where a call is.
	At int32
	By *Step
	// Answer that is allowed there, of the run and lane.
	Answer calls.Answer
	Path   []int
	Branch string
	Paused bool
}

// CallIn finds a call of the subject that could be allowed in a global state in which it must
// not.
func (x *Explorer) CallIn(p *workflow.Property, w *model.GlobalState) *Violation {
	if w.Met {
		return nil
	}
	var found *Violation
	consider := func(path []int, n *model.Node, lane workflow.View, paused bool) {
		if found != nil && found.Answer.Certain {
			return
		}
		a := x.Decide(w, path, n, &lane, p.Subject)
		switch {
		case !a.Possible:
			return
		case n.Unit.Stub:
			x.Stubbed[n.Unit.Machine.Name()] = true
			return
		case x.Conditions.Evident(p.Condition, w, path, &lane):
			return
		case a.Asks && x.Conditions.AgreedTo(p.Condition, n.Unit):
			return
		case a.Asked != nil && !x.Conditions.AgreedTo(p.Condition, n.Unit):
			a = *a.Asked
		}
		if found == nil || a.Certain {
			found = &Violation{Answer: a, Path: path, Branch: lane.Branch, Paused: paused}
		}
	}
	w.Root.Each(nil, func(path []int, n *model.Node) {
		for _, lane := range n.Run.Lanes() {
			if !n.Run.Status.Ended() {
				consider(path, n, lane, false)
			}
		}
		if p.Running {
			return
		}
		if n.Run.Status.Ended() {
			consider(path, n, n.Run.At(""), false)
			return
		}
		if w.MayPause() && !keepsBelow(w) {
			out := n.Unit.Machine.Step(n.Run, workflow.Pause{Actor: model.Agent}, model.Epoch)
			if out.Changed {
				for _, lane := range out.Run.Lanes() {
					consider(path, n, lane, true)
				}
			}
		}
	})
	return found
}

// keepsBelow reports that a run which was invoked and has not ended cannot be left, so that none
// of the family can be paused. Those that are not given may be left.
func keepsBelow(w *model.GlobalState) bool {
	keeps := false
	w.Root.Each(nil, func(_ []int, n *model.Node) {
		keeps = keeps || !n.Unit.Stub && !n.Run.Status.Ended() && (n.Unit.Machine.Enforcement().Keeps() || n.Unit.Process != nil)
	})
	return keeps
}

// OpenCall finds a call that could be allowed without an end: after the run, or while its agent
// has paused it.
func (x *Explorer) OpenCall(p *workflow.Property, w *model.GlobalState) *Violation {
	if p.Running {
		return nil
	}
	inner := *p
	inner.Condition = nil
	o := x.CallIn(&inner, w)
	if o == nil || !o.Paused && !w.Root.Run.Status.Ended() {
		return nil
	}
	return o
}
