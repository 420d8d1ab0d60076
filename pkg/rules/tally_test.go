package rules_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/interlock-run/interlock/pkg/randtest"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/toolcall"
)

// TestTally compares a tally with its admissions: no window ever has more than its limit,
// a denied limit reopens exactly when it says, and a budget counts the cost of its calls
// (S7.4, S7.5).
func TestTally(t *testing.T) {
	t.Parallel()
	set := compile(t, `{"role": "agent", "name": "p", "allow": [{"capability": "bash",
		"rate_limit": {"max_calls": 3, "window_seconds": 60}, "budget_limit": {"max_usd": 0.00002, "period": "monthly"}}]}`)
	randtest.Check(t, func(t *rapid.T) {
		var tally rules.Tally
		now, admitted, spent := noon, []time.Time(nil), int64(0)
		decide := func(now time.Time) rules.Combined {
			verdict := set.Decide(rules.Call{Tool: "Bash", EstimatedCost: 2, Now: now}, nil)
			return tally.Admit(rules.Combine(toolcall.Verdict{Decision: toolcall.Allow}, []rules.Verdict{verdict}, nil), now)
		}
		for range rapid.IntRange(1, 40).Draw(t, "calls") {
			now = now.Add(time.Duration(rapid.IntRange(0, 40).Draw(t, "seconds")) * time.Second)
			c := decide(now)
			switch c.Code {
			case "":
				admitted = append(admitted, now)
				if fullest(admitted, time.Minute) > 3 {
					t.Fatalf("a window of a minute has more than 3 of %v", admitted)
				}
				cost := rapid.Int64Range(0, 3).Draw(t, "cost")
				tally.Correct(rules.Settle(c.Spends, rules.MicroUSD(cost)), now)
				spent += cost
			case toolcall.CodeRateLimited:
				reopens := c.Policies[1].Excess.ReopensAt
				if early := decide(reopens.Add(-1)); !now.Before(reopens) || early.Code != toolcall.CodeRateLimited {
					t.Fatalf("at %s: it reopens at %s, and before that there is %q", now, reopens, early.Code)
				}
				if now = reopens; spent+2 <= 20 {
					if late := decide(now); late.Code != "" {
						t.Fatalf("it was to reopen at %s, and there is %q", reopens, late.Code)
					}
					admitted, spent = append(admitted, now), spent+2
				}
			case toolcall.CodeBudgetExceeded:
				if spent+2 <= 20 {
					t.Fatalf("there is no room for 2 with %d of 20 spent", spent)
				}
			default:
				t.Fatalf("%+v", c)
			}
		}
	})
}

// TestTallyGivesBack: the oldest units of a window are given back first.
func TestTallyGivesBack(t *testing.T) {
	t.Parallel()
	set := compile(t, `{"role": "agent", "allow": [{"capability": "bash", "rate_limit": {"max_calls": 2, "window_seconds": 60}}]}`)
	var tally rules.Tally
	decide := func(after time.Duration) rules.Combined {
		verdict := set.Decide(rules.Call{Tool: "Bash"}, nil)
		return tally.Admit(rules.Combine(toolcall.Verdict{Decision: toolcall.Allow}, []rules.Verdict{verdict}, nil), noon.Add(after))
	}
	first := decide(0)
	decide(30 * time.Second)
	tally.Correct([]rules.Change{{Account: first.Spends[0].Account, Delta: -1}}, noon.Add(30*time.Second))
	if c := decide(40 * time.Second); c.Decision != toolcall.Allow {
		t.Fatalf("one was given back: %+v", c)
	}
	if c := decide(61 * time.Second); c.Code != toolcall.CodeRateLimited {
		t.Fatalf("two calls are in the window, and this one is answered %s", c.Decision)
	}
	if c := decide(90 * time.Second); c.Decision != toolcall.Allow {
		t.Fatalf("the call of 30 s has left: %+v", c)
	}
}
