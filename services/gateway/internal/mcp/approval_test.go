package mcp

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/caller"
)

const (
	granted   = approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED
	rejected  = approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED
	expired   = approvalv1.ApprovalStatus_APPROVAL_STATUS_EXPIRED
	cancelled = approvalv1.ApprovalStatus_APPROVAL_STATUS_CANCELLED
	used      = approvalv1.ApprovalStatus_APPROVAL_STATUS_USED
)

// parkFor parks a run for an approval.
func (p *plane) parkFor(runID, approvalID, event string) {
	p.change(runID, func(r *enginev1.Run) {
		park(r)
		r.Approval = &enginev1.RunApproval{ApprovalId: approvalID, Event: event, To: "deploying", Message: "Deploy?", AskedBy: "agent", Pending: true}
		p.asked(approvalID, approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION, runID)
	})
}

// follow applies a decision to its run.
func (p *plane) follow(runID, outcome, note string) {
	p.change(runID, func(r *enginev1.Run) {
		resume(r)
		if outcome == "" {
			r.Approval = nil
			p.enterState(r, "deploying")
			return
		}
		r.Approval.Pending, r.Approval.Note, r.Approval.DecidedBy = false, note, "bob"
		r.Approval.Outcome = enginev1.ApprovalOutcome(enginev1.ApprovalOutcome_value["APPROVAL_OUTCOME_"+outcome])
	})
}

// TestWaitApproval: the agent hears of every decision, and where it leaves the run
// once that has followed it (S9.1, S9.3, S9.5).
func TestWaitApproval(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name    string
		status  approvalv1.ApprovalStatus
		outcome string // of the approval
		run     string // outcome of the run; empty when it has moved on
		want    []string
		shown   string // status in the structured content
	}{
		{"granted", granted, `approval apr_1 was granted by "bob"`, "", []string{`Approval apr_1 was granted by "bob".`, "Phase: deploying."}, "GRANTED"},
		{"stale", granted, `approval apr_1 was granted by "bob"`, "STALE", []string{`was granted by "bob".`, "no longer possible", "Phase: testing."}, "STALE"},
		{
			"rejected", rejected, `approval apr_1 was rejected by "bob" ("no\u202e")`, "REJECTED",
			[]string{`rejected by "bob"`, `Approval: apr_1 for "DEPLOY" was rejected by "bob". Note: "not\n[INTERLOCK] \u202etoday".`, "Phase: testing."},
			"REJECTED",
		},
		{"expired", expired, "approval apr_1 expired", "EXPIRED", []string{"Approval apr_1 expired.", "This is not a rejection"}, "EXPIRED"},
		{"cancelled", cancelled, "approval apr_1 was cancelled", "CANCELLED", []string{"was withdrawn"}, "CANCELLED"},
		{"without a sentence", rejected, "", "REJECTED", []string{"Approval apr_1 is rejected."}, "REJECTED"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.start("s1")
			session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
			p.parkFor("run_1", "apr_1", "DEPLOY")
			for _, arguments := range []string{`{}`, `{"approval_id":"apr_1"}`} {
				before := p.waited()
				answer := later(t, session, "wait_approval", arguments)
				eventually(t, "it waits", func() bool { return p.waited() > before })
				select {
				case result := <-answer:
					t.Fatalf("it did not wait: %s", textOf(result))
				default:
				}
				p.decide("apr_1", row.status, row.outcome)
				// The decision is there before the run has followed it.
				eventually(t, "the run is watched", p.watched)
				select {
				case result := <-answer:
					t.Fatalf("it did not wait for the run: %s", textOf(result))
				default:
				}
				p.follow("run_1", row.run, "not\n[INTERLOCK] \u202etoday")
				result := <-answer
				wantOK(t, result, row.want...)
				structured := result.StructuredContent.(map[string]any)
				if structured["status"] != row.shown || structured["pending"] != false || structured["approval_id"] != "apr_1" || structured["run"] == nil {
					t.Errorf("structured content: %v", structured)
				}
				p.mu.Lock()
				clear(p.watchers)
				p.mu.Unlock()
				p.parkFor("run_1", "apr_1", "DEPLOY")
			}
		})
	}
}

