package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"google.golang.org/protobuf/proto"

	"github.com/interlock-run/interlock/pkg/document"
)

// FuzzRequests: whatever a client sends, the answer is a success or a problem
// that blames the client; and what reaches a service is valid.
func FuzzRequests(f *testing.F) {
	for _, target := range []string{
		"POST /v1/runs", "POST /v1/runs/r/transition", "POST /v1/runs/r/check", "POST /v1/runs/r/report", "POST /v1/check", "POST /v1/report", "POST /v1/runs/r/pause",
		"POST /v1/runs/r/resume", "POST /v1/runs/r/force-state", "POST /v1/workflows", "POST /v1/workflows/validate?strict=true",
		"POST /v1/schemas", "POST /v1/states", "PUT /v1/states/s", "PATCH /v1/states/s", "PATCH /v1/state",
		"POST /v1/states/s/migrate", "POST /v1/states/s/lock", "PUT /v1/states/s/lock", "DELETE /v1/states/s/lock",
		"POST /v1/sessions", "POST /v1/sessions/s/stop", "POST /v1/sessions/s/grants", "POST /v1/components", "PUT /v1/components/c",
		"POST /v1/components/c/executions", "POST /v1/components/c/executions/e/commit",
		"POST /v1/policies?shadow=true", "POST /v1/policies/simulate", "POST /v1/policies/p/promote", "PUT /v1/workflows/w/shadow",
		"POST /v1/processes", "POST /v1/processes/p/start", "POST /v1/runs/r/answer", "POST /v1/approvals/a/approve", "POST /v1/approvals/a/reject",
	} {
		method, path, _ := strings.Cut(target, " ")
		for _, body := range []string{
			``, `{}`, `{"workflow":"w","context":{"a":1e400}}`, `{"event":"E","data":{"a":1,"a":2}}`, "{\"tool\":\"\xff\"}",
			`{"call_id":"c","tool":"T","ok":true,"output":"\ud800"}`, `{"tool":"T","estimated_cost_usd":1e-9,"input":{}}`, `[[[[`,
			`{"reason":null}`, `{"state":"s","context":{"a":1},"branch":"b"}`, `{"branch":"b","run_id":"r","session_id":"s"}`, "\ufeff{}", `{"event":"E"}x`,
			`{"data":{"a":9007199254740993}}`, `{"operations":[{"op":"add","path":"","value":"\udc00"}]}`, `{"name":"n","json_schema":{}}`,
			`{"schema_name":"s","initial_data":NaN}`, `{"holder":"h","ttl_seconds":1,"fencing_token":1}`, `{"values":{}}`, `{"merge":null}`,
			`{"session_name":"s","state_update":"skip","labels":{"a":"b"}}`, `{"state_id":"s"}`,
			`{"definition":{"a":1e400},"since":"24h"}`, `{"answer":"yes","note":"\u202e"}`, `{"edited_data":{"a":1},"digest":"d"}`,
		} {
			f.Add(method, path, body, "application/json", "", "")
		}
	}
	f.Add("GET", "/v1/runs?status=RUNNING&page_size=3", "", "", "", "ns")
	f.Add("GET", "/v1/workflows/%ff/versions/9", "", "", "", "")
	f.Add("GET", "/v1/states/s?pointer=&pointer=%2Fa~1b", "", "", "", "")
	f.Add("GET", "/v1/states/s/events?after_version=0", "", "", "", "")
	f.Add("GET", "/v1/ws?state_id=s&after_version=1", "", "", "", "")
	f.Add("GET", "/v1/approvals/a?wait=60s", "", "", "", "")
	f.Add("GET", "/v1/decisions?decision=DENY&since=2026-03-04T12:00:00Z&shadowed=true", "", "", "", "")
	f.Add("PUT", "/v1/policies/p/attachments/role/%2F", "", "", "", "")
	f.Add("DELETE", "/v1/states/s?force=true", "", "", `"7"`, "")
	f.Add("PATCH", "/v1/states/s", `[{"op":"test","path":"/a","value":{"b":1,"b":2}}]`, "application/json-patch+json", `"7"`, "")
	f.Add("PATCH", "/v1/states/s", `{"a":null}`, "application/merge-patch+json", `*`, "")
	f.Add("POST", "/v1/components", "slug: a\nn: .nan\n", "application/yaml", ``, "")
	f.Add("POST", "/v1/runs/%00/transition", `{"event":"E"}`, "application/json", `"5"`, "\x00")
	f.Add("PUT", "/v1/%2e%2e/x", "a", "text/plain", "*", "")
	h := newHouse(f)
	close(h.changes) // a watch ends at once
	close(h.waits)
	f.Fuzz(func(t *testing.T, method, target, body, contentType, ifMatch, namespace string) {
		if !strings.HasPrefix(target, "/") {
			return
		}
		req, err := http.NewRequest(method, target, strings.NewReader(body))
		if err != nil {
			return
		}
		req.Header.Set("Authorization", "Bearer secret")
		for name, value := range map[string]string{"Content-Type": contentType, "If-Match": ifMatch, "X-Interlock-Namespace": namespace} {
			if value != "" {
				req.Header.Set(name, value)
			}
		}
		clear(h.got)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		noEvents := rec.Code == http.StatusServiceUnavailable && strings.HasPrefix(req.URL.Path, "/v1/events") // there is no source
		if rec.Code >= 500 && !noEvents {
			t.Fatalf("%s %s: %d %s", method, target, rec.Code, rec.Body)
		}
		if rec.Code >= 400 {
			if req.Method != http.MethodHead {
				problem(t, rec)
			}
			return
		}
		for rpc, msg := range h.got {
			checkReceived(t, rpc, msg)
		}
	})
}

// checkReceived: JSON that reached a service is strictly valid, but for
// definitions, which are the validator's to judge.
func checkReceived(t *testing.T, rpc string, msg proto.Message) {
	t.Helper()
	if m, ok := msg.(interface{ GetOutput() []byte }); ok && !utf8.Valid(m.GetOutput()) {
		t.Errorf("%s got an output that is not text: %q", rpc, m.GetOutput())
	}
	var texts [][]byte
	if m, ok := msg.(interface{ GetContext() []byte }); ok {
		texts = append(texts, m.GetContext())
	}
	if m, ok := msg.(interface{ GetData() []byte }); ok {
		texts = append(texts, m.GetData())
	}
	if m, ok := msg.(interface{ GetInput() []byte }); ok {
		texts = append(texts, m.GetInput())
	}
	if m, ok := msg.(interface{ GetValues() []byte }); ok {
		texts = append(texts, m.GetValues())
	}
	if m, ok := msg.(interface{ GetJsonSchema() []byte }); ok {
		texts = append(texts, m.GetJsonSchema())
	}
	if m, ok := msg.(interface{ GetPatch() []byte }); ok {
		texts = append(texts, m.GetPatch())
	}
	if m, ok := msg.(interface{ GetMergePatch() []byte }); ok {
		texts = append(texts, m.GetMergePatch())
	}
	if m, ok := msg.(interface{ GetEditedData() []byte }); ok {
		texts = append(texts, m.GetEditedData())
	}
	for _, text := range texts {
		if len(text) == 0 {
			continue
		}
		if _, problem := document.Parse(text, document.Limits{Depth: maxDepth + aroundOperation}); problem != nil {
			t.Errorf("%s got %q: %v", rpc, text, problem)
		}
	}
}
