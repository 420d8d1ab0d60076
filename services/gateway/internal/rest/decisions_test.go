package rest

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// TestDecisionAnswers pins the exact JSON of the log of decisions.
func TestDecisionAnswers(t *testing.T) {
	t.Parallel()
	full := &policyv1.DecisionRecord{
		Partition: "run_00", Sequence: 3, Time: noon, RunId: "run_01", Branch: "lint", Decision: policyv1.Decision_DECISION_ASK,
		Code: policyv1.DecisionCode_DECISION_CODE_APPROVAL_REQUIRED, Message: "m", Rule: "policy gate version 3, /ask/0", Policy: "gate",
		PolicyVersion: 3, Input: []byte(`{"n":9007199254740993}`), EstimatedCostUsd: "0.10", ApprovalId: "apr_01", Hash: "h",
		Shadows: []*policyv1.ShadowDecision{
			{Policy: "gate", PolicyVersion: 4, Decision: policyv1.Decision_DECISION_ALLOW},
			{Workflow: "w", WorkflowDigest: "d", Decision: 9, Code: policyv1.DecisionCode_DECISION_CODE_TOOL_NOT_ALLOWED, Message: "no"},
		},
	}
	const jsonFull = `{"partition":"run_00","sequence":3,"time":"2026-03-04T12:00:00.005Z","principal":"","session_id":"","run_id":"run_01",` +
		`"run_version":0,"workflow":"","workflow_version":0,"state":"","branch":"lint","call_id":"","tool":"","capability":"","decision":"ASK",` +
		`"code":"APPROVAL_REQUIRED","message":"m","rule":"policy gate version 3, /ask/0","policy":"gate","policy_version":3,"input_digest":"",` +
		`"input":{"n":9007199254740993},"estimated_cost_usd":"0.10","approval_id":"apr_01","shadows":[{"policy":"gate","policy_version":4,` +
		`"decision":"ALLOW","message":""},{"workflow":"w","workflow_digest":"d","decision":"DENY","code":"TOOL_NOT_ALLOWED","message":"no"}],"hash":"h"}`
	checkAnswers(t, []answerCase{
		{
			name: "list", method: "GET", rpc: "ListDecisions", headers: []string{"Accept", "application/json, application/x-ndjson"},
			path:   "/v1/decisions?run_id=run_01&session_id=ses_01&decision=DENY&tool=Bash&since=2026-03-04T12:00:00.005Z&shadowed=true&page_size=2&page_token=t",
			answer: &policyv1.ListDecisionsResponse{Decisions: []*policyv1.DecisionRecord{aRecord(), full}, NextPageToken: "u"},
			want: &policyv1.ListDecisionsRequest{
				PageSize: 2, PageToken: "t",
				Filter: "run_id=run_01 AND session_id=ses_01 AND tool=Bash AND decision=DENY AND since=2026-03-04T12:00:00.005Z AND shadowed=true",
			},
			status: 200, json: `{"decisions":[` + jsonRecord + `,` + jsonFull + `],"next_page_token":"u"}`,
			header: map[string]string{"Content-Type": "application/json"},
		},
		{
			name: "as lines", method: "GET", path: "/v1/decisions?page_token=t", headers: []string{"Accept", "text/plain;q=0.1, application/x-ndjson"},
			rpc: "ListDecisions", answer: &policyv1.ListDecisionsResponse{Decisions: []*policyv1.DecisionRecord{aRecord(), full}},
			want:   &policyv1.ListDecisionsRequest{PageSize: linesPage, PageToken: "t"},
			status: 200, json: jsonRecord + "\n" + jsonFull, header: map[string]string{"Content-Type": "application/x-ndjson"},
		},
		{
			name: "no lines", method: "GET", path: "/v1/decisions?page_size=7", headers: []string{"Accept", "application/x-ndjson"},
			rpc: "ListDecisions", want: &policyv1.ListDecisionsRequest{PageSize: 7},
			status: 200, json: "", header: map[string]string{"Content-Type": "application/x-ndjson"},
		},
		{
			name: "one", method: "GET", path: "/v1/decisions/run_01/call%2F1?sequence=3", rpc: "GetDecision",
			answer: &policyv1.GetDecisionResponse{Decision: full},
			want:   &policyv1.GetDecisionRequest{RunId: "run_01", CallId: "call/1", Sequence: 3}, status: 200, json: jsonFull,
		},
		{
			name: "one without a run, explained", method: "GET", path: "/v1/decisions/-/c?session_id=ses_01&explain=true", rpc: "GetDecision",
			answer: &policyv1.GetDecisionResponse{Decision: full, Explanation: anExplanation()},
			want:   &policyv1.GetDecisionRequest{SessionId: "ses_01", CallId: "c", Explain: true}, status: 200,
			json: strings.TrimSuffix(jsonFull, "}") + `,"explanation":` + jsonExplanation + `}`,
		},
		{
			name: "a check, explained", method: "POST", path: "/v1/runs/r/check", body: `{"tool":"Bash","dry_run":true,"explain":true}`, rpc: "CheckToolCall",
			answer: &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_DENY, Explanation: anExplanation()},
			want:   &policyv1.CheckToolCallRequest{RunId: "r", Tool: "Bash", DryRun: true, Explain: true},
			status: 200, json: `{"decision":"DENY","message":"","allowed_tools":null,"legal_events":[],"call_id":"","run_version":0,"explanation":` + jsonExplanation + `}`,
		},
		{
			name: "verify", method: "GET", path: "/v1/audit/verify?partition=run_00&page_token=t", rpc: "VerifyDecisions",
			answer: &policyv1.VerifyDecisionsResponse{NextPageToken: "u", Chains: []*policyv1.ChainReport{
				{Partition: "run_00", Ok: true, Sealed: 5, Unsealed: 1, Head: "h"},
				{Partition: "run_01", Sealed: 2, Head: "i", Sequence: 2, Problem: "record 2 is missing"},
			}},
			want: &policyv1.VerifyDecisionsRequest{Partition: "run_00", PageToken: "t"}, status: 200,
			json: `{"ok":false,"chains":[{"partition":"run_00","ok":true,"sealed":5,"unsealed":1,"head":"h"},{"partition":"run_01","ok":false,` +
				`"sealed":2,"unsealed":0,"head":"i","sequence":2,"problem":"record 2 is missing"}],"next_page_token":"u"}`,
		},
		{
			name: "refusals", method: "GET", path: "/v1/refusals", rpc: "ListRefusals",
			answer: &policyv1.ListRefusalsResponse{Refusals: []*policyv1.Refusal{{Time: noon, Principal: "kid", Refused: &eventv1.CallRefused{
				Face: "grpc", Method: "/x", Reason: "PERMISSION_DENIED", Role: "agent", SessionId: "kid", From: "local", More: 3,
				AskedSessionId: "other", AskedRunId: "run_01", AskedNamespace: "blue",
			}}, {Time: noon, Refused: &eventv1.CallRefused{Face: "http", Method: "GET /v1/runs", Reason: "UNAUTHENTICATED"}}}},
			want: &policyv1.ListRefusalsRequest{}, status: 200,
			json: `{"refusals":[{"time":"2026-03-04T12:00:00.005Z","principal":"kid","role":"agent","session_id":"kid","face":"grpc","method":"/x",` +
				`"reason":"PERMISSION_DENIED","asked_session_id":"other","asked_run_id":"run_01","asked_namespace":"blue","from":"local","more":3},` +
				`{"time":"2026-03-04T12:00:00.005Z","principal":"","face":"http","method":"GET /v1/runs","reason":"UNAUTHENTICATED"}]}`,
		},
		{
			name: "verify what is well", method: "GET", path: "/v1/audit/verify", rpc: "VerifyDecisions", want: &policyv1.VerifyDecisionsRequest{},
			status: 200, json: `{"ok":true,"chains":[],"next_page_token":""}`,
		},
	})
}

