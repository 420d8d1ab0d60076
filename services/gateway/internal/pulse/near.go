package pulse

import (
	"cmp"
	"slices"
	"time"
)

// mostNear is how many limits are kept of which much is used.
const mostNear = 10_000

// Kinds of limits.
const (
	limitOfPolicy = "policy"
	limitOfState  = "state"
)

// NearLimit is a limit of which more than 80 percent are used.
type NearLimit struct {
	Kind      string    `json:"kind" enum:"policy,state"`
	Policy    string    `json:"policy,omitzero" doc:"Of a policy; absent for the limits of a session itself."`
	Rule      string    `json:"rule,omitzero" doc:"JSON Pointer of the rule in the policy."`
	RunID     string    `json:"run_id,omitzero" doc:"The run whose call came near it."`
	SessionID string    `json:"session_id,omitzero" doc:"The session that drives that run, where its start was seen."`
	State     string    `json:"state,omitzero" doc:"The state that the call was judged in."`
	Workflow  string    `json:"workflow,omitzero" doc:"The workflow of the run, where its start was seen."`
	Measure   string    `json:"measure" doc:"calls, money or emails of a policy; iterations, context_bytes or files of a state."`
	Scope     string    `json:"scope" doc:"policy, principal or session; entry for a state."`
	Subject   string    `json:"subject" doc:"The principal or the root session; of a state the number of the entry."`
	Used      int64     `json:"used" doc:"Calls, emails, bytes, files or micro-dollars."`
	Max       int64     `json:"max"`
	Part      float64   `json:"part" doc:"used / max, at most 1."`
	At        time.Time `json:"at" doc:"When the call was decided."`

	until time.Time
}

// nearKey names a limit: of a policy by its measure, of a state by the run.
type nearKey struct{ run, policy, rule, measure, scope, subject string }

// limited notes the limits in a decision.
func (b *Board) limited(e *Event) {
	for i := range e.Decided.Limits {
		l := &e.Decided.Limits[i]
		if l.Max <= 0 {
			continue
		}
		key := nearKey{policy: l.Policy, rule: l.Rule, measure: l.Measure, scope: l.Scope, subject: l.Subject}
		n := NearLimit{
			Kind: limitOfPolicy, Policy: l.Policy, Rule: l.Rule, RunID: e.EntityID, State: e.Decided.State,
			Measure: l.Measure, Scope: l.Scope, Subject: l.Subject, Used: int64(l.Used), Max: int64(l.Max),
			Part: min(1, float64(l.Used)/float64(l.Max)), At: e.Time, until: l.Until,
		}
		if l.Scope == "entry" {
			n.Kind, key.run = limitOfState, e.EntityID
		}
		if run, known := b.runs[e.EntityID]; known {
			n.Workflow, n.SessionID = run.workflow, run.session
		}
		if old := b.near[key]; old != nil && old.At.After(n.At) {
			continue
		}
		if len(b.near) >= mostNear {
			b.dropNear()
		}
		b.near[key] = &n
	}
}

// leave forgets the limits of the state that a run has left.
func (b *Board) leave(run string) {
	if len(b.near) == 0 {
		return
	}
	for key := range b.near {
		if key.run == run && run != "" {
			delete(b.near, key)
		}
	}
}

// dropNear makes room: it forgets the older half.
func (b *Board) dropNear() {
	var times []time.Time
	for _, n := range b.near {
		times = append(times, n.At)
	}
	slices.SortFunc(times, time.Time.Compare)
	middle := times[len(times)/2]
	for key, n := range b.near {
		if !n.At.After(middle) {
			delete(b.near, key)
		}
	}
}

// NearLimits returns those that were not over at a time, the newest first.
func (b *Board) NearLimits(now time.Time, most int) []NearLimit {
	near := []NearLimit{}
	for key, n := range b.near {
		if !n.until.IsZero() && !now.Before(n.until) {
			delete(b.near, key)
			continue
		}
		near = append(near, *n)
	}
	slices.SortFunc(near, func(a, b NearLimit) int {
		return cmp.Or(b.At.Compare(a.At), cmp.Compare(b.Part, a.Part), cmp.Compare(a.RunID, b.RunID), cmp.Compare(a.Measure, b.Measure))
	})
	return near[:min(most, len(near))]
}
