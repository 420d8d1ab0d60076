package rest

import (
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// TestProcessAnswers pins the exact JSON of processes (S8).
func TestProcessAnswers(t *testing.T) {
	t.Parallel()
	const answerPath = "/v1/runs/run_01/answer"
	tag := map[string]string{"ETag": `"7"`}
	checkAnswers(t, []answerCase{
		{
			name: "register", method: "POST", path: "/v1/processes", body: ` {"name":"triage"}`, headers: []string{"Idempotency-Key", "k"}, rpc: "RegisterProcess",
			answer: &enginev1.RegisterProcessResponse{Process: aProcess(), Created: true, Warnings: []*enginev1.Problem{
				{Pointer: "/allowed_tools/0", Code: "NOT_ROUTINE_SAFE", Severity: enginev1.Severity_SEVERITY_WARNING, Message: "m"},
			}},
			want:   &enginev1.RegisterProcessRequest{Definition: []byte(` {"name":"triage"}`), IdempotencyKey: "k"},
			status: 201,
			json: `{` + jsonProcess + `,"created":true,"warnings":[{"pointer":"/allowed_tools/0","code":"NOT_ROUTINE_SAFE",` +
				`"severity":"warning","message":"m"}]}`,
			header: map[string]string{"Location": "/v1/processes/triage/versions/2"},
		},
		{
			name: "register what is there", method: "POST", path: "/v1/processes", body: "name: triage\n", headers: []string{"Content-Type", "application/yaml"},
			rpc: "RegisterProcess", want: &enginev1.RegisterProcessRequest{Definition: []byte(`{"name":"triage"}`)},
			status: 200, json: `{` + jsonProcess + `,"created":false,"warnings":[]}`,
		},
		{
			name: "list", method: "GET", path: "/v1/processes?page_size=2&page_token=t", rpc: "ListProcesses",
			answer: &enginev1.ListProcessesResponse{Processes: []*enginev1.Process{aProcess()}, NextPageToken: "u"},
			want:   &enginev1.ListProcessesRequest{PageSize: 2, PageToken: "t"}, status: 200,
			json: `{"processes":[{` + jsonProcess + `}],"next_page_token":"u"}`,
		},
		{
			name: "get", method: "GET", path: "/v1/processes/triage", rpc: "GetProcess",
			want: &enginev1.GetProcessRequest{Name: "triage"}, status: 200, json: `{` + jsonProcess + `}`, header: map[string]string{"ETag": `"abc"`},
		},
		{
			name: "get a version", method: "GET", path: "/v1/processes/triage/versions/2", rpc: "GetProcess",
			want: &enginev1.GetProcessRequest{Name: "triage", Version: 2}, status: 200, json: `{` + jsonProcess + `}`,
		},
		{
			name: "start", method: "POST", path: "/v1/processes/triage/start", body: `{"session_id":"ses_01","version":2,"workspace":"/repo"}`,
			headers: []string{"Idempotency-Key", "k"}, rpc: "StartProcess",
			want:   &enginev1.StartProcessRequest{Process: "triage", Version: 2, SessionId: "ses_01", Workspace: "/repo", IdempotencyKey: "k"},
			status: 201, json: `{"run":` + jsonRun + `,"turn":` + jsonTurn + `}`,
			header: map[string]string{"Location": "/v1/runs/run_01", "ETag": `"7"`},
		},
		{
			name: "start without a body", method: "POST", path: "/v1/processes/triage/start", rpc: "StartProcess",
			want: &enginev1.StartProcessRequest{Process: "triage"}, status: 201, json: `{"run":` + jsonRun + `,"turn":` + jsonTurn + `}`,
		},
		{
			name: "answer", method: "POST", path: answerPath, body: `{"answer":"yes","note":"clear","expected_version":6}`,
			headers: []string{"Idempotency-Key", "k"}, rpc: "AnswerQuestion",
			want:   &enginev1.AnswerQuestionRequest{RunId: "run_01", Answer: "yes", Note: "clear", ExpectedVersion: 6, IdempotencyKey: "k"},
			status: 200, json: `{"accepted":true,"run":` + jsonRun + `,"turn":` + jsonTurn + `}`, header: tag,
		},
		{
			name: "ask the question again", method: "POST", path: answerPath, body: `{}`, rpc: "AnswerQuestion",
			want: &enginev1.AnswerQuestionRequest{RunId: "run_01"}, status: 200, json: `{"accepted":true,"run":` + jsonRun + `,"turn":` + jsonTurn + `}`,
		},
		{
			name: "refused answer", method: "POST", path: answerPath, body: `{"answer":"maybe"}`, headers: []string{"If-Match", `"7"`}, rpc: "AnswerQuestion",
			answer: &enginev1.AnswerQuestionResponse{Run: aRun(), Turn: aTurn(), Rejection: &enginev1.Rejection{
				Code: enginev1.RejectionCode_REJECTION_CODE_UNKNOWN_EVENT, Message: "no", LegalEvents: aRun().GetRules().GetLegalEvents(),
			}},
			want:   &enginev1.AnswerQuestionRequest{RunId: "run_01", Answer: "maybe", ExpectedVersion: 7},
			status: 200,
			json: `{"accepted":false,"run":` + jsonRun + `,"turn":` + jsonTurn + `,"rejection":{"code":"UNKNOWN_EVENT","message":"no","guards":[],` +
				`"legal_events":` + jsonEvents + `}}`,
		},
		{
			name: "an answer that a human reviews", method: "POST", path: answerPath, body: `{"answer":"no"}`, rpc: "AnswerQuestion",
			answer: &enginev1.AnswerQuestionResponse{Accepted: true, Run: aRun(), Turn: aTurn(), ApprovalId: "apr_01"},
			status: 200, json: `{"accepted":true,"run":` + jsonRun + `,"turn":` + jsonTurn + `,"approval_id":"apr_01"}`,
		},
	})
}

func TestRefusedProcesses(t *testing.T) {
	t.Parallel()
	const answerPath = "/v1/runs/r/answer"
	const bad = "INVALID_REQUEST"
	checkRefusals(t, []refusalCase{
		{name: "no process", method: "POST", path: "/v1/processes", headers: []string{"Content-Type", "application/json"}, status: 400, code: "INVALID_JSON"},
		{name: "version 0", method: "GET", path: "/v1/processes/p/versions/0", status: 404, code: "NOT_FOUND"},
		{name: "page of processes", method: "GET", path: "/v1/processes?page_size=x", status: 400, code: bad, detail: "RANGE"},
		{name: "start with a workflow", method: "POST", path: "/v1/processes/p/start", body: `{"workflow":"w"}`, status: 400, code: bad, pointer: "/workflow", detail: "UNKNOWN_FIELD"},
		{name: "answer is not text", method: "POST", path: answerPath, body: `{"answer":true}`, status: 400, code: bad, pointer: "/answer", detail: "TYPE"},
		{name: "negative version", method: "POST", path: answerPath, body: `{"expected_version":-1}`, status: 400, code: bad, pointer: "/expected_version", detail: "RANGE"},
		{name: "two versions", method: "POST", path: answerPath, body: `{"expected_version":6}`, headers: []string{"If-Match", `"7"`}, status: 400, code: bad, detail: "CONFLICT"},
	})
	checkFailures(t, []failureCase{
		{
			name: "answer under If-Match", method: "POST", path: answerPath, body: `{"answer":"a"}`, headers: []string{"If-Match", `"7"`}, rpc: "AnswerQuestion",
			err: fault.New(fault.VersionConflict, "old").Meta("current_version", "9"), status: 412, code: "VERSION_CONFLICT", header: map[string]string{"ETag": `"9"`},
		},
		{
			name: "no such process", method: "POST", path: "/v1/processes/p/start", rpc: "StartProcess",
			err: fault.New(fault.NotFound, "no process p"), status: 404, code: "NOT_FOUND",
		},
		{
			name: "name that is too long", method: "POST", path: "/v1/processes/p/start", rpc: "StartProcess",
			err: fault.New(fault.InvalidRequest, "bad").Violate("/process", "STRING_MAX_LEN", "m"), status: 400, code: bad, errors: 1,
		},
	})
}
