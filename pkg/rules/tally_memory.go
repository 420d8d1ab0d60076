package rules

import (
	"slices"
	"time"
)

// Tally counts the spends of calls in memory, as a store does for services: for replays
// and for tests of policies, which need no durable counts. The zero Tally is ready. Time
// must not go back, and it is not safe for concurrent use.
type Tally struct {
	sums    map[Account]int64
	windows map[Account][]admitted // oldest first
}

// admitted are units of one moment in a window.
type admitted struct {
	at    time.Time
	units int64
}

// Admit counts the spends of an answer, all or none, and returns the final answer: the
// same, or the denial by the first account that has no room.
func (t *Tally) Admit(c Combined, now time.Time) Combined {
	for i := range c.Spends {
		s := &c.Spends[i]
		if value := t.value(s.Account, now); value+s.Delta() > s.Limit() {
			return c.Exceeded(i, value, t.reopensAt(s))
		}
	}
	for i := range c.Spends {
		t.add(c.Spends[i].Account, c.Spends[i].Delta(), now)
	}
	return c
}

// Correct makes changes that have no limit, such as those of Settle.
func (t *Tally) Correct(changes []Change, now time.Time) {
	for i := range changes {
		t.add(changes[i].Account, changes[i].Delta, now)
	}
}

// value returns the count of an account: of a window the units in (now-Window, now].
func (t *Tally) value(a Account, now time.Time) (sum int64) {
	if a.Window == 0 {
		return t.sums[a]
	}
	kept := t.windows[a]
	opened := now.Add(-a.Window)
	for len(kept) > 0 && !kept[0].at.After(opened) {
		kept = kept[1:]
	}
	if t.windows != nil {
		t.windows[a] = kept
	}
	for _, entry := range kept {
		sum += entry.units
	}
	return sum
}

// reopensAt returns when enough units have left a window for the spend to fit; zero for a
// plain counter.
func (t *Tally) reopensAt(s *Spend) time.Time {
	most := s.Limit() - s.Delta() // that may be in the window with it
	if s.Window == 0 || most < 0 {
		return time.Time{}
	}
	var left int64
	for _, entry := range slices.Backward(t.windows[s.Account]) {
		if left += entry.units; left > most {
			return entry.at.Add(s.Window)
		}
	}
	return time.Time{}
}

// add counts units. The oldest units of a window are given back first: those that stay
// leave it later, so that it never admits too much.
func (t *Tally) add(a Account, delta int64, now time.Time) {
	switch {
	case delta == 0:
	case a.Window == 0:
		if t.sums == nil {
			t.sums = make(map[Account]int64)
		}
		t.sums[a] = max(0, t.sums[a]+delta)
	case delta > 0:
		if t.windows == nil {
			t.windows = make(map[Account][]admitted)
		}
		t.windows[a] = append(t.windows[a], admitted{now, delta})
	default:
		t.giveBack(a, -delta)
	}
}

func (t *Tally) giveBack(a Account, units int64) {
	kept := slices.Clone(t.windows[a])
	for units > 0 && len(kept) > 0 {
		if kept[0].units > units {
			kept[0].units -= units
			break
		}
		units -= kept[0].units
		kept = kept[1:]
	}
	if t.windows != nil {
		t.windows[a] = kept
	}
}
