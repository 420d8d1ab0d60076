package consent_test

import (
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/consent"
	"github.com/interlock-run/interlock/pkg/document"
)

var most = consent.LeaseBounds{Calls: 100, For: 8 * time.Hour}

// S9.6: a lease has a pattern and both bounds, within those of the configuration.
func TestLeaseTerms(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		terms, want consent.LeaseTerms
		wrong       string
	}{
		{consent.LeaseTerms{Pattern: "p", Calls: 5, Minutes: 30}, consent.LeaseTerms{Pattern: "p", Calls: 5, Minutes: 30}, ""},
		{consent.LeaseTerms{Pattern: "p", Calls: 5}, consent.LeaseTerms{Pattern: "p", Calls: 5, Minutes: 480}, ""},
		{consent.LeaseTerms{Pattern: "p", Minutes: 480}, consent.LeaseTerms{Pattern: "p", Calls: 100, Minutes: 480}, ""},
		{consent.LeaseTerms{Calls: 5}, consent.LeaseTerms{}, "needs a condition"},
		{consent.LeaseTerms{Pattern: "p"}, consent.LeaseTerms{}, "a number of calls or of minutes"},
		{consent.LeaseTerms{Pattern: "p", Calls: 101}, consent.LeaseTerms{}, "at most 100 calls"},
		{consent.LeaseTerms{Pattern: "p", Minutes: 481}, consent.LeaseTerms{}, "at most 480 minutes"},
		{consent.LeaseTerms{Pattern: "p", Minutes: 1 << 62}, consent.LeaseTerms{}, "at most 480 minutes"},
		{consent.LeaseTerms{Pattern: "p", Calls: -1, Minutes: 5}, consent.LeaseTerms{}, "negative"},
		{consent.LeaseTerms{Pattern: "p", Calls: 1, Minutes: -5}, consent.LeaseTerms{}, "negative"},
		{consent.LeaseTerms{Only: "{}", Calls: 5}, consent.LeaseTerms{Only: "{}", Calls: 5, Minutes: 480}, ""},
		{consent.LeaseTerms{Only: strings.Repeat("p", consent.MaxOnly+1), Calls: 1}, consent.LeaseTerms{}, "8193 bytes"},
		{consent.LeaseTerms{Pattern: strings.Repeat("p", consent.MaxPattern+1), Calls: 1}, consent.LeaseTerms{}, "1025 bytes"},
	} {
		got, err := c.terms.Within(most)
		if c.wrong == "" && (err != nil || got != c.want) {
			t.Errorf("%+v: %+v, %v", c.terms, got, err)
		}
		if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%+v: %v, want %q", c.terms, err, c.wrong)
		}
	}
	if _, err := (consent.LeaseTerms{Pattern: "p", Calls: 1}).Within(consent.LeaseBounds{}); err == nil {
		t.Error("a configuration that allows no lease allows one")
	}
}

func scope() consent.Scope {
	return consent.Scope{
		RunID: "run_1", Branch: "b", Entry: 3, State: "work", RootSession: "s", Policy: "p", PolicyVersion: 2, Rule: "/ask/0", Capability: "bash",
	}
}

