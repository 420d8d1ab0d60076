package rest

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// TestApprovalAnswers pins the exact JSON of approvals (S9).
func TestApprovalAnswers(t *testing.T) {
	t.Parallel()
	const path = "/v1/approvals/apr_01"
	used := anApproval()
	used.Status, used.Terms, used.Votes, used.Escalated = approvalv1.ApprovalStatus_APPROVAL_STATUS_USED, nil, nil, false
	used.EditedData, used.EditPatch, used.EditedBy = []byte(`{"id":1.0}`), []byte(`[{"op":"remove","path":"/b"}]`), "bob"
	used.DecidedAt, used.UsedAt, used.UsedBy, used.Kind = noon, noon, "c1", approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL
	used.Reason, used.By = "why", "carol"
	checkAnswers(t, []answerCase{
		{
			name: "list", method: "GET", path: "/v1/approvals?status=PENDING&run_id=run_01&page_size=2&page_token=t", rpc: "ListApprovals",
			answer: &approvalv1.ListApprovalsResponse{Approvals: []*approvalv1.Approval{anApproval()}, NextPageToken: "u"},
			want:   &approvalv1.ListApprovalsRequest{PageSize: 2, PageToken: "t", Filter: "status=PENDING AND run_id=run_01"},
			status: 200, json: `{"approvals":[` + jsonApproval + `],"next_page_token":"u"}`,
		},
		{
			name: "stats", method: "GET", path: "/v1/approvals/stats?since=2026-03-04T12:00:00Z", rpc: "GetApprovalStats",
			answer: &approvalv1.GetApprovalStatsResponse{Complete: true, Questions: []*approvalv1.QuestionCount{{
				What: "call of Read", AskedBy: "house /ask/0", Asked: 40, Granted: 37, Rejected: 3, Expired: 1, Quick: 30, Hint: "a rule?",
			}}},
			want: &approvalv1.GetApprovalStatsRequest{Since: timestamppb.New(time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC))}, status: 200,
			json: `{"questions":[{"what":"call of Read","asked_by":"house /ask/0","asked":40,"granted":37,"rejected":3,"expired":1,"quick":30,"hint":"a rule?"}],"complete":true}`,
		},
		{
			name: "stats of none", method: "GET", path: "/v1/approvals/stats", rpc: "GetApprovalStats",
			answer: &approvalv1.GetApprovalStatsResponse{}, status: 200, json: `{"questions":[],"complete":false}`,
		},
		{
			name: "get", method: "GET", path: path, rpc: "GetApproval",
			want: &approvalv1.GetApprovalRequest{ApprovalId: "apr_01"}, status: 200, json: jsonApproval,
		},
		{
			name: "get what was edited and used, without waiting", method: "GET", path: path + "?wait=60s", rpc: "GetApproval",
			answer: &approvalv1.GetApprovalResponse{Approval: used}, status: 200,
			json: strings.NewReplacer("PENDING", "USED", `"transition"`, `"tool_call"`).Replace(jsonApprovalHead) +
				`"edited_data":{"id":1.0},"edit_patch":[{"op":"remove","path":"/b"}],"edited_by":"bob",` +
				`"editable":true,"digest":"d1","asker":{"principal":"agent-7","session_id":"ses_01","root_session_id":"ses_00"},` +
				`"message":"Stop it?","terms":{"required":0,"deny_threshold":0,"eligible":{"roles":[],"names":[]},"expires_seconds":0},"votes":[],` +
				`"outcome":"approval apr_01 is pending","reason":"why","by":"carol","created_at":"2026-03-04T12:00:00.005Z",` +
				`"expires_at":"2026-03-04T12:00:00.005Z","decided_at":"2026-03-04T12:00:00.005Z","used_at":"2026-03-04T12:00:00.005Z",` +
				`"used_by":"c1","version":4}`,
		},
		{
			name: "one in full", method: "GET", path: path, rpc: "GetApproval",
			answer: &approvalv1.GetApprovalResponse{Approval: aDetailedApproval()}, want: &approvalv1.GetApprovalRequest{ApprovalId: "apr_01"},
			status: 200, json: strings.TrimSuffix(jsonApproval, "}") + jsonApprovalDetails,
		},
		{
			name: "decide several", method: "POST", path: "/v1/approvals/decide", rpc: "DecideApprovals", headers: []string{"Idempotency-Key", "k"},
			body:   `{"approve":true,"note":"go","items":[{"approval_id":"apr_01","digest":"d1"},{"approval_id":"apr_02","digest":"d2"}]}`,
			answer: &approvalv1.DecideApprovalsResponse{Approvals: []*approvalv1.Approval{anApproval()}},
			want: &approvalv1.DecideApprovalsRequest{
				Approve: true, Note: "go", IdempotencyKey: "k",
				Items: []*approvalv1.DecideApprovalsItem{{ApprovalId: "apr_01", Digest: "d1"}, {ApprovalId: "apr_02", Digest: "d2"}},
			},
			status: 200, json: `{"approvals":[` + jsonApproval + `]}`,
		},
		{
			name: "the statement to sign", method: "POST", path: "/v1/approvals/statement", rpc: "GetApprovalStatement",
			body: `{"approve":false,"note":"no","items":[{"approval_id":"apr_01","digest":"d1"}]}`,
			answer: &approvalv1.GetApprovalStatementResponse{
				Statement: []byte(`{"a":1}`), Digest: []byte{0xfb, 0xff}, Shown: "I reject", Presence: true, RpId: "localhost",
				Keys: []*approvalv1.SigningKey{{CredentialId: []byte{1, 2}, Label: "laptop"}, {SshPublicKey: "ssh-ed25519 AAAA"}},
			},
			want:   &approvalv1.GetApprovalStatementRequest{Note: "no", Items: []*approvalv1.DecideApprovalsItem{{ApprovalId: "apr_01", Digest: "d1"}}},
			status: 200, json: `{"statement":"{\"a\":1}","challenge":"-_8","shown":"I reject","presence":true,"rp_id":"localhost",` +
				`"keys":[{"credential_id":"AQI","label":"laptop"},{"ssh_public_key":"ssh-ed25519 AAAA"}],"expires_at":"0001-01-01T00:00:00Z"}`,
		},
		{
			name: "reject with a signature", method: "POST", path: path + "/reject", rpc: "DecideApproval",
			body: `{"signature":{"statement":"{}","passkey":{"credential_id":"AQ","authenticator_data":"Ag","client_data_json":"e30","signature":"_w"}}}`,
			want: &approvalv1.DecideApprovalRequest{ApprovalId: "apr_01", Signature: &approvalv1.DecisionSignature{
				Statement: []byte("{}"),
				Passkey:   &approvalv1.PasskeyAssertion{CredentialId: []byte{1}, AuthenticatorData: []byte{2}, ClientDataJson: []byte("{}"), Signature: []byte{255}},
			}},
			status: 200, json: jsonApproval,
		},
		{
			name: "approve", method: "POST", path: path + "/approve", body: `{"note":"ok","edited_data":{ "id":1.0},"digest":"d1"}`,
			headers: []string{"Idempotency-Key", "k"}, rpc: "DecideApproval",
			want: &approvalv1.DecideApprovalRequest{
				ApprovalId: "apr_01", Approve: true, Note: "ok", EditedData: []byte(`{ "id":1.0}`), Digest: "d1", IdempotencyKey: "k",
			},
			status: 200, json: jsonApproval,
		},
		{
			name: "approve with a lease", method: "POST", path: path + "/approve", rpc: "DecideApproval",
			body: `{"lease":{"pattern":"git push *","calls":5,"minutes":30}}`,
			want: &approvalv1.DecideApprovalRequest{
				ApprovalId: "apr_01", Approve: true, Lease: &approvalv1.LeaseTerms{Pattern: "git push *", Calls: 5, Minutes: 30},
			},
			status: 200, json: jsonApproval,
		},
		{
			name: "leases", method: "GET", path: "/v1/leases?run_id=run_01&page_size=2&page_token=t", rpc: "ListLeases",
			answer: &approvalv1.ListLeasesResponse{Leases: []*approvalv1.Lease{aLease()}, NextPageToken: "u"},
			want:   &approvalv1.ListLeasesRequest{RunId: "run_01", PageSize: 2, PageToken: "t"},
			status: 200, json: `{"leases":[` + jsonLease + `],"next_page_token":"u"}`,
		},
		{
			name: "revoke a lease", method: "DELETE", path: "/v1/leases/lse_01", rpc: "RevokeLease",
			answer: &approvalv1.RevokeLeaseResponse{Lease: aLease()}, want: &approvalv1.RevokeLeaseRequest{LeaseId: "lse_01"},
			status: 200, json: jsonLease,
		},
		{
			name: "approve as it is", method: "POST", path: path + "/approve", rpc: "DecideApproval",
			want: &approvalv1.DecideApprovalRequest{ApprovalId: "apr_01", Approve: true}, status: 200, json: jsonApproval,
		},
		{
			name: "null edits nothing", method: "POST", path: path + "/approve", body: `{"edited_data":null}`, rpc: "DecideApproval",
			want: &approvalv1.DecideApprovalRequest{ApprovalId: "apr_01", Approve: true}, status: 200, json: jsonApproval,
		},
		{
			name: "reject", method: "POST", path: path + "/reject", body: `{"note":"no"}`, headers: []string{"Idempotency-Key", "k"}, rpc: "DecideApproval",
			want: &approvalv1.DecideApprovalRequest{ApprovalId: "apr_01", Note: "no", IdempotencyKey: "k"}, status: 200, json: jsonApproval,
		},
		{
			name: "a parked run", method: "GET", path: "/v1/runs/run_01", rpc: "GetRun",
			answer: &enginev1.GetRunResponse{Run: func() *enginev1.Run {
				r := aRun()
				r.Approval = &enginev1.RunApproval{
					ApprovalId: "apr_01", Event: "STOP", To: "failed", Message: "Stop it?", AskedBy: "agent-7", Since: noon, Pending: true,
				}
				return r
			}()},
			status: 200,
			json: strings.TrimSuffix(jsonRun, "}") + `,"pending_approval":{"approval_id":"apr_01","event":"STOP","to":"failed",` +
				`"message":"Stop it?","asked_by":"agent-7","since":"2026-03-04T12:00:00.005Z"}}`,
		},
		{
			name: "a run whose transition was rejected", method: "GET", path: "/v1/runs/run_01", rpc: "GetRun",
			answer: &enginev1.GetRunResponse{Run: func() *enginev1.Run {
				r := aRun()
				r.Approval = &enginev1.RunApproval{
					ApprovalId: "apr_01", Event: "STOP", To: "failed", AskedBy: "agent-7", Since: noon, Outcome: enginev1.ApprovalOutcome_APPROVAL_OUTCOME_REJECTED, Note: "no", DecidedBy: "bob",
				}
				r.WorkflowMeta = &enginev1.WorkflowMeta{ApprovalWait: durationpb.New(30 * time.Second), Process: true, Policies: []string{"gate"}}
				return r
			}()},
			status: 200,
			json: strings.TrimSuffix(jsonRun, "}") + `,"last_approval":{"approval_id":"apr_01","event":"STOP","to":"failed","outcome":"REJECTED",` +
				`"note":"no","decided_by":"bob"},"approval_wait_seconds":30,"process":true,"policies":["gate"]}`,
		},
		{
			name: "history of a parked transition", method: "GET", path: "/v1/runs/run_01/history", rpc: "GetRunHistory",
			answer: &enginev1.GetRunHistoryResponse{Entries: []*enginev1.HistoryEntry{
				{RunVersion: 8, Time: noon, Actor: "agent-7", Type: enginev1.HistoryType_HISTORY_TYPE_APPROVAL_PARKED, Event: "STOP", ApprovalId: "apr_01"},
			}},
			status: 200,
			json: `{"entries":[{"run_version":8,"time":"2026-03-04T12:00:00.005Z","actor":"agent-7","type":"approval.parked","event":"STOP",` +
				`"approval_id":"apr_01"}],"next_after_version":0,"next_after_result":0}`,
		},
	})
}

