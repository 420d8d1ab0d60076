package rest

import (
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

func aProcess() *enginev1.Process {
	return &enginev1.Process{
		Name: "triage", Version: 2, Digest: "abc", Definition: []byte(`{"name":"triage","n":1.0}`), Tools: []string{"process_step"},
		CreatedAt: noon, CreatedBy: "alice",
	}
}

func aTurn() *enginev1.Turn {
	return &enginev1.Turn{
		InitialPrompt: "Be kind.", Question: "Is it spam?", Answers: []string{"yes", "no"}, Status: enginev1.RunStatus_RUN_STATUS_RUNNING,
		State: "first", Text: "Is it spam?\nAnswer yes or no.",
	}
}

func aPolicy() *policyv1.Policy {
	return &policyv1.Policy{
		Name: "gate", Version: 3, Digest: "abc", Definition: []byte(`{"role":"deny","n":1.10}`), LiveVersion: 2, ShadowVersion: 3,
		Attachments: []*policyv1.Attachment{{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_WORKFLOW, Id: "deploy v1.0"}},
		CreatedAt:   noon, CreatedBy: "alice",
	}
}

// anApproval is one whose data no float64 could carry.
func anApproval() *approvalv1.Approval {
	return &approvalv1.Approval{
		ApprovalId: "apr_01", Kind: approvalv1.ApprovalKind_APPROVAL_KIND_TRANSITION, Status: approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING,
		Subject: []byte(`{"run_id":"run_01","run_version":7,"event":"STOP"}`), Data: []byte(`{"id":9007199254740993,"b":1.10}`),
		Editable: true, Digest: "d1", Asker: &approvalv1.Asker{Principal: "agent-7", SessionId: "ses_01", RootSessionId: "ses_00"},
		Message: "Stop it?", RunId: "run_01", Version: 4, Outcome: "approval apr_01 is pending",
		Terms: &approvalv1.Terms{
			Required: 2, DenyThreshold: 1, Eligible: &approvalv1.Approvers{Roles: []string{"approver"}}, ExpiresAfter: durationpb.New(time.Hour),
			EscalateAfter: durationpb.New(time.Minute), EscalateTo: &approvalv1.Approvers{Names: []string{"carol"}},
		},
		Votes:     []*approvalv1.Vote{{By: "alice", Role: approvalv1.ApproverRole_APPROVER_ROLE_APPROVER, Approve: true, Note: "fine", Time: noon}},
		Escalated: true, CreatedAt: noon, ExpiresAt: noon,
	}
}

const (
	jsonProcess = `"name":"triage","version":2,"digest":"abc","definition":{"name":"triage","n":1.0},"tools":["process_step"],` + jsonMade
	jsonTurn    = `{"initial_prompt":"Be kind.","question":"Is it spam?","answers":["yes","no"],"status":"RUNNING","state":"first",` +
		`"text":"Is it spam?\nAnswer yes or no."}`
	jsonPolicy = `"name":"gate","version":3,"digest":"abc","definition":{"role":"deny","n":1.10},"live_version":2,"shadow_version":3,` +
		`"attachments":[{"kind":"workflow","id":"deploy v1.0"}],` + jsonMade
	jsonApprovalHead = `{"approval_id":"apr_01","kind":"transition","status":"PENDING","run_id":"run_01",` +
		`"subject":{"run_id":"run_01","run_version":7,"event":"STOP"},"data":{"id":9007199254740993,"b":1.10},`
	jsonApprovalTail = `"editable":true,"digest":"d1","asker":{"principal":"agent-7","session_id":"ses_01","root_session_id":"ses_00"},` +
		`"message":"Stop it?","terms":{"required":2,"deny_threshold":1,"eligible":{"roles":["approver"],"names":[]},"expires_seconds":3600,` +
		`"escalate_after_seconds":60,"escalate_to":{"roles":[],"names":["carol"]}},` +
		`"votes":[{"by":"alice","role":"approver","approve":true,"note":"fine","time":"2026-03-04T12:00:00.005Z"}],"escalated":true,` +
		`"outcome":"approval apr_01 is pending","created_at":"2026-03-04T12:00:00.005Z","expires_at":"2026-03-04T12:00:00.005Z",`
	jsonApproval = jsonApprovalHead + jsonApprovalTail + `"version":4}`
)
