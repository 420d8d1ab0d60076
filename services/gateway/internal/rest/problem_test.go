package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/health"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// TestServiceFailures: what a service fails with becomes the right problem.
func TestServiceFailures(t *testing.T) {
	t.Parallel()
	conflict := func() error {
		return fault.New(fault.VersionConflict, "run r is at version 9, not 7").Meta("current_version", "9")
	}
	checkFailures(t, []failureCase{
		{name: "not found", method: "GET", path: "/v1/runs/r", rpc: "GetRun", err: fault.New(fault.NotFound, "no run r"), status: 404, code: "NOT_FOUND"},
		{
			name: "bad token", method: "GET", path: "/v1/runs/r", rpc: "GetRun", err: fault.New(fault.Unauthenticated, "unknown token"), status: 401, code: "UNAUTHENTICATED",
			header: map[string]string{"WWW-Authenticate": `Bearer realm="interlock", error="invalid_token"`},
		},
		{name: "wrong role", method: "POST", path: "/v1/runs/r/cancel", rpc: "CancelRun", err: fault.New(fault.PermissionDenied, "no"), status: 403, code: "PERMISSION_DENIED"},
		{
			name: "expected_version", method: "POST", path: "/v1/runs/r/transition", body: `{"event":"E","expected_version":7}`, rpc: "TransitionRun",
			err: conflict(), status: 409, code: "VERSION_CONFLICT", header: map[string]string{"ETag": `"9"`},
		},
		{
			name: "If-Match", method: "POST", path: "/v1/runs/r/transition", body: `{"event":"E"}`, headers: []string{"If-Match", `"7"`}, rpc: "TransitionRun",
			err: conflict(), status: 412, code: "VERSION_CONFLICT", header: map[string]string{"ETag": `"9"`},
		},
		{
			name: "idempotency conflict under If-Match", method: "POST", path: "/v1/runs/r/transition", body: `{"event":"E"}`, headers: []string{"If-Match", `"7"`}, rpc: "TransitionRun",
			err: fault.New(fault.IdempotencyMismatch, "used"), status: 409, code: "IDEMPOTENCY_MISMATCH",
		},
		{name: "precondition", method: "POST", path: "/v1/runs/r/resume", rpc: "ResumeRun", err: fault.New(fault.RunNotPaused, "not paused"), status: 409, code: "RUN_NOT_PAUSED"},
		{
			name: "unavailable", method: "GET", path: "/v1/runs/r", rpc: "GetRun", err: status.Error(codes.Unavailable, "dial 10.0.0.1"), status: 503, code: "UNAVAILABLE",
			header: map[string]string{"Retry-After": "1"},
		},
		{
			name: "limit", method: "GET", path: "/v1/runs/r", rpc: "GetRun",
			err: &fault.Error{Reason: fault.LimitReached, Message: "slow down", RetryAfter: 1500 * time.Millisecond}, status: 429, code: "LIMIT_REACHED",
			header: map[string]string{"Retry-After": "2"},
		},
		{name: "too large", method: "POST", path: "/v1/workflows", body: `{}`, rpc: "RegisterWorkflow", err: fault.New(fault.TooLarge, "too large"), status: 413, code: "TOO_LARGE"},
		{name: "deadline", method: "GET", path: "/v1/runs/r", rpc: "GetRun", err: status.Error(codes.DeadlineExceeded, "x"), status: 504, code: "DEADLINE_EXCEEDED"},
		{name: "internal", method: "GET", path: "/v1/runs/r", rpc: "GetRun", err: errors.New("secret path"), status: 500, code: "INTERNAL"},
		{
			name: "invalid field", method: "POST", path: "/v1/runs", body: `{"workflow":"w"}`, rpc: "StartRun",
			err: fault.New(fault.InvalidRequest, "bad").Violate("/workflow_version", "INT64_GTE", "m"), status: 400, code: "INVALID_REQUEST", pointer: "/version", errors: 1,
		},
		{
			name: "invalid parameter", method: "GET", path: "/v1/runs/r", rpc: "GetRun",
			err: fault.New(fault.InvalidRequest, "bad").Violate("/run_id", "STRING_MAX_LEN", "m"), status: 400, code: "INVALID_REQUEST", errors: 1,
		},
		{
			name: "invalid query", method: "GET", path: "/v1/runs/r?branch=b", rpc: "GetRun",
			err: fault.New(fault.InvalidRequest, "bad").Violate("/branch", "STRING_MAX_LEN", "m"), status: 400, code: "INVALID_REQUEST", errors: 1,
		},
		{
			name: "invalid field that is a parameter elsewhere", method: "POST", path: "/v1/runs", rpc: "BindBranch",
			body: `{"run_id":"r","branch":"b","session_id":"s"}`,
			err:  fault.New(fault.InvalidRequest, "bad").Violate("/run_id", "STRING_MAX_LEN", "m"), status: 400, code: "INVALID_REQUEST", pointer: "/run_id", errors: 1,
		},
		{
			name: "force under If-Match", method: "POST", path: "/v1/runs/r/force-state", body: `{"state":"s"}`, headers: []string{"If-Match", `"7"`}, rpc: "ForceState",
			err: conflict(), status: 412, code: "VERSION_CONFLICT", header: map[string]string{"ETag": `"9"`},
		},
		{
			name: "invalid definition", method: "POST", path: "/v1/workflows", body: `{}`, rpc: "RegisterWorkflow",
			err:    fault.New(fault.InvalidDefinition, "bad").Violate("/id", "REQUIRED", "m").Violate("/name", "UNKNOWN_FIELD", "m"),
			status: 422, code: "INVALID_DEFINITION", errors: 2,
		},
		{
			name: "definition that is not valid JSON", method: "POST", path: "/v1/workflows", body: `{`, rpc: "RegisterWorkflow",
			err:    fault.New(fault.InvalidDefinition, "bad").Violate("", "JSON_SYNTAX", "m"),
			status: 400, code: "INVALID_JSON", errors: 1,
		},
	})
}