func TestRefusedApprovals(t *testing.T) {
	t.Parallel()
	const path = "/v1/approvals/apr_01"
	const bad = "INVALID_REQUEST"
	checkRefusals(t, []refusalCase{
		{name: "unknown status", method: "GET", path: "/v1/approvals?status=pending", status: 400, code: bad, detail: "ENUM"},
		{name: "no status", method: "GET", path: "/v1/approvals?status=UNSPECIFIED", status: 400, code: bad, detail: "ENUM"},
		{name: "page of approvals", method: "GET", path: "/v1/approvals?page_size=-1", status: 400, code: bad, detail: "RANGE"},
		{name: "wait without a unit", method: "GET", path: path + "?wait=30", status: 400, code: bad, detail: "RANGE"},
		{name: "wait too long", method: "GET", path: path + "?wait=61s", status: 400, code: bad, detail: "RANGE"},
		{name: "wait backwards", method: "GET", path: path + "?wait=-1s", status: 400, code: bad, detail: "RANGE"},
		{name: "a vote that says nothing", method: "POST", path: "/v1/approvals/decide", body: `{"items":[{"approval_id":"a","digest":"d"}]}`, status: 400, code: bad, pointer: "/approve"},
		{name: "a signature of nothing", method: "POST", path: "/v1/approvals/apr_01/approve", body: `{"signature":{"ssh":"x"}}`, status: 400, code: bad, pointer: "/signature/statement"},
		{name: "an assertion that is no base64url", method: "POST", path: "/v1/approvals/apr_01/approve", body: `{"signature":{"statement":"{}","passkey":{"credential_id":"+","authenticator_data":"","client_data_json":"","signature":""}}}`, status: 400, code: bad, pointer: "/signature/passkey"},
		{name: "a vote on nothing", method: "POST", path: "/v1/approvals/decide", body: `{"approve":true}`, status: 400, code: bad, pointer: "/items"},
		{name: "a vote on what was not shown", method: "POST", path: "/v1/approvals/decide", body: `{"approve":true,"items":[{"approval_id":"a"}]}`, status: 400, code: bad, pointer: "/items/0/digest"},
		{name: "edited data is not an object", method: "POST", path: path + "/approve", body: `{"edited_data":[]}`, status: 400, code: bad, pointer: "/edited_data", detail: "TYPE"},
		{name: "a rejection edits nothing", method: "POST", path: path + "/reject", body: `{"edited_data":{}}`, status: 400, code: bad, pointer: "/edited_data", detail: "UNKNOWN_FIELD"},
		{name: "cross origin", method: "POST", path: path + "/approve", headers: []string{"Sec-Fetch-Site", "same-site"}, status: 403, code: "CROSS_ORIGIN"},
		{name: "nothing is decided by a link", method: "GET", path: path + "/approve", status: 405, code: "METHOD_NOT_ALLOWED"},
	})
}

