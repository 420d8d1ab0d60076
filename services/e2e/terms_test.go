package e2e

import (
	"strings"
	"testing"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
)

const asks = policyv1.Decision_DECISION_ASK

// paying is a workflow whose large refunds take an operator and an approver.
const paying = `{"id": "paying", "initial": "work", "meta": {"policy": ["pay-asked"], "approval": {"terms": [
	{"when": {"/amount": {"gte": 1000}}, "approvers": {"roles": ["operator"]}}]}},
	"states": {"work": {"allowed_tools": ["mcp__pay__refund"], "on": {"DONE": "over"}}, "over": {"type": "final"}}}`

// startPaying starts everything on Redis and NATS, with a run that refunds.
func startPaying(t *testing.T) (w *world, agent *caller, run string) {
	t.Helper()
	w = &world{shape: &startSeparate(t).shape, namespace: "default"}
	operator := w.as(t, auth.Operator)
	policies := policyv1.NewPolicyServiceClient(w.dial(t, w.policies[0], w.tokens[auth.Operator]))
	must[*policyv1.RegisterPolicyResponse](t)(policies.RegisterPolicy(within(t), &policyv1.RegisterPolicyRequest{
		Name: "pay-asked", Definition: []byte(`{"role": "agent", "ask": [{"capability": "mcp:pay:refund"}]}`),
	}))
	operator.register(t, paying)
	agent = w.as(t, auth.Agent)
	return w, agent, agent.start(t, "paying").GetRunId()
}

// refund asks for a refund, and returns the answer.
func refund(t *testing.T, c *caller, run, input string, decision policyv1.Decision) *policyv1.CheckToolCallResponse {
	t.Helper()
	code := "APPROVAL_REQUIRED"
	if decision == allow {
		code = ""
	}
	return c.checkInput(t, &policyv1.CheckToolCallRequest{RunId: run, Tool: "mcp__pay__refund", Input: []byte(input)}, decision, code)
}

// TestTermsAreMet: a call to which a term applies is admitted once people of the term have agreed too, and people see what it does (S21.15).
func TestTermsAreMet(t *testing.T) {
	t.Parallel()
	w, agent, run := startPaying(t)
	const large = `{"amount": 1000}`
	id := refund(t, agent, run, large, asks).GetApprovalId()
	vote := func(role auth.Role, replica int) (*approvalv1.Approval, error) {
		resp, err := w.approvalsAs(t, replica, role).DecideApproval(within(t), &approvalv1.DecideApprovalRequest{ApprovalId: id, Approve: true})
		return resp.GetApproval(), err
	}
	shown := must[*approvalv1.GetApprovalResponse](t)(w.approvalsAs(t, 0, auth.Approver).GetApproval(within(t), &approvalv1.GetApprovalRequest{ApprovalId: id})).GetApproval()
	if also := shown.GetTerms().GetAlso(); len(also) != 1 || also[0].GetTerm() != "/meta/approval/terms/0" || !strings.Contains(string(shown.GetFacts()), `"writes"`) {
		t.Errorf("it is shown as %v", shown)
	}
	own := must[*approvalv1.GetApprovalResponse](t)(w.approvalsAs(t, 0, auth.Agent).GetApproval(within(t), &approvalv1.GetApprovalRequest{ApprovalId: id})).GetApproval()
	if len(own.GetFacts()) > 0 {
		t.Errorf("the agent sees the facts: %s", own.GetFacts())
	}
	if _, err := vote(auth.Agent, 0); fault.ReasonOf(err) != fault.PermissionDenied {
		t.Errorf("the agent's vote: %v", err)
	}
	if got := must[*approvalv1.Approval](t)(vote(auth.Approver, 0)); got.GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING {
		t.Errorf("one circle alone: %v", got)
	}
	refundPending(t, agent, run, large)
	if got := must[*approvalv1.Approval](t)(vote(auth.Operator, 1)); got.GetStatus() != approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED {
		t.Errorf("both circles: %v", got)
	}
	refund(t, agent, run, large, allow)
	refund(t, agent, run, large, asks) // once
}

func refundPending(t *testing.T, c *caller, run, input string) {
	t.Helper()
	c.checkInput(t, &policyv1.CheckToolCallRequest{RunId: run, Tool: "mcp__pay__refund", Input: []byte(input)}, asks, "APPROVAL_PENDING")
}

// TestLeaseHasACondition: a lease with a condition admits the calls that meet it and are otherwise as the one that was asked about, under
// the same terms, and no other (S21.16).
func TestLeaseHasACondition(t *testing.T) {
	t.Parallel()
	w, agent, run := startPaying(t)
	id := refund(t, agent, run, `{"amount": 50, "currency": "usd"}`, asks).GetApprovalId()
	people := w.approvalsAs(t, 0, auth.Approver)
	grant := func(only string) error {
		_, err := people.DecideApproval(within(t), &approvalv1.DecideApprovalRequest{
			ApprovalId: id, Approve: true, Lease: &approvalv1.LeaseTerms{Only: []byte(only), Calls: 3},
		})
		return err
	}
	for _, only := range []string{`{"/amount": {"lte": 40}}`, `{"/currency": {"like": "u*"}}`, `{"host": ["pay.example.com"]}`, `{"/amount": "50"}`, `{`, `{}`} {
		if err := grant(only); fault.ReasonOf(err) != fault.InvalidRequest {
			t.Errorf("%s: %v", only, err)
		}
	}
	if err := grant(`{"/amount": {"gte": 1, "lte": 5000}}`); err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{
		`{"amount": 1000, "currency": "usd"}`, `{"amount": 6000, "currency": "usd"}`, `{"amount": 0, "currency": "usd"}`, `{"amount": "50", "currency": "usd"}`,
		`{"amount": 50, "currency": "eur"}`, `{"amount": 50}`, `{"amount": 50, "currency": "usd", "to": "eve"}`, `{"amount": 50, "currency": "usd", "Amount": 9}`,
	} {
		refund(t, agent, run, input, asks)
	}
	for _, input := range []string{`{"amount": 50, "currency": "usd"}`, `{"currency": "usd", "amount": 999.5}`, `{"amount": 1, "currency": "usd"}`} {
		refund(t, agent, run, input, allow)
	}
	refund(t, agent, run, `{"amount": 2, "currency": "usd"}`, asks) // used up
}