// failureCase is what a service fails with, and the problem that it becomes.
type failureCase struct {
	name         string
	method, path string
	body         string
	headers      []string
	rpc          string
	err          error
	status       int
	code         string
	pointer      string // of the problem, when there is one
	errors       int
	header       map[string]string
}

func checkFailures(t *testing.T, tests []failureCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			h.errs[tt.rpc] = tt.err
			rec := h.do(tt.method, tt.path, tt.body, tt.headers...)
			p := problem(t, rec)
			if rec.Code != tt.status || p.Code != tt.code || len(p.Errors) != tt.errors {
				t.Errorf("got %d %s, want %d %s with %d errors: %s", rec.Code, p.Code, tt.status, tt.code, tt.errors, rec.Body)
			}
			if tt.errors == 1 && (p.Errors[0].Pointer == nil) == (p.Errors[0].Parameter == "") {
				t.Errorf("not exactly one place is blamed: %s", rec.Body)
			}
			if (p.Pointer == nil) != (tt.pointer == "") && tt.code == "INVALID_REQUEST" || p.Pointer != nil && *p.Pointer != tt.pointer {
				t.Errorf("pointer is not %q: %s", tt.pointer, rec.Body)
			}
			for name, want := range tt.header {
				if got := rec.Header().Get(name); got != want {
					t.Errorf("header %s is %q, want %q", name, got, want)
				}
			}
			if tt.header["ETag"] != "" && p.CurrentVersion != 9 {
				t.Errorf("no current_version: %s", rec.Body)
			}
			for _, inside := range []string{"secret", "10.0.0.1"} {
				if strings.Contains(rec.Body.String(), inside) {
					t.Errorf("shows internals: %s", rec.Body)
				}
			}
		})
	}
}

