package scenario

import (
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// fire asks to move on by an event.
type fire struct {
	event string
	data  document.Value
}

func (a fire) String() string { return "event " + a.event }

func (a fire) act(w *simulation) outcome {
	s := w.here()
	at := s.at()
	cmd := workflow.Fire{Event: a.event, Data: a.data, Branch: s.branch, ApprovalID: w.approvalID(), Actor: actor}
	if s.of.machine.AsksEvidence(at.State, a.event) {
		cmd.Evidence = w.standings(s.tracked, at)
	}
	if name := s.of.machine.State(at.State).Invokes(a.event); name != "" {
		cmd.ChildID = w.childID()
		if child := w.suite.workflows[name]; child != nil {
			cmd.Child = child.machine.Under(w.freezeOf(s.tracked, name))
		}
	}
	out := w.step(s.tracked, cmd)
	return answered(&out)
}

// answer is an agent's answer to the question of a process (S8.1).
type answer struct{ key, note string }

func (a answer) String() string { return "answer " + a.key }

func (a answer) act(w *simulation) outcome {
	s := w.here()
	out := w.step(s.tracked, process.Fire(a.key, a.note, w.approvalID(), actor))
	o := answered(&out)
	if out.Rejection != nil {
		o.message = s.of.process.Explain(a.key, out.Rejection)
	}
	return o
}

// bind lets the steps that follow come from a branch's own session (S5.3), or
// from the first session again.
type bind struct{ branch string }

func (a bind) String() string {
	if a.branch == "" {
		return `branch ""`
	}
	return "branch " + a.branch
}

func (a bind) act(w *simulation) outcome {
	if a.branch == "" {
		w.binding = binding{tracked: w.order[0]}
		return outcome{}
	}
	t := w.forked(a.branch)
	out := w.step(t, workflow.Bind{Branch: a.branch, SessionID: a.branch, Actor: actor})
	if out.Rejection == nil {
		w.binding = binding{tracked: t, branch: a.branch}
	}
	return answered(&out)
}

// forked returns the run that has such a branch: of several the one that was started
// last. Without any it is the run that the binding is in, which then says so.
func (w *simulation) forked(branch string) *tracked {
	for i := len(w.order) - 1; i >= 0; i-- {
		run := w.order[i].run
		if at := run.At(branch); !run.Status.Ended() && !at.Over {
			return w.order[i]
		}
	}
	return w.binding.tracked
}

// advance lets time pass.
type advance time.Duration

func (a advance) String() string { return "advance " + time.Duration(a).String() }

func (a advance) act(w *simulation) outcome {
	w.passTo(w.now.Add(time.Duration(a)))
	return outcome{}
}

// pause is the agent's own (S6.2). It cannot leave a process, nor a workflow with
// enforcement that keeps its agents, of any run of the family (S6.6).
type pause struct{}

func (pause) String() string { return "pause" }

func (pause) act(w *simulation) outcome {
	if slices.ContainsFunc(w.members(), (*tracked).keeps) {
		return outcome{
			rejected: "ENFORCEMENT_KEPT",
			message:  "pause refused: an agent cannot leave a process, or a workflow that keeps its agents, before its end.",
		}
	}
	out := w.family(workflow.Pause{Actor: actor})
	return answered(&out)
}

// keeps reports that an agent cannot leave the run now.
func (t *tracked) keeps() bool {
	return !t.run.Status.Ended() && (t.of.machine.Enforcement().Keeps() || t.of.process != nil)
}

// resume continues a paused run.
type resume struct{}

func (resume) String() string { return "resume" }

func (resume) act(w *simulation) outcome {
	out := w.family(workflow.Resume{Actor: actor})
	if out.Changed {
		w.resumed()
	}
	return answered(&out)
}

// force jumps to a state (S6.3).
type force struct {
	state   string
	context document.Value
}

func (a force) String() string { return "force_state " + a.state }

func (a force) act(w *simulation) outcome {
	s := w.here()
	out := w.step(s.tracked, workflow.Force{State: a.state, Context: a.context, Branch: s.branch, Actor: actor})
	return answered(&out)
}