func callApproval(t *testing.T, change func(*consent.Request)) *consent.Approval {
	t.Helper()
	req := consent.Request{
		ID: "apr_1", Action: consent.Action{Kind: consent.ToolCall, Subject: document.ObjectValue(nil)},
		Asker: consent.Asker{Principal: "agent", SessionID: "s1", RootSession: "s"},
	}
	if change != nil {
		change(&req)
	}
	opened, err := consent.Open(req, time.Unix(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	return opened.Approval
}

// S9.6: a lease holds where its approval was asked, for questions of the same rule, and
// nowhere else.
func TestLeaseHolds(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	terms := consent.LeaseTerms{Pattern: "git push *", Calls: 5, Minutes: 30}
	l, err := callApproval(t, nil).Lease("lse_1", terms, scope(), "alice", now)
	if err != nil {
		t.Fatal(err)
	}
	if l.ApprovalID != "apr_1" || l.SessionID != "s1" || l.GrantedBy != "alice" || l.Calls != 5 || !l.ExpiresAt.Equal(now.Add(30*time.Minute)) {
		t.Errorf("it is %+v", l)
	}
	for name, change := range map[string]func(*consent.Scope){
		"run": func(s *consent.Scope) { s.RunID = "run_2" }, "branch": func(s *consent.Scope) { s.Branch = "" },
		"entry": func(s *consent.Scope) { s.Entry = 4 }, "state": func(s *consent.Scope) { s.State = "other" },
		"tree": func(s *consent.Scope) { s.RootSession = "t" }, "policy": func(s *consent.Scope) { s.Policy = "q" },
		"version": func(s *consent.Scope) { s.PolicyVersion = 3 }, "rule": func(s *consent.Scope) { s.Rule = "/ask/1" },
		"capability": func(s *consent.Scope) { s.Capability = "tool:Write" },
	} {
		at := scope()
		change(&at)
		if l.Lets(at, now) {
			t.Errorf("it holds for another %s", name)
		}
	}
	if !l.Lets(scope(), now) || !l.Lets(scope(), now.Add(30*time.Minute-1)) || l.Lets(scope(), now.Add(30*time.Minute)) {
		t.Error("it does not hold for its time, exactly")
	}
	for _, status := range []consent.LeaseStatus{consent.LeaseRevoked, consent.LeaseUsedUp} {
		ended, changed := l.Ended(status)
		if !changed || ended.Version != l.Version+1 || ended.Lets(scope(), now) || l.Status != consent.LeaseActive {
			t.Errorf("%s: %+v", status, ended)
		}
		if again, changed := ended.Ended(consent.LeaseRevoked); changed || again.Status != status {
			t.Errorf("it ended twice: %+v", again)
		}
	}
	unknown := &consent.Lease{Status: consent.LeaseActive, ExpiresAt: now.Add(time.Hour)}
	if unknown.Lets(consent.Scope{}, now) {
		t.Error("what says nothing holds for what is not known")
	}
}

// S9.6: only the answer of one person to a rule about a tool call can be a lease.
func TestLeaseNeedsARule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request func(*consent.Request)
		scope   func(*consent.Scope)
	}{
		"transition":    {func(r *consent.Request) { r.Action.Kind = consent.Transition }, nil},
		"two approvers": {func(r *consent.Request) { r.Terms.Required = 2 }, nil},
		"a circle": {func(r *consent.Request) {
			r.Terms = r.Terms.With(consent.Circle{Required: 1, Eligible: consent.Approvers{Names: []string{"kim"}}})
		}, nil},
		"a stricter term": {func(r *consent.Request) { r.Terms = r.Terms.With(consent.Circle{Required: 2}) }, nil},
		"no policy":       {nil, func(s *consent.Scope) { s.Policy = "" }},
		"no version":      {nil, func(s *consent.Scope) { s.PolicyVersion = 0 }},
		"no rule":         {nil, func(s *consent.Scope) { s.Rule = "" }},
		"no run":          {nil, func(s *consent.Scope) { s.RunID = "" }},
		"no state":        {nil, func(s *consent.Scope) { s.State = "" }},
		"no entry":        {nil, func(s *consent.Scope) { s.Entry = 0 }},
		"no capability":   {nil, func(s *consent.Scope) { s.Capability = "" }},
	} {
		at := scope()
		if c.scope != nil {
			c.scope(&at)
		}
		if l, err := callApproval(t, c.request).Lease("lse_1", consent.LeaseTerms{Pattern: "p", Calls: 1, Minutes: 1}, at, "alice", time.Unix(0, 0)); err == nil {
			t.Errorf("%s: %+v", name, l)
		}
	}
}