// TestRefusedRequests: what the edge refuses before any service sees it.
func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	const transition = "/v1/runs/r/transition"
	checkRefusals(t, []refusalCase{
		{name: "no token", method: "GET", path: "/v1/runs", headers: []string{"Authorization", ""}, status: 401, code: "UNAUTHENTICATED", header: map[string]string{"WWW-Authenticate": `Bearer realm="interlock"`}},
		{name: "other scheme", method: "GET", path: "/v1/runs", headers: []string{"Authorization", "Basic abc"}, status: 401, code: "UNAUTHENTICATED"},
		{name: "token with a line end", method: "GET", path: "/v1/runs", headers: []string{"Authorization", "Bearer a\x01b"}, status: 401, code: "UNAUTHENTICATED"},
		{name: "endless token", method: "GET", path: "/v1/runs", headers: []string{"Authorization", "Bearer " + strings.Repeat("a", access.MaxToken+1)}, status: 401, code: "UNAUTHENTICATED"},
		{name: "unknown path", method: "GET", path: "/v2/runs", status: 404, code: "NOT_FOUND"},
		{name: "unclean path", method: "GET", path: "/v1//runs", status: 404, code: "NOT_FOUND"},
		{name: "trailing slash", method: "GET", path: "/v1/runs/", status: 404, code: "NOT_FOUND"},
		{name: "wrong method", method: "DELETE", path: "/v1/runs", status: 405, code: "METHOD_NOT_ALLOWED", header: map[string]string{"Allow": "GET, HEAD, POST"}},
		{name: "options", method: "OPTIONS", path: transition, status: 405, code: "METHOD_NOT_ALLOWED", header: map[string]string{"Allow": "POST"}},
		{name: "cross origin", method: "POST", path: transition, body: `{"event":"E"}`, headers: []string{"Sec-Fetch-Site", "cross-site"}, status: 403, code: "CROSS_ORIGIN"},
		{name: "foreign origin", method: "POST", path: transition, body: `{"event":"E"}`, headers: []string{"Origin", "https://evil.example"}, status: 403, code: "CROSS_ORIGIN"},
		{name: "form", method: "POST", path: transition, body: `a=b`, headers: []string{"Content-Type", "application/x-www-form-urlencoded"}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE", header: map[string]string{"Accept": "application/json"}},
		{name: "no content type", method: "POST", path: transition, body: `{}`, headers: []string{"Content-Type", ""}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "latin-1", method: "POST", path: transition, body: `{}`, headers: []string{"Content-Type", "application/json; charset=latin1"}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "yaml where JSON is", method: "POST", path: transition, body: `a: b`, headers: []string{"Content-Type", "application/yaml"}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "compressed", method: "POST", path: transition, body: `{}`, headers: []string{"Content-Encoding", "gzip"}, status: 415, code: "UNSUPPORTED_MEDIA_TYPE"},
		{name: "too large", method: "POST", path: "/v1/workflows", body: strings.Repeat(" ", maxBody+1), status: 413, code: "TOO_LARGE"},
		{name: "empty", method: "POST", path: transition, body: "", headers: []string{"Content-Type", "application/json"}, status: 400, code: "INVALID_JSON", pointer: "", detail: "JSON_SYNTAX"},
		{name: "empty definition", method: "POST", path: "/v1/workflows", headers: []string{"Content-Type", "application/json"}, status: 400, code: "INVALID_JSON", detail: "JSON_SYNTAX"},
		{name: "cut off", method: "POST", path: transition, body: `{"event":`, status: 400, code: "INVALID_JSON", detail: "JSON_SYNTAX"},
		{name: "trailing data", method: "POST", path: transition, body: `{"event":"E"} {}`, status: 400, code: "INVALID_JSON", detail: "JSON_SYNTAX"},
		{name: "duplicate key", method: "POST", path: transition, body: `{"event":"E","data":{"a":1,"\u0061":2}}`, status: 400, code: "INVALID_JSON", pointer: "/data/a", detail: "DUPLICATE_KEY"},
		{name: "invalid UTF-8", method: "POST", path: transition, body: "{\"event\":\"\xff\"}", status: 400, code: "INVALID_JSON", pointer: "/event", detail: "UTF8"},
		{name: "too deep", method: "POST", path: transition, body: `{"event":"E","data":{"a":` + deep(64) + `}}`, status: 400, code: "INVALID_JSON", detail: "TOO_DEEP"},
		{name: "bottomless", method: "POST", path: transition, body: strings.Repeat("[", maxBody-1), status: 400, code: "INVALID_JSON", detail: "TOO_DEEP"},
		{name: "an array", method: "POST", path: transition, body: `[]`, status: 400, code: "INVALID_REQUEST", pointer: "", detail: "TYPE"},
		{name: "unknown field", method: "POST", path: transition, body: `{"event":"E","dat~a":{}}`, status: 400, code: "INVALID_REQUEST", pointer: "/dat~0a", detail: "UNKNOWN_FIELD"},
		{name: "wrong case", method: "POST", path: transition, body: `{"Event":"E"}`, status: 400, code: "INVALID_REQUEST", pointer: "/Event", detail: "UNKNOWN_FIELD"},
		{name: "wrong type", method: "POST", path: transition, body: `{"event":7}`, status: 400, code: "INVALID_REQUEST", pointer: "/event", detail: "TYPE"},
		{name: "no integer", method: "POST", path: transition, body: `{"event":"E","expected_version":1.5}`, status: 400, code: "INVALID_REQUEST", pointer: "/expected_version", detail: "TYPE"},
		{name: "integer as text", method: "POST", path: transition, body: `{"event":"E","expected_version":"1"}`, status: 400, code: "INVALID_REQUEST", pointer: "/expected_version", detail: "TYPE"},
		{name: "integer too large", method: "POST", path: transition, body: `{"event":"E","expected_version":9223372036854775808}`, status: 400, code: "INVALID_REQUEST", pointer: "/expected_version", detail: "TYPE"},
		{name: "no event", method: "POST", path: transition, body: `{"data":{}}`, status: 400, code: "INVALID_REQUEST", pointer: "/event", detail: "REQUIRED"},
		{name: "data is not an object", method: "POST", path: transition, body: `{"event":"E","data":[]}`, status: 400, code: "INVALID_REQUEST", pointer: "/data", detail: "TYPE"},
		{name: "context is not an object", method: "POST", path: "/v1/runs", body: `{"workflow":"w","context":"x"}`, status: 400, code: "INVALID_REQUEST", pointer: "/context", detail: "TYPE"},
		{name: "no workflow", method: "POST", path: "/v1/runs", body: `{}`, status: 400, code: "INVALID_REQUEST", pointer: "/workflow", detail: "REQUIRED"},
		{name: "run without a branch", method: "POST", path: "/v1/runs", body: `{"workflow":"w","run_id":"r"}`, status: 400, code: "INVALID_REQUEST", pointer: "/run_id", detail: "CONFLICT"},
		{name: "branch without a session", method: "POST", path: "/v1/runs", body: `{"run_id":"r","branch":"b"}`, status: 400, code: "INVALID_REQUEST", pointer: "/session_id", detail: "REQUIRED"},
		{name: "branch of nothing", method: "POST", path: "/v1/runs", body: `{"session_id":"s","branch":"b"}`, status: 400, code: "INVALID_REQUEST", pointer: "/workflow", detail: "REQUIRED"},
		{name: "branch with context", method: "POST", path: "/v1/runs", body: `{"run_id":"r","session_id":"s","branch":"b","context":"x"}`, status: 400, code: "INVALID_REQUEST", pointer: "/branch", detail: "CONFLICT"},
		{name: "branch with workspace", method: "POST", path: "/v1/runs", body: `{"run_id":"r","session_id":"s","branch":"b","workspace":"/w"}`, status: 400, code: "INVALID_REQUEST", pointer: "/branch", detail: "CONFLICT"},
		{name: "no state", method: "POST", path: "/v1/runs/r/force-state", body: `{}`, status: 400, code: "INVALID_REQUEST", pointer: "/state", detail: "REQUIRED"},
		{name: "forced context is not an object", method: "POST", path: "/v1/runs/r/force-state", body: `{"state":"s","context":1}`, status: 400, code: "INVALID_REQUEST", pointer: "/context", detail: "TYPE"},
		{name: "forced from two versions", method: "POST", path: "/v1/runs/r/force-state", body: `{"state":"s","expected_version":6}`, headers: []string{"If-Match", `"7"`}, status: 400, code: "INVALID_REQUEST", detail: "CONFLICT"},
		{name: "branch is not text", method: "POST", path: transition, body: `{"event":"E","branch":1}`, status: 400, code: "INVALID_REQUEST", pointer: "/branch", detail: "TYPE"},
		{name: "active is not a boolean", method: "GET", path: "/v1/runs/r?active=1", status: 400, code: "INVALID_REQUEST", detail: "ENUM"},
		{name: "negative result", method: "GET", path: "/v1/runs/r/history?after_result=-1", status: 400, code: "INVALID_REQUEST", detail: "RANGE"},
		{name: "two places", method: "GET", path: "/v1/runs/r/history?after=1&after_version=1", status: 400, code: "INVALID_REQUEST", detail: "CONFLICT"},
		{name: "no session", method: "POST", path: "/v1/check", body: `{"tool":"T"}`, status: 400, code: "INVALID_REQUEST", pointer: "/session", detail: "REQUIRED"},
		{name: "no session of a report", method: "POST", path: "/v1/report", body: `{"tool":"T"}`, status: 400, code: "INVALID_REQUEST", pointer: "/session", detail: "REQUIRED"},
		{name: "no tool", method: "POST", path: "/v1/runs/r/check", body: `{}`, status: 400, code: "INVALID_REQUEST", pointer: "/tool", detail: "REQUIRED"},
		{name: "cost is not a number", method: "POST", path: "/v1/runs/r/check", body: `{"tool":"T","estimated_cost_usd":[]}`, status: 400, code: "INVALID_REQUEST", pointer: "/estimated_cost_usd", detail: "TYPE"},
		{name: "report without ok", method: "POST", path: "/v1/runs/r/report", body: `{"call_id":"c","tool":"T"}`, status: 400, code: "INVALID_REQUEST", pointer: "/ok", detail: "REQUIRED"},
		{name: "report without anything", method: "POST", path: "/v1/runs/r/report", body: `{}`, status: 400, code: "INVALID_REQUEST", detail: "REQUIRED"},
		{name: "negative size", method: "POST", path: "/v1/runs/r/report", body: `{"call_id":"c","tool":"T","ok":true,"result_bytes":-1}`, status: 400, code: "INVALID_REQUEST", pointer: "/result_bytes", detail: "RANGE"},
		{name: "file is not text", method: "POST", path: "/v1/runs/r/report", body: `{"call_id":"c","tool":"T","ok":true,"files_changed":["a",1]}`, status: 400, code: "INVALID_REQUEST", pointer: "/files_changed/1", detail: "TYPE"},
		{name: "resume takes nothing", method: "POST", path: "/v1/runs/r/resume", body: `{"x":1}`, status: 400, code: "INVALID_REQUEST", pointer: "/x", detail: "UNKNOWN_FIELD"},
		{name: "unknown query parameter", method: "GET", path: "/v1/runs?stat=PAUSED", status: 400, code: "INVALID_REQUEST", detail: "UNKNOWN_PARAMETER"},
		{name: "repeated query parameter", method: "GET", path: "/v1/runs?status=PAUSED&status=FAILED", status: 400, code: "INVALID_REQUEST", detail: "DUPLICATE_PARAMETER"},
		{name: "bad query encoding", method: "GET", path: "/v1/runs?status=%zz", status: 400, code: "INVALID_REQUEST"},
		{name: "query is not text", method: "GET", path: "/v1/runs?workflow=%ff", status: 400, code: "INVALID_REQUEST", detail: "UTF8"},
		{name: "unknown status", method: "GET", path: "/v1/runs?status=running", status: 400, code: "INVALID_REQUEST", detail: "ENUM"},
		{name: "unspecified status", method: "GET", path: "/v1/runs?status=UNSPECIFIED", status: 400, code: "INVALID_REQUEST", detail: "ENUM"},
		{name: "page too large", method: "GET", path: "/v1/runs?page_size=1001", status: 400, code: "INVALID_REQUEST", detail: "RANGE"},
		{name: "page size is not a number", method: "GET", path: "/v1/workflows?page_size=x", status: 400, code: "INVALID_REQUEST", detail: "RANGE"},
		{name: "negative version", method: "GET", path: "/v1/runs/r/history?after_version=-1", status: 400, code: "INVALID_REQUEST", detail: "RANGE"},
		{name: "id is not text", method: "GET", path: "/v1/runs/%ff", status: 400, code: "INVALID_REQUEST", detail: "UTF8"},
		{name: "version is not a number", method: "GET", path: "/v1/workflows/w/versions/x", status: 400, code: "INVALID_REQUEST", detail: "RANGE"},
		{name: "version zero", method: "GET", path: "/v1/workflows/w/versions/0", status: 404, code: "NOT_FOUND"},
		{name: "strict is not a boolean", method: "POST", path: "/v1/workflows/validate?strict=1", body: `{}`, status: 400, code: "INVALID_REQUEST", detail: "ENUM"},
		{name: "namespace", method: "GET", path: "/v1/runs", headers: []string{"X-Interlock-Namespace", "a.b"}, status: 400, code: "INVALID_REQUEST", detail: "NAME"},
		{name: "endless key", method: "POST", path: transition, body: `{"event":"E"}`, headers: []string{"Idempotency-Key", strings.Repeat("k", 257)}, status: 400, code: "INVALID_REQUEST", detail: "INVALID"},
		{name: "key is not text", method: "POST", path: transition, body: `{"event":"E"}`, headers: []string{"Idempotency-Key", "\xff"}, status: 400, code: "INVALID_REQUEST", detail: "INVALID"},
		{name: "weak If-Match", method: "POST", path: transition, body: `{"event":"E"}`, headers: []string{"If-Match", `W/"7"`}, status: 400, code: "INVALID_REQUEST", detail: "INVALID"},
		{name: "If-Match without quotes", method: "POST", path: transition, body: `{"event":"E"}`, headers: []string{"If-Match", `7`}, status: 400, code: "INVALID_REQUEST", detail: "INVALID"},
		{name: "two versions", method: "POST", path: transition, body: `{"event":"E","expected_version":6}`, headers: []string{"If-Match", `"7"`}, status: 400, code: "INVALID_REQUEST", detail: "CONFLICT"},
		{name: "If-Match is not silently ignored", method: "POST", path: "/v1/runs/r/cancel", headers: []string{"If-Match", `"7"`}, status: 400, code: "INVALID_REQUEST", detail: "UNSUPPORTED"},
	})
}