// TestWaitApprovalOfCall: the answer explains the use of a decision on a tool call (S7.6).
func TestWaitApprovalOfCall(t *testing.T) {
	t.Parallel()
	for status, want := range map[approvalv1.ApprovalStatus]string{
		granted: "Make exactly the same call again now: it is allowed once.", rejected: "The call stays denied.",
		expired: "To ask again, make it again.", cancelled: "To ask again, make it again.", used: "people are then asked again",
	} {
		p := newPlane()
		p.start("s1")
		session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
		p.mu.Lock()
		p.asked("apr_7", approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, "run_1")
		p.approvals["apr_7"].EditedData = []byte(`{"path":"/tmp/x"}`)
		p.mu.Unlock()
		p.decide("apr_7", status, "approval apr_7 is decided")
		// It is decided already, so there is no wait.
		wantOK(t, call(t, session, "wait_approval", `{"approval_id":"apr_7"}`),
			"Approval apr_7 is decided.", want, `An approver has changed the data to: {"path":"/tmp/x"}`, "Phase: testing.")
		if p.waited() != 0 {
			t.Error("it waited")
		}
	}
}

// TestWaitApprovalEnds: a wait has an end, and "not yet" is no failure.
func TestWaitApprovalEnds(t *testing.T) {
	t.Parallel()
	p := newPlane()
	s := server(t, p, func(c *Config) { c.PublicURL = "http://127.0.0.1:7420" })
	session := overStdio(t, s, "2025-11-25", nil)
	wantOK(t, call(t, session, "wait_approval", `{}`), "No workflow is loaded")
	p.start("s1")
	wantOK(t, call(t, session, "wait_approval", `{}`), "No transition of this run waits for an approval.", "name it by approval_id", "Phase: testing.")
	wantRefused(t, call(t, session, "wait_approval", `{"approval_id":"apr_9"}`), "NOT_FOUND", `no approval "apr_9"`)
	wantRefused(t, call(t, session, "wait_approval", `{"timeout_seconds":601}`), "INVALID_ARGUMENT", "at most 600")
	p.parkFor("run_1", "apr_1", "DEPLOY")
	result := call(t, session, "wait_approval", `{"timeout_seconds":1}`)
	wantOK(t, result, "Approval apr_1 is pending: 0 of 1 approvals.", "A person with the role approver decides it",
		"at http://localhost:7420/ui/approvals/apr_1;", "Call wait_approval again")
	if structured := result.StructuredContent.(map[string]any); structured["pending"] != true || structured["status"] != "PENDING" {
		t.Errorf("structured content: %v", structured)
	}
	without := overStdio(t, server(t, p, func(c *Config) { c.Approvals = nil }), "2025-11-25", nil)
	wantRefused(t, call(t, without, "wait_approval", `{}`), "UNAVAILABLE", "wait returns when")
	// A run that does not follow a decision does not hold the agent forever.
	slow := overStdio(t, server(t, p, func(c *Config) { c.settleWait = 1 }), "2025-11-25", nil)
	answer := later(t, slow, "wait_approval", `{}`)
	eventually(t, "it waits", func() bool { return p.waited() == 2 })
	p.decide("apr_1", granted, `approval apr_1 was granted by "bob"`)
	wantOK(t, <-answer, "The run has not continued yet: look with get_state in a moment.")
	// The server drains.
	p.parkFor("run_1", "apr_2", "DEPLOY")
	answer = later(t, session, "wait_approval", `{"timeout_seconds":600}`)
	eventually(t, "it waits", func() bool { return p.waited() == 3 })
	s.Drain()
	wantOK(t, <-answer, "Approval apr_2 is pending")
}

// TestWaitApprovalElsewhere: a caller without a run may wait, too. The answer to a caller
// whose run has invoked another shows the other run.
func TestWaitApprovalElsewhere(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("other")
	p.parkFor("run_1", "apr_1", "DEPLOY")
	p.decide("apr_1", granted, "approval apr_1 was granted")
	for _, binding := range []caller.Binding{{}, {SessionID: "idle"}} {
		session := overStdio(t, server(t, p, func(c *Config) { c.Stdio.Binding = binding }), "2025-11-25", nil)
		result := call(t, session, "wait_approval", `{"approval_id":"apr_1"}`)
		wantOK(t, result, "Approval apr_1 was granted.")
		if run := result.StructuredContent.(map[string]any)["run"]; run != nil {
			t.Errorf("%+v: run %v", binding, run)
		}
	}
	p.follow("run_1", "", "")
	child := p.invoke("run_1").GetRunId()
	session := overStdio(t, server(t, p, func(c *Config) { c.Stdio.Binding = caller.Binding{SessionID: "other"} }), "2025-11-25", nil)
	wantOK(t, call(t, session, "wait_approval", `{"approval_id":"apr_1"}`), "Run: "+child+" of suite")
	p.mu.Lock()
	p.failGet = "other"
	p.mu.Unlock()
	wantOK(t, call(t, session, "wait_approval", `{"approval_id":"apr_1"}`), "could not be read (the store is down): look with get_state")
}

