package rules_test

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// shared is one policy with every kind of limit, for a few sessions and principals.
const shared = `{"role": "agent", "name": "p", "session_budget_usd": 0.00001, "email_config": {"max_emails_per_session": 2},
	"allow": [
		{"capability": "*", "rate_limit": {"max_calls": 3, "window_seconds": 3600}, "budget_limit": {"max_usd": 0.000012, "period": "hourly"}},
		{"capability": "bash", "rate_limit": {"max_calls": 2, "window_seconds": 600, "scope": "principal"}},
		{"capability": "tool:Read", "rate_limit": {"max_calls": 2, "window_seconds": 900, "scope": "human"}},
		{"capability": "tool:Read", "budget_limit": {"max_usd": 0.000004, "period": "daily", "scope": "session"}}],
	"ask": [{"capability": "tool:Write", "rate_limit": {"max_calls": 1, "window_seconds": 1800, "scope": "session"}}]}`

// caller is one call on its way: anything may happen between its decision and its count,
// and before its report.
type caller struct {
	call    rules.Call
	verdict rules.Verdict
	counted time.Time
	// over says how it ended.
	admitted, settled, denied bool
	cost                      rules.MicroUSD
}

// world runs calls against the counters.
type world struct {
	t        *rapid.T
	set      *rules.Set
	counters *counters
	callers  []*caller
}

// TestNoOrderOverAdmits lets concurrent calls check, be denied and report in any order, over
// time, and compares the counters with the real calls: no
// window and no budget ever has more than its limit, and no counter falls below zero (S7.4, S7.5).
func TestNoOrderOverAdmits(t *testing.T) {
	t.Parallel()
	set := compile(t, shared)
	randtest.Check(t, func(t *rapid.T) {
		w := &world{t: t, set: set, counters: newCounters()}
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				w.ask()
			case 1, 2:
				w.proceed()
			case 3:
				w.report()
			default:
				w.counters.now = w.counters.now.Add(rapid.SampledFrom([]time.Duration{
					1, time.Minute, 10 * time.Minute, 29 * time.Minute, 30 * time.Minute, 7 * time.Hour,
				}).Draw(t, "later"))
			}
			w.check()
		}
		for _, c := range w.callers {
			if c.admitted && !c.settled {
				w.settle(c, 0)
			}
		}
		w.check()
	})
}

// ask decides a new call.
func (w *world) ask() {
	c := &caller{call: rules.Call{
		Tool:          rapid.SampledFrom([]string{"Bash", "Read", "Write", "resend-email"}).Draw(w.t, "tool"),
		Principal:     rapid.SampledFrom([]string{"amir", "bea"}).Draw(w.t, "principal"),
		Session:       rapid.SampledFrom([]string{"s", "t"}).Draw(w.t, "session"),
		Human:         rapid.SampledFrom([]string{"", "ann", "bob"}).Draw(w.t, "human"),
		EstimatedCost: rules.MicroUSD(rapid.Int64Range(0, 5).Draw(w.t, "estimate")),
		Approved:      rapid.Bool().Draw(w.t, "approved"),
		Now:           w.counters.now,
	}}
	if c.call.Session == "t" {
		c.call.Root = "s" // t was started by s
	}
	c.verdict = w.set.Decide(c.call, nil)
	if c.verdict.Decision == toolcall.Deny {
		return
	}
	w.callers = append(w.callers, c)
}

func (w *world) pick(ready func(*caller) bool) *caller {
	var some []*caller
	for _, c := range w.callers {
		if ready(c) {
			some = append(some, c)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[rapid.IntRange(0, len(some)-1).Draw(w.t, "caller")]
}

// proceed counts a call, or denies it where there is no room.
func (w *world) proceed() {
	c := w.pick(func(c *caller) bool { return !c.admitted && !c.denied })
	if c == nil {
		return
	}
	i := w.counters.commit(c.verdict.Spends)
	c.counted = w.counters.now
	c.admitted = i < 0 && c.verdict.Decision == toolcall.Allow
	c.denied = !c.admitted // or it was only asked for
	if i >= 0 {
		w.refused(c, &c.verdict.Spends[i])
	}
}

// refused holds a denial to the account's value.
func (w *world) refused(c *caller, s *rules.Spend) {
	value := w.counters.value(s.Account)
	if value+max(s.Need, 1) <= s.Max {
		w.t.Fatalf("%s of %s has %d of %d and no room for %d", s.Counter(), s.Subject, value, s.Max, s.Need)
	}
	if d := c.verdict.Exceeded(*s, value, w.counters.now); d.Decision != toolcall.Deny || d.Explain() == "" {
		w.t.Fatalf("%+v", d)
	}
}

// report settles a call that was admitted, at a cost of at most its estimate when
// it had one.
func (w *world) report() {
	c := w.pick(func(c *caller) bool { return c.admitted && !c.settled })
	if c == nil {
		return
	}
	most := int64(c.call.EstimatedCost)
	if most == 0 {
		most = 3
	}
	w.settle(c, rules.MicroUSD(rapid.Int64Range(0, most).Draw(w.t, "cost")))
}

func (w *world) settle(c *caller, cost rules.MicroUSD) {
	c.settled, c.cost = true, cost
	w.counters.correct(rules.Settle(c.verdict.Spends, cost))
}

// held has the real counts of the calls in an account.
type held struct {
	max        int64
	units      int64 // calls, emails and money, spent or reserved
	unreserved int64 // money of it without a reservation
	times      []time.Time
}

func (w *world) held() map[rules.Account]*held {
	accounts := map[rules.Account]*held{}
	for _, c := range w.callers {
		if !c.admitted {
			continue
		}
		for _, s := range c.verdict.Spends {
			h := accounts[s.Account]
			if h == nil {
				h = &held{max: s.Max}
				accounts[s.Account] = h
			}
			switch {
			case s.Measure != rules.Money || !c.settled:
				h.units += s.Delta()
			default:
				h.units += int64(c.cost)
			}
			if s.Measure == rules.Money && c.settled && c.call.EstimatedCost == 0 {
				h.unreserved += int64(c.cost)
			}
			if s.Delta() > 0 {
				h.times = append(h.times, c.counted)
			}
		}
	}
	return accounts
}

// check holds the counters to the calls.
func (w *world) check() {
	accounts := w.held()
	for account, value := range w.counters.plain {
		h := accounts[account]
		if h == nil {
			h = &held{}
		}
		if value != h.units {
			w.t.Fatalf("%s of %s is %d, and %d were spent or are reserved", account.Counter(), account.Subject, value, h.units)
		}
		if value-h.unreserved > h.max {
			w.t.Fatalf("%s of %s has %d of %d, and %d of it not reserved", account.Counter(), account.Subject, value, h.max, h.unreserved)
		}
	}
	for account, h := range accounts {
		if account.Window == 0 {
			continue
		}
		if fullest(h.times, account.Window) > h.max {
			w.t.Fatalf("%s of %s admits %v with a limit of %d", account.Counter(), account.Subject, h.times, h.max)
		}
		in := slices.DeleteFunc(h.times, func(at time.Time) bool { return !w.counters.in(account, at) })
		if value := w.counters.value(account); value < int64(len(in)) {
			w.t.Fatalf("%s of %s counts %d of %v", account.Counter(), account.Subject, value, in)
		}
	}
}

// fullest returns the most that any window of a length has.
func fullest(times []time.Time, window time.Duration) (most int64) {
	for _, end := range times {
		n := int64(0)
		for _, at := range times {
			if at.After(end.Add(-window)) && !at.After(end) {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