// TestRefusedVotes: who may not decide, or comes too late, is told how it stands.
func TestRefusedVotes(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err    *fault.Error
		status int
		want   RefusedVote
	}{
		"decided before": {
			fault.New(fault.ApprovalDecided, "approval apr_01 was rejected by \"bob\"; that is final").Meta("code", "ALREADY_DECIDED").
				Meta("status", "REJECTED").Meta("by", "bob").Meta("at", "2026-03-04T12:00:00Z"),
			409,
			RefusedVote{"apr_01", "ALREADY_DECIDED", "REJECTED", "bob", "2026-03-04T12:00:00Z"},
		},
		"the asker": {
			fault.New(fault.PermissionDenied, "somebody else must decide it").Meta("code", "APPROVER_IS_ASKER").Meta("status", "PENDING"),
			403,
			RefusedVote{ApprovalID: "apr_01", Code: "APPROVER_IS_ASKER", Status: "PENDING"},
		},
		"another action": {
			fault.New(fault.VersionConflict, "look at it again").Meta("code", "ACTION_CHANGED").Meta("status", "PENDING"),
			409,
			RefusedVote{ApprovalID: "apr_01", Code: "ACTION_CHANGED", Status: "PENDING"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.errs["DecideApproval"] = tc.err.Meta("approval_id", "apr_01")
			rec := h.do("POST", "/v1/approvals/apr_01/approve", "")
			p := problem(t, rec)
			if rec.Code != tc.status || p.Code != string(tc.err.Reason) || p.Approval == nil || *p.Approval != tc.want {
				t.Errorf("%d %s", rec.Code, rec.Body)
			}
		})
	}
}

