package app

import (
	"strconv"
	"time"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// What is counted is known only once a decision is committed, and its record is a part of
// that commit. So a record tells of limits by what their counters were when this process
// saw them last, and by what the call adds.

// Of how much of a limit a record tells, and from how much on counters are remembered, as
// parts of ten.
const (
	nearTenths = 8
	seenTenths = 7
	// seenCounters is how many counters are remembered.
	seenCounters = 16_384
)

// counterName names a counter of the store.
type counterName struct {
	owner store.Key
	name  string
}

// seenValue is what a counter was at a time.
type seenValue struct {
	value int64
	at    time.Time
}

// Measures of a state's limits.
const (
	measureIterations   = "iterations"
	measureContextBytes = "context_bytes"
	measureFiles        = "files"
	scopeEntry          = "entry"
)

// nearLimits are the limits of which more than 80 percent are used after a call.
func (a *App) nearLimits(q *question, s *snapshotOf, d *Decision) []ledger.Limit {
	limits := d.full
	add := func(l ledger.Limit) {
		if l.Max > 0 && l.Used*10 > l.Max*nearTenths {
			limits = append(limits, l)
		}
	}
	v := &d.Verdict
	entry := strconv.FormatInt(s.run.Entry, 10)
	state := func(measure string, used, most int64) {
		add(ledger.Limit{Measure: measure, Scope: scopeEntry, Subject: entry, Used: used, Max: most})
	}
	switch {
	case v.Counted:
		state(measureIterations, a.seen(counterName{s.entry, ledger.Iterations}, 0, q.now)+1, v.MaxIterations)
		state(measureContextBytes, a.seen(counterName{s.entry, ledger.ContextBytes}, 0, q.now), v.ContextBudget)
		state(measureFiles, d.files, v.MaxFiles)
	case v.Code == toolcall.CodeMaxIterations:
		state(measureIterations, v.Iterations, v.MaxIterations)
	case v.Code == toolcall.CodeContextBudget:
		state(measureContextBytes, v.ContextSpent, v.ContextBudget)
	}
	for i := range d.combined.Spends {
		spend := &d.combined.Spends[i]
		if spend.Max > 0 && spend.Max < 1<<59 {
			used := a.seen(counterName{a.spendKey(q.caller.Namespace, spend.Account), spend.Counter()}, spend.Window, q.now) + spend.Delta()
			add(limitOf(spend, used, q.now))
		}
	}
	return limits
}

// limitOf is how much of the limit of a spend is used.
func limitOf(spend *rules.Spend, used int64, now time.Time) ledger.Limit {
	l := ledger.Limit{
		Policy: spend.Policy, Measure: string(spend.Measure), Scope: string(spend.Scope), Subject: spend.Subject, Used: used, Max: spend.Max,
	}
	if spend.By != nil {
		l.Policy, l.Rule = spend.By.Policy, spend.By.Pointer()
	}
	switch {
	case spend.Window > 0:
		l.Until = now.Add(spend.Window).UTC()
	case spend.Period != "":
		_, l.Until = spend.Period.Bounds(spend.Start)
	}
	return l
}

// seen is what a counter was when this process saw it last; 0 when it did not, or when the
// rolling window has passed since.
func (a *App) seen(name counterName, window time.Duration, now time.Time) int64 {
	last, ok := a.lastSeen.Get(name)
	if !ok || window > 0 && now.Sub(last.at) >= window {
		return 0
	}
	return last.value
}

// remember keeps what a counter is, when much of its limit is used.
func (a *App) remember(counter *store.Counter, most, value int64, now time.Time) {
	name := counterName{counter.Owner, counter.Name}
	if most > 0 && most < 1<<59 && value*10 > most*seenTenths {
		a.lastSeen.Put(name, seenValue{value, now}, nil)
	} else if _, known := a.lastSeen.Get(name); known {
		a.lastSeen.Drop(name)
	}
}

// rememberCounted keeps what the counters of a commit are: first those of the state, then
// those of spends.
func (a *App) rememberCounted(counters []store.Counter, v *toolcall.Verdict, spends []rules.Spend, values []int64, now time.Time) {
	own := len(counters) - len(spends)
	for i := range min(len(counters), len(values)) {
		most := int64(0)
		switch {
		case i >= own && own >= 0:
			most = spends[i-own].Max
		case counters[i].Name == ledger.Iterations:
			most = v.MaxIterations
		case counters[i].Name == ledger.ContextBytes:
			most = v.ContextBudget
		}
		a.remember(&counters[i], most, values[i], now)
	}
}
