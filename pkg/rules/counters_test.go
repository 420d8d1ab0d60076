package rules_test

import (
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/rules"
)

// counters are the store's, as far as limits go: plain ones never fall below 0, and
// windowed ones count the units in (now-window, now].
type counters struct {
	now     time.Time
	plain   map[rules.Account]int64
	windows map[rules.Account][]time.Time
}

func newCounters() *counters {
	return &counters{now: noon, plain: map[rules.Account]int64{}, windows: map[rules.Account][]time.Time{}}
}

// value returns the present count of an account.
func (c *counters) value(a rules.Account) int64 {
	if a.Window == 0 {
		return c.plain[a]
	}
	c.windows[a] = slices.DeleteFunc(c.windows[a], func(at time.Time) bool { return !c.in(a, at) })
	return int64(len(c.windows[a]))
}

// in reports a time in the window that ends now.
func (c *counters) in(a rules.Account, at time.Time) bool { return at.After(c.now.Add(-a.Window)) }

func (c *counters) add(a rules.Account, delta int64) {
	if a.Window == 0 {
		c.plain[a] = max(0, c.value(a)+delta)
		return
	}
	c.windows[a] = append(c.windows[a], slices.Repeat([]time.Time{c.now}, int(delta))...)
}

// commit adds all spends or none. It returns the first that has no room, or -1.
func (c *counters) commit(spends []rules.Spend) int {
	for i := range spends {
		if s := &spends[i]; c.value(s.Account)+s.Delta() > s.Limit() {
			return i
		}
	}
	for i := range spends {
		c.add(spends[i].Account, spends[i].Delta())
	}
	return -1
}

// correct makes changes that have no limit.
func (c *counters) correct(changes []rules.Change) {
	for i := range changes {
		c.add(changes[i].Account, changes[i].Delta)
	}
}
