package app_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

const limited = `{"role":"agent","session_budget_usd":9,"email_config":{"max_emails_per_session":4},
	"ask":[{"capability":"mcp:resend:*","budget_limit":{"max_usd":3,"period":"daily","scope":"session"},"rate_limit":{"max_calls":7,"window_seconds":60,"scope":"session"}}],
	"allow":[
		{"capability":"mcp:*","rate_limit":{"max_calls":50,"window_seconds":3600},"budget_limit":{"max_usd":5,"period":"monthly","scope":"principal"}},
		{"capability":"mcp:*","rate_limit":{"max_calls":40,"window_seconds":3600,"scope":"policy"}},
		{"capability":"mcp:resend:send","rate_limit":{"max_calls":2,"window_seconds":60,"scope":"principal"},"budget_limit":{"max_usd":0.5,"period":"hourly"}}]}`

// Usage reads exactly the accounts that a call spends, whatever its scopes.
func TestUsageIsWhatCallsSpend(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.clock.Advance(36*24*time.Hour + 90*time.Minute)
		r.put("p", limited)
		set, err := r.PolicySet(r.Context(), ns, "p", 1)
		if err != nil {
			r.Fatal(err)
		}
		v := set.Decide(rules.Call{
			Tool: "mcp__resend__send", Input: []byte(`{"from":"a@x.test","to":["b@x.test","c@x.test"]}`), EstimatedCost: 250_000,
			Principal: "amir", Session: "child", Root: "s", Approved: true, Now: r.clock.Now(),
		}, nil)
		if len(v.Spends) != 8 {
			r.Fatalf("%d spends: %+v", len(v.Spends), v)
		}
		if err := r.Spend(r.Context(), ns, v.Spends); err != nil {
			r.Fatal(err)
		}
		usages, err := r.Usage(r.Context(), operator, "p", "amir", "child")
		if err != nil || len(usages) != len(v.Spends) {
			r.Fatalf("%d usages, %v", len(usages), err)
		}
		for _, u := range usages {
			at := slices.IndexFunc(v.Spends, func(s rules.Spend) bool { return s.Account == u.Account })
			if at < 0 || u.Used != v.Spends[at].Delta() || u.Max != v.Spends[at].Max {
				r.Errorf("%+v is no spend, or not as much", u)
				continue
			}
			if _, end := u.Period.Bounds(r.clock.Now()); u.ResetsAt != end {
				r.Errorf("%+v resets at %v", u.Account, end)
			}
		}
		strangers, err := r.Usage(r.Context(), operator, "p", "", "")
		if err != nil || len(strangers) != 2 {
			r.Errorf("of nobody: %+v, %v", strangers, err)
		}
		agent := app.Caller{Namespace: ns, Principal: auth.Principal{Name: "amir", Role: auth.Agent, Session: "s"}}
		if own, err := r.Usage(r.Context(), agent, "p", "", ""); err != nil || len(own) != len(usages) {
			r.Errorf("of an agent itself: %+v, %v", own, err)
		}
		r.clock.Advance(61 * time.Second)
		usages, _ = r.Usage(r.Context(), operator, "p", "amir", "s")
		for _, u := range usages {
			if want := u.Window != time.Minute; (u.Used > 0) != want {
				r.Errorf("a minute later: %+v", u)
			}
		}
		_, err = r.Usage(r.Context(), operator, "q", "", "")
		r.refused(err, fault.NotFound)
	})
}

// To look counts nothing.
func TestUsageCountsNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("p", `{"role":"agent","allow":[{"capability":"bash","rate_limit":{"max_calls":1,"window_seconds":60}}]}`)
		for range 5 {
			usages, err := r.Usage(r.Context(), operator, "p", "", "")
			if err != nil || len(usages) != 1 || usages[0].Used != 0 || usages[0].Max != 1 {
				r.Fatalf("%+v, %v", usages, err)
			}
		}
	})
}

// Each account has an owner and a name of its own, in the bounds of the store.
func TestSpendKeysDiffer(t *testing.T) {
	t.Parallel()
	r := newRig(t, newSQLite(t))
	day := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
	seen := map[string]rules.Account{}
	type of struct {
		policy, subject string
		scope           rules.Scope
		period          rules.Period
		start           time.Time
	}
	owners := map[string]of{} // what goes with one owner must be of one kind
	for _, policy := range []string{"", "p", "p/policy", "process/p/mine", "p/principal", strings.Repeat("p", 600), strings.Repeat("p", 600) + "q"} {
		for _, scope := range []rules.Scope{rules.PerPolicy, rules.PerPrincipal, rules.PerSession} {
			for _, subject := range []string{"", "a", "a/b", "a%2Fb", "/", "a/daily/2026-01-02T00", "principal/a"} {
				for _, period := range []rules.Period{"", rules.Hourly, rules.Daily, rules.Monthly} {
					for _, start := range []time.Time{day, day.Add(24 * time.Hour)} {
						account := rules.Account{Measure: rules.Money, Policy: policy, Scope: scope, Subject: subject, Period: period}
						if account.Start = start; period == "" {
							account.Start = time.Time{}
						}
						key := r.SpendKey(ns, account)
						id := key.ID + "\n" + account.Counter()
						if other, known := seen[id]; known && other != account || len(key.ID) > store.MaxIDBytes {
							t.Errorf("%+v and %+v share %q", account, other, id)
						}
						seen[id] = account
						owner := of{account.Policy, account.Subject, account.Scope, account.Period, account.Start}
						if other, known := owners[key.ID]; known && other != owner {
							t.Errorf("%+v and %+v are owned by %q", owner, other, key.ID)
						}
						owners[key.ID] = owner
					}
				}
			}
		}
	}
}

// Counters of a period go when it is long over, and no sooner; others stay.
func TestCountersOfOldPeriodsGo(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		spend := func(period rules.Period) rules.Spend {
			start, _ := period.Bounds(r.clock.Now())
			return rules.Spend{
				Account: rules.Account{Measure: rules.Money, Policy: "p", Scope: rules.PerPolicy, Pattern: "bash", Period: period, Start: start},
				Need:    5, Max: 100,
			}
		}
		spends := []rules.Spend{spend(rules.Hourly), spend(rules.Monthly), spend("")}
		for range 3 {
			if err := r.Spend(r.Context(), ns, spends); err != nil {
				r.Fatal(err)
			}
		}
		held := func() string {
			var values []int64
			for _, s := range spends {
				counters, err := r.store.Counters(r.Context(), r.SpendKey(ns, s.Account))
				if err != nil {
					r.Fatal(err)
				}
				values = append(values, counters[s.Counter()])
			}
			return fmt.Sprint(values)
		}
		r.clock.Advance(time.Hour + app.SpendKept - time.Second)
		r.SweepOnce(r.Context())
		if got := held(); got != "[15 15 15]" {
			r.Errorf("just before: %s", got)
		}
		r.clock.Advance(time.Second)
		r.SweepOnce(r.Context())
		if got := held(); got != "[0 15 15]" {
			r.Errorf("then: %s", got)
		}
		r.clock.Advance(40 * 24 * time.Hour)
		r.SweepOnce(r.Context())
		if got := held(); got != "[0 0 15]" {
			r.Errorf("in the end: %s", got)
		}
		if due, err := r.store.Due(r.Context(), r.clock.Now(), 10, "spend"); err != nil || len(due) != 0 {
			r.Errorf("timers are left: %v, %v", due, err)
		}
	})
}
