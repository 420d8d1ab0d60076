package attack

import (
	"fmt"
	"time"

	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// clockSlack is how much later than its delay a clock may have done its work, and how much earlier a whole second allows.
const clockSlack = 2 * time.Second

// clocks measures how long each run was in its states, by its history alone, and compares that with what the clocks of the
// workflow have done: nothing too early, and nothing too late because an agent has set a clock back (S25).
func (p *player) clocks(r *recorded) (all []Finding) {
	m := p.model.Main.Machine
	if len(m.Definition().Interrupts) > 0 { // a return continues the clock of an older visit
		return nil
	}
	for _, run := range p.runs {
		if run.GetWorkflow() != m.Name() {
			continue
		}
		v := &visit{machine: m}
		for i := range r.histories[run.GetRunId()] {
			if e := &r.histories[run.GetRunId()][i]; e.ToolResult == nil {
				all = append(all, v.follow(e)...)
			}
		}
		all = append(all, v.overdue(p.clock.Now())...)
	}
	return all
}

// visit is the stay of a run in a state, as its history tells it.
type visit struct {
	machine *workflow.Machine
	begun   time.Time
	state   string
	status  string
	since   time.Time
	stood   time.Duration
	// stopped is since when the clock stands still; zero while it runs.
	stopped time.Time
	latest  time.Time
	// blocked: a transition was due, and its guards did not pass. unsure: the run was in branches, or the time of the machine
	// went back.
	blocked, unsure bool
}

// elapsed returns the time on the clock of the state.
func (v *visit) elapsed(now time.Time) time.Duration {
	if !v.stopped.IsZero() {
		now = v.stopped
	}
	return now.Sub(v.since) - v.stood
}

// follow takes up a change of the run, and judges whether it came at its time.
func (v *visit) follow(e *jsonview.HistoryEntry) (all []Finding) {
	if v.begun.IsZero() {
		v.begun, v.since = e.Time, e.Time
	}
	v.unsure = v.unsure || e.Branch != "" || e.Time.Before(v.latest)
	v.latest = e.Time
	if spent := v.elapsed(e.Time); !v.unsure && v.state != "" {
		early := func(what string, bound time.Duration) {
			if spent < bound-clockSlack {
				all = append(all, Finding{Kind: Escape, Class: "clocks", What: fmt.Sprintf("%s in state %s after %s, before %s", what, v.state, spent, bound)})
			}
		}
		if e.Cause != nil && e.Cause.Kind == string(workflow.DueAfter) {
			early("clock "+e.Event, time.Duration(e.Cause.AfterSeconds)*time.Second)
		}
		if e.Type == workflow.EventTransitioned && e.Cause == nil && e.To != e.From {
			early("event "+e.Event, v.notBefore(e.Event, e.To))
		}
	}
	v.blocked = v.blocked || e.Type == workflow.EventTimerBlocked
	if e.To != "" && e.To != v.state {
		v.state, v.since, v.stood, v.stopped = e.To, e.Time, 0, time.Time{}
		v.blocked, v.unsure = false, e.Branch != ""
	}
	v.status = e.Status
	switch runs := e.Status == string(workflow.Running) || e.Status == string(workflow.Waiting); {
	case runs && !v.stopped.IsZero():
		v.stood, v.stopped = v.stood+e.Time.Sub(v.stopped), time.Time{}
	case !runs && v.stopped.IsZero():
		v.stopped = e.Time
	}
	return all
}

// notBefore returns how long a run has to be in the state before the branch of an event.
func (v *visit) notBefore(event, target string) (bound time.Duration) {
	on := v.machine.State(v.state).On
	for i := range on {
		if on[i].Event != event {
			continue
		}
		for _, b := range on[i].Branches {
			if b.Target == target && (bound == 0 || b.NotBefore < bound) {
				bound = b.NotBefore
			}
		}
	}
	return bound
}

// overdue judges the end of a schedule, when all timers that were due have fired.
func (v *visit) overdue(now time.Time) (all []Finding) {
	late := func(what string, spent, bound time.Duration) {
		if spent > bound+clockSlack {
			all = append(all, Finding{Kind: Escape, Class: "clocks", What: fmt.Sprintf("the run is in state %s after %s, which %s bounds by %s", v.state, spent, what, bound)})
		}
	}
	ended := v.status != string(workflow.Running) && v.status != string(workflow.Waiting) && v.status != string(workflow.AwaitingApproval) && v.status != string(workflow.Paused)
	if deadline := v.machine.Definition().Meta.Deadline; deadline != nil && !ended && !now.Before(v.latest) {
		late("the deadline", now.Sub(v.begun), deadline.After)
	}
	if v.status != string(workflow.Running) || v.unsure || v.blocked {
		return all
	}
	for _, after := range v.machine.State(v.state).After {
		late("after", v.elapsed(now), after.Delay)
	}
	return all
}
