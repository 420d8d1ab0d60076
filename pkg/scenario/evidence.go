package scenario

import (
	"slices"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/facet"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// givenEvidence lets a case begin with earlier observations.
func (p *parser) givenEvidence(c *testCase, m *workflow.Machine, given document.Fields) {
	named, ok := given.Object("evidence")
	if !ok {
		return
	}
	for name := range named.Value.Members() {
		held := named.Bool(name)
		i := slices.IndexFunc(m.Evidence(), func(spec evidence.Spec) bool { return spec.Name == name })
		if i < 0 {
			p.report.Errorf(named.At.Key(name), workflow.CodeUnknownEvidence, "the workflow declares no evidence %s", document.Quote(name))
			continue
		}
		if !held {
			continue
		}
		switch spec := &m.Evidence()[i]; {
		case spec.State != nil:
			if c.granted == nil {
				c.granted = map[string]bool{}
			}
			c.granted[name] = true
		case spec.Approval != "":
			c.start.Approved = append(c.start.Approved, evidence.Approved{
				State: spec.Approval, Event: spec.Approval, Entry: c.start.Entry, At: c.begins, By: "given",
			})
		default:
			for range spec.Count {
				c.observed = c.observed.Seen(c.start.ID, spec, evidence.Sighting{At: c.begins, CallID: "given", Entry: c.start.Entry}, true)
			}
		}
	}
}

// standings returns how the evidence of a run stands for a lane.
func (w *simulation) standings(of *tracked, at workflow.View) evidence.Statuses {
	specs := of.of.machine.Evidence()
	basis := at.EvidenceOf(w.observed, w.now)
	all := basis.Judge(specs)
	for i := range specs {
		if name := specs[i].Name; w.granted[name] && specs[i].State != nil {
			all[name] = evidence.Status{Name: name, Held: true, Since: w.began, Needs: all[name].Needs}
		}
	}
	if of.of.machine.KeepsAccount() {
		if all == nil {
			all = evidence.Statuses{}
		}
		record, _ := w.observed.Doubt(w.now)
		all[evidence.NoUnknownEffects] = record.Effects()
	}
	return all
}

// notice notes the effect of an allowed call on evidence.
func (w *simulation) notice(s binding, at *workflow.View, a call, id string) (toolcall.Meaning, int64) {
	var family []*workflow.Machine
	for t := s; ; {
		family = append(family, t.of.machine)
		parent, waits := w.parent(t.tracked)
		if !waits {
			break
		}
		t = parent
	}
	n := toolcall.MeaningOf(s.of.machine, family, at, facet.InRun(s.of.machine, at, toolcall.Call{Tool: a.tool, Input: a.input, Jail: a.jail}), "")
	w.observed, _ = w.observed.Elapse(w.now)
	open := evidence.OpenCall{ID: id, RunID: s.run.ID, Tool: a.tool, What: n.What, Digest: a.digest(), By: actor, At: w.now, Spares: n.Spares}
	if deadline := effectDeadline(family); n.Affects && deadline > 0 {
		open.Due = w.now.Add(deadline)
	}
	if n.Background {
		open.Background = evidence.Unnamed
	}
	switch {
	case n.Voids:
		w.observed, _ = w.observed.Changes(open)
	case !open.Due.IsZero():
		w.observed, _ = w.observed.Open(open)
	}
	return n, w.observed.Edits
}

// effectDeadline returns the shortest of a run and of those that have invoked it; 0 for
// none.
func effectDeadline(family []*workflow.Machine) (shortest time.Duration) {
	for _, m := range family {
		if d := m.Meta().EffectDeadline; d > 0 && (shortest == 0 || d < shortest) {
			shortest = d
		}
	}
	return shortest
}

// digest reports whether another call is the same.
func (a *call) digest() string { return a.tool + " " + string(a.input) }

// repeats names the unknown call that a call would repeat; empty for none.
func (w *simulation) repeats(a *call) string {
	record, _ := w.observed.Doubt(w.now)
	if c := record.Repeats(a.digest()); c != nil {
		return c.ID
	}
	return ""
}

// show notes the observations in the report of a call.
func (w *simulation) show(of *made, a *report) {
	if of.in == nil {
		return
	}
	if of.notice.Voids {
		w.observed = w.observed.Reported(evidence.Edit{At: w.now, CallID: of.id, What: of.notice.What}, "", true)
	}
	record, _ := w.observed.Doubt(w.now)
	w.observed, _, _ = record.Close(of.id)
	if a.ok {
		w.observed, _ = of.in.of.machine.Reconcile(w.observed, of.in.run.ID, of.tool, a.output)
	}
	specs := of.in.of.machine.Evidence()
	for i := range specs {
		if spec := &specs[i]; slices.Contains(of.notice.Gives, spec.Name) {
			w.observed = w.observed.Seen(of.in.run.ID, spec, evidence.Sighting{
				At: w.now, CallID: of.id, Edits: of.edits, Entry: of.entry,
			}, spec.As(a.ok, a.output))
		}
	}
}

// resumed voids observations from before a pause.
func (w *simulation) resumed() {
	w.observed = w.observed.Edited(evidence.Edit{At: w.now, What: "a pause of the run, during which no call was observed"})
}

// held returns an object with, for each evidence, whether it is held.
func held(all evidence.Statuses) document.Value {
	members := make([]document.Member, 0, len(all))
	for name, s := range all {
		members = append(members, document.Member{Name: name, Value: document.BoolValue(s.Held)})
	}
	slices.SortFunc(members, func(a, b document.Member) int { return strings.Compare(a.Name, b.Name) })
	return document.ObjectValue(members)
}

// value returns the value that an expectation of a view is compared with.
func (w *simulation) value(v *view, key string) document.Value {
	switch key {
	case "evidence":
	case "time_left":
		return w.timeLeft(v)
	default:
		return v.value(key)
	}
	return held(w.standings(v.tracked, workflow.View{Run: v.run, Lane: v.Lane, Status: v.status, Branch: v.branch}))
}
