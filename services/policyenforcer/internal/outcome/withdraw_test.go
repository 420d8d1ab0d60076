package outcome_test

import (
	"testing"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/outcome"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// S3.9: a call that policies alone have allowed is reported by the session, and counts.
func TestAReportWithoutARun(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Sessions["lost"] = "root"
	s.Engine.Current.ID = "another" // the engine knows no run of the session
	s.Put(t, "p", `{"role": "agent", "meta": {"tools": ["Pay"]}, "allow": [{"capability": "tool:Pay", "budget_limit": {"max_usd": 1, "period": "daily"}}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	at := enforcer.Target{SessionID: "lost"}
	pay := func(id, cost string) (*check.Decision, error) {
		c, err := check.ParseCost(cost)
		if err != nil {
			t.Fatal(err)
		}
		return a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: at, Tool: "Pay", CallID: id, EstimatedCost: c})
	}
	d, err := pay("one", "0.9")
	if err != nil {
		t.Fatal(err)
	}
	stage.Expect(t, d, toolcall.Allow, "")
	if d, err = pay("two", "0.9"); err != nil {
		t.Fatal(err)
	}
	stage.Expect(t, d, toolcall.Deny, toolcall.CodeBudgetExceeded)
	for range 2 { // a repeat changes nothing
		r, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: at, CallID: "one", Tool: "Pay", OK: true, CostUSD: "0.1"})
		if err != nil || !r.Accounted || !r.Unbound || r.Interrupt != nil || r.Warning != "" {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if d, err = pay("three", "0.9"); err != nil {
		t.Fatal(err)
	}
	stage.Expect(t, d, toolcall.Allow, "") // it has cost 0.1 only
	for name, report := range map[string]outcome.Report{
		"a denied call":     {Target: at, CallID: "two", Tool: "Pay", OK: true},
		"an unknown call":   {Target: at, CallID: "none", Tool: "Pay", OK: true},
		"another session":   {Target: enforcer.Target{SessionID: "other"}, CallID: "three", Tool: "Pay", OK: true},
		"neither of both":   {CallID: "three", Tool: "Pay", OK: true},
		"a run that is not": {Target: enforcer.Target{RunID: "run_9"}, CallID: "three", Tool: "Pay", OK: true},
	} {
		if r, err := a.Outcomes.Report(t.Context(), stage.Agent, report); err == nil && r.Accounted {
			t.Errorf("%s is accounted: %+v", name, r)
		}
	}
	s.Engine.Mu.Lock()
	s.Engine.Current.ID, s.Engine.Current.SessionID, s.Engine.AnySession = "run_1", "lost", true // the session begins a run
	s.Engine.Mu.Unlock()
	r, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: at, CallID: "three", Tool: "Pay", OK: false})
	if err != nil || !r.Accounted {
		t.Errorf("after the session has begun a run: %+v, %v", r, err)
	}
}

// S3.9: a call that its caller has given up is not allowed later, and an allowed one has failed.
func TestACallThatIsNotExecuted(t *testing.T) {
	t.Parallel()
	withdraw := func(t *testing.T, a *app.App, at enforcer.Target, id string) *outcome.Reported {
		t.Helper()
		r, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: at, CallID: id, Tool: "Write", NotExecuted: true})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	for name, at := range map[string]enforcer.Target{"run": {RunID: "run_1"}, "session": {SessionID: "lost"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := stage.New(t, stage.Open)
			s.Sessions["lost"] = "root"
			if at.SessionID != "" {
				s.Engine.Current.ID = "another"
				s.Put(t, "p", `{"role": "agent", "allow": [{"capability": "*"}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
			}
			a := s.App()
			check := func(id string) (*check.Decision, error) {
				return a.Checks.Check(t.Context(), stage.Agent, check.Request{Target: at, Tool: "Write", CallID: id, Input: []byte(`{}`)})
			}
			for range 2 {
				if r := withdraw(t, a, at, "early"); r.Accounted {
					t.Errorf("nothing was allowed: %+v", r)
				}
				if d, err := check("early"); fault.ReasonOf(err) != fault.IdempotencyMismatch {
					t.Fatalf("a check that comes late: %+v, %v", d, err)
				}
			}
			d, err := check("late")
			if err != nil {
				t.Fatal(err)
			}
			stage.Expect(t, d, toolcall.Allow, "")
			if r := withdraw(t, a, at, "late"); !r.Accounted || r.OK {
				t.Errorf("an allowed call: %+v", r)
			}
			if d, err = check("late"); at.RunID != "" && fault.ReasonOf(err) != fault.IdempotencyMismatch {
				t.Errorf("it is allowed again: %+v, %v", d, err)
			}
			if _, err := a.Outcomes.Report(t.Context(), stage.Agent, outcome.Report{Target: at, CallID: "both", Tool: "Write", OK: true, NotExecuted: true}); fault.ReasonOf(err) != fault.InvalidRequest {
				t.Errorf("executed and not: %v", err)
			}
		})
	}
}