// TestWait: a long poll answers when the approval is decided, or how it stands.
func TestWait(t *testing.T) {
	t.Parallel()
	const path = "/v1/approvals/apr_01"
	granted := anApproval()
	granted.Status = approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED
	jsonGranted := strings.Replace(jsonApproval, "PENDING", "GRANTED", 1) + "\n"
	t.Run("until it is decided", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		go func() {
			h.waits <- anApproval()
			h.waits <- granted
		}()
		rec := h.do("GET", path+"?wait=60s", "")
		if rec.Code != 200 || rec.Body.String() != jsonGranted {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
		if want := (&approvalv1.WatchApprovalRequest{ApprovalId: "apr_01"}); !proto.Equal(h.got["WatchApproval"], want) {
			t.Errorf("waited with %v", h.got["WatchApproval"])
		}
	})
	t.Run("until the time is over", func(t *testing.T) {
		t.Parallel()
		if rec := newHouse(t).do("GET", path+"?wait=1ms", ""); rec.Code != 200 || rec.Body.String() != jsonApproval+"\n" {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	})
	t.Run("until the stream ends", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		close(h.waits)
		if rec := h.do("GET", path+"?wait=60s", ""); rec.Code != 200 || rec.Body.String() != jsonApproval+"\n" {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	})
	t.Run("until the server drains", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		drain := make(chan struct{})
		close(drain)
		req := httptest.NewRequest(http.MethodGet, path+"?wait=60s", http.NoBody)
		req.Header.Set("Authorization", "Bearer secret")
		req = req.WithContext(context.WithValue(req.Context(), drainKey{}, (<-chan struct{})(drain)))
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code != 200 || rec.Body.String() != jsonApproval+"\n" {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	})
	t.Run("but not through a failure", func(t *testing.T) {
		t.Parallel()
		h := newHouse(t)
		h.errs["WatchApproval"] = status.Error(codes.Unavailable, "gone")
		if rec := h.do("GET", path+"?wait=60s", ""); rec.Code != 503 {
			t.Errorf("%d %s", rec.Code, rec.Body)
		}
	})
	t.Run("longer than other calls", func(t *testing.T) {
		t.Parallel()
		var left time.Duration
		h := newHouse(t, func(c *Config) { c.Approvals = deadlines{c.Approvals, &left} })
		h.do("GET", path, "")
		if left <= maxWait {
			t.Errorf("the call has %s", left)
		}
	})
}

// deadlines notes how long a call may take.
type deadlines struct {
	approvalv1.ApprovalServiceClient
	left *time.Duration
}

func (d deadlines) GetApproval(ctx context.Context, in *approvalv1.GetApprovalRequest, opts ...grpc.CallOption) (*approvalv1.GetApprovalResponse, error) {
	deadline, _ := ctx.Deadline()
	*d.left = time.Until(deadline)
	return d.ApprovalServiceClient.GetApproval(ctx, in, opts...)
}

// aDetailedApproval is anApproval as one who may decide it sees it.
func aDetailedApproval() *approvalv1.Approval {
	a := anApproval()
	a.You = &approvalv1.Viewer{Reason: "you asked"}
	a.Why = &approvalv1.Why{Policy: "gate", PolicyVersion: 3, Rule: "/ask/0", State: "s", Workflow: "w", WorkflowVersion: 2}
	a.Unlocks = &approvalv1.Unlocks{State: "t", ToolsRestricted: true, Instructions: "Go on."}
	a.EscalatesAt, a.EscalatesTo = noon, &approvalv1.Approvers{Names: []string{"carol"}}
	a.Previous = &approvalv1.PreviousApproval{ApprovalId: "apr_00", Data: []byte(`{"id":1.0}`), DecidedAt: noon, DecidedBy: "alice"}
	a.Command = &policyv1.CommandLine{Line: "ls"}
	return a
}

const jsonApprovalDetails = `,"you":{"may_decide":false,"reason":"you asked"},"why":{"policy":"gate","policy_version":3,"rule":"/ask/0","state":"s","workflow":"w",` +
	`"workflow_version":2},"unlocks":{"state":"t","allowed_tools":[],"instructions":"Go on."},"escalates_at":"2026-03-04T12:00:00.005Z",` +
	`"escalates_to":{"roles":[],"names":["carol"]},"previous":{"approval_id":"apr_00","data":{"id":1.0},"decided_at":"2026-03-04T12:00:00.005Z",` +
	`"decided_by":"alice"},"command":{"line":"ls","parts":[]}}`

func aLease() *approvalv1.Lease {
	return &approvalv1.Lease{
		LeaseId: "lse_01", ApprovalId: "apr_01", RunId: "run_01", SessionId: "ses_01", State: "work", Policy: "p", PolicyVersion: 2, Rule: "/ask/0",
		Capability: "bash", Pattern: "git push *", CallsLeft: 4, ExpiresAt: noon, GrantedBy: "alice", GrantedAt: noon,
	}
}

const jsonLease = `{"lease_id":"lse_01","approval_id":"apr_01","run_id":"run_01","session_id":"ses_01","state":"work","policy":"p",` +
	`"policy_version":2,"rule":"/ask/0","capability":"bash","pattern":"git push *","calls_left":4,"expires_at":"2026-03-04T12:00:00.005Z",` +
	`"granted_by":"alice","granted_at":"2026-03-04T12:00:00.005Z"}`
