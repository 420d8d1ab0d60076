package rest

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
)

// TestPolicyAnswers pins the exact JSON of policies (S7).
func TestPolicyAnswers(t *testing.T) {
	t.Parallel()
	const gate = "/v1/policies/gate"
	inList := aPolicy()
	inList.Definition, inList.Attachments = nil, nil
	to := &policyv1.Attachment{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_SESSION, Id: "a/b"}
	checkAnswers(t, []answerCase{
		{
			name: "put", method: "POST", path: "/v1/policies?name=gate&shadow=true", body: ` {"role":"x"}`, headers: []string{"Idempotency-Key", "k"},
			rpc: "RegisterPolicy", answer: &policyv1.RegisterPolicyResponse{
				Policy: aPolicy(), Created: true, Warnings: []*policyv1.PolicyProblem{{Pointer: "/allow/0/capability", Code: "TOO_BROAD", Message: "m"}},
			},
			want:   &policyv1.RegisterPolicyRequest{Name: "gate", Definition: []byte(` {"role":"x"}`), Shadow: true, IdempotencyKey: "k"},
			status: 201,
			json: `{` + jsonPolicy + `,"created":true,"warnings":[{"pointer":"/allow/0/capability","code":"TOO_BROAD",` +
				`"severity":"warning","message":"m"}]}`,
			header: map[string]string{"Location": "/v1/policies/gate/versions/3"},
		},
		{
			name: "put what is there, in YAML", method: "POST", path: "/v1/policies", body: "name: gate\nn: 1.10\n",
			headers: []string{"Content-Type", "application/yaml"}, rpc: "RegisterPolicy",
			want: &policyv1.RegisterPolicyRequest{Definition: []byte(`{"name":"gate","n":1.10}`)}, status: 200,
			json: `{` + jsonPolicy + `,"created":false,"warnings":[]}`,
		},
		{
			name: "list", method: "GET", path: "/v1/policies?page_size=2&page_token=t", rpc: "ListPolicies",
			answer: &policyv1.ListPoliciesResponse{Policies: []*policyv1.Policy{inList}, NextPageToken: "u"},
			want:   &policyv1.ListPoliciesRequest{PageSize: 2, PageToken: "t"}, status: 200,
			json: `{"policies":[{"name":"gate","version":3,"digest":"abc","live_version":2,"shadow_version":3,"attachments":[],` + jsonMade +
				`}],"next_page_token":"u"}`,
		},
		{
			name: "get", method: "GET", path: gate, rpc: "GetPolicy",
			want: &policyv1.GetPolicyRequest{Name: "gate"}, status: 200, json: `{` + jsonPolicy + `}`,
		},
		{
			name: "get a version", method: "GET", path: "/v1/policies/simulate/versions/3", rpc: "GetPolicy",
			want: &policyv1.GetPolicyRequest{Name: "simulate", Version: 3}, status: 200, json: `{` + jsonPolicy + `}`,
		},
		{
			name: "promote", method: "POST", path: gate + "/promote", body: `{"version":3}`, rpc: "PromotePolicy",
			want: &policyv1.PromotePolicyRequest{Name: "gate", Version: 3}, status: 200, json: `{` + jsonPolicy + `}`,
		},
		{
			name: "delete", method: "DELETE", path: gate, rpc: "DeletePolicy",
			want: &policyv1.DeletePolicyRequest{Name: "gate"}, status: 204,
		},
		{
			name: "attach", method: "PUT", path: gate + "/attachments/session/a%2Fb", rpc: "AttachPolicy",
			want: &policyv1.AttachPolicyRequest{Name: "gate", To: []*policyv1.Attachment{to}}, status: 200, json: `{` + jsonPolicy + `}`,
		},
		{
			name: "attach to several", method: "POST", path: gate + "/attachments", rpc: "AttachPolicy",
			body: `{"to":[{"kind":"group","id":"support"},{"kind":"everyone"}]}`,
			want: &policyv1.AttachPolicyRequest{Name: "gate", To: []*policyv1.Attachment{
				{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_GROUP, Id: "support"}, {Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_EVERYONE},
			}}, status: 200, json: `{` + jsonPolicy + `}`,
		},
		{
			name: "detach", method: "DELETE", path: gate + "/attachments/session/a%2Fb", rpc: "DetachPolicy",
			want: &policyv1.DetachPolicyRequest{Name: "gate", From: []*policyv1.Attachment{to}}, status: 204,
		},
		{
			name: "usage", method: "GET", path: gate + "/usage?principal=agent-7&session=ses_01", rpc: "GetPolicyUsage",
			answer: &policyv1.GetPolicyUsageResponse{Usages: []*policyv1.Usage{
				{Capability: "bash", Measure: policyv1.Measure_MEASURE_CALLS, Scope: policyv1.LimitScope_LIMIT_SCOPE_PRINCIPAL, Subject: "agent-7", Used: 2, Max: 3, Window: durationpb.New(time.Minute)},
				{Measure: policyv1.Measure_MEASURE_MONEY, Scope: policyv1.LimitScope_LIMIT_SCOPE_POLICY, Used: 1_250_000, Max: 5_000_000, Period: policyv1.Period_PERIOD_DAILY, ResetsAt: noon},
			}},
			want:   &policyv1.GetPolicyUsageRequest{Name: "gate", Principal: "agent-7", SessionId: "ses_01"},
			status: 200,
			json: `{"usages":[{"capability":"bash","measure":"calls","scope":"principal","subject":"agent-7","used":2,"max":3,"window_seconds":60},` +
				`{"capability":"","measure":"money","scope":"policy","subject":"","used":1250000,"max":5000000,"used_usd":"1.25","max_usd":"5",` +
				`"period":"daily","resets_at":"2026-03-04T12:00:00.005Z"}],"exceptions":[]}`,
		},
		{
			name: "simulate", method: "POST", path: "/v1/policies/simulate", rpc: "SimulatePolicy",
			body: `{"definition":{ "role":"x"},"since":"2026-03-04T12:00:00.005Z","run_id":"run_01"}`,
			answer: &policyv1.SimulatePolicyResponse{Replayed: 9, Truncated: true, Undecided: 12, Changes: []*policyv1.SimulatedChange{{
				Recorded: aRecord(), Decision: policyv1.Decision_DECISION_DENY, Code: policyv1.DecisionCode_DECISION_CODE_POLICY_DENIED, Message: "no",
			}}},
			want:   &policyv1.SimulatePolicyRequest{Definition: []byte(`{ "role":"x"}`), Since: noon, RunId: "run_01"},
			status: 200,
			json:   `{"replayed":9,"changes":[{"recorded":` + jsonRecord + `,"decision":"DENY","code":"POLICY_DENIED","message":"no"}],"truncated":true,"undecided":12}`,
		},
		{
			name: "add an exception", method: "POST", path: "/v1/exceptions", rpc: "AddException",
			body:   `{"policy":"gate","rule":"/deny/1","principal":"ann","when":{"/n":1.10},"until":"2026-03-04T12:00:00.005Z","reason":"INC-42"}`,
			answer: &policyv1.AddExceptionResponse{Exception: anException()},
			want: &policyv1.AddExceptionRequest{
				Policy: "gate", Rule: "/deny/1", Scope: &policyv1.ExceptionScope{Principal: "ann", When: []byte(`{"/n":1.10}`)}, Until: noon, Reason: "INC-42",
			},
			status: 201, json: jsonException, header: map[string]string{"Location": "/v1/exceptions/exc_01"},
		},
		{
			name: "list exceptions", method: "GET", path: "/v1/exceptions?policy=gate", rpc: "ListExceptions",
			answer: &policyv1.ListExceptionsResponse{Exceptions: []*policyv1.Exception{anException()}},
			want:   &policyv1.ListExceptionsRequest{Policy: "gate"}, status: 200, json: `{"exceptions":[` + jsonException + `]}`,
		},
		{
			name: "confirm an exception", method: "POST", path: "/v1/exceptions/exc_01/confirm", rpc: "ConfirmException",
			answer: &policyv1.ConfirmExceptionResponse{Exception: anException()},
			want:   &policyv1.ConfirmExceptionRequest{ExceptionId: "exc_01"}, status: 200, json: jsonException,
		},
		{
			name: "end an exception", method: "DELETE", path: "/v1/exceptions/exc_01", rpc: "EndException",
			want: &policyv1.EndExceptionRequest{ExceptionId: "exc_01"}, status: 204,
		},
		{
			name: "shadow of a workflow", method: "PUT", path: "/v1/workflows/deploy%20v1.0/shadow", body: `{"id":"deploy v1.0"}`, rpc: "ShadowWorkflow",
			want:   &policyv1.ShadowWorkflowRequest{Workflow: "deploy v1.0", Definition: []byte(`{"id":"deploy v1.0"}`)},
			status: 200, json: `{"workflow":"deploy v1.0","digest":"abc"}`,
		},
		{
			name: "end of the shadow", method: "DELETE", path: "/v1/workflows/w/shadow", rpc: "ShadowWorkflow",
			want: &policyv1.ShadowWorkflowRequest{Workflow: "w"}, status: 204,
		},
	})
}

