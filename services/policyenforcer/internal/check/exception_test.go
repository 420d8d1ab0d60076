package check_test

import (
	"slices"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/check"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/decisionlog"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcertest/stage"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/policystore"
)

// S22.13: a call passes a rule by an exception that is true of it, until its end, and its record names the exception.
func TestExceptionOfACall(t *testing.T) {
	t.Parallel()
	s := stage.New(t, stage.Open)
	s.Put(t, "freeze", `{"role": "agent", "name": "freeze", "deny": [{"capability": "mcp:deploy", "exceptable": true}]}`, policystore.Indexed{Attachments: stage.ToRole(auth.Agent)})
	a := s.App()
	web := check.Request{Tool: "mcp__deploy__start", Input: []byte(`{"service": "web"}`)}
	stage.Expect(t, stage.Ask(t, a, web), toolcall.Deny, toolcall.CodePolicyDenied)
	e, err := a.Policies.AddException(t.Context(), enforcer.Caller{Namespace: "default", Principal: auth.Principal{Name: "olga", Role: auth.Operator}}, policystore.Exception{
		Policy: "freeze", Rule: "/deny/0", Until: s.Clock().Add(time.Hour), Reason: "INC-42",
		ExceptionScope: policystore.ExceptionScope{Principal: stage.Agent.Principal.Name, When: []byte(`{"/service": "web"}`)},
	})
	if err != nil {
		t.Fatal(err)
	}
	allowed := web
	allowed.CallID = "passes"
	stage.Expect(t, stage.Ask(t, a, allowed), toolcall.Allow, "")
	for _, input := range []string{`{"service": "db"}`, `{}`, ``} {
		stage.Expect(t, stage.Ask(t, a, check.Request{Tool: "mcp__deploy__start", Input: []byte(input)}), toolcall.Deny, toolcall.CodePolicyDenied)
	}
	record, err := a.Log.Get(t.Context(), "default", decisionlog.CallQuery{RunID: "run_1", CallID: "passes"})
	if err != nil || !slices.Equal(record.Exceptions, []string{e.ID}) {
		t.Errorf("it is recorded as %+v, %v", record, err)
	}
	s.Advance(time.Hour)
	stage.Expect(t, stage.Ask(t, a, web), toolcall.Deny, toolcall.CodePolicyDenied)
}
