// Package pulse keeps statistics of the latest events of each namespace, for people:
// numbers of decisions, repeated denials, and transitions taken. It is derived from
// events alone and lost with the process; no decision may depend on it.
package pulse

import (
	"cmp"
	"slices"
	"time"
)

// Bounds of the data of a namespace.
const (
	// slot is the width of a rate, and slots how many are kept: 15 minutes.
	slot  = 10 * time.Second
	slots = 90
	// loopAfter is from how many denials in a row on an agent is in a loop, and loopIdle
	// how long after the last one it is not any more.
	loopAfter = 3
	loopIdle  = 15 * time.Minute
	// deniedLately is how long a run counts as one that was denied lately.
	deniedLately = time.Hour
	// Most of each.
	mostLoops      = 10_000
	mostDenied     = 10_000
	mostIncidents  = 100
	mostRuns       = 200_000
	mostNames      = 10_000
	mostDefinition = 2_000
)

// Board has the statistics of one namespace. It is not safe for concurrent use.
type Board struct {
	// since is the time of the first event that was seen, and last of the newest.
	since, last time.Time
	rates       [slots]Rate
	loops       map[string]*Loop     // by run
	denials     map[string]time.Time // of each run the last one
	incidents   []Incident
	near        map[nearKey]*NearLimit
	sealed      time.Time
	delivered   Delivery
	people      map[string]*Person
	// runs says which version of a workflow a run follows, for the runs whose start was seen.
	runs  map[string]followed
	taken map[version]*Coverage
}

// version is that of a workflow.
type version struct {
	workflow string
	number   int64
}

// followed is a run whose start was seen.
type followed struct {
	version
	session string
}

// NewBoard returns a board without events.
func NewBoard() *Board {
	return &Board{
		near: map[nearKey]*NearLimit{}, loops: map[string]*Loop{}, denials: map[string]time.Time{}, people: map[string]*Person{}, runs: map[string]followed{}, taken: map[version]*Coverage{},
	}
}

// Rate is how many calls were decided in the ten seconds from a time on.
type Rate struct {
	At    time.Time `json:"at"`
	Allow int64     `json:"allow"`
	Ask   int64     `json:"ask"`
	Deny  int64     `json:"deny"`
}

// Loop is a run whose calls are denied one after the other.
type Loop struct {
	RunID  string    `json:"run_id"`
	Tool   string    `json:"tool" doc:"Tool of the last denied call."`
	State  string    `json:"state" doc:"State that it was denied in."`
	Code   string    `json:"code" doc:"Why the last call was denied."`
	Count  int64     `json:"count" doc:"How many denials there were in a row."`
	LastAt time.Time `json:"last_at" doc:"When the last call was denied."`
}

// Incident is a call that passed without a rule of a state, or that was made without permission.
type Incident struct {
	At     time.Time `json:"at"`
	RunID  string    `json:"run_id"`
	CallID string    `json:"call_id"`
	Tool   string    `json:"tool"`
	Reason string    `json:"reason" enum:"run paused by agent,run has ended,no run,no permission" doc:"Why it was not enforced."`
}

// Person has the acts of a person or an agent.
type Person struct {
	Name        string    `json:"name" doc:"Name of the principal."`
	Allow       int64     `json:"allow" doc:"Tool calls that were allowed."`
	Ask         int64     `json:"ask" doc:"Tool calls for which a human was asked."`
	Deny        int64     `json:"deny" doc:"Tool calls that were denied."`
	Transitions int64     `json:"transitions" doc:"Transitions of runs."`
	Approvals   int64     `json:"approvals" doc:"Votes about approvals."`
	Changes     int64     `json:"changes" doc:"Other changes: of definitions, policies, states, sessions and runs."`
	LastAt      time.Time `json:"last_at" doc:"When it was last seen."`
}

// Coverage is which states and transitions of a version of a workflow runs have used.
type Coverage struct {
	// Runs that have started, and of them those that have not ended.
	Runs, UnderWay int64
	Entries        map[string]int64 // of each state
	Transitions    map[Taken]int64
}

// Taken is a transition that runs took.
type Taken struct{ From, Event, To string }

// Apply takes one event, newer or older than the others.
func (b *Board) Apply(e *Event) {
	if b.since.IsZero() || e.Time.Before(b.since) {
		b.since = e.Time
	}
	if e.Time.After(b.last) {
		b.last = e.Time
	}
	b.attribute(e)
	switch {
	case e.Decided != nil:
		b.decided(e)
	case e.Reported != nil && e.Reported.Unaccounted:
		b.incident(e, e.Reported.CallID, e.Reported.Tool, "no permission")
	case e.Sealed != nil:
		b.sealed = e.Time
	case e.Entity == entityRun:
		b.moved(e)
	}
}