func anException() *policyv1.Exception {
	return &policyv1.Exception{
		ExceptionId: "exc_01", Policy: "gate", Rule: "/deny/1", Scope: &policyv1.ExceptionScope{Principal: "ann", When: []byte(`{"/n":1.10}`)},
		Until: noon, Reason: "INC-42", CreatedBy: "olga", CreatedAt: noon, Pending: true,
	}
}

const jsonException = `{"exception_id":"exc_01","policy":"gate","rule":"/deny/1","principal":"ann","when":{"/n":1.10},"until":"2026-03-04T12:00:00.005Z",` +
	`"reason":"INC-42","pending":true,"created_by":"olga","created_at":"2026-03-04T12:00:00.005Z"}`

func aRecord() *policyv1.DecisionRecord {
	return &policyv1.DecisionRecord{
		Partition: "run_00", Sequence: 2, Time: noon, Principal: "agent-7", SessionId: "ses_01", RunId: "run_01", RunVersion: 7,
		Workflow: "w", WorkflowVersion: 1, State: "s", CallId: "c1", Tool: "Bash", Capability: "bash",
		Decision: policyv1.Decision_DECISION_ALLOW, InputDigest: "ef",
	}
}

const jsonRecord = `{"partition":"run_00","sequence":2,"time":"2026-03-04T12:00:00.005Z","principal":"agent-7","session_id":"ses_01",` +
	`"run_id":"run_01","run_version":7,"workflow":"w","workflow_version":1,"state":"s","call_id":"c1","tool":"Bash","capability":"bash",` +
	`"decision":"ALLOW","message":"","input_digest":"ef"}`