// refusalCase is a request that no service sees, and its problem.
type refusalCase struct {
	name         string
	method, path string
	body         string
	headers      []string
	status       int
	code         string
	pointer      string
	detail       string // code of the first of errors
	header       map[string]string
}

func TestQueryNames(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/v1/runs?limit=1":    "limit: there is no such query parameter; this path takes status, ",
		"/v1/workflows/w?a=1": "a: there is no such query parameter; this path takes none",
	} {
		if p := problem(t, newHouse(t).do(http.MethodGet, path, "")); !strings.HasPrefix(p.Detail, want) {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
}

func checkRefusals(t *testing.T, tests []refusalCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			rec := h.do(tt.method, tt.path, tt.body, tt.headers...)
			p := problem(t, rec)
			if rec.Code != tt.status || p.Code != tt.code {
				t.Errorf("got %d %s, want %d %s: %s", rec.Code, p.Code, tt.status, tt.code, rec.Body)
			}
			if tt.detail != "" && (len(p.Errors) == 0 || p.Errors[0].Code != tt.detail) {
				t.Errorf("no error %s: %s", tt.detail, rec.Body)
			}
			if tt.pointer != "" && (p.Pointer == nil || *p.Pointer != tt.pointer) {
				t.Errorf("pointer is not %q: %s", tt.pointer, rec.Body)
			}
			for name, want := range tt.header {
				if got := rec.Header().Get(name); got != want {
					t.Errorf("header %s is %q, want %q", name, got, want)
				}
			}
			if len(h.got) > 0 {
				t.Errorf("a service was called: %v", h.got)
			}
		})
	}
}

