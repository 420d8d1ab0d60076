package sdk

import (
	"context"
	"fmt"
	"time"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// OpenCall is an allowed call with an effect whose outcome was not reported (S16).
type OpenCall struct {
	CallID, RunID, Tool string
	// The act: a file or a command line, shortened and masked.
	What   string
	MadeBy string
	// AllowedAt is when it was allowed, DueAt when its outcome becomes unknown.
	AllowedAt, DueAt time.Time
	// Unknown is true once it was not reported in time, or its report left it open.
	Unknown bool
}

// ListOpenCalls returns the open calls of a run, by default the client's, and of the runs that it
// has invoked or that have invoked it, oldest first.
func (c *Client) ListOpenCalls(ctx context.Context, runID string) ([]OpenCall, error) {
	runID, err := c.runID(ctx, runID)
	if err != nil {
		return nil, err
	}
	resp, err := retry(ctx, c.policy.ListOpenCalls, &policyv1.ListOpenCallsRequest{RunId: runID})
	return each(resp.GetCalls(), openCallOf), err
}

// SettleCall describes how an open call of a run has ended, as an operator or approver: the word
// of the agent that made it does not settle it (S16.4). note says how that is known. An empty run
// is the client's.
func (c *Client) SettleCall(ctx context.Context, runID, callID string, outcome Outcome, note string) (OpenCall, error) {
	runID, err := c.runID(ctx, runID)
	if err != nil {
		return OpenCall{}, err
	}
	resp, err := retry(ctx, c.policy.SettleToolCall, &policyv1.SettleToolCallRequest{RunId: runID, CallId: callID, Outcome: string(outcome), Note: note})
	return openCallOf(resp.GetCall()), err
}

func openCallOf(o *policyv1.OpenCall) OpenCall {
	return OpenCall{
		CallID: o.GetCallId(), RunID: o.GetRunId(), Tool: o.GetTool(), What: o.GetWhat(), MadeBy: o.GetMadeBy(),
		AllowedAt: timeOf(o.GetAllowedAt()), DueAt: timeOf(o.GetDueAt()), Unknown: o.GetUnknown(),
	}
}

// Cost is an amount that the client's session has cost besides its calls, such as the tokens of its
// agent's model (S15.1).
type Cost struct {
	// ID is what it is of, such as the id of a message. An amount with an id that the session had
	// before is ignored, unless it is a total.
	ID string
	// USD is decimal US dollars.
	USD string
	// Total is true when USD is the sum for ID until now, and not an addition.
	Total bool
}

// ReportCost counts costs of the client's session, as one source knows them: "transcript", "otlp"
// or another word. It returns the total cost of the session by its largest source.
func (c *Client) ReportCost(ctx context.Context, source string, costs ...Cost) (totalUSD string, err error) {
	if c.session == "" {
		return "", errNoSession("reporting costs")
	}
	req := &policyv1.ReportCostRequest{SessionId: c.session, Source: source}
	for _, one := range costs {
		req.Costs = append(req.Costs, &policyv1.Cost{Id: one.ID, CostUsd: one.USD, Total: one.Total})
	}
	resp, err := retry(ctx, c.policy.ReportCost, req)
	return resp.GetTotalUsd(), err
}

// DecisionRecord is one decision as the log has it. The message has more: Explanation, and with
// ListDecisions its shadows.
type DecisionRecord struct {
	Decision  Verdict
	Code      Code
	Message   string
	Tool      string
	CallID    string
	RunID     string
	SessionID string
	Principal string
	State     string
	// Policy is the one that has decided, and Rule its rule; empty when the state did.
	Policy, Rule string
	ApprovalID   string
	// Identity is who made the call, as it was known then; it stays when sessions, agents and people are gone.
	Identity *Identity
	// Exceptions are the ids of those by which the call has passed rules of policies.
	Exceptions []string
	Time       time.Time
	// Sequence is its place in the log of its run's tree.
	Sequence int64
	// Explanation is why, from ExplainDecision; nil in lists.
	Explanation *policyv1.Explanation
}

// DecisionFilter says which decisions to list; all without a member.
type DecisionFilter struct {
	RunID, SessionID, Tool, Principal string

	Decision Verdict
	Code     Code
	// Most to return, the newest first; 0 for 100.
	Most int
}

// ListDecisions returns decisions of the namespace, newest first. It is for people.
func (c *Client) ListDecisions(ctx context.Context, f DecisionFilter) ([]DecisionRecord, error) {
	filter := terms("run_id", f.RunID, "session_id", f.SessionID, "tool", f.Tool, "decision", string(f.Decision), "code", string(f.Code), "principal", f.Principal)
	if f.Most == 0 {
		f.Most = 100
	}
	return page(ctx, f.Most, func(ctx context.Context, size int32, token string) ([]DecisionRecord, string, error) {
		resp, err := retry(ctx, c.decisions.ListDecisions, &policyv1.ListDecisionsRequest{PageSize: size, PageToken: token, Filter: filter})
		return each(resp.GetDecisions(), recordOf), resp.GetNextPageToken(), err
	})
}

// ExplainDecision returns the decision on a call and why it was made. Without a run it is of a call
// of the client's session. It is for people.
func (c *Client) ExplainDecision(ctx context.Context, callID, runID string) (DecisionRecord, error) {
	if runID == "" && c.run == "" && c.session == "" {
		return DecisionRecord{}, errNoSession(fmt.Sprintf("explaining call %q without a run", callID))
	}
	req := &policyv1.GetDecisionRequest{CallId: callID, RunId: first(runID, c.run), Explain: true}
	if req.GetRunId() == "" {
		req.SessionId = c.session
	}
	resp, err := retry(ctx, c.decisions.GetDecision, req)
	d := recordOf(resp.GetDecision())
	d.Explanation = resp.GetExplanation()
	return d, err
}

func recordOf(r *policyv1.DecisionRecord) DecisionRecord {
	return DecisionRecord{
		Decision: Verdict(word(r.GetDecision(), "DECISION_")), Code: Code(word(r.GetCode(), "DECISION_CODE_")), Message: r.GetMessage(),
		Tool: r.GetTool(), CallID: r.GetCallId(), RunID: r.GetRunId(), SessionID: r.GetSessionId(), Principal: r.GetPrincipal(), State: r.GetState(),
		Policy: r.GetPolicy(), Rule: r.GetRule(), ApprovalID: r.GetApprovalId(), Identity: identityOf(r.GetIdentity()),
		Exceptions: r.GetExceptions(), Time: timeOf(r.GetTime()), Sequence: r.GetSequence(),
	}
}