func TestRefusedPolicies(t *testing.T) {
	t.Parallel()
	const bad = "INVALID_REQUEST"
	simulate := func(name, body, pointer, detail string) refusalCase {
		return refusalCase{
			name: name, method: "POST", path: "/v1/policies/simulate", body: body, status: 400, code: bad, pointer: pointer, detail: detail,
		}
	}
	checkRefusals(t, []refusalCase{
		{name: "no policy", method: "POST", path: "/v1/policies", headers: []string{"Content-Type", "application/json"}, status: 400, code: "INVALID_JSON"},
		{name: "shadow is not a boolean", method: "POST", path: "/v1/policies?shadow=1", body: `{}`, status: 400, code: bad, detail: "ENUM"},
		{name: "unknown kind", method: "PUT", path: "/v1/policies/p/attachments/team/x", status: 400, code: bad, detail: "ENUM"},
		{name: "kind in capitals", method: "DELETE", path: "/v1/policies/p/attachments/ROLE/x", status: 400, code: bad, detail: "ENUM"},
		{name: "unknown kind of several", method: "POST", path: "/v1/policies/p/attachments", body: `{"to":[{"kind":"team","id":"x"}]}`, status: 400, code: bad, pointer: "/to/0/kind", detail: "ENUM"},
		{name: "until when", method: "POST", path: "/v1/exceptions", body: `{"policy":"p","rule":"/deny/0","until":"soon","reason":"r"}`, status: 400, code: bad, pointer: "/until", detail: "INVALID"},
		{name: "no version", method: "POST", path: "/v1/policies/p/promote", body: `{}`, status: 400, code: bad, pointer: "/version", detail: "RANGE"},
		{name: "version 0", method: "GET", path: "/v1/policies/p/versions/0", status: 404, code: "NOT_FOUND"},
		{name: "page of policies", method: "GET", path: "/v1/policies?page_size=1001", status: 400, code: bad, detail: "RANGE"},
		simulate("no candidate", `{}`, "/definition", "REQUIRED"),
		simulate("since is not a time", `{"definition":{},"since":"yesterday"}`, "/since", "INVALID"),
		simulate("since is to come", `{"definition":{},"since":"-1h"}`, "/since", "INVALID"),
		{name: "no shadow", method: "PUT", path: "/v1/workflows/w/shadow", headers: []string{"Content-Type", "application/json"}, status: 400, code: "INVALID_JSON"},
	})
}

// TestMoment: a time is written as such, or as how long ago it is.
func TestMoment(t *testing.T) {
	t.Parallel()
	now := noon.AsTime()
	for text, want := range map[string]*timestamppb.Timestamp{
		"":                         nil,
		"2026-03-04T12:00:00.005Z": noon,
		"2026-03-04T13:00:00+01:00": {
			Seconds: noon.GetSeconds(),
		},
		"24h":   {Seconds: noon.GetSeconds() - 24*3600, Nanos: noon.GetNanos()},
		"1h30m": {Seconds: noon.GetSeconds() - 5400, Nanos: noon.GetNanos()},
		"0s":    noon,
		"1d":    {Seconds: noon.GetSeconds() - 24*3600, Nanos: noon.GetNanos()},
	} {
		if got, valid := moment(text, now); !valid || got.String() != want.String() {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"24", "1y", "-1h", "2026-03-04", "0000-01-01T00:00:00Z", "x"} {
		if got, valid := moment(text, now); valid {
			t.Errorf("%q: %v", text, got)
		}
	}
}
