package sweep

import (
	"sync"
	"time"

	"github.com/interlock-run/interlock/pkg/store"
)

// mostFailing bounds the timers of a sweeper that a Watch remembers because they fail.
const mostFailing = 1000

// Watch remembers how late the timers are that a process sweeps, for metrics: it only
// uses the reads of sweeps. A nil one does not watch.
type Watch struct {
	mu    sync.Mutex
	parts []*part
}

// Lateness is how late timers of one label are.
type Lateness struct {
	Label string
	// Overdue counts the timers that should have fired and have not, as far as a sweep
	// reads. Oldest is for how long the first of them should have.
	Overdue int
	Oldest  time.Duration
	// Fired and Failed count the attempts.
	Fired, Failed int64
}

// Lateness returns that of all labels.
func (w *Watch) Lateness() []Lateness {
	if w == nil {
		return nil
	}
	w.mu.Lock()
	parts := w.parts
	w.mu.Unlock()
	var all []Lateness
	for _, p := range parts {
		all = p.append(all)
	}
	return all
}

// Late returns for how long the oldest timer of a label should have fired; 0 when none
// should.
func (w *Watch) Late(label string) time.Duration {
	for _, l := range w.Lateness() {
		if l.Label == label {
			return l.Oldest
		}
	}
	return 0
}

// join adds a sweeper, with labels that are known from the start.
func (w *Watch) join(labels []string) *part {
	if w == nil {
		return nil
	}
	p := &part{tallies: map[string]*tally{}, failing: map[store.TimerID]failure{}}
	for _, label := range labels {
		p.tally(label)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.parts = append(w.parts, p)
	return p
}

// part has the observations of one sweeper. A nil one has none.
type part struct {
	mu      sync.Mutex
	order   []string
	tallies map[string]*tally
	// read is when the timers were read, and sweeping true until they were tried.
	read     time.Time
	sweeping bool
	// failing are timers that failed when they were tried last: the store says that those
	// are due later.
	failing map[store.TimerID]failure
}

// tally has the observations of one label.
type tally struct {
	overdue       int
	late          time.Duration
	fired, failed int64
}

type failure struct {
	label string
	// since is when the timer should have fired, by the local clock, and until is when it
	// must have been tried again if it is still there.
	since, until time.Time
}

func (p *part) tally(label string) *tally {
	s := p.tallies[label]
	if s == nil {
		s = &tally{}
		p.tallies[label], p.order = s, append(p.order, label)
	}
	return s
}

// begin notes the reads of a sweep: timers, which may fire late by slack.
func (p *part) begin(timers []store.Timer, now time.Time, slack time.Duration, label func(store.Timer) string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read, p.sweeping = time.Now(), true
	for _, s := range p.tallies {
		s.overdue, s.late = 0, 0
	}
	for id, f := range p.failing {
		if p.read.After(f.until) { // it was cleared
			delete(p.failing, id)
		}
	}
	for _, timer := range timers {
		if _, known := p.failing[timer.TimerID]; known {
			continue
		}
		if late := now.Sub(timer.Due) - slack; late > 0 {
			s := p.tally(label(timer))
			s.overdue++
			s.late = max(s.late, late)
		}
	}
}

// fired notes a timer that did its work, or had none.
func (p *part) fired(timer store.Timer, label string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally(label).fired++
	delete(p.failing, timer.TimerID)
}

// failed notes a timer that could not be fired and is tried again after a while.
func (p *part) failed(timer store.Timer, label string, now time.Time, again time.Duration) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tally(label).failed++
	f, known := p.failing[timer.TimerID]
	if !known {
		if len(p.failing) >= mostFailing {
			return
		}
		f = failure{label: label, since: time.Now().Add(timer.Due.Sub(now))}
	}
	f.until = time.Now().Add(2*again + time.Minute)
	p.failing[timer.TimerID] = f
}

// end notes that all that was read was tried.
func (p *part) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sweeping = false
}

// append appends the known lateness.
func (p *part) append(all []Lateness) []Lateness {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := make(map[string]int, len(p.order))
	for _, label := range p.order {
		s := p.tallies[label]
		l := Lateness{Label: label, Overdue: s.overdue, Oldest: s.late, Fired: s.fired, Failed: s.failed}
		if p.sweeping && s.overdue > 0 {
			l.Oldest += time.Since(p.read)
		}
		at[label] = len(all)
		all = append(all, l)
	}
	for _, f := range p.failing {
		l := &all[at[f.label]]
		l.Overdue++
		l.Oldest = max(l.Oldest, time.Since(f.since))
	}
	return all
}