func TestRefusedDecisions(t *testing.T) {
	t.Parallel()
	const bad = "INVALID_REQUEST"
	lines := []string{"Accept", "application/x-ndjson"}
	checkRefusals(t, []refusalCase{
		{name: "no decision", method: "GET", path: "/v1/decisions?decision=deny", status: 400, code: bad, detail: "ENUM"},
		{name: "no sequence", method: "GET", path: "/v1/decisions/r/c?sequence=x", status: 400, code: bad, detail: "RANGE"},
		{name: "no flag", method: "GET", path: "/v1/decisions/r/c?explain=yes", status: 400, code: bad, detail: "ENUM"},
		{name: "no time", method: "GET", path: "/v1/decisions?since=1", status: 400, code: bad, detail: "INVALID", headers: lines},
		{name: "no boolean", method: "GET", path: "/v1/decisions?shadowed=yes", status: 400, code: bad, detail: "ENUM"},
		{name: "page of decisions", method: "GET", path: "/v1/decisions?page_size=1001", status: 400, code: bad, detail: "RANGE"},
		{name: "nobody edits the log", method: "DELETE", path: "/v1/decisions", status: 405, code: "METHOD_NOT_ALLOWED"},
	})
	checkFailures(t, []failureCase{{
		name: "as lines", method: "GET", path: "/v1/decisions", headers: lines, rpc: "ListDecisions",
		err: fault.New(fault.PermissionDenied, "no"), status: 403, code: "PERMISSION_DENIED",
	}})
}

// TestSince: how long ago is counted from now.
func TestSince(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *Config) { c.now = noon.AsTime })
	h.do("GET", "/v1/decisions?since=1d", "")
	got, _ := h.got["ListDecisions"].(*policyv1.ListDecisionsRequest)
	if want := "since=2026-03-03T12:00:00.005Z"; got.GetFilter() != want {
		t.Errorf("asked for %s, want %s", got.GetFilter(), want)
	}
}

