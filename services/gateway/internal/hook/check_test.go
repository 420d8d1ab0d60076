package hook_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/hook"
)

// people decide an approval after a time.
type people struct {
	approvalv1.ApprovalServiceClient
	services *services
	after    time.Duration
	status   approvalv1.ApprovalStatus
	err      error
}

func (p *people) WatchApproval(ctx context.Context, in *approvalv1.WatchApprovalRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[approvalv1.WatchApprovalResponse], error) {
	p.services.asked = append(p.services.asked, in)
	return &decision{people: p, ctx: ctx}, p.err
}

type decision struct {
	grpc.ServerStreamingClient[approvalv1.WatchApprovalResponse]
	people *people
	ctx    context.Context
	seen   bool
}

func (d *decision) Recv() (*approvalv1.WatchApprovalResponse, error) {
	status := approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING
	if d.seen {
		select {
		case <-time.After(d.people.after):
			status = d.people.status
		case <-d.ctx.Done():
			return nil, d.ctx.Err()
		}
	}
	d.seen = true
	return &approvalv1.WatchApprovalResponse{Approval: &approvalv1.Approval{ApprovalId: "apr_1", Status: status, Outcome: "approval apr_1 is so"}}, nil
}

// questions are those of a process.
type questions struct {
	enginev1.ProcessServiceClient
	turn *enginev1.Turn
	err  error
}

func (q *questions) AnswerQuestion(_ context.Context, in *enginev1.AnswerQuestionRequest, _ ...grpc.CallOption) (*enginev1.AnswerQuestionResponse, error) {
	if in.GetSessionId() != "s" || in.GetAnswer() != "" {
		return nil, fault.New(fault.InvalidRequest, "%v", in).GRPCStatus().Err()
	}
	return &enginev1.AnswerQuestionResponse{Accepted: true, Turn: q.turn}, q.err
}

// twice returns the first decision, and then another for the rest.
type twice struct {
	policyv1.PolicyEnforcerServiceClient
	services *services
	then     *policyv1.CheckToolCallResponse
	err      error
}

func (t *twice) CheckToolCall(ctx context.Context, in *policyv1.CheckToolCallRequest, _ ...grpc.CallOption) (*policyv1.CheckToolCallResponse, error) {
	res, err := t.services.CheckToolCall(ctx, in)
	if t.services.decision, t.services.checkErr = t.then, t.err; t.then == nil {
		t.services.decision = res
	}
	return res, err
}

const granted = approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED

