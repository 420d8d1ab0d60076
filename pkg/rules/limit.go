package rules

import (
	"cmp"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/document"
)

// limit is a limit of a policy. Its account lacks the parts that depend on a call: the
// subject and the start of the period.
type limit struct {
	account Account
	max     int64
	by      *Source
	amount  *amount // of limits of amounts
}

// compare puts limits in an order of their own, independent of that of their rules.
func (l *limit) compare(other *limit) int {
	a, b := &l.account, &other.account
	return cmp.Or(
		strings.Compare(a.Pattern, b.Pattern),
		strings.Compare(string(a.Measure), string(b.Measure)),
		cmp.Compare(a.Window, b.Window),
		strings.Compare(string(a.Period), string(b.Period)),
		strings.Compare(string(a.Scope), string(b.Scope)),
	)
}

// limits holds the limits of a policy, each account once: with the strictest of
// the limits that were set for it.
type limits map[Account]*limit

func (all limits) add(account Account, most int64, by *Source) *limit {
	if known, ok := all[account]; ok {
		if most < known.max {
			known.max, known.by = most, by
		}
		return known
	}
	l := &limit{account: account, max: most, by: by}
	all[account] = l
	return l
}

// ofRule returns the limits of one rule.
func (all limits) ofRule(policy string, rule *Rule, by *Source) []*limit {
	var of []*limit
	rule.Limits(policy, func(account Account, most int64) {
		account.Scope = account.Scope.orDefault()
		l := all.add(account, most, by)
		if account.Measure == Amounts {
			l.amount = newAmount(&document.Report{}, rule.Amount.Of, nil)
		}
		of = append(of, l)
	})
	return of
}

// Limits calls add with the account and the maximum of each limit of the rule, in a policy of a name. The
// accounts lack the parts that depend on a call.
func (rule *Rule) Limits(policy string, add func(account Account, most int64)) {
	if r := rule.Rate; r != nil {
		window := time.Duration(r.WindowSeconds) * time.Second
		add(Account{Measure: Calls, Policy: policy, Pattern: rule.counted(), Scope: r.Scope, Window: window}, r.MaxCalls)
	}
	if b := rule.Budget; b != nil {
		add(Account{Measure: Money, Policy: policy, Pattern: rule.counted(), Scope: b.Scope, Period: b.Period}, int64(b.Max))
	}
	if a := rule.Amount; a != nil {
		window := time.Duration(a.WindowSeconds) * time.Second
		add(Account{Measure: Amounts, Policy: policy, Pattern: rule.counted() + " " + a.Of, Scope: a.Scope, Period: a.Period, Window: window}, a.Max)
	}
}

// counted names the rule in its accounts: by its id, so that its counts stay when its pattern or its
// conditions change, or else by its pattern.
func (rule *Rule) counted() string {
	if rule.ID != "" {
		return "#" + rule.ID
	}
	return rule.Capability
}

func (s Scope) orDefault() Scope {
	if s == "" {
		return PerPolicy
	}
	return s
}

// unknownHuman is why a limit per human denies, after the name of its rule.
const unknownHuman = "counts calls per human, and no issuer and no operator vouches for the human on whose behalf this call is made. " +
	"Begin a session with the person's own token (X-Interlock-For), and make the call there."

// HumanAccount returns the subject of limits per human: the name of a person of this deployment, or the issuer and the name there.
func HumanAccount(name, issuer string) string {
	if issuer == "" || name == "" {
		return name
	}
	return issuer + "#" + name
}

// spend returns the need of a call from a limit. missing is the fact that the call lacks
// for that, or "".
func (l *limit) spend(call *Call, need int64, ask bool) (s Spend, missing string) {
	s = Spend{Account: l.account, Need: need, Max: l.max, Ask: ask, By: l.by}
	if l.amount != nil {
		s.Of = l.amount.of
	}
	switch s.Scope {
	case PerPolicy:
	case PerHuman:
		s.Subject = call.Human
	case PerPrincipal:
		if s.Subject = call.Principal; s.Subject == "" {
			return s, "who makes it"
		}
	default:
		if s.Subject = call.tree(); s.Subject == "" {
			return s, "which session makes it"
		}
	}
	if s.Period != "" {
		if call.Now.IsZero() {
			return s, "when it is made"
		}
		s.Start, _ = s.Period.Bounds(call.Now)
	}
	return s, ""
}

// Bounds returns the first moment of the period that now is in and the first after it, in
// UTC. Zero for a period that there is none of.
func (p Period) Bounds(now time.Time) (start, end time.Time) {
	now = now.UTC()
	year, month, day := now.Date()
	switch p {
	case Hourly:
		start = time.Date(year, month, day, now.Hour(), 0, 0, 0, time.UTC)
		return start, start.Add(time.Hour)
	case Daily:
		return time.Date(year, month, day, 0, 0, 0, 0, time.UTC), time.Date(year, month, day+1, 0, 0, 0, 0, time.UTC)
	case Monthly:
		return time.Date(year, month, 1, 0, 0, 0, 0, time.UTC), time.Date(year, month+1, 1, 0, 0, 0, 0, time.UTC)
	default:
		return time.Time{}, time.Time{}
	}
}

// format returns how a period's start is written in the name of its counter.
func (p Period) format() string {
	switch p {
	case Hourly:
		return "2006-01-02T15"
	case Daily:
		return "2006-01-02"
	default:
		return "2006-01"
	}
}

// noun returns the period in a sentence.
func (p Period) noun() string {
	switch p {
	case Hourly:
		return "hour"
	case Daily:
		return "day"
	default:
		return "month"
	}
}
