package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// humans is an approval service that has one approval.
type humans struct {
	approvalv1.UnimplementedApprovalServiceServer
	approval *approvalv1.Approval
	// refuses is the answer to a decision, and decided the request.
	refuses error
	decided *approvalv1.DecideApprovalRequest
	// then are the changes that a wait sees.
	then []*approvalv1.Approval
}

func (h *humans) GetApproval(context.Context, *approvalv1.GetApprovalRequest) (*approvalv1.GetApprovalResponse, error) {
	return &approvalv1.GetApprovalResponse{Approval: h.approval}, nil
}

func (h *humans) ListApprovals(_ context.Context, req *approvalv1.ListApprovalsRequest) (*approvalv1.ListApprovalsResponse, error) {
	if req.GetPageToken() == "" {
		return &approvalv1.ListApprovalsResponse{NextPageToken: "more"}, nil
	}
	return &approvalv1.ListApprovalsResponse{Approvals: []*approvalv1.Approval{h.approval}}, nil
}

func (h *humans) DecideApproval(_ context.Context, req *approvalv1.DecideApprovalRequest) (*approvalv1.DecideApprovalResponse, error) {
	h.decided = req
	return &approvalv1.DecideApprovalResponse{Approval: h.approval}, h.refuses
}

func (h *humans) WatchApproval(_ *approvalv1.WatchApprovalRequest, stream grpc.ServerStreamingServer[approvalv1.WatchApprovalResponse]) error {
	for _, a := range append([]*approvalv1.Approval{h.approval}, h.then...) {
		if err := stream.Send(&approvalv1.WatchApprovalResponse{Approval: a}); err != nil {
			return err
		}
	}
	<-stream.Context().Done()
	return stream.Context().Err()
}

// runOf is the engine of the approval's run.
type runOf struct {
	enginev1.UnimplementedRunServiceServer
	fails error
}

func (r runOf) GetRun(context.Context, *enginev1.GetRunRequest) (*enginev1.GetRunResponse, error) {
	return &enginev1.GetRunResponse{Run: &enginev1.Run{RunId: "run_1", Version: 14}}, r.fails
}

