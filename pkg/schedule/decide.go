package schedule

import "time"

// Missed is the rule for times without a start at the time (S25.23).
type Missed string

// The rules for missed times.
const (
	MissedSkip Missed = "skip"
	MissedOnce Missed = "once"
	MissedAll  Missed = "all"
)

// Overlap is the rule for a time during the last run of the schedule (S25.24).
type Overlap string

// The rules for such times.
const (
	OverlapSkip  Overlap = "skip"
	OverlapQueue Overlap = "queue"
	OverlapAllow Overlap = "allow"
)

const (
	// OnTime is how late a time may be without being missed.
	OnTime = time.Minute
	// MaxCatchUp is how many missed times are started at most.
	MaxCatchUp = 100
	// QueueLook is how often a queued time looks whether the last run has ended.
	QueueLook = 5 * time.Second
	// mostCounted bounds the times that one step counts as missed; the next step counts on.
	mostCounted = 10_000
)

// Rules are the times of a schedule, with the rules for those without a start at once.
type Rules struct {
	*Times
	Missed  Missed
	Overlap Overlap
}

// Progress is how far a schedule has come.
type Progress struct {
	// Handled is the moment up to which all times are done with.
	Handled time.Time
	// Queued is the time that waits for the end of the last run; zero for none.
	Queued time.Time
}

// Act is the kind of a step.
type Act int

// The acts.
const (
	// End: there are no more times.
	End Act = iota
	// Wait: there is no work until At.
	Wait
	// Miss notes Count times from First to At that start no run.
	Miss
	// Start starts the run of the time At.
	Start
	// Skip notes that the time At starts no run, since the last one has not ended.
	Skip
	// Queue keeps the time At until the last run has ended.
	Queue
)

// Step is one step of a schedule. Progress is that after it.
type Step struct {
	Act
	At       time.Time
	First    time.Time
	Count    int
	Progress Progress
}

// Decide returns the next step at a moment. busy says that the last run of the schedule has not ended.
func (r *Rules) Decide(p Progress, now time.Time, busy bool) Step {
	if !p.Queued.IsZero() && !busy {
		return Step{Act: Start, At: p.Queued, Progress: Progress{Handled: p.Handled}}
	}
	passed := r.passed(p.Handled, now)
	if passed.count == 0 {
		return r.wait(p, now)
	}
	starts := r.starts(&passed, now)
	if missed := passed.count - starts; missed > 0 {
		last := passed.last(starts)
		return Step{Act: Miss, At: last, First: passed.first, Count: missed, Progress: Progress{Handled: last, Queued: p.Queued}}
	}
	step := Step{Act: Start, At: passed.first, Progress: Progress{Handled: passed.first, Queued: p.Queued}}
	switch {
	case !busy || r.Overlap == OverlapAllow:
	case r.Overlap == OverlapQueue && p.Queued.IsZero():
		step.Act, step.Progress.Queued = Queue, step.At
	default:
		step.Act = Skip
	}
	return step
}

// starts returns how many of the times that have passed start runs: the last of them.
func (r *Rules) starts(passed *passed, now time.Time) int {
	switch {
	case passed.more: // they are the last of the next step, or before them
		return MaxCatchUp
	case r.Missed == MissedAll:
		return min(passed.count, MaxCatchUp)
	case r.Missed == MissedOnce || now.Sub(passed.last(0)) <= OnTime:
		return 1
	default:
		return 0
	}
}

// Due returns when the schedule has work next, which may be at once; ok is false for never.
func (r *Rules) Due(p Progress, now time.Time) (at time.Time, ok bool) {
	at, ok = r.Next(p.Handled)
	if !p.Queued.IsZero() {
		if look := now.Add(QueueLook); !ok || look.Before(at) {
			return look, true
		}
	}
	return at, ok
}

func (r *Rules) wait(p Progress, now time.Time) Step {
	at, ok := r.Due(p, now)
	if !ok {
		return Step{Act: End, Progress: p}
	}
	return Step{Act: Wait, At: at, Progress: p}
}

// passed are the times between two moments.
type passed struct {
	count int
	first time.Time
	// newest are the last of them, in a ring.
	newest [MaxCatchUp + 1]time.Time
	// more: there are others after these.
	more bool
}

// last returns the last time but some.
func (p *passed) last(but int) time.Time { return p.newest[(p.count-1-but)%len(p.newest)] }

func (r *Rules) passed(after, now time.Time) (p passed) {
	for at, ok := r.Next(after); ok && !at.After(now); at, ok = r.Next(at) {
		if p.count == mostCounted {
			p.more = true
			break
		}
		if p.count == 0 {
			p.first = at
		}
		p.newest[p.count%len(p.newest)] = at
		p.count++
	}
	return p
}
