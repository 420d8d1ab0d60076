package rules

import (
	"strconv"
	"time"
)

// Measure is the unit that an account counts.
type Measure string

// Measures.
const (
	// Calls are admitted calls in a rolling window (S7.4).
	Calls Measure = "calls"
	// Money is micro-dollars, spent and reserved (S7.5).
	Money Measure = "money"
	// Emails are emails sent (S7.7).
	Emails Measure = "emails"
	// Amounts are millionths of amounts in calls (S21.7).
	Amounts Measure = "amount"
)

// Account is one counter: its unit, its subject, and its start. Two limits that count the
// same things of the same callers have one account, regardless of the version of their
// policy and the order of its rules: a changed policy keeps its counts.
type Account struct {
	Measure Measure
	// Policy is the name of the one whose calls are counted. It is empty for the accounts
	// of a session itself: its cost and its emails, which all policies share.
	Policy string
	Scope  Scope
	// Subject is the principal, the human (HumanAccount) or the root of the session's tree, by Scope.
	Subject string
	// Pattern of the rule, or # and its id, and of amounts their Of; empty for accounts of a
	// session itself.
	Pattern string
	// Window is the length of a rolling window, zero for a plain counter.
	Window time.Duration
	// Period and the Start of the one that is counted, of budgets that have one.
	Period Period
	Start  time.Time
}

// Counter names the account among those of its policy, scope and subject.
func (a Account) Counter() string {
	name := string(a.Measure)
	if a.Window > 0 {
		name += "/" + strconv.FormatInt(int64(a.Window/time.Second), 10) + "s"
	}
	if a.Period != "" {
		name += "/" + string(a.Period) + "/" + a.Start.Format(a.Period.format())
	}
	if a.Pattern != "" {
		name += "/" + a.Pattern
	}
	return name
}

// Spend is the room that an account must have, for the verdict to hold. It has to be
// counted in one atomic step with the decision: all spends of a call or none.
type Spend struct {
	Account
	// Need is the amount of the call: one call, its emails, the micro-dollars that it is
	// estimated to cost, or the millionths that it adds.
	Need int64
	// Max is the most that the account may hold. Need is never more.
	Max int64
	// Ask is true when a human is asked first: then the account must have room, and no
	// unit is taken yet.
	Ask bool
	// Of is the source of an amount: money, or a JSON Pointer.
	Of string
	// By is the source of the limit.
	By *Source
}

// Delta returns the amount to add to the counter.
func (s *Spend) Delta() int64 {
	if s.Ask {
		return 0
	}
	return s.Need
}

// Limit returns the most that the counter may be after Delta was added, else the call is
// denied: see Exceeded. A call without a need requires an account that is not spent. It
// is never negative.
func (s *Spend) Limit() int64 {
	if s.Delta() > 0 {
		return s.Max
	}
	return s.Max - max(s.Need, 1)
}

// Change is a correction of an account that has no limit: it is always made.
type Change struct {
	Account
	Delta int64
}

// Settle corrects the budgets of a call that was made, from what was reserved to its
// actual cost (S7.5). A call belongs to the period that it was admitted in, whenever it
// ends. Free and unreported calls give their reservation back.
func Settle(spends []Spend, actual MicroUSD) []Change {
	var changes []Change
	for i := range spends {
		s := &spends[i]
		if s.Measure != Money {
			continue
		}
		if delta := int64(max(actual, 0)) - s.Delta(); delta != 0 {
			changes = append(changes, Change{Account: s.Account, Delta: delta})
		}
	}
	return changes
}

// Exhaust spends the rest of the budgets of a call that was made, and whose cost is not known.
func Exhaust(spends []Spend) []Change {
	var changes []Change
	for i := range spends {
		s := &spends[i]
		if delta := s.Max - s.Delta(); s.Measure == Money && delta > 0 {
			changes = append(changes, Change{Account: s.Account, Delta: delta})
		}
	}
	return changes
}