// TestDepth: a user's document may nest 64 levels, however it is wrapped.
func TestDepth(t *testing.T) {
	t.Parallel()
	data := `{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`
	if rec := newHouse(t).do("POST", "/v1/runs/r/transition", `{"event":"E","data":`+data+`}`); rec.Code != 200 {
		t.Errorf("64 levels: %d %s", rec.Code, rec.Body)
	}
}

// TestAllProblems: problems that did not fit into the status are fetched.
func TestAllProblems(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.errs["RegisterWorkflow"] = fault.New(fault.InvalidDefinition, "bad").Violate("/a", "NAME", "m").Meta("violations_omitted", "1")
	h.answers["ValidateWorkflow"] = &enginev1.ValidateWorkflowResponse{Problems: []*enginev1.Problem{
		{Pointer: "/a", Code: "NAME", Severity: enginev1.Severity_SEVERITY_ERROR},
		{Pointer: "/b", Code: "UNREACHABLE", Severity: enginev1.Severity_SEVERITY_WARNING},
		{Pointer: "/c", Code: "NAME", Severity: enginev1.Severity_SEVERITY_ERROR},
	}}
	rec := h.do("POST", "/v1/workflows", `{}`)
	if p := problem(t, rec); rec.Code != 422 || len(p.Errors) != 2 || *p.Errors[1].Pointer != "/c" {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// TestBadYAML: YAML that cannot be JSON is refused like JSON that cannot be.
func TestBadYAML(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{"syntax": "a: [", "duplicate": "a: 1\na: 2", "empty": "", "two": "--- 1\n--- 2"} {
		h := newHouse(t)
		rec := h.do("POST", "/v1/workflows", body, "Content-Type", "application/yaml")
		if p := problem(t, rec); rec.Code != 400 || p.Code != "INVALID_JSON" || len(p.Errors) == 0 || len(h.got) > 0 {
			t.Errorf("%s: %d %s", name, rec.Code, rec.Body)
		}
	}
}

// TestAnonymous: with AllowAnonymous the services decide.
func TestAnonymous(t *testing.T) {
	t.Parallel()
	h := houseBehind(t, access.Guard{AllowAnonymous: true})
	if rec := h.do("GET", "/v1/runs/r", "", "Authorization", ""); rec.Code != 200 || len(h.meta.Get("authorization")) != 0 {
		t.Errorf("%d %v", rec.Code, h.meta)
	}
	if rec := h.do("GET", "/v1/runs/r", "", "Authorization", "Basic x"); rec.Code != 401 {
		t.Errorf("a bad header passed: %d", rec.Code)
	}
	req := httptest.NewRequest(http.MethodGet, "/v1/runs/r", http.NoBody)
	req.Header["Authorization"] = []string{"Bearer a", "Bearer b"}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	if rec.Code != 401 {
		t.Errorf("two tokens passed: %d", rec.Code)
	}
}

func TestNotReady(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *Config) {
		c.Checks = health.Checks{
			{Name: "engine", Probe: func(context.Context) error { return fmt.Errorf("secret address: %w", store.ErrBroken) }},
			{Name: "approval", Optional: true, Probe: func(context.Context) error { return nil }},
		}
		c.Definitions = nil
	})
	rec := h.do("GET", "/readyz", "")
	if p := problem(t, rec); rec.Code != 503 || p.Code != "UNAVAILABLE" || rec.Header().Get("Retry-After") == "" ||
		p.Detail != "not ready: engine" || strings.Contains(rec.Body.String(), "secret") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	if p := problem(t, h.do("GET", "/readyz?verbose", "")); p.Detail != "not ready: down engine, ok approval (optional)" {
		t.Errorf("verbose: %+v", p)
	}
	rec = h.do("GET", "/healthz", "")
	if p := problem(t, rec); rec.Code != 503 || p.Code != "UNAVAILABLE" || strings.Contains(rec.Body.String(), "secret") {
		t.Errorf("alive though only a restart helps: %d %s", rec.Code, rec.Body)
	}
	if rec := h.do("GET", "/workflow-schema.json", ""); rec.Code != 404 {
		t.Errorf("no schema: %d", rec.Code)
	}
}

