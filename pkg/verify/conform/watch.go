package conform

import (
	"fmt"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/calls"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/model"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Seen is one observation of a run: a change, a decision or a report. One of the three is
// set.
type Seen struct {
	RunID  string
	Change *workflow.HistoryEntry
	Call   *Traced
	Report *Reported
}

// Reported is the accepted report of a call.
type Reported struct {
	CallID string
	Time   time.Time
	// By is who reported it. Observed is false for an agent's own word.
	By       string
	Observed bool
	OK       bool
	Unknown  bool
	// Output is the result of the call: JSON, or text.
	Output []byte
}

// Breach is where a run does not keep a property.
type Breach struct {
	Property workflow.Property
	RunID    string
	// Entry is "history" or "decision", and Number the run's version or the decision's
	// sequence.
	Entry  string
	Number int64
	What   string
}

func (b *Breach) String() string {
	return fmt.Sprintf("%s: %s %d: %s", b.Property.Name, b.Entry, b.Number, b.What)
}

// Watched is the result of watching a run and its invoked runs.
type Watched struct {
	// Runs are the conformance of each, by its id.
	Runs map[string]*Conformance
	// Breaches of properties, at most one of each.
	Breaches []Breach
}

// Watch takes a run and those that it has invoked again, as Conform does, and also has facts
// that Conform takes on trust: the reports, and the order of events. So evidence is judged by
// the calls that were allowed and the reports of them, calls are counted as states limit them,
// and a call must have been decided on the run as it was at that moment. Properties of the
// kinds never, before and at_most are monitored on the way; the other kinds are about runs
// that could be.
//
// traces are of the outermost run first; their histories and decisions are not read. Values
// of the shared state, unknown effects and the limits of policies are taken as recorded.
func Watch(m *verify.Model, traces []*Trace, seen []Seen, properties []workflow.Property) Watched {
	w := &watcher{
		Conditions: explore.Conditions{System: model.NewSystem(m)}, runs: map[string]*watched{}, calls: map[string]*witnessed{},
		properties: properties, met: make([]bool, len(properties)), count: make([]int64, len(properties)),
		broken: make([]bool, len(properties)), out: Watched{Runs: map[string]*Conformance{}},
	}
	earlier := map[string]int{}
	for _, t := range traces {
		r := &watched{counted: map[entryOf]int64{}, conformer: *newConformer(t, &w.record)}
		r.earlier = earlier
		for _, digest := range t.Left {
			earlier[digest]++
		}
		w.runs[t.RunID], w.out.Runs[t.RunID] = r, &r.out
	}
	for i := range seen {
		r := w.runs[seen[i].RunID]
		switch s := &seen[i]; {
		case r == nil:
		case s.Change != nil:
			w.change(r, s.Change)
		case s.Call != nil:
			w.call(r, s.Call)
		case s.Report != nil:
			w.report(s.Report)
		}
	}
	return w.out
}

// watcher observes a run and its invoked runs.
type watcher struct {
	explore.Conditions
	runs       map[string]*watched
	record     evidence.Record
	calls      map[string]*witnessed
	properties []workflow.Property
	met        []bool
	count      []int64
	broken     []bool
	out        Watched
}

// watched is one of the runs.
type watched struct {
	conformer
	counted map[entryOf]int64
}

// witnessed is a call that was allowed.
type witnessed struct {
	notice   toolcall.Meaning
	machine  *workflow.Machine
	run      string
	digest   string
	edits    int64
	entry    int64
	observed bool
}

// standings returns how evidence stood by the observations. Unobserved evidence is as
// recorded.
func (c *conformer) standings(m *workflow.Machine, e *workflow.HistoryEntry) evidence.Statuses {
	at := c.run.At(e.Branch)
	basis := at.EvidenceOf(*c.observed, e.Time)
	all := basis.Judge(m.Evidence())
	if all == nil {
		all = evidence.Statuses{}
	}
	recorded := m.EvidencePassed(e.Guards)
	for i := range m.Evidence() {
		if spec := &m.Evidence()[i]; spec.State != nil {
			delete(all, spec.Name)
		}
	}
	for name, s := range recorded {
		if _, judged := all[name]; !judged {
			c.open(OpenEvidence)
			all[name] = s
		}
	}
	return all
}

// family returns the workflows of a run and of those that have invoked it, from inside
// out.
func (w *watcher) family(r *watched) (all []*workflow.Machine) {
	for r != nil && r.run != nil {
		all = append(all, r.trace.Definitions[r.run.WorkflowVersion])
		parent := r.run.Parent
		if parent == nil {
			break
		}
		r = w.runs[parent.RunID]
	}
	return all
}

// change takes one change again, and looks whether a property is broken by it.
func (w *watcher) change(r *watched, e *workflow.HistoryEntry) {
	if r.broken {
		r.open(OpenAfter)
		return
	}
	m := r.trace.Definitions[e.WorkflowVersion]
	if m == nil {
		r.open(OpenVersion)
		r.broken = true
		return
	}
	before := r.run
	if e.Type == workflow.EventStarted {
		r.begin(m, e)
	} else {
		r.change(m, e)
	}
	if r.broken {
		return
	}
	if e.Type == workflow.EventResumed {
		w.record = w.record.Edited(evidence.Edit{At: e.Time, What: "a pause of the run, during which no call was observed"})
	}
	of := w.Unit(m.Name())
	for i := range w.properties {
		w.moved(i, r, of, before, e)
	}
}

// begin starts a run again; of one that another has invoked it knows by whom.
func (c *conformer) begin(m *workflow.Machine, e *workflow.HistoryEntry) {
	c.change(m, e)
	if c.run != nil && c.trace.Parent != nil {
		run := *c.run
		run.Parent = c.trace.Parent
		c.run, c.at[run.Version] = &run, &run
	}
}

// moved looks whether a change breaks a property, or meets its condition.
func (w *watcher) moved(i int, r *watched, of *model.Unit, before *workflow.Run, e *workflow.HistoryEntry) {
	p := &w.properties[i]
	if p.Kind != workflow.Never && p.Kind != workflow.Before {
		return
	}
	if before == nil {
		w.met[i] = w.met[i] || of == w.Main && explore.BegunIn(p.Condition, r.run.State)
		return
	}
	s := explore.RecordedStep(of, before, e, &r.last)
	w.met[i] = w.met[i] || w.Meets(p.Condition, s)
	if w.SubjectOf(&p.Subject, s) && !w.met[i] && !w.shown(p.Condition, r, before, e.Branch, e.Time, e) {
		w.breach(i, r, "history", e.RunVersion, fmt.Sprintf("%s leads from state %s to %s", e.Type, document.Quote(e.From),
			document.Quote(e.To)))
	}
}

// shown reports that the evidence of a condition was held in a lane of the outermost run.
func (w *watcher) shown(cond *workflow.Condition, r *watched, run *workflow.Run, branch string, now time.Time,
	e *workflow.HistoryEntry,
) bool {
	if cond != nil && len(cond.Any) > 0 {
		return slices.ContainsFunc(cond.Any, func(one workflow.Condition) bool { return w.shown(&one, r, run, branch, now, e) })
	}
	if cond == nil || cond.Evidence == "" {
		return false
	}
	if run.Parent != nil {
		outer := w.runs[run.Parent.RunID]
		if outer == nil || outer.run == nil {
			return false
		}
		return w.shown(cond, outer, outer.run, "", now, nil)
	}
	m := r.trace.Definitions[run.WorkflowVersion]
	for i := range m.Evidence() {
		if m.Evidence()[i].Name == cond.Evidence && m.Evidence()[i].State != nil {
			return e == nil || m.EvidencePassed(e.Guards)[cond.Evidence].Held
		}
	}
	at := run.At(branch)
	basis := at.EvidenceOf(w.record, now)
	return basis.Judge(m.Evidence())[cond.Evidence].Held
}

func (w *watcher) breach(i int, r *watched, entry string, number int64, what string) {
	if w.broken[i] {
		return
	}
	w.broken[i] = true
	w.out.Breaches = append(w.out.Breaches, Breach{
		Property: w.properties[i], RunID: r.trace.RunID, Entry: entry, Number: number, What: what,
	})
}

// call decides one call again, notes its effect on evidence, and checks whether it breaks a
// property.
func (w *watcher) call(r *watched, d *Traced) {
	if r.broken {
		r.open(OpenAfter)
		return
	}
	r.decision(d)
	if d.Decision != toolcall.Allow || r.run == nil {
		return
	}
	if d.RunVersion != r.run.Version {
		r.differs("decision", d.Sequence, "%s %s was allowed on version %d of the run, which was at version %d then",
			d.Tool, d.CallID, d.RunVersion, r.run.Version)
		return
	}
	r.earlier[d.Digest]++
	at := r.run.At(d.Branch)
	w.counts(r, &at, d)
	w.notice(r, &at, d)
	for i := range w.properties {
		w.called(i, r, &at, d)
	}
}

// counts checks a call against the limits of its state for one entry.
func (w *watcher) counts(r *watched, at *workflow.View, d *Traced) {
	m := r.trace.Definitions[r.run.WorkflowVersion]
	v := toolcall.Decide(m, at, toolcall.Call{Tool: d.Tool, Input: d.Input, Jail: d.Jail, Facts: condition.Chosen(metAll)})
	if !v.Counted {
		return
	}
	key := entryOf{d.Branch, at.Entry}
	if r.counted[key]++; v.MaxIterations > 0 && r.counted[key] > v.MaxIterations {
		r.differs("decision", d.Sequence, "%s %s is call %d of this entry of state %s, which admits %d", d.Tool, d.CallID,
			r.counted[key], document.Quote(at.State), v.MaxIterations)
	}
}

// metAll holds for every comparison: a call that was allowed has met the conditions of its state.
func metAll(condition.Comparison, condition.Stance) condition.Truth { return condition.True }

// notice notes the effect of an allowed call on evidence.
func (w *watcher) notice(r *watched, at *workflow.View, d *Traced) {
	family := w.family(r)
	n := toolcall.MeaningOf(family[0], family, at, facet.InRun(family[0], at, toolcall.Call{Tool: d.Tool, Qualified: d.Qualified, Input: d.Input, Jail: d.Jail}), d.Qualified)
	w.record, _ = w.record.Elapse(d.Time)
	if n.Voids {
		open := evidence.OpenCall{ID: d.CallID, RunID: r.trace.RunID, Tool: d.Tool, What: n.What, At: d.Time, Spares: n.Spares}
		if n.Background {
			open.Background = evidence.Unnamed
		}
		w.record, _ = w.record.Changes(open)
	}
	// An id that was used before is that of a new call once the log has it again.
	w.calls[d.CallID] = &witnessed{notice: n, machine: family[0], run: r.trace.RunID, digest: d.Digest, edits: w.record.Edits, entry: at.Entry}
}

// report notes the observations of a report: the first that was observed counts.
func (w *watcher) report(t *Reported) {
	c := w.calls[t.CallID]
	if c == nil || c.observed {
		return
	}
	if c.notice.Voids {
		w.record = w.record.Reported(evidence.Edit{At: t.Time, CallID: t.CallID, What: c.notice.What}, "", t.Observed)
	}
	c.observed = t.Observed
	if t.Unknown {
		return
	}
	if t.Observed {
		w.runs[c.run].earlier[c.digest]--
	}
	specs := c.machine.Evidence()
	for i := range specs {
		spec := &specs[i]
		if !slices.Contains(c.notice.Gives, spec.Name) {
			continue
		}
		o := evidence.Sighting{At: t.Time, CallID: t.CallID, By: t.By, Edits: c.edits, Entry: c.entry}
		if t.Observed {
			w.record = w.record.Seen(c.run, spec, o, spec.As(t.OK, t.Output))
		} else {
			w.record = w.record.Claims(c.run, spec, o)
		}
	}
}

// meets reports that a call meets a condition on its input. Where that is in doubt, it is not known.
func (r *watched) meets(when *condition.Condition, at *workflow.View, d *Traced) bool {
	met := condition.Doubt
	if d.exact() {
		call := knowing(r.trace.Definitions[r.run.WorkflowVersion], at, toolcall.Call{Tool: d.Tool, Input: d.Input})
		met = when.Judge(call.Facts, condition.Restricts)
	}
	if met == condition.Doubt {
		r.open(OpenInput)
	}
	return met == condition.True
}

// called looks whether an allowed call breaks a property.
func (w *watcher) called(i int, r *watched, at *workflow.View, d *Traced) {
	p := &w.properties[i]
	if d.Exempt || !p.Subject.Calls() || p.Running && at.Status != workflow.Running && at.Status != workflow.AwaitingApproval {
		return
	}
	state := r.trace.Definitions[r.run.WorkflowVersion].State(at.State)
	if !calls.IsCallOf(p.Subject, state, d.Tool, d.Input) || p.Subject.When != nil && !r.meets(p.Subject.When, at, d) {
		return
	}
	what := fmt.Sprintf("%s %s was allowed in state %s", d.Tool, d.CallID, document.Quote(at.State))
	switch p.Kind {
	case workflow.AtMost:
		if w.count[i]++; w.count[i] > p.Most {
			w.breach(i, r, "decision", d.Sequence, fmt.Sprintf("%s: call %d of at most %d", what, w.count[i], p.Most))
		}
	case workflow.Never, workflow.Before:
		of := w.Unit(r.run.Workflow)
		if w.met[i] || d.Approved && w.AgreedTo(p.Condition, of) || w.shown(p.Condition, r, r.run, d.Branch, d.Time, nil) {
			return
		}
		w.breach(i, r, "decision", d.Sequence, what)
	default:
	}
}
