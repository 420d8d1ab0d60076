package policyenforcer

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/toolcall"
	process "github.com/interlock-run/interlock/services/internal/metrics"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
)

// An answer without a decision is counted by why, and so is one of a policy that cannot be
// judged by.
func TestAnswered(t *testing.T) {
	t.Parallel()
	set := process.New()
	m := newMetrics(set, false)
	for _, d := range []*check.Decision{
		{Verdict: toolcall.Verdict{Decision: toolcall.Allow}},
		{Verdict: toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodeToolNotAllowed}},
		{Verdict: toolcall.Verdict{Decision: toolcall.Deny, Code: toolcall.CodePolicyUnavailable}},
		{Verdict: toolcall.Unavailable(), Undecided: fault.StoreRolledBack},
		{Verdict: toolcall.Unavailable(), Undecided: fault.StoreRolledBack},
	} {
		m.answered(t.Context(), d, time.Second)
	}
	m.measure(&check.Measured{Decision: toolcall.Allow, Code: toolcall.CodeNotEnforced, Reason: toolcall.HasEnded})
	families, err := set.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			name := family.GetName()
			for _, label := range metric.GetLabel() {
				name += " " + label.GetValue()
			}
			if n := metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount()); n > 0 && strings.HasPrefix(name, "interlock_") {
				got[name] = n
			}
		}
	}
	want := map[string]float64{
		"interlock_decision_seconds ALLOW": 1, "interlock_decision_seconds DENY": 2, "interlock_decision_seconds UNDECIDED": 2,
		"interlock_fail_closed_denials_total policy-enforcer POLICY_UNAVAILABLE": 1,
		"interlock_fail_closed_denials_total policy-enforcer STORE_ROLLED_BACK":  2,
		"interlock_decisions_total NOT_ENFORCED ALLOW run has ended":             1,
	}
	for name, n := range want {
		if got[name] != n {
			t.Errorf("%s: %v, want %v", name, got[name], n)
		}
	}
	if len(got) != len(want) {
		t.Errorf("counted %v", got)
	}
}

// Names of workflows and policies are in no metric unless the deployment asks for them: a scrape reads all namespaces.
func TestMetricsHaveNoNamesOfTenants(t *testing.T) {
	t.Parallel()
	for _, names := range []bool{false, true} {
		set := process.New()
		m := newMetrics(set, names)
		m.measure(&check.Measured{
			Decision: toolcall.Deny, Code: toolcall.CodeToolNotAllowed, Workflow: "secret-merger", State: "due-diligence",
			Limits: []check.UsedLimit{{Policy: "acme", Pattern: "tool:Buy", Measure: "calls", Used: .5}},
		})
		families, err := set.Gatherer().Gather()
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprint(families)
		for _, name := range []string{"secret-merger", "due-diligence", "acme", "tool:Buy"} {
			if strings.Contains(text, name) != names {
				t.Errorf("with names %t: %q is shown %t", names, name, !names)
			}
		}
	}
}
