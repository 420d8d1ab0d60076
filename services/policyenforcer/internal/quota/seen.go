package quota

import (
	"time"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// The value of a counter is known only after the commit, which includes the record of the decision. So a
// record computes it from the last value that this process has seen, and the units of the call.

const (
	// nearTenths is the part of a limit, in tenths, above which it is near. seenTenths is the part above which
	// this process remembers the value of the counter.
	nearTenths = 8
	seenTenths = 7
	// seenCounters bounds the counters that are remembered.
	seenCounters = 16_384
	// mostTenths bounds the limits that are compared: ten times a larger one is too large for an int64.
	mostTenths = 1 << 59
)

// Near reports whether more than 80 percent of a limit are used. A limit of 0 is none.
func Near(used, most int64) bool { return above(used, most, nearTenths) }

func above(used, most, tenths int64) bool {
	return most > 0 && most < mostTenths && used*10 > most*tenths
}

// counterName names a counter of the store.
type counterName struct {
	owner store.Key
	name  string
}

// seenValue is the value of a counter at a time.
type seenValue struct {
	value int64
	at    time.Time
}

// LimitOf returns the limit of a spend with its use.
func LimitOf(spend *rules.Spend, used int64, now time.Time) ledger.Limit {
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

// Seen returns the last known value of a counter, or 0 if it is unknown or older than its window.
func (a *Accounts) Seen(owner store.Key, name string, window time.Duration, now time.Time) int64 {
	last, ok := a.lastSeen.Get(counterName{owner, name})
	if !ok || window > 0 && now.Sub(last.at) >= window {
		return 0
	}
	return last.value
}

// remember keeps the value of a counter that is near its limit.
func (a *Accounts) remember(counter *store.Counter, most, value int64, now time.Time) {
	name := counterName{counter.Owner, counter.Name}
	if above(value, most, seenTenths) {
		a.lastSeen.Put(name, seenValue{value, now}, nil)
	} else if _, known := a.lastSeen.Get(name); known {
		a.lastSeen.Drop(name)
	}
}

// RememberCounted keeps the values of the counters of a commit: those of the state, then those of spends.
func (a *Accounts) RememberCounted(counters []store.Counter, v *toolcall.Verdict, spends []rules.Spend, values []int64, now time.Time) {
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