// TestBrokenContext: a run that the edge cannot encode is a 500, not half an
// answer.
func TestBrokenContext(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	run := aRun()
	run.Context = []byte(`{"a":`)
	h.answers["GetRun"] = &enginev1.GetRunResponse{Run: run}
	rec := h.do("GET", "/v1/runs/r", "")
	if p := problem(t, rec); rec.Code != 500 || p.Code != "INTERNAL" || rec.Header().Get("ETag") != "" {
		t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
	}
}

func TestReadyListsDependencies(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *Config) {
		c.Checks = health.Checks{
			{Name: "engine", Optional: true, Probe: func(context.Context) error { return errors.New("secret address") }},
			{Name: "approval", Optional: true, Probe: func(context.Context) error { return nil }},
		}
	})
	want := `{"status":"ready","checks":[{"name":"engine","status":"down","required":false},` +
		`{"name":"approval","status":"ok","required":false}]}`
	if rec := h.do("GET", "/readyz?verbose", ""); rec.Code != 200 || strings.TrimSpace(rec.Body.String()) != want {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
	for path, want := range map[string]string{"/readyz": `{"status":"ready"}`, "/healthz": `{"status":"ok"}`} {
		if rec := h.do("GET", path, ""); rec.Code != 200 || strings.TrimSpace(rec.Body.String()) != want {
			t.Errorf("%s: %d %s", path, rec.Code, rec.Body)
		}
	}
}

