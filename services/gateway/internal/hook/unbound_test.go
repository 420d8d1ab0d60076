package hook_test

import (
	"strings"
	"testing"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

// TestPoliciesWithoutRun: policies of a role or a session hold where no run is driven,
// for subagents as for their agent (S7).
func TestPoliciesWithoutRun(t *testing.T) {
	t.Parallel()
	subagent := strings.Replace(preTool, "{", `{"agent_id":"a1",`, 1)
	for name, tc := range map[string]struct {
		decision policyv1.Decision
		message  string
		want     string // the permissionDecision; empty for silence
		reason   string
	}{
		"allowed":             {policyv1.Decision_DECISION_ALLOW, "", "", ""},
		"denied":              {policyv1.Decision_DECISION_DENY, "policy trade denies it", "deny", "policy trade denies it"},
		"denied, not a word":  {policyv1.Decision_DECISION_DENY, "", "deny", "does not allow"},
		"asked":               {policyv1.Decision_DECISION_ASK, "trade asks", "deny", "Approval apr_1 is pending. A person with the role approver decides it"},
		"no decision":         {policyv1.Decision_DECISION_UNSPECIFIED, "", "deny", "does not allow"},
		"a decision to come":  {99, "", "deny", "does not allow"},
		"a denial to explain": {policyv1.Decision_DECISION_DENY, "make it smaller", "deny", "make it smaller"},
	} {
		for _, agent := range []hook.Agent{hook.ClaudeCode, hook.Codex} {
			for _, event := range []string{preTool, subagent} {
				s := &services{decision: &policyv1.CheckToolCallResponse{Decision: tc.decision, Message: tc.message, ApprovalId: "apr_1"}}
				a := s.handle(event, hook.Options{Agent: agent, Patience: time.Minute})
				if check, ok := s.asked[len(s.asked)-1].(*policyv1.CheckToolCallRequest); !ok || check.GetSessionId() != "s" || check.GetRunId() != "" {
					t.Errorf("%s: asked %v", name, s.asked)
				}
				if tc.want == "" {
					wantSilence(t, name, a)
					continue
				}
				if got := specific(t, a); got["permissionDecision"] != tc.want || !strings.Contains(got["permissionDecisionReason"], tc.reason) {
					t.Errorf("%s for %s: %v", name, agent, got)
				}
			}
		}
	}
}

// TestDoubtWithoutRun: only the enforcer's word that nothing holds lets a call pass.
func TestDoubtWithoutRun(t *testing.T) {
	t.Parallel()
	for reason := range map[fault.Reason]bool{
		fault.Unavailable: true, fault.Internal: true, fault.PermissionDenied: true, fault.Unauthenticated: true, fault.InvalidRequest: true,
	} {
		s := &services{checkErr: fault.New(reason, "in doubt").GRPCStatus().Err()}
		if a := s.handle(preTool, hook.Options{}); a.Exit != 2 || a.Stdout != "" {
			t.Errorf("%s: %+v", reason, a)
		}
	}
}

// TestOwnToolsWithoutRun are judged by nobody (S3).
func TestOwnToolsWithoutRun(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"mcp__interlock__load_workflow", "mcp__interlock__list_workflows"} {
		s := &services{decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY}}
		wantSilence(t, tool, s.handle(strings.Replace(preTool, "Edit", tool, 1), hook.Options{}))
		s.wantAsked(t, &enginev1.GetRunRequest{SessionId: "s"})
	}
}

// TestNoReportWithoutRun: reports are a run's.
func TestNoReportWithoutRun(t *testing.T) {
	t.Parallel()
	for _, event := range []string{"PostToolUse", "PostToolUseFailure"} {
		s := &services{decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW}}
		wantSilence(t, event, s.handle(strings.Replace(preTool, "PreToolUse", event, 1), hook.Options{}))
		s.wantAsked(t, &enginev1.GetRunRequest{SessionId: "s"})
	}
}