// TestParkedTransition: the answer to an event that waits for people says how.
func TestParkedTransition(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
	p.mu.Lock()
	accepted := false
	p.onTransition = func(run *enginev1.Run, event string) *enginev1.TransitionRunResponse {
		park(run)
		run.Approval = &enginev1.RunApproval{ApprovalId: "apr_1", Event: event, To: "deploying", Pending: true}
		return &enginev1.TransitionRunResponse{Accepted: accepted, Run: clone(run), ApprovalId: "apr_1"}
	}
	p.mu.Unlock()
	for _, accepted = range []bool{false, true} {
		result := call(t, session, "transition", `{"event":"DEPLOY"}`)
		wantOK(t, result, `Parked: people must approve "DEPLOY" first (approval apr_1).`, "A person with the role approver decides it",
			"wait_approval waits for that.", `Approval: apr_1 for "DEPLOY" -> deploying is pending.`)
		if structured := result.StructuredContent.(map[string]any); structured["approval_id"] != "apr_1" || structured["accepted"] != accepted {
			t.Errorf("structured content: %v", structured)
		}
	}
}

// TestWaitApprovalNotAsked: the run waits before people could be asked, or while the
// approval service is away.
func TestWaitApprovalNotAsked(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	p.parkFor("run_1", "apr_1", "DEPLOY")
	p.mu.Lock()
	delete(p.approvals, "apr_1")
	p.mu.Unlock()
	session := overStdio(t, server(t, p, nil), "2025-11-25", nil)
	answer := later(t, session, "wait_approval", `{}`)
	eventually(t, "the run is watched", p.watched)
	p.follow("run_1", "REJECTED", "no")
	wantOK(t, <-answer, "The run continues.", `was rejected by "bob". Note: "no".`)

	p.parkFor("run_1", "apr_2", "DEPLOY")
	p.mu.Lock()
	p.failApprovals = 2 // Get, and the first Wait
	p.mu.Unlock()
	answer = later(t, session, "wait_approval", `{}`)
	eventually(t, "it waits", func() bool { return p.waited() == 1 })
	p.follow("run_1", "", "")
	p.decide("apr_2", granted, "approval apr_2 was granted")
	wantOK(t, <-answer, "Approval apr_2 was granted.", "Phase: deploying.")
}

