package check

import (
	"reflect"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/quota"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

var began = time.Date(2026, 11, 20, 10, 30, 0, 0, time.UTC)

// attemptOf returns the attempt of a call of a session without a run, under one policy.
func attemptOf(t *testing.T, tool, policy string) Attempt {
	t.Helper()
	parsed, problems := rules.ParsePolicy([]byte(policy))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	parsed.Name = "p"
	return Attempt{
		Caller: enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: "amir", Role: auth.Agent}},
		Req:    Request{Tool: tool, CallID: "call_1"}, Digest: toolcall.InputDigest(tool, nil), Now: began,
		At: runs.StandIn("default", "s"),
		Effective: &policystore.Effective{
			Index: &policystore.Index{}, Halts: &halts.Index{}, Status: &runs.Status{}, Live: []*rules.Set{rules.Compile(parsed, 1)}, Because: []string{"role agent"},
		},
		settings: &settings{
			event: func(string, string, *ledger.Decision) (store.Event, error) { return store.Event{ID: "e"}, nil },
			seen:  func(store.Key, string, time.Duration, time.Time) int64 { return 0 },
		},
	}
}

// S7: a ruling and its plan are values of the attempt and its approval, and the attempt stays as it was.
func TestRulingsArePure(t *testing.T) {
	t.Parallel()
	const asks = `{"role": "agent", "ask": [{"capability": "tool:Write", "rate_limit": {"max_calls": 2, "window_seconds": 60}}]}`
	a := attemptOf(t, "Write", asks)
	asked, granted := a.Decide(Admission{}), a.Decide(Admission{ID: "apr_1"})
	if !asked.asks() || granted.Decision.Verdict.Decision != toolcall.Allow || granted.Decision.ApprovalID != "apr_1" {
		t.Fatalf("asked %+v, granted %+v", asked.Decision, granted.Decision)
	}
	if again := a.Decide(Admission{}); !reflect.DeepEqual(again.Decision, asked.Decision) {
		t.Errorf("decided again: %+v, want %+v", again.Decision, asked.Decision)
	}
	answered := asked.WithAdmission(Admission{ID: "apr_1"})
	if !reflect.DeepEqual(answered.Decision, granted.Decision) || !asked.asks() {
		t.Errorf("answered: %+v, and the question is %+v", answered.Decision, asked.Decision)
	}
	first, err := granted.Plan(began)
	if err != nil {
		t.Fatal(err)
	}
	second, err := granted.Plan(began)
	if err != nil || !reflect.DeepEqual(first.Batch, second.Batch) || !reflect.DeepEqual(first.Record, second.Record) {
		t.Errorf("planned twice: %+v and %+v, %v", first.Record, second.Record, err)
	}
	if first.Record.Decision != toolcall.Allow || first.Batch.Idempotency == nil || len(first.Batch.Events) != 1 {
		t.Errorf("the plan has %+v and %+v", first.Record, first.Batch)
	}
	denied, limited := granted.DeniedByLimit(&quota.FullError{Value: 2}, began)
	if !limited || denied.Decision.Verdict.Code != toolcall.CodeRateLimited || denied.Decision.ApprovalID != "" {
		t.Errorf("over the limit: %+v", denied.Decision)
	}
	if granted.Decision.Verdict.Decision != toolcall.Allow || granted.Decision.ApprovalID != "apr_1" {
		t.Errorf("the grant has changed: %+v", granted.Decision)
	}
	if _, limited := granted.DeniedByLimit(store.ErrUncertain, began); limited {
		t.Error("an uncertain commit is a limit")
	}
}

// A dry run plans the same changes of the state's counters, without a record.
func TestPlanOfADryRun(t *testing.T) {
	t.Parallel()
	a := attemptOf(t, "Read", `{"role": "agent", "allow": [{"capability": "*"}]}`)
	real, err := a.Decide(Admission{}).Plan(began)
	if err != nil {
		t.Fatal(err)
	}
	a.Req.DryRun = true
	dry, err := a.Decide(Admission{}).Plan(began)
	if err != nil || dry.Record != nil || dry.Batch.Idempotency != nil || len(dry.Batch.Events) > 0 {
		t.Errorf("%+v, %v", dry.Batch, err)
	}
	if !reflect.DeepEqual(dry.Batch.Checks, real.Batch.Checks) || !reflect.DeepEqual(dry.Batch.Counters, real.Batch.Counters) {
		t.Errorf("a dry run plans %+v, and a check %+v", dry.Batch, real.Batch)
	}
}
