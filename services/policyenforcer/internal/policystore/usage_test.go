package policystore_test

import (
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/services/internal/sweep"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

const limited = `{"role":"agent","session_budget_usd":9,"email_config":{"max_emails_per_session":4},
	"ask":[{"capability":"mcp:resend:*","budget_limit":{"max_usd":3,"period":"daily","scope":"session"},"rate_limit":{"max_calls":7,"window_seconds":60,"scope":"session"}}],
	"allow":[
		{"capability":"mcp:*","rate_limit":{"max_calls":50,"window_seconds":3600},"budget_limit":{"max_usd":5,"period":"monthly","scope":"principal"}},
		{"capability":"mcp:*","rate_limit":{"max_calls":40,"window_seconds":3600,"scope":"policy"}},
		{"capability":"mcp:resend:send","rate_limit":{"max_calls":2,"window_seconds":60,"scope":"principal"},"budget_limit":{"max_usd":0.5,"period":"hourly"}}]}`

// Usage reads exactly the accounts that a call spends, in all scopes.
func TestUsageIsWhatCallsSpend(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.Clock.Advance(36*24*time.Hour + 90*time.Minute)
		r.put("p", limited)
		set, err := r.Set(r.Context(), enforcertest.Namespace, "p", 1)
		if err != nil {
			r.Fatal(err)
		}
		v := set.Decide(rules.Call{
			Tool: "mcp__resend__send", Input: []byte(`{"from":"a@x.test","to":["b@x.test","c@x.test"]}`), EstimatedCost: 250_000,
			Principal: "amir", Session: "child", Root: "s", Approved: true, Now: r.Clock.Now(),
		}, nil)
		if len(v.Spends) != 8 {
			r.Fatalf("%d spends: %+v", len(v.Spends), v)
		}
		if err := r.Spend(r.Context(), enforcertest.Namespace, v.Spends); err != nil {
			r.Fatal(err)
		}
		usages, err := r.Usage(r.Context(), enforcertest.Operator, "p", policystore.Spender{Principal: "amir", Session: "child"})
		if err != nil || len(usages) != len(v.Spends) {
			r.Fatalf("%d usages, %v", len(usages), err)
		}
		for _, u := range usages {
			at := slices.IndexFunc(v.Spends, func(s rules.Spend) bool { return s.Account == u.Account })
			if at < 0 || u.Used != v.Spends[at].Delta() || u.Max != v.Spends[at].Max {
				r.Errorf("%+v is no spend, or not as much", u)
				continue
			}
			if _, end := u.Period.Bounds(r.Clock.Now()); u.ResetsAt != end {
				r.Errorf("%+v resets at %v", u.Account, end)
			}
		}
		strangers, err := r.Usage(r.Context(), enforcertest.Operator, "p", policystore.Spender{})
		if err != nil || len(strangers) != 2 {
			r.Errorf("of nobody: %+v, %v", strangers, err)
		}
		agent := enforcer.Caller{Namespace: enforcertest.Namespace, Principal: auth.Principal{Name: "amir", Role: auth.Agent, Session: "s"}}
		if own, err := r.Usage(r.Context(), agent, "p", policystore.Spender{}); err != nil || len(own) != len(usages) {
			r.Errorf("of an agent itself: %+v, %v", own, err)
		}
		r.Clock.Advance(61 * time.Second)
		usages, _ = r.Usage(r.Context(), enforcertest.Operator, "p", policystore.Spender{Principal: "amir", Session: "s"})
		for _, u := range usages {
			if want := u.Window != time.Minute; (u.Used > 0) != want {
				r.Errorf("a minute later: %+v", u)
			}
		}
		_, err = r.Usage(r.Context(), enforcertest.Operator, "q", policystore.Spender{})
		r.Refused(err, fault.NotFound)
	})
}

// Reads are not counted.
func TestUsageCountsNothing(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		r.put("p", `{"role":"agent","allow":[{"capability":"bash","rate_limit":{"max_calls":1,"window_seconds":60}}]}`)
		for range 5 {
			usages, err := r.Usage(r.Context(), enforcertest.Operator, "p", policystore.Spender{})
			if err != nil || len(usages) != 1 || usages[0].Used != 0 || usages[0].Max != 1 {
				r.Fatalf("%+v, %v", usages, err)
			}
		}
	})
}

// Counters of a period go when it is long over, and no sooner; others stay.
func TestCountersOfOldPeriodsGo(t *testing.T) {
	t.Parallel()
	everywhere(t, func(r *rig) {
		spend := func(period rules.Period) rules.Spend {
			start, _ := period.Bounds(r.Clock.Now())
			return rules.Spend{
				Account: rules.Account{Measure: rules.Money, Policy: "p", Scope: rules.PerPolicy, Pattern: "bash", Period: period, Start: start},
				Need:    5, Max: 100,
			}
		}
		spends := []rules.Spend{spend(rules.Hourly), spend(rules.Monthly), spend("")}
		for range 3 {
			if err := r.Spend(r.Context(), enforcertest.Namespace, spends); err != nil {
				r.Fatal(err)
			}
		}
		held := func() string {
			var values []int64
			for _, s := range spends {
				counters, err := r.Storage.Counters(r.Context(), quota.Key(enforcertest.Namespace, s.Account))
				if err != nil {
					r.Fatal(err)
				}
				values = append(values, counters[s.Counter()])
			}
			return fmt.Sprint(values)
		}
		r.Clock.Advance(time.Hour + policystore.SpendKept - time.Second)
		r.drop()
		if got := held(); got != "[15 15 15]" {
			r.Errorf("just before: %s", got)
		}
		r.Clock.Advance(time.Second)
		r.drop()
		if got := held(); got != "[0 15 15]" {
			r.Errorf("then: %s", got)
		}
		r.Clock.Advance(40 * 24 * time.Hour)
		r.drop()
		if got := held(); got != "[0 0 15]" {
			r.Errorf("in the end: %s", got)
		}
		if due, err := r.Storage.Due(r.Context(), r.Clock.Now(), 10, "spend"); err != nil || len(due) != 0 {
			r.Errorf("timers are left: %v, %v", due, err)
		}
	})
}

// drop fires the timers of counters that are due.
func (r *rig) drop() {
	accounts := quota.New(r.Storage, r.Clock.Now, slog.New(slog.DiscardHandler))
	(&sweep.Sweeper{
		Store: r.Storage, Clock: r.Clock.Now, Log: slog.New(slog.DiscardHandler), Kinds: []string{quota.Kind}, Fire: accounts.Drop, Page: 128, Slots: 16,
	}).Once(r.Context())
}
