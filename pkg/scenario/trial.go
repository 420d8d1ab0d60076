package scenario

import (
	"iter"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Trial is one case for a person to look at: every step shows its result, and none ends
// it. Playing does not change it.
type Trial struct {
	suite *Suite
	play  testCase
}

// Moment is the result of one step.
type Moment struct {
	// Action describes the step, for a person.
	Action string
	// OK is true when the step is as its expect says, or was allowed where it has none.
	// Different are the keys that are not as expected, in their order.
	OK        bool
	Different []string
	// Decision on a call, and its code unless it was allowed. Verdicts are all that was
	// said of it: by the state first, then by each policy.
	Decision toolcall.Decision
	Code     toolcall.Code
	Verdicts []Verdict
	// Rejected is the code of a refusal, and Guards those that failed.
	Rejected string
	Guards   []workflow.GuardResult
	// Message says why something was denied or refused.
	Message string
	// Interrupt is the last one that has fired.
	Interrupt string
	// Events are the types of the events, in order.
	Events []string
	// After is how things stand then.
	After Standing
}

// Verdict is the verdict of the state or of a policy on a call.
type Verdict struct {
	Decision toolcall.Decision
	Code     toolcall.Code
	// By is the part of a policy that has decided; nil for the state, and where no part
	// did.
	By *rules.Source
	// State is true of the state's verdict.
	State   bool
	Message string
}

// Standing is how a case stands.
type Standing struct {
	Now time.Time
	// Places are where the caller is: where its next step would act first, then the
	// branches and runs around that.
	Places []Place
	// Branches are those of all forks that are under way.
	Branches []Branch
	// Approvals are those that can still be decided.
	Approvals []*consent.Approval
}

// Place is a run, or a branch of it.
type Place struct {
	RunID, Workflow, Branch string
	Status                  workflow.Status
	// Interrupt that is being handled, or empty.
	Interrupt       string
	Context         document.Value
	Iterations      int64
	TransitionCount int64
	// State with its rules. It is shared and read only.
	State *workflow.StateView
	// Question of the state of a process.
	Question string
	// Evidence is how that of the workflow stands, in definition order.
	Evidence []evidence.Status
}

// Branch is a branch of a fork that is under way.
type Branch struct {
	RunID string
	// Path of the names of branches, from outside in.
	Path   string
	Status workflow.BranchStatus
	State  string
	// Bound is true when steps come from a session of its own.
	Bound bool
}

// ParseTrial reads one document: a workflow or a process with everything that it needs,
// and optionally policies, given and steps, of which there may be that many. All that is
// wrong with it is reported at once, by pointers into it; then the trial is nil.
func ParseTrial(v document.Value, mostSteps int) (*Trial, document.Problems) {
	p := &parser{inline: true, suite: &Suite{workflows: make(map[string]*definition), workspace: defaultWorkspace}}
	t := &Trial{suite: p.suite}
	if f, ok := p.report.Object(v, nil, "a simulation"); ok {
		f.Known("a simulation", "workflow", "process", "workflows", "policies", "workspace", "given", "steps")
		p.definitions(f)
		if workspace, ok := f.Text("workspace"); ok {
			p.suite.workspace = workspace
		}
		p.given(f, &t.play)
		p.steps(f, &t.play, mostSteps)
	}
	errors := slices.DeleteFunc(p.report.Problems(), func(problem document.Problem) bool {
		return problem.Severity == document.SeverityWarning
	})
	if len(errors) > 0 {
		return nil, errors
	}
	return t, nil
}

// Steps returns how many steps it has.
func (t *Trial) Steps() int { return len(t.play.steps) }

// Play plays it from the beginning: the first standing, and the result of each step. A
// step is taken when its moment is asked for.
func (t *Trial) Play() (Standing, iter.Seq[Moment]) {
	w := newSimulation(t.suite, &t.play, nil)
	return w.standing(), func(yield func(Moment) bool) {
		for i := range t.play.steps {
			if !yield(w.moment(&t.play.steps[i])) {
				return
			}
		}
	}
}

// moment takes a step.
func (w *simulation) moment(s *step) Moment {
	out := w.take(s.action)
	c := w.compare(s, out)
	m := Moment{
		Action: s.action.String(), OK: c.ok(), Decision: out.decision, Code: out.code, Verdicts: out.judged,
		Rejected: out.rejected, Guards: out.guards, Message: out.message, Interrupt: w.interrupt,
		Events: slices.Clone(w.events), After: w.standing(),
	}
	if len(s.expect) > 0 {
		m.Different = c.different()
	}
	if c.missing {
		m.Message = c.message
	}
	return m
}

func (w *simulation) standing() Standing {
	s := Standing{Now: w.now}
	for _, v := range w.views() {
		s.Places = append(s.Places, w.place(&v))
	}
	for _, t := range w.order {
		if !t.run.Status.Ended() {
			s.Branches = append(s.Branches, branches(t.run.ID, "", t.run.Fork)...)
		}
	}
	for _, a := range w.approvals {
		if a.waits() {
			s.Approvals = append(s.Approvals, a.at)
		}
	}
	return s
}

func (w *simulation) place(v *view) Place {
	p := Place{
		RunID: v.run.ID, Workflow: v.of.machine.Name(), Branch: v.branch, Status: v.status, Interrupt: v.handles(),
		Context: v.Context, Iterations: v.count(v.Entry).iterations, TransitionCount: v.run.TransitionCount, State: v.rules(),
	}
	specs := v.of.machine.Evidence()
	standings := w.standings(v.tracked, workflow.View{Run: v.run, Lane: v.Lane, Status: v.status, Branch: v.branch})
	for i := range specs {
		p.Evidence = append(p.Evidence, standings[specs[i].Name])
	}
	if v.of.process != nil {
		p.Question = v.of.process.Turn(&workflow.View{Run: v.run, Lane: v.Lane, Status: v.status}).Question
	}
	return p
}

// branches returns those of a fork, each before those within it.
func branches(run, around string, f *workflow.ForkProgress) []Branch {
	if f == nil {
		return nil
	}
	var all []Branch
	for i := range f.Branches {
		b := &f.Branches[i]
		path := b.Name
		if around != "" {
			path = around + "/" + b.Name
		}
		all = append(all, Branch{RunID: run, Path: path, Status: b.Status, State: b.State, Bound: b.SessionID != ""})
		all = append(all, branches(run, path, b.Fork)...)
	}
	return all
}

// verdicts returns the verdicts of the state and of each policy.
func (j *judged) verdicts(m *workflow.Machine, at *workflow.View) []Verdict {
	all := []Verdict{{Decision: j.State.Decision, Code: j.State.Code, State: true, Message: j.State.Message(m, at)}}
	for i := range j.Policies {
		v := &j.Policies[i]
		all = append(all, Verdict{Decision: v.Decision, Code: v.Code, By: v.By, Message: v.Explain()})
	}
	return all
}