// TestAskWaits: a call that people are asked about waits for them as long as the
// workflow says and the hook has patience, is decided again when they have decided,
// and otherwise denied: the agent's own prompt is never the answer (S7.6, S9.3).
func TestAskWaits(t *testing.T) {
	t.Parallel()
	allow := &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, ToolsRestricted: true, State: "planning"}
	deny := &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY, Message: "a human has rejected it"}
	for name, row := range map[string]struct {
		wait     int64 // of the workflow, in seconds
		patience time.Duration
		after    time.Duration // people decide
		status   approvalv1.ApprovalStatus
		then     *policyv1.CheckToolCallResponse
		checkErr error // of the second check
		waitErr  error
		nobody   bool // no approval service
		verdict  string
		reason   string
		checks   int
		took     time.Duration
	}{
		"no wait":                 {0, 0, time.Second, granted, allow, nil, nil, false, "deny", "Approval apr_1 is pending.", 1, 0},
		"granted":                 {60, 100 * time.Second, 59 * time.Second, granted, allow, nil, nil, false, "allow", "planning", 2, 59 * time.Second},
		"rejected":                {60, 100 * time.Second, time.Second, approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED, deny, nil, nil, false, "deny", "a human has rejected it", 2, time.Second},
		"expired":                 {60, 100 * time.Second, time.Second, approvalv1.ApprovalStatus_APPROVAL_STATUS_EXPIRED, allow, nil, nil, false, "deny", "approval apr_1 is so. To ask again, make the call again.", 1, time.Second},
		"used by another":         {60, 100 * time.Second, time.Second, approvalv1.ApprovalStatus_APPROVAL_STATUS_USED, allow, nil, nil, false, "deny", "To ask again", 1, time.Second},
		"nobody decides":          {60, 100 * time.Second, time.Hour, granted, allow, nil, nil, false, "deny", "Approval apr_1 is pending.", 1, 60 * time.Second},
		"no patience":             {60, 5 * time.Second, time.Hour, granted, allow, nil, nil, false, "deny", "Approval apr_1 is pending.", 1, 2 * time.Second},
		"too little patience":     {60, time.Second, time.Hour, granted, allow, nil, nil, false, "deny", "Approval apr_1 is pending.", 1, 0},
		"patience that is untold": {60, 0, time.Hour, granted, allow, nil, nil, false, "deny", "Approval apr_1 is pending.", 1, 7 * time.Second},
		"asked again":             {60, 100 * time.Second, time.Second, granted, nil, nil, nil, false, "deny", "Approval apr_1 is pending.", 2, time.Second},
		"no approval service":     {60, 100 * time.Second, time.Second, granted, allow, nil, nil, true, "deny", "Approval apr_1 is pending.", 1, 0},
		"somebody else's":         {60, 100 * time.Second, time.Second, granted, allow, nil, fault.New(fault.NotFound, "no approval"), false, "deny", "Approval apr_1 is pending.", 1, 0},
		"undecided":               {60, 100 * time.Second, time.Second, granted, allow, fault.New(fault.Unavailable, "the store is down"), nil, false, "block", "the store is down", 2, time.Second},
	} {
		for _, agent := range []hook.Agent{hook.ClaudeCode, hook.Codex} {
			t.Run(name+" "+string(agent), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					run := proto.CloneOf(planning)
					run.WorkflowMeta = &enginev1.WorkflowMeta{ApprovalWait: &durationpb.Duration{Seconds: row.wait}}
					s := &services{run: run, decision: &policyv1.CheckToolCallResponse{
						Decision: policyv1.Decision_DECISION_ASK, ApprovalId: "apr_1", Message: "is it right?", ToolsRestricted: true, State: "planning",
					}}
					h := hook.Handler{Runs: s, Policy: &twice{services: s, then: row.then, err: row.checkErr}, PublicURL: "https://gate.example"}
					if !row.nobody {
						h.Approvals = &people{services: s, after: row.after, status: row.status, err: row.waitErr}
					}
					began := time.Now()
					a := h.Handle(t.Context(), []byte(preTool), hook.Options{Agent: agent, Patience: row.patience})
					if took := time.Since(began); took != row.took {
						t.Errorf("took %v, want %v", took, row.took)
					}
					var checks []*policyv1.CheckToolCallRequest
					for _, m := range s.asked {
						if check, ok := m.(*policyv1.CheckToolCallRequest); ok {
							checks = append(checks, check)
						}
					}
					// It is the same call, by the same id: its report comes with that.
					if len(checks) != row.checks || !proto.Equal(checks[0], checks[len(checks)-1]) || checks[0].GetCallId() != "c1" {
						t.Errorf("checked %v", checks)
					}
					switch {
					case row.verdict == "block":
						wantBlock(t, name, a, row.reason)
					case row.verdict == "allow" && agent == hook.Codex:
						wantSilence(t, name, a)
					default:
						if got := specific(t, a); got["permissionDecision"] != row.verdict || !strings.Contains(got["permissionDecisionReason"], row.reason) {
							t.Errorf("%v", got)
						}
					}
				})
			})
		}
	}
}

// TestAskTeaches: the agent is told who decides, where, and what to do then.
func TestAskTeaches(t *testing.T) {
	t.Parallel()
	s := &services{run: planning, decision: &policyv1.CheckToolCallResponse{
		Decision: policyv1.Decision_DECISION_ASK, ApprovalId: "apr_1", Message: "policy p asks.",
	}}
	h := hook.Handler{Runs: s, Policy: s, PublicURL: "https://gate.example"}
	got := specific(t, h.Handle(t.Context(), []byte(preTool), hook.Options{}))["permissionDecisionReason"]
	const want = "Interlock asks people first: policy p asks. Approval apr_1 is pending. " +
		"A person with the role approver decides it, at https://gate.example/ui/approvals/apr_1; you cannot. " +
		"Wait for that with wait_approval(approval_id=\"apr_1\"), then make exactly the same call again; it is allowed once."
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestPatienceHeader: a hook says how long it waits; what cannot be read is as if it
// had not.
func TestPatienceHeader(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]time.Duration{
		"600": 60 * time.Second, "": 7 * time.Second, "-1": 7 * time.Second, "1e9": 7 * time.Second, "99999999999999999999": 7 * time.Second, "0": 7 * time.Second, "4": time.Second,
	} {
		t.Run("patience "+value, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				run := proto.CloneOf(planning)
				run.WorkflowMeta = &enginev1.WorkflowMeta{ApprovalWait: durationpb.New(time.Minute)}
				s := &services{run: run, decision: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ASK, ApprovalId: "apr_1"}}
				serve := door(s, hook.Handler{Approvals: &people{services: s, after: time.Hour, status: granted}}, nil)
				req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/v1/hook", strings.NewReader(preTool))
				req.Header.Set("X-Interlock-Patience", value)
				began := time.Now()
				rec := httptest.NewRecorder()
				serve.ServeHTTP(rec, req)
				if took := time.Since(began); took != want || !strings.Contains(rec.Body.String(), "deny") {
					t.Errorf("took %v, want %v: %s", took, want, rec.Body)
				}
			})
		})
	}
}

