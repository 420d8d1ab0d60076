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
	for _, path := range []string{
		"/v1/runs", "/v1/runs/r/transition", "/v1/runs/r/check", "/v1/runs/r/report", "/v1/runs/r/pause",
		"/v1/runs/r/resume", "/v1/runs/r/force-state", "/v1/workflows", "/v1/workflows/validate?strict=true",
	} {
		for _, body := range []string{
			``, `{}`, `{"workflow":"w","context":{"a":1e400}}`, `{"event":"E","data":{"a":1,"a":2}}`, "{\"tool\":\"\xff\"}",
			`{"call_id":"c","tool":"T","ok":true,"output":"\ud800"}`, `{"tool":"T","estimated_cost_usd":1e-9,"input":{}}`, `[[[[`,
			`{"reason":null}`, `{"state":"s","context":{"a":1},"branch":"b"}`, `{"branch":"b","run_id":"r","session_id":"s"}`, "\ufeff{}", `{"event":"E"}x`,
		} {
			f.Add("POST", path, body, "application/json", "", "")
		}
	}
	f.Add("GET", "/v1/runs?status=RUNNING&page_size=3", "", "", "", "ns")
	f.Add("GET", "/v1/workflows/%ff/versions/9", "", "", "", "")
	f.Add("POST", "/v1/runs/%00/transition", `{"event":"E"}`, "application/json", `"5"`, "\x00")
	f.Add("PUT", "/v1/%2e%2e/x", "a", "text/plain", "*", "")
	f.Fuzz(func(t *testing.T, method, target, body, contentType, ifMatch, namespace string) {
		if !strings.HasPrefix(target, "/") || strings.HasPrefix(target, "/v1/events") {
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
		h := newHouse(t)
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, req)
		if rec.Code >= 500 {
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
	var user []byte
	switch m := msg.(type) {
	case interface{ GetContext() []byte }:
		user = m.GetContext()
	case interface{ GetData() []byte }:
		user = m.GetData()
	case interface{ GetInput() []byte }:
		user = m.GetInput()
	case interface{ GetOutput() []byte }:
		if !utf8.Valid(m.GetOutput()) {
			t.Errorf("%s got an output that is no text: %q", rpc, m.GetOutput())
		}
		return
	}
	if len(user) == 0 {
		return
	}
	if _, problem := document.Parse(user, document.Limits{}); problem != nil {
		t.Errorf("%s got %q: %v", rpc, user, problem)
	}
}