func (r runOf) GetRunHistory(_ context.Context, req *enginev1.GetRunHistoryRequest) (*enginev1.GetRunHistoryResponse, error) {
	if req.GetAfterVersion() != 4 {
		return nil, fault.New(fault.InvalidRequest, "after %d", req.GetAfterVersion())
	}
	var entries []*enginev1.HistoryEntry
	for version := int64(4); version <= 14; version++ { // with the result of a tool of before
		entries = append(entries, &enginev1.HistoryEntry{
			RunVersion: version, Time: timestamppb.New(noon), Actor: "agent", Type: enginev1.HistoryType_HISTORY_TYPE_TRANSITIONED, Event: fmt.Sprintf("E%d\u200b", version),
		})
	}
	return &enginev1.GetRunHistoryResponse{Entries: entries}, nil
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func hostile() *approvalv1.Approval {
	return &approvalv1.Approval{
		ApprovalId: "apr_1", Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TOOL_CALL, Status: approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING, RunId: "run_1",
		Subject: []byte(`{"run_id":"run_1","run_version":14,"workflow":"deploy","state":"review","tool":"Bash","capability":"bash"}`),
		Data:    []byte(`{"command":"echo \u001b[2K\rls","big":9007199254740993}`), EditedData: []byte("{\"command\":\"ls\u202e\"}"),
		EditPatch: []byte(`[{"op":"replace","path":"/command","value":"ls"}]`), EditedBy: "olga",
		Asker: &approvalv1.Asker{Principal: "agent", SessionId: "child", RootSessionId: "root"}, Message: "May I?\n\x1b[31mdigest  forged",
		Terms:     &approvalv1.Terms{Required: 2, Eligible: &approvalv1.Approvers{Roles: []string{"approver"}, Names: []string{"olga"}}},
		Votes:     []*approvalv1.Vote{{By: "olga", Role: approvalv1.ApproverRole_APPROVER_ROLE_OPERATOR, Approve: true, Note: "fine\u202e", Time: timestamppb.New(noon)}},
		CreatedAt: timestamppb.New(noon), ExpiresAt: timestamppb.New(noon.Add(24 * time.Hour)), Digest: strings.Repeat("ab", 32),
		Outcome: `approval apr_1 is pending: 1 of 2 approvals`,
	}
}

// TestApprovalShow: the request is shown in full, and text of others controls
// no terminal: no line of it poses as another.
func TestApprovalShow(t *testing.T) {
	t.Parallel()
	h := &humans{approval: hostile()}
	interlock := serve(t, func(s *grpc.Server) {
		approvalv1.RegisterApprovalServiceServer(s, h)
		enginev1.RegisterRunServiceServer(s, runOf{})
	})
	out, told, code := interlock("approval", "show", "apr_1")
	const want = `approval     apr_1
status       PENDING (1 of 2)
asked for    call of Bash (bash) in review, of deploy
run          run_1
asked by     agent, session child of the tree of root
message      May I? ⟦U+001B⟧[31mdigest  forged
who decides  role approver, olga; 2 approvals, or 1 rejection
vote         olga (operator) has approved it at 2026-11-21T12:00:00Z: fine⟦U+202E⟧
asked at     2026-11-21T12:00:00Z
until        2026-11-22T12:00:00Z
digest       abababababababababababababababababababababababababababababababab

subject:
{
  "run_id": "run_1",
  "run_version": 14,
  "workflow": "deploy",
  "state": "review",
  "tool": "Bash",
  "capability": "bash"
}

data:
{
  "command": "echo \u001b[2K\rls",
  "big": 9007199254740993
}

data as edited by olga, which is what is decided:
{
  "command": "ls\u202e"
}

change of the data:
{"op":"replace","path":"/command","value":"ls"}

lately in the run:
`
	head, lines, _ := strings.Cut(out, "VERSION")
	if diff := gocmp.Diff(want, head); diff != "" || told != "" || code != exitDone {
		t.Errorf("exit %d, told %q: %s", code, told, diff)
	}
	if n := strings.Count(lines, "⟦U+200B⟧"); n != 10 || strings.Contains(lines, "E4⟦") || !strings.Contains(lines, "E14⟦") {
		t.Errorf("of the history are shown %d: %s", n, lines)
	}
	out, _, code = interlock("approval", "get", "apr_1", "-o", "json")
	if code != exitDone || !strings.Contains(out, `"history": [`) || !strings.Contains(out, `"big": 9007199254740993`) {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestApprovalShowWithoutHistory: the run's history helps, and is not decided on.
func TestApprovalShowWithoutHistory(t *testing.T) {
	t.Parallel()
	interlock := serve(t, func(s *grpc.Server) {
		approvalv1.RegisterApprovalServiceServer(s, &humans{approval: hostile()})
		enginev1.RegisterRunServiceServer(s, runOf{fails: fault.New(fault.NotFound, "no run").GRPCStatus().Err()})
	})
	out, told, code := interlock("approval", "show", "apr_1")
	if code != exitDone || !strings.Contains(out, "digest") || !strings.Contains(told, "the latest steps of run run_1 cannot be read: no run") {
		t.Errorf("exit %d, told %q: %s", code, told, out)
	}
}

func TestApprovalDecide(t *testing.T) {
	t.Parallel()
	h := &humans{approval: hostile()}
	interlock := serve(t, func(s *grpc.Server) { approvalv1.RegisterApprovalServiceServer(s, h) })

	// The digest of the shown request is approved.
	out, told, code := interlock("approval", "approve", "apr_1", "--note", "go", "--input", `{"a":1.0}`)
	if d := h.decided; code != exitDone || !d.GetApprove() || d.GetDigest() != h.approval.GetDigest() || d.GetNote() != "go" || string(d.GetEditedData()) != `{"a":1.0}` {
		t.Errorf("exit %d, told %q: %v", code, told, h.decided)
	}
	if want := "apr_1  PENDING (1 of 2)\nApproval apr_1 is pending: 1 of 2 approvals.\n"; out != want {
		t.Errorf("%q", out)
	}
	if interlock("approval", "approve", "apr_1", "--digest", "cd"); h.decided.GetDigest() != "cd" {
		t.Errorf("the digest is %s", h.decided.GetDigest())
	}
	if interlock("approval", "reject", "apr_1", "--note", "no"); h.decided.GetApprove() || h.decided.GetNote() != "no" {
		t.Errorf("%v", h.decided)
	}

	// The answer of a forbidden decision: no.
	for _, reason := range []fault.Reason{fault.PermissionDenied, fault.ApprovalDecided, fault.VersionConflict} {
		h.refuses = fault.New(reason, "\"agent\" has asked\x1b for approval apr_1").GRPCStatus().Err()
		if out, told, code := interlock("approval", "approve", "apr_1"); code != exitNo || out != "" || told != "interlock: \"agent\" has asked⟦U+001B⟧ for approval apr_1\n" {
			t.Errorf("%s: exit %d, %q, %q", reason, code, out, told)
		}
	}
	h.refuses = fault.New(fault.NotFound, "there is no approval").GRPCStatus().Err()
	if _, _, code := interlock("approval", "reject", "apr_1"); code != exitUndecided {
		t.Errorf("of an approval that is not there: exit %d", code)
	}
	h.decided = nil
	if _, told, code := interlock("approval", "approve", "apr_1", "--input", "[1]"); code != exitUsage || h.decided != nil || !strings.Contains(told, "--input must be a JSON object") {
		t.Errorf("exit %d, %q", code, told)
	}
}

func TestApprovalWait(t *testing.T) {
	t.Parallel()
	became := func(status approvalv1.ApprovalStatus) *approvalv1.Approval {
		return &approvalv1.Approval{ApprovalId: "apr_1", Status: status, Outcome: "approval apr_1 was decided"}
	}
	h := &humans{approval: became(approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING)}
	interlock := serve(t, func(s *grpc.Server) { approvalv1.RegisterApprovalServiceServer(s, h) })
	for status, want := range map[approvalv1.ApprovalStatus]int{
		approvalv1.ApprovalStatus_APPROVAL_STATUS_GRANTED: exitDone, approvalv1.ApprovalStatus_APPROVAL_STATUS_USED: exitDone,
		approvalv1.ApprovalStatus_APPROVAL_STATUS_REJECTED: exitNo, approvalv1.ApprovalStatus_APPROVAL_STATUS_EXPIRED: exitNo,
		approvalv1.ApprovalStatus_APPROVAL_STATUS_CANCELLED: exitNo, approvalv1.ApprovalStatus_APPROVAL_STATUS_STALE: exitNo,
	} {
		h.then = []*approvalv1.Approval{h.approval, became(status)}
		out, told, code := interlock("approval", "wait", "apr_1")
		if name := strings.TrimPrefix(status.String(), "APPROVAL_STATUS_"); code != want || !strings.HasPrefix(out, "apr_1  "+name) {
			t.Errorf("%s: exit %d: %s%s", name, code, out, told)
		}
	}
	h.then = nil
	if out, told, code := interlock("approval", "wait", "apr_1", "--timeout", "50ms"); code != exitWaits || !strings.HasPrefix(out, "apr_1  PENDING") {
		t.Errorf("when the time is over: exit %d: %s%s", code, out, told)
	}
}

func TestApprovalList(t *testing.T) {
	t.Parallel()
	interlock := serve(t, func(s *grpc.Server) { approvalv1.RegisterApprovalServiceServer(s, &humans{approval: hostile()}) })
	out, told, code := interlock("approval", "list", "--status", "pending")
	if code != exitDone || !strings.Contains(out, "apr_1     PENDING (1 of 2)  run_1  agent     call of Bash (bash) in review, of deploy  2026-11-22T12:00:00Z\n") {
		t.Errorf("exit %d, told %q:\n%s", code, told, out)
	}
	if _, told, code := interlock("approval", "list", "--status", "OPEN"); code != exitUsage || !strings.Contains(told, `unknown status "OPEN"; one of PENDING, GRANTED`) {
		t.Errorf("exit %d, %q", code, told)
	}
}