// TestFirstPrompt: the prompt of a process is injected before its first turn, and
// only there (S8.5).
func TestFirstPrompt(t *testing.T) {
	t.Parallel()
	process := &enginev1.Run{
		RunId: "run_1", Workflow: "deploy-gate", Status: enginev1.RunStatus_RUN_STATUS_RUNNING, State: "env", WorkflowMeta: &enginev1.WorkflowMeta{Process: true},
		Rules: &enginev1.StateRules{Instructions: "Is it right?", LegalEvents: []*enginev1.LegalEvent{{Event: "yes"}, {Event: "no"}}},
	}
	later := proto.CloneOf(process)
	later.TransitionCount = 1
	const question = "Question: Is it right?\nAnswers: \"yes\", \"no\". Give one with process_step(answer=...)."
	for _, row := range []struct {
		name    string
		run     *enginev1.Run
		turn    *enginev1.Turn
		without bool // no ProcessService
		want    string
		lacks   string
	}{
		{"the first turn", process, &enginev1.Turn{InitialPrompt: "Walk through it."}, false, "Walk through it.\nPhase: env.", "\x00"},
		{"a process without a prompt", process, &enginev1.Turn{}, false, "Phase: env.", "\x00"},
		{"a later turn", later, &enginev1.Turn{InitialPrompt: "Walk through it."}, false, "Phase: env.", "Walk"},
		{"no processes", process, nil, true, "Phase: env.", "Walk"},
		{"a workflow", planning, &enginev1.Turn{InitialPrompt: "Walk through it."}, false, "Phase: planning.", "Walk"},
	} {
		for _, event := range []string{"UserPromptSubmit", "SessionStart"} {
			s := &services{run: row.run}
			h := hook.Handler{Runs: s, Policy: s}
			if !row.without {
				h.Processes = &questions{turn: row.turn}
			}
			got := specific(t, h.Handle(t.Context(), []byte(`{"session_id":"s","hook_event_name":"`+event+`"}`), hook.Options{}))["additionalContext"]
			if !strings.HasPrefix(got, row.want) || strings.Contains(got, row.lacks) || row.run.GetWorkflowMeta().GetProcess() && !strings.Contains(got, question) {
				t.Errorf("%s at %s:\n%s", row.name, event, got)
			}
		}
	}
	s := &services{run: process}
	h := hook.Handler{Runs: s, Policy: s, Processes: &questions{err: fault.New(fault.Unavailable, "the store is down")}}
	wantBlock(t, "no answer", h.Handle(t.Context(), []byte(`{"session_id":"s","hook_event_name":"UserPromptSubmit"}`), hook.Options{}), "the store is down")
}

// TestParkedRunIsTold: every prompt of a session whose run waits for people says so,
// and what they have decided.
func TestParkedRunIsTold(t *testing.T) {
	t.Parallel()
	run := proto.CloneOf(planning)
	run.Status = enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL
	run.Approval = &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY", To: "live", Pending: true}
	s := &services{run: run}
	prompt := `{"session_id":"s","hook_event_name":"UserPromptSubmit"}`
	if got := specific(t, s.handle(prompt, hook.Options{}))["additionalContext"]; !strings.Contains(got, `Approval: apr_1 for "DEPLOY" -> live is pending.`) ||
		!strings.Contains(got, "wait_approval returns when that is decided.") {
		t.Errorf("%s", got)
	}
	run.Status = enginev1.RunStatus_RUN_STATUS_RUNNING
	run.Approval = &enginev1.RunApproval{ApprovalId: "apr_1", Event: "DEPLOY", Outcome: enginev1.ApprovalOutcome_APPROVAL_OUTCOME_REJECTED, DecidedBy: "bob", Note: "not\u202e today"}
	if got := specific(t, s.handle(prompt, hook.Options{}))["additionalContext"]; !strings.Contains(got, `was rejected by "bob". Note: "not\u202e today".`) {
		t.Errorf("%s", got)
	}
}