// Delivery is how events reach the stream: by the outbox of the service that decided, after its commit.
type Delivery struct {
	LastAt time.Time `json:"last_at" doc:"When the newest event was committed."`
	LagMs  int64     `json:"lag_ms" doc:"Milliseconds from its commit until the stream had it. It grows while the outbox or NATS lags behind."`
}

// Stored takes when an event was committed, and when the stream had it.
func (b *Board) Stored(committed, stored time.Time) {
	if committed.Before(b.delivered.LastAt) || stored.IsZero() {
		return
	}
	lag := max(0, stored.Sub(committed))
	b.delivered = Delivery{committed, lag.Milliseconds()}
}

// Delivery returns that of the newest event; nil when there was none.
func (b *Board) Delivery() *Delivery {
	if b.delivered.LastAt.IsZero() {
		return nil
	}
	d := b.delivered
	return &d
}

// decided counts a decision on a tool call.
func (b *Board) decided(e *Event) {
	at := e.Time.Truncate(slot)
	rate := &b.rates[place(at)]
	if at.After(rate.At) {
		*rate = Rate{At: at}
	}
	b.limited(e)
	switch e.Decided.Decision {
	case allowed:
		if rate.At.Equal(at) {
			rate.Allow++
		}
		if e.Decided.Code == notEnforced {
			b.incident(e, e.Decided.CallID, e.Decided.Tool, e.Decided.Message)
		}
		delete(b.loops, e.EntityID)
	case asked:
		if rate.At.Equal(at) {
			rate.Ask++
		}
	default:
		if rate.At.Equal(at) {
			rate.Deny++
		}
		b.countDenial(e)
	}
}

// place returns where the rate of a time is kept.
func place(at time.Time) int64 {
	n := at.Unix() / int64(slot/time.Second) % slots
	return (n + slots) % slots // there is time before 1970
}

// countDenial notes a denial of a run.
func (b *Board) countDenial(e *Event) {
	if _, known := b.denials[e.EntityID]; !known && len(b.denials) >= mostDenied {
		b.dropDenials()
	}
	if e.Time.After(b.denials[e.EntityID]) {
		b.denials[e.EntityID] = e.Time
	}
	loop := b.loops[e.EntityID]
	if loop == nil {
		if len(b.loops) >= mostLoops {
			b.dropLoops()
		}
		loop = &Loop{RunID: e.EntityID}
		b.loops[e.EntityID] = loop
	}
	loop.Count++
	loop.Tool, loop.State, loop.Code, loop.LastAt = e.Decided.Tool, e.Decided.State, e.Decided.Code, e.Time
}

// dropDenials forgets the denials that are long ago and, when none is, every second one.
func (b *Board) dropDenials() {
	before := len(b.denials)
	for run, at := range b.denials {
		if b.last.Sub(at) > deniedLately {
			delete(b.denials, run)
		}
	}
	if len(b.denials) < before {
		return
	}
	keep := false
	for run := range b.denials {
		if keep = !keep; !keep {
			delete(b.denials, run)
		}
	}
}

// dropLoops forgets the loops that have ended and, when none has, every second one.
func (b *Board) dropLoops() {
	before := len(b.loops)
	for run, loop := range b.loops {
		if b.last.Sub(loop.LastAt) > loopIdle {
			delete(b.loops, run)
		}
	}
	if len(b.loops) < before {
		return
	}
	keep := false
	for run := range b.loops {
		if keep = !keep; !keep {
			delete(b.loops, run)
		}
	}
}

// incident notes a call that has not been allowed.
func (b *Board) incident(e *Event, callID, tool, reason string) {
	if len(b.incidents) == mostIncidents {
		b.incidents = slices.Delete(b.incidents, 0, 1)
	}
	b.incidents = append(b.incidents, Incident{At: e.Time, RunID: e.EntityID, CallID: callID, Tool: tool, Reason: reason})
}

// attribute notes who has caused an event.
func (b *Board) attribute(e *Event) {
	if e.Actor == "" || e.Sealed != nil {
		return
	}
	p := b.people[e.Actor]
	if p == nil {
		if len(b.people) >= mostNames {
			return
		}
		p = &Person{Name: e.Actor}
		b.people[e.Actor] = p
	}
	if e.Time.After(p.LastAt) {
		p.LastAt = e.Time
	}
	switch {
	case e.Decided != nil && e.Decided.Decision == allowed:
		p.Allow++
	case e.Decided != nil && e.Decided.Decision == asked:
		p.Ask++
	case e.Decided != nil:
		p.Deny++
	case e.Reported != nil:
	case e.Transitioned != nil && e.Type == "transitioned":
		p.Transitions++
	case e.Entity == "approval" && e.Type == "voted":
		p.Approvals++
	default:
		p.Changes++
	}
}