// TestAllLines: all pages come, and what breaks off does not look whole.
func TestAllLines(t *testing.T) {
	t.Parallel()
	page := func(next string) *policyv1.ListDecisionsResponse {
		return &policyv1.ListDecisionsResponse{Decisions: []*policyv1.DecisionRecord{aRecord()}, NextPageToken: next}
	}
	broken := page("")
	broken.Decisions[0].Input = []byte("{")
	for name, tc := range map[string]struct {
		pages []*policyv1.ListDecisionsResponse
		err   error
		whole bool
	}{
		"three pages":                     {[]*policyv1.ListDecisionsResponse{page("a"), {NextPageToken: "b"}, page("")}, nil, true},
		"a failure on the way":            {[]*policyv1.ListDecisionsResponse{page("a"), page("b")}, errors.New("lost"), false},
		"a record that is not valid JSON": {[]*policyv1.ListDecisionsResponse{page("a"), page("b"), broken}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.pages, h.errs["ListDecisions"] = tc.pages, tc.err
			server := httptest.NewServer(h)
			defer server.Close()
			req, err := http.NewRequest(http.MethodGet, server.URL+"/v1/decisions", http.NoBody)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer secret")
			req.Header.Set("Accept", contentLines)
			resp, err := server.Client().Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if (err == nil) != tc.whole {
				t.Errorf("whole: %v, %q", err, body)
			}
			count := 0
			for lines := bufio.NewScanner(strings.NewReader(string(body))); lines.Scan(); count++ {
				if lines.Text() != jsonRecord {
					t.Errorf("line %s", lines.Text())
				}
			}
			if resp.StatusCode != http.StatusOK || count != 2 {
				t.Errorf("%d with %d lines", resp.StatusCode, count)
			}
		})
	}
}

// anExplanation has something of everything.
func anExplanation() *policyv1.Explanation {
	return &policyv1.Explanation{
		InputKept: true,
		Command: &policyv1.CommandLine{Line: "ls; rm é", Parts: []*policyv1.CommandPart{
			{Start: 0, End: 2, Text: "ls", Words: []string{"ls"}, Verdict: policyv1.PartVerdict_PART_VERDICT_OK, Matched: "ls"},
			{
				Start: 4, End: 9, Text: "rm é", Words: []string{"rm", "é"}, Verdict: policyv1.PartVerdict_PART_VERDICT_REFUSED,
				Code: policyv1.DecisionCode_DECISION_CODE_COMMAND_NOT_ALLOWED, Message: "no", Writes: []string{"é"}, ReadsEnv: []string{"X"},
			},
		}},
		State: &policyv1.StateReason{
			Verdict: policyv1.Decision_DECISION_DENY, Code: policyv1.DecisionCode_DECISION_CODE_COMMAND_NOT_ALLOWED, Message: "no",
			ToolsRestricted: true, AllowedTools: []string{"Bash"}, Matched: "Bash",
		},
		Policies: []*policyv1.PolicyReason{{
			Policy: "gate", Version: 3, Scope: "role agent", Verdict: policyv1.Decision_DECISION_ALLOW, Message: "fine",
			Rules: []*policyv1.RuleReason{{
				Rule: "/allow/0", Effect: policyv1.RuleEffect_RULE_EFFECT_ALLOW, Capability: "bash", Matches: true, Decides: true,
				Conditions: []*policyv1.Condition{{Field: "input", Expected: "a", Actual: "b"}},
			}},
		}},
		Limits: []*policyv1.LimitReason{{
			Policy: "gate", Rule: "/allow/0", Measure: policyv1.Measure_MEASURE_MONEY, Scope: policyv1.LimitScope_LIMIT_SCOPE_POLICY,
			Period: policyv1.Period_PERIOD_DAILY, ResetsAt: noon, Used: 1, Max: 3, After: 2,
		}},
		WouldAllow: []string{"something else"},
	}
}

const jsonExplanation = `{"input_kept":true,"command":{"line":"ls; rm é","parts":[{"start":0,"end":2,"text":"ls","words":["ls"],"verdict":"ok","matched":"ls"},` +
	`{"start":4,"end":9,"text":"rm é","words":["rm","é"],"verdict":"refused","code":"COMMAND_NOT_ALLOWED","message":"no","writes":["é"],"reads_env":["X"]}]},` +
	`"state":{"verdict":"DENY","code":"COMMAND_NOT_ALLOWED","message":"no","allowed_tools":["Bash"],"matched":"Bash"},` +
	`"policies":[{"policy":"gate","version":3,"scope":"role agent","rules":[{"rule":"/allow/0","effect":"allow","capability":"bash",` +
	`"conditions":[{"field":"input","expected":"a","actual":"b","holds":false}],"matches":true,"decides":true}],"verdict":"ALLOW","message":"fine"}],` +
	`"limits":[{"policy":"gate","rule":"/allow/0","measure":"money","scope":"policy","period":"daily","resets_at":"2026-03-04T12:00:00.005Z",` +
	`"used":1,"max":3,"after":2,"unit":"micro-dollars"}],"would_allow":["something else"]}`
