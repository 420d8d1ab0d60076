package rpc

import "testing"

// A refusal names the refused act in words.
func TestMethodsInWords(t *testing.T) {
	t.Parallel()
	for method, want := range map[string]string{
		"/interlock.policy.v1.PolicyService/RegisterPolicy":     "register policies (RegisterPolicy)",
		"/interlock.approval.v1.ApprovalService/DecideApproval": "decide approvals (DecideApproval)",
		"/interlock.approval.v1.ApprovalService/ListApprovals":  "list approvals (ListApprovals)",
		"/interlock.engine.v1.RunService/PauseRun":              "pause runs (PauseRun)",
		"/interlock.policy.v1.PolicyEnforcerService/Check":      "check (Check)",
		"/interlock.state.v1.StateService/WatchStateHistory":    "watch state histories (WatchStateHistory)",
		"/interlock.policy.v1.PolicyService/ListPolicyUsage":    "list policy usages (ListPolicyUsage)",
		"nameless": "nameless (nameless)",
	} {
		if got := inWords(method); got != want {
			t.Errorf("%s: %q, want %q", method, got, want)
		}
	}
}