// panicking has a bug.
type panicking struct{ enginev1.RunServiceClient }

func (panicking) GetRun(context.Context, *enginev1.GetRunRequest, ...grpc.CallOption) (*enginev1.GetRunResponse, error) {
	panic("secret")
}

// TestPanic: a bug costs one call, not the server.
func TestPanic(t *testing.T) {
	t.Parallel()
	h := newHouse(t, func(c *Config) { c.Runs = panicking{c.Runs} })
	rec := h.do("GET", "/v1/runs/r", "")
	if p := problem(t, rec); rec.Code != 500 || p.Code != "INTERNAL" || strings.Contains(rec.Body.String(), "secret") {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	full := newHouse(t).cfg
	if _, err := New(full); err != nil {
		t.Error(err)
	}
	for name, remove := range map[string]func(*Config){
		"Workflows": func(c *Config) { c.Workflows = nil }, "Runs": func(c *Config) { c.Runs = nil }, "Policy": func(c *Config) { c.Policy = nil },
		"Processes": func(c *Config) { c.Processes = nil }, "Policies": func(c *Config) { c.Policies = nil },
		"Decisions": func(c *Config) { c.Decisions = nil }, "Approvals": func(c *Config) { c.Approvals = nil },
		"Schemas": func(c *Config) { c.Schemas = nil }, "States": func(c *Config) { c.States = nil }, "Sessions": func(c *Config) { c.Sessions = nil },
		"Tasks": func(c *Config) { c.Tasks = nil }, "Components": func(c *Config) { c.Components = nil }, "Agents": func(c *Config) { c.Agents = nil },
	} {
		cfg := full
		remove(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("an edge without %s was made", name)
		}
	}
}

// No decision is a denial, not an error that a caller might take for less.
func TestCheckWithoutDecision(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		fault.New(fault.Unavailable, "down"), fault.New(fault.CommitUncertain, "maybe"), context.DeadlineExceeded,
		status.Error(codes.Unavailable, "dial 10.0.0.1"),
	} {
		h := newHouse(t)
		h.errs["CheckToolCall"] = err
		rec := h.do("POST", "/v1/runs/r/check", `{"tool":"Edit","call_id":"c1"}`)
		var got jsonview.Decision
		if e := json.Unmarshal(rec.Body.Bytes(), &got); e != nil || rec.Code != 200 || got.Decision != "DENY" || got.Code != "UNAVAILABLE" || got.CallID != "c1" ||
			strings.Contains(got.Message, "10.0.0.1") {
			t.Errorf("%v: %d %s", err, rec.Code, rec.Body)
		}
	}
	h := newHouse(t)
	h.errs["CheckToolCall"] = fault.New(fault.NotFound, "no such run")
	if rec := h.do("POST", "/v1/runs/r/check", `{"tool":"Edit"}`); rec.Code != 404 {
		t.Errorf("%d %s", rec.Code, rec.Body)
	}
}

// A service that never answers does not keep the agent waiting.
func TestCheckIsAnsweredSoon(t *testing.T) {
	t.Parallel()
	var left time.Duration
	h := newHouse(t, func(c *Config) { c.Policy = soon{c.Policy, &left} })
	h.do("POST", "/v1/runs/r/check", `{"tool":"Edit"}`)
	if left <= 0 || left > checkTimeout {
		t.Errorf("the check has %s", left)
	}
}

// soon notes how long a check may take.
type soon struct {
	policyv1.PolicyEnforcerServiceClient
	left *time.Duration
}

func (s soon) CheckToolCall(
	ctx context.Context, in *policyv1.CheckToolCallRequest, opts ...grpc.CallOption,
) (*policyv1.CheckToolCallResponse, error) {
	deadline, _ := ctx.Deadline()
	*s.left = time.Until(deadline)
	return s.PolicyEnforcerServiceClient.CheckToolCall(ctx, in, opts...)
}
