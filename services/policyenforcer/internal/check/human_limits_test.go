package check_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

const perHuman = `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [
	{"capability": "bash", "rate_limit": {"max_calls": 20, "window_seconds": 3600, "scope": "human"}},
	{"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "daily", "scope": "human"}},
	{"capability": "mcp:bank:send", "amount_limit": {"of": "/amount", "max": 5000, "window_seconds": 86400, "scope": "human"}}]}`

// behalfOf returns a caller of its own that acts on behalf of a human.
func behalfOf(i int, human *auth.Human) enforcer.Caller {
	c := stage.Agent
	c.Principal.Name, c.For = fmt.Sprintf("agent-%d", i), human
	return c
}

func person(name, issuer string, source auth.Source) *auth.Human {
	return &auth.Human{Name: name, Issuer: issuer, Source: source}
}

// S22.41: one human has one count, over all replicas, principals and sessions, and names that look alike are one; another human,
// also one of the same name of another issuer, has a count of their own.
func TestHumansHaveOneCountOnTwoReplicas(t *testing.T) {
	t.Parallel()
	stage.OnAllStores(t, stage.Open, func(t *testing.T, s *stage.Stage) {
		s.Put(t, "p", perHuman, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
		replicas := []*app.App{s.App(), s.App()}
		for name, row := range map[string]struct {
			req  check.Request
			want int
			code toolcall.Code
		}{
			"calls": {check.Request{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}, 20, toolcall.CodeRateLimited},
			"money": {check.Request{Tool: "Pay", EstimatedCost: 30_000}, 33, toolcall.CodeBudgetExceeded},
			"a sum": {check.Request{Tool: "mcp__bank__send", Input: []byte(`{"amount":250}`)}, 20, toolcall.CodeBudgetExceeded},
		} {
			var group sync.WaitGroup
			results := make([]*check.Decision, 64)
			for i := range results {
				group.Go(func() {
					req := row.req
					req.Target, req.CallID = enforcer.Target{SessionID: fmt.Sprintf("s-%d", i%8)}, fmt.Sprintf("%s-%d", name, i)
					human := person([]string{"ann", "Ann", "ANN"}[i%3], "https://idp.test", auth.Issuer)
					d, err := replicas[i%2].Checks.Check(t.Context(), behalfOf(i%5, human), req)
					if err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
					results[i] = d
				})
			}
			group.Wait()
			admitted := 0
			for _, d := range results {
				switch {
				case d == nil:
				case d.Verdict.Decision == toolcall.Allow:
					admitted++
				default:
					stage.Expect(t, d, toolcall.Deny, row.code)
				}
			}
			if admitted != row.want {
				t.Errorf("%s: %d calls of one human were admitted, want %d", name, admitted, row.want)
			}
			for _, other := range []*auth.Human{person("bob", "https://idp.test", auth.Issuer), person("ann", "", auth.Registered)} {
				req := row.req
				req.Target = enforcer.Target{SessionID: "s-0"}
				d, err := replicas[0].Checks.Check(t.Context(), behalfOf(0, other), req)
				if err != nil || d.Verdict.Decision != toolcall.Allow {
					t.Errorf("%s: %s of %q has a count of their own: %+v, %v", name, other.Name, other.Issuer, d, err)
				}
			}
		}
	})
}

// S22.41: where the human is not known, has ended or is vouched for by neither an issuer nor an operator, the call is denied, and the
// denial says what to do.
func TestUnknownHumansHaveNoLimitToSpend(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "p", perHuman, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	ended := person("ann", "https://idp.test", auth.Issuer)
	ended.Expires = time.Unix(1, 0)
	two := behalfOf(1, person("ann", "https://idp.test", auth.Issuer))
	two.Principal.Human = person("bob", "https://idp.test", auth.Issuer)
	for name, caller := range map[string]enforcer.Caller{
		"nobody": behalfOf(1, nil), "claimed": behalfOf(1, person("ann", "", auth.Claimed)), "a gateway's word": behalfOf(1, person("ann", "", auth.Gateway)),
		"ended": behalfOf(1, ended), "two": two,
	} {
		for _, req := range []check.Request{
			{Tool: "Bash", Input: []byte(`{"command":"ls"}`)}, {Tool: "Pay", EstimatedCost: 1}, {Tool: "mcp__bank__send", Input: []byte(`{"amount":1}`)},
		} {
			req.Target = enforcer.Target{SessionID: "s-1"}
			d, err := a.Checks.Check(t.Context(), caller, req)
			if err != nil || d.Verdict.Code != toolcall.CodeCallUnclear || !strings.Contains(d.Message, "X-Interlock-For") {
				t.Errorf("%s, %s: %+v, %v", name, req.Tool, d, err)
			}
		}
	}
	known := behalfOf(1, person("ann", "https://idp.test", auth.Issuer))
	req := check.Request{Tool: "Bash", Input: []byte(`{"command":"ls"}`), Target: enforcer.Target{SessionID: "s-1"}}
	if d, err := a.Checks.Check(t.Context(), known, req); err != nil || d.Verdict.Decision != toolcall.Allow {
		t.Errorf("a known human: %+v, %v", d, err)
	}
	usage := func(caller enforcer.Caller, of policystore.Spender) (used int64, err error) {
		all, err := a.Policies.Usage(t.Context(), caller, "p", of)
		if err != nil || len(all) == 0 {
			return 0, err
		}
		return all[0].Used, nil
	}
	operator := stage.Agent
	operator.Principal.Name, operator.Principal.Role = "op", auth.Operator
	for _, named := range []string{"https://idp.test#ann", "https://idp.test#Ann"} {
		if used, err := usage(operator, policystore.Spender{Human: named}); err != nil || used != 1 {
			t.Errorf("usage of %s: %d, %v", named, used, err)
		}
	}
	if used, err := usage(known, policystore.Spender{}); err != nil || used != 1 {
		t.Errorf("its own human's usage: %d, %v", used, err)
	}
	if _, err := usage(known, policystore.Spender{Human: "bob"}); err == nil {
		t.Error("an agent sees the usage of another human")
	}
}