// moved follows runs through their workflows.
func (b *Board) moved(e *Event) {
	switch {
	case e.Started != nil:
		if len(b.runs) >= mostRuns || len(b.taken) >= mostDefinition {
			clear(b.runs) // runs that start from now on are followed
			for _, c := range b.taken {
				c.UnderWay = 0
			}
		}
		v := version{e.Started.Workflow, int64(e.Started.Version)}
		b.runs[e.EntityID] = followed{v, e.Started.Session}
		c := b.coverage(v)
		c.Runs++
		c.UnderWay++
		c.Entries[e.Started.State]++
	case e.Ended != nil:
		if run, known := b.runs[e.EntityID]; known {
			b.coverage(run.version).UnderWay--
		}
		delete(b.runs, e.EntityID)
		b.leave(e.EntityID)
		delete(b.loops, e.EntityID)
	case e.Transitioned != nil && e.Type == "transitioned":
		b.took(e.EntityID, *e.Transitioned)
	case e.Migrated != nil:
		run, known := b.runs[e.EntityID]
		if !known {
			return
		}
		b.coverage(run.version).UnderWay--
		run.number = int64(e.Migrated.ToVersion)
		b.runs[e.EntityID] = run
		c := b.coverage(run.version)
		c.Runs++
		c.UnderWay++
		c.Entries[e.Migrated.To]++
		delete(b.loops, e.EntityID)
	case e.Moved != nil:
		b.took(e.EntityID, *e.Moved)
	}
}

// took counts a transition of a run that is followed.
func (b *Board) took(run string, t Transition) {
	b.leave(run)
	delete(b.loops, run) // in another state other calls are allowed
	v, known := b.runs[run]
	if !known || t.To == "" {
		return
	}
	c := b.coverage(v.version)
	c.Entries[t.To]++
	c.Transitions[Taken{t.From, t.Event, t.To}]++
}

func (b *Board) coverage(v version) *Coverage {
	c := b.taken[v]
	if c == nil {
		c = &Coverage{Entries: map[string]int64{}, Transitions: map[Taken]int64{}}
		b.taken[v] = c
	}
	return c
}

// Rates returns those of the 15 minutes before now, oldest first.
func (b *Board) Rates(now time.Time) []Rate {
	rates := make([]Rate, 0, slots)
	newest := now.Truncate(slot)
	for i := slots - 1; i >= 0; i-- {
		at := newest.Add(-time.Duration(i) * slot)
		rate := b.rates[place(at)]
		if !rate.At.Equal(at) {
			rate = Rate{}
		}
		rate.At = at.UTC()
		rates = append(rates, rate)
	}
	return rates
}

// Loops returns the runs that are in one now: those with the most denials first.
func (b *Board) Loops(now time.Time, most int) []Loop {
	var loops []Loop
	for _, loop := range b.loops {
		if loop.Count >= loopAfter && now.Sub(loop.LastAt) <= loopIdle {
			loops = append(loops, *loop)
		}
	}
	slices.SortFunc(loops, func(a, b Loop) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.LastAt.Compare(a.LastAt), cmp.Compare(a.RunID, b.RunID))
	})
	return loops[:min(most, len(loops))]
}

// Denied returns the runs of which a call was denied in the last hour, by descending id:
// the newest first.
func (b *Board) Denied(now time.Time) []string {
	var runs []string
	for run, at := range b.denials {
		if now.Sub(at) <= deniedLately {
			runs = append(runs, run)
		}
	}
	slices.Sort(runs)
	slices.Reverse(runs)
	return runs
}

// Incidents returns the latest, newest first.
func (b *Board) Incidents() []Incident {
	incidents := slices.Clone(b.incidents)
	slices.Reverse(incidents)
	return incidents
}

// People returns all who have caused an event, who was seen last first.
func (b *Board) People() []Person {
	people := make([]Person, 0, len(b.people))
	for _, p := range b.people {
		people = append(people, *p)
	}
	slices.SortFunc(people, func(a, b Person) int {
		return cmp.Or(b.LastAt.Compare(a.LastAt), cmp.Compare(a.Name, b.Name))
	})
	return people
}
