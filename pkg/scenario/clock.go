package scenario

import (
	"time"

	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// retryBlocked is how long a transition that was due, and that no guard let through, waits for its next try.
const retryBlocked = workflow.RetryBlocked

// clocks are the times of a run that its record does not have.
type clocks struct {
	// progress is when each branch made progress last.
	progress map[string]time.Time
	// silent are the branches whose silence was announced.
	silent map[string]bool
	// tried is when a blocked transition was tried last, by branch and event.
	tried map[string]time.Time
	// putOff is when what is due is tried again, after a freeze has kept the run from its end.
	putOff time.Time
}

// progressed notes progress in a branch.
func (c *clocks) progressed(branch string, now time.Time) {
	if c.progress == nil {
		c.progress, c.silent = map[string]time.Time{}, map[string]bool{}
	}
	c.progress[branch] = now
	delete(c.silent, branch)
}

// moved notes the progress of a command that has changed the run: in its branch, or in all for a resume.
func (t *tracked) moved(cmd workflow.Command, branch string, now time.Time) {
	switch cmd.(type) {
	case workflow.Elapse, workflow.Reject:
	case workflow.Resume:
		for _, lane := range t.run.Lanes() {
			t.progressed(lane.Branch, now)
		}
	default:
		t.progressed(branch, now)
	}
}

// pending is something that is due in a run.
type pending struct {
	*tracked
	workflow.Due
}

// nextClock returns what clocks make due first.
func (w *simulation) nextClock() (next pending, found bool) {
	for _, t := range w.order {
		for _, due := range t.dues() {
			if !found || due.At.Before(next.At) {
				next, found = pending{t, due}, true
			}
		}
	}
	return next, found
}

// dues returns what time will bring about in a run, with the silence of its lanes.
func (t *tracked) dues() []workflow.Due {
	m := t.of.machine
	dues := m.Dues(t.run)
	for i := range dues {
		if at, tried := t.tried[dues[i].Branch+" "+dues[i].Event]; dues[i].Blocked && tried {
			dues[i].At = at.Add(retryBlocked)
		}
		if dues[i].At.Before(t.putOff) {
			dues[i].At = t.putOff
		}
	}
	for _, lane := range t.run.Lanes() {
		stale := m.State(lane.State).Stale
		if stale == nil || lane.Status != workflow.Running || t.silent[lane.Branch] {
			continue
		}
		since := lane.Clock.Since
		if at := t.progress[lane.Branch]; at.After(since) {
			since = at
		}
		at := since.Add(stale.After)
		if again := t.tried[lane.Branch+" "+string(workflow.DueStale)].Add(retryBlocked); again.After(at) { // a freeze has stopped it
			at = again
		}
		dues = append(dues, workflow.Due{Kind: workflow.DueStale, Branch: lane.Branch, After: stale.After, At: at})
	}
	return dues
}

// elapse carries out what a clock has made due, at its time.
func (w *simulation) elapse(p pending) {
	w.now = p.At
	out := w.step(p.tracked, workflow.Elapse{Due: p.Due, Evidence: w.standings(p.tracked, p.run.At(p.Branch)), Actor: "clock"})
	switch {
	case (p.Kind == workflow.DueDeadline || p.Kind == workflow.DueFork) && out.Rejection != nil: // the run may not end now, and nothing else is in time
		p.putOff = w.now.Add(retryBlocked)
	case p.Kind == workflow.DueStale && out.Rejection != nil && out.Rejection.Code == workflow.RejectFrozen:
		p.tryAgain(string(workflow.DueStale), w.now)
	case p.Kind == workflow.DueStale: // it is announced once in each silence
		p.progressed(p.Branch, w.now)
		p.silent[p.Branch] = true
	case p.Kind == workflow.DueAfter && (out.Rejection != nil || out.Entry.Type == workflow.EventTimerBlocked):
		p.tryAgain(p.Event, w.now)
	}
	if out.Changed && out.Entry.Type == workflow.EventTransitioned {
		w.fired = out.Entry.Event
	}
}

// tryAgain notes that what is due could not be done now.
func (p *pending) tryAgain(what string, now time.Time) {
	if p.tried == nil {
		p.tried = map[string]time.Time{}
	}
	p.tried[p.Branch+" "+what] = now
}

// until lets time pass until an event of a clock is due.
type until string

func (a until) String() string { return "until " + string(a) }

func (a until) act(w *simulation) outcome {
	for _, t := range w.order {
		for _, due := range t.dues() {
			if due.Event == string(a) {
				w.passTo(due.At)
				return outcome{}
			}
		}
	}
	return outcome{missing: "no clock makes " + document.Quote(string(a)) + " due here"}
}

// timeLeft returns the time until a clock ends the stay in a state, as a duration; null where none does.
func (w *simulation) timeLeft(v *view) document.Value {
	var first time.Time
	for _, due := range v.dues() {
		ends := due.Kind == workflow.DueDeadline || due.Kind == workflow.DueAfter && due.Branch == v.branch || due.Kind == workflow.DueFork
		if ends && (first.IsZero() || due.At.Before(first)) {
			first = due.At
		}
	}
	if first.IsZero() {
		return document.NullValue()
	}
	return document.StringValue(workflow.ShortDuration(max(0, first.Sub(w.now))))
}
