package quota_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
)

// Each account has an owner and a name of its own, in the bounds of the store.
func TestKeysDiffer(t *testing.T) {
	t.Parallel()
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
						key := quota.Key("default", account)
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
