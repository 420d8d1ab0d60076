package rules_test

import (
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/rules"
)

// counters are the store's, as far as limits go: plain ones never fall below 0,
// windowed ones count the units in (now-window, now] and give back the newest.
type counters struct {
	now     time.Time
	plain   map[rules.Account]int64
	windows map[rules.Account][]time.Time
}

func newCounters() *counters {
	return &counters{now: noon, plain: map[rules.Account]int64{}, windows: map[rules.Account][]time.Time{}}
}

// value is what an account holds now.
func (c *counters) value(a rules.Account) int64 {
	if a.Window == 0 {
		return c.plain[a]
	}
	n := 0
	for _, at := range c.windows[a] {
		if at.After(c.now.Add(-a.Window)) {
			n++
		}
	}
	return int64(n)
}

func (c *counters) add(a rules.Account, delta int64) {
	switch {
	case a.Window == 0:
		c.plain[a] = max(0, c.plain[a]+delta)
	case delta >= 0:
		c.windows[a] = append(c.windows[a], slices.Repeat([]time.Time{c.now}, int(delta))...)
	default:
		units := c.windows[a]
		c.windows[a] = units[:max(0, len(units)+int(delta))]
	}
}

// commit adds all spends or none. It answers the first that has no room, or -1.
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