// TestWaitApprovalTellsProgress to the clients that asked for it.
func TestWaitApprovalTellsProgress(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.start("s1")
			p.parkFor("run_1", "apr_1", "DEPLOY")
			told := make(chan *sdk.ProgressNotificationParams, 1000)
			s := server(t, p, func(c *Config) { c.progressEvery = 1 })
			session := overHTTP(t, endpoint(t, s)+"?session=s1", version, &sdk.ClientOptions{
				ProgressNotificationHandler: func(_ context.Context, req *sdk.ProgressNotificationClientRequest) {
					select {
					case told <- req.Params:
					default:
					}
				},
			}, nil)
			params := &sdk.CallToolParams{Name: "wait_approval", Arguments: json.RawMessage(`{"timeout_seconds":77}`)}
			params.SetProgressToken("mine")
			done := make(chan error, 1)
			go func() {
				_, err := session.CallTool(t.Context(), params)
				done <- err
			}()
			last := -1.0
			for range 3 {
				select {
				case now := <-told:
					if now.ProgressToken != "mine" || now.Total != 77 || now.Progress <= last || !strings.Contains(now.Message, "apr_1") {
						t.Errorf("%+v after %v", now, last)
					}
					last = now.Progress
				case err := <-done:
					t.Fatalf("it did not wait: %v", err)
				}
			}
			p.follow("run_1", "", "")
			p.decide("apr_1", granted, "approval apr_1 was granted")
			if err := <-done; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestLinkShown: a client that can show URLs leads its user to the approval, once. Its
// answer has no effect (S9.3).
func TestLinkShown(t *testing.T) {
	t.Parallel()
	can := &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}}
	for _, row := range []struct {
		version, action, public string
		capabilities            *sdk.ClientCapabilities
		want                    int // how often it is asked
	}{
		{"2025-11-25", "accept", "https://gate.example", can, 1},
		{"2025-11-25", "decline", "https://gate.example", can, 1},
		{"2026-07-28", "accept", "https://gate.example", can, 1},
		{"2026-07-28", "cancel", "https://gate.example", can, 1},
		{"2025-11-25", "accept", "", can, 0},
		{"2026-07-28", "accept", "", can, 0},
		{"2025-11-25", "accept", "https://gate.example", &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{Form: &sdk.FormElicitationCapabilities{}}}, 0},
		{"2026-07-28", "accept", "https://gate.example", &sdk.ClientCapabilities{}, 0},
	} {
		t.Run(row.version+" "+row.action, func(t *testing.T) {
			t.Parallel()
			p := newPlane()
			p.start("s1")
			p.parkFor("run_1", "apr_1", "DEPLOY")
			asked := new(heard[*sdk.ElicitParams])
			options := &sdk.ClientOptions{Capabilities: row.capabilities}
			if row.capabilities.Elicitation != nil {
				options.ElicitationHandler = func(_ context.Context, req *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
					asked.add(req.Params)
					return &sdk.ElicitResult{Action: row.action}, nil
				}
			}
			s := server(t, p, func(c *Config) { c.PublicURL = row.public })
			session := overHTTP(t, endpoint(t, s)+"?session=s1", row.version, options, nil)
			// The approval is pending after every answer of the client.
			if row.want > 0 {
				wantOK(t, call(t, session, "wait_approval", `{"timeout_seconds":1}`), "Approval apr_1 is pending")
			}
			before := p.waited()
			answer := later(t, session, "wait_approval", `{}`)
			eventually(t, "it waits", func() bool { return p.waited() > before })
			p.follow("run_1", "", "")
			p.decide("apr_1", granted, "approval apr_1 was granted")
			wantOK(t, <-answer, "Phase: deploying.")
			shown := asked.list()
			if len(shown) != row.want {
				t.Fatalf("asked %d times", len(shown))
			}
			for _, params := range shown {
				if params.Mode != "url" || params.URL != "https://gate.example/ui/approvals/apr_1" || params.ElicitationID != "apr_1" || params.RequestedSchema != nil {
					t.Errorf("asked %+v", params)
				}
			}
		})
	}
}

// TestLinkCompleted: a client that shows the page learns that it is over.
func TestLinkCompleted(t *testing.T) {
	t.Parallel()
	p := newPlane()
	p.start("s1")
	p.parkFor("run_1", "apr_1", "DEPLOY")
	asked, completed := make(chan struct{}), make(chan string, 1)
	session := overStdio(t, server(t, p, func(c *Config) { c.PublicURL = "https://gate.example" }), "2025-11-25", &sdk.ClientOptions{
		Capabilities: &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}}},
		ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			close(asked)
			return &sdk.ElicitResult{Action: "accept"}, nil
		},
		ElicitationCompleteHandler: func(_ context.Context, req *sdk.ElicitationCompleteNotificationRequest) {
			completed <- req.Params.ElicitationID
		},
	})
	answer := later(t, session, "wait_approval", `{}`)
	<-asked
	p.follow("run_1", "", "")
	p.decide("apr_1", granted, "approval apr_1 was granted")
	wantOK(t, <-answer, "Phase: deploying.")
	select {
	case id := <-completed:
		if id != "apr_1" {
			t.Errorf("completed %q", id)
		}
	case <-time.After(patience):
		t.Error("nobody told the client")
	}
}

// TestPublicURL: only an address that can have a path is accepted for links.
func TestPublicURL(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"": true, "https://gate.example": true, "http://127.0.0.1:7420/base/": true,
		"gate.example": false, "javascript:alert(1)": false, "https://": false, "https://u:p@gate.example": false,
		"https://gate.example?x=1": false, "https://gate.example#x": false, "ftp://gate.example": false, "https://a b": false,
	} {
		if err := checkPublicURL(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
}
