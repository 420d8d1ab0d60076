package rest

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
)

// services plays all services: each RPC records its request and metadata
// and answers what the test put there, or its error.
type services struct {
	enginev1.WorkflowServiceClient
	enginev1.RunServiceClient
	policyv1.PolicyEnforcerServiceClient

	mu      sync.Mutex
	answers map[string]proto.Message // by the name of the RPC
	errs    map[string]error
	got     map[string]proto.Message
	meta    metadata.MD
	changes chan *statev1.WatchStateResponse  // of watched states
	waits   chan *approvalv1.Approval         // of approvals that are waited for
	pages   []*policyv1.ListDecisionsResponse // of the log, one after the other
}

// play answers one RPC. Errors cross a gRPC status like real ones do.
func play[Resp proto.Message](ctx context.Context, s *services, rpc string, in proto.Message, zero Resp) (Resp, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meta, _ = metadata.FromOutgoingContext(ctx)
	if _, err := proto.Marshal(in); err != nil { // as the real client would
		return zero, err
	}
	s.got[rpc] = in
	if err := s.errs[rpc]; err != nil {
		return zero, fault.From(err).GRPCStatus().Err()
	}
	if resp, ok := s.answers[rpc].(Resp); ok {
		return resp, nil
	}
	return zero, nil
}

type workflows struct{ *services }

func (w workflows) RegisterWorkflow(ctx context.Context, in *enginev1.RegisterWorkflowRequest, _ ...grpc.CallOption) (*enginev1.RegisterWorkflowResponse, error) {
	return play(ctx, w.services, "Register", in, &enginev1.RegisterWorkflowResponse{Workflow: aWorkflow()})
}

func (w workflows) GetWorkflow(ctx context.Context, in *enginev1.GetWorkflowRequest, _ ...grpc.CallOption) (*enginev1.GetWorkflowResponse, error) {
	return play(ctx, w.services, "GetWorkflow", in, &enginev1.GetWorkflowResponse{Workflow: aWorkflow()})
}

func (w workflows) ListWorkflows(ctx context.Context, in *enginev1.ListWorkflowsRequest, _ ...grpc.CallOption) (*enginev1.ListWorkflowsResponse, error) {
	return play(ctx, w.services, "ListWorkflows", in, &enginev1.ListWorkflowsResponse{})
}

func (w workflows) ValidateWorkflow(ctx context.Context, in *enginev1.ValidateWorkflowRequest, _ ...grpc.CallOption) (*enginev1.ValidateWorkflowResponse, error) {
	return play(ctx, w.services, "Validate", in, &enginev1.ValidateWorkflowResponse{Ok: true})
}

type runs struct{ *services }

func (r runs) StartRun(ctx context.Context, in *enginev1.StartRunRequest, _ ...grpc.CallOption) (*enginev1.StartRunResponse, error) {
	return play(ctx, r.services, "Start", in, &enginev1.StartRunResponse{Run: aRun()})
}

func (r runs) GetRun(ctx context.Context, in *enginev1.GetRunRequest, _ ...grpc.CallOption) (*enginev1.GetRunResponse, error) {
	return play(ctx, r.services, "GetRun", in, &enginev1.GetRunResponse{Run: aRun()})
}

func (r runs) ListRuns(ctx context.Context, in *enginev1.ListRunsRequest, _ ...grpc.CallOption) (*enginev1.ListRunsResponse, error) {
	return play(ctx, r.services, "ListRuns", in, &enginev1.ListRunsResponse{Runs: []*enginev1.Run{aRun()}})
}

func (r runs) TransitionRun(ctx context.Context, in *enginev1.TransitionRunRequest, _ ...grpc.CallOption) (*enginev1.TransitionRunResponse, error) {
	return play(ctx, r.services, "Transition", in, &enginev1.TransitionRunResponse{Accepted: true, Run: aRun()})
}

func (r runs) BindBranch(ctx context.Context, in *enginev1.BindBranchRequest, _ ...grpc.CallOption) (*enginev1.BindBranchResponse, error) {
	return play(ctx, r.services, "BindBranch", in, &enginev1.BindBranchResponse{Run: aRun()})
}

func (r runs) ForceState(ctx context.Context, in *enginev1.ForceStateRequest, _ ...grpc.CallOption) (*enginev1.ForceStateResponse, error) {
	return play(ctx, r.services, "ForceState", in, &enginev1.ForceStateResponse{Accepted: true, Run: aRun()})
}

func (r runs) PauseRun(ctx context.Context, in *enginev1.PauseRunRequest, _ ...grpc.CallOption) (*enginev1.PauseRunResponse, error) {
	return play(ctx, r.services, "Pause", in, &enginev1.PauseRunResponse{Run: aRun()})
}

func (r runs) ResumeRun(ctx context.Context, in *enginev1.ResumeRunRequest, _ ...grpc.CallOption) (*enginev1.ResumeRunResponse, error) {
	return play(ctx, r.services, "Resume", in, &enginev1.ResumeRunResponse{Run: aRun()})
}

func (r runs) CancelRun(ctx context.Context, in *enginev1.CancelRunRequest, _ ...grpc.CallOption) (*enginev1.CancelRunResponse, error) {
	return play(ctx, r.services, "Cancel", in, &enginev1.CancelRunResponse{Run: aRun()})
}

func (r runs) GetRunHistory(ctx context.Context, in *enginev1.GetRunHistoryRequest, _ ...grpc.CallOption) (*enginev1.GetRunHistoryResponse, error) {
	return play(ctx, r.services, "History", in, &enginev1.GetRunHistoryResponse{})
}

type policy struct{ *services }

func (p policy) CheckToolCall(ctx context.Context, in *policyv1.CheckToolCallRequest, _ ...grpc.CallOption) (*policyv1.CheckToolCallResponse, error) {
	return play(ctx, p.services, "Check", in, &policyv1.CheckToolCallResponse{Decision: policyv1.Decision_DECISION_ALLOW, CallId: "c1"})
}

func (p policy) ReportToolCall(ctx context.Context, in *policyv1.ReportToolCallRequest, _ ...grpc.CallOption) (*policyv1.ReportToolCallResponse, error) {
	return play(ctx, p.services, "Report", in, &policyv1.ReportToolCallResponse{Run: aRun(), Accounted: true})
}

var (
	_ enginev1.WorkflowServiceClient       = workflows{}
	_ enginev1.RunServiceClient            = runs{}
	_ policyv1.PolicyEnforcerServiceClient = policy{}
)

var noon = timestamppb.New(time.Date(2026, 3, 4, 12, 0, 0, 5e6, time.UTC))

// aRun is a run whose context no float64 could carry.
func aRun() *enginev1.Run {
	return &enginev1.Run{
		RunId: "run_01", Workflow: "deploy v1.0", WorkflowVersion: 2, Status: enginev1.RunStatus_RUN_STATUS_RUNNING,
		State: "planning", Context: []byte(`{"id":9007199254740993,"b":1.10,"a":"\u00e9<&>"}`),
		Iterations: 3, TransitionCount: 1, Version: 7, SessionId: "ses_01", ToolsRestricted: true,
		AllowedTools: []string{"Read", "Grep"}, Instructions: "Plan.",
		LegalEvents: []*enginev1.LegalEvent{
			{Event: "READY", Targets: []string{"testing"}, Guards: []string{"planned"}},
			{Event: "STOP", Targets: []string{"failed"}, RequiresApproval: true},
		},
		CreatedAt: noon, UpdatedAt: noon,
	}
}

const (
	jsonEvents = `[{"event":"READY","targets":["testing"],"guards":["planned"],"requires_approval":false},` +
		`{"event":"STOP","targets":["failed"],"guards":[],"requires_approval":true}]`
	jsonRun = `{"run_id":"run_01","workflow":"deploy v1.0","workflow_version":2,"status":"RUNNING","state":"planning",` +
		`"context":{"id":9007199254740993,"b":1.10,"a":"\u00e9<&>"},"iterations":3,"transition_count":1,"version":7,` +
		`"session_id":"ses_01","allowed_tools":["Read","Grep"],"instructions":"Plan.","legal_events":` + jsonEvents + `,` +
		`"created_at":"2026-03-04T12:00:00.005Z","updated_at":"2026-03-04T12:00:00.005Z","allowed_commands":null}`
	jsonWorkflow = `"name":"deploy v1.0","version":2,"digest":"abc",`
	jsonMade     = `"created_at":"2026-03-04T12:00:00.005Z","created_by":"alice"`
)

func aWorkflow() *enginev1.Workflow {
	return &enginev1.Workflow{Name: "deploy v1.0", Version: 2, Digest: "abc", CreatedAt: noon, CreatedBy: "alice"}
}

// house is an edge on fake services.
type house struct {
	t testing.TB
	*services
	edge *edge
	http.Handler
}

func newHouse(t testing.TB, change ...func(*Config)) *house {
	t.Helper()
	return houseBehind(t, access.Guard{}, change...)
}

// houseBehind is one behind a door.
func houseBehind(t testing.TB, door access.Guard, change ...func(*Config)) *house {
	t.Helper()
	s := &services{
		answers: map[string]proto.Message{}, errs: map[string]error{}, got: map[string]proto.Message{},
		changes: make(chan *statev1.WatchStateResponse), waits: make(chan *approvalv1.Approval),
	}
	cfg := Config{
		Workflows: workflows{s}, Runs: runs{s}, Processes: processClient{s}, Policy: policy{s},
		Policies: policyClient{s}, Decisions: decisionClient{s}, Approvals: approvalClient{services: s},
		Schemas: schemaClient{s}, States: stateClient{s}, Sessions: sessionClient{s}, Tasks: taskClient{services: s},
		Components: componentClient{s},
		Schema:     []byte(`{"type": "object"}`), Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, f := range change {
		f(&cfg)
	}
	e, err := newEdge(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &house{t: t, services: s, edge: e, Handler: door.Protect(e, e.Refuse)}
}

// do sends a request with a token; headers are pairs. The answer is checked
// against the OpenAPI document.
func (h *house) do(method, path, body string, headers ...string) *httptest.ResponseRecorder {
	h.t.Helper()
	req := httptest.NewRequest(method, path, strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer secret")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i+1] == "" {
			req.Header.Del(headers[i])
		} else {
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, req)
	h.conforms(req, rec)
	return rec
}

// conforms checks an answer against the OpenAPI document.
func (h *house) conforms(req *http.Request, rec *httptest.ResponseRecorder) {
	h.t.Helper()
	contentType := rec.Header().Get("Content-Type")
	if rec.Code >= 400 && contentType != contentProblem {
		h.t.Errorf("%s %s: status %d with content type %q", req.Method, req.URL, rec.Code, contentType)
	}
	_, pattern := h.edge.mux.Handler(req)
	method, path, _ := strings.Cut(pattern, " ")
	item := h.edge.api.OpenAPI().Paths[path]
	if item == nil || contentType == contentEvents || contentType == contentLines {
		return
	}
	op := map[string]*huma.Operation{
		"GET": item.Get, "POST": item.Post, "PUT": item.Put, "PATCH": item.Patch, "DELETE": item.Delete,
	}[method]
	resp := op.Responses[strconv.Itoa(rec.Code)]
	if resp == nil && rec.Code >= 400 {
		resp = op.Responses["default"]
	}
	if resp != nil && resp.Content == nil && rec.Body.Len() == 0 && contentType == "" {
		return
	}
	if resp == nil || resp.Content[contentType] == nil {
		h.t.Errorf("%s %s: the OpenAPI document knows no %d of type %q", req.Method, req.URL, rec.Code, contentType)
		return
	}
	var body any
	if err := json.Unmarshal(rec.Body.Bytes(), &body); err != nil {
		h.t.Errorf("%s %s: the answer is no JSON: %v: %s", req.Method, req.URL, err, rec.Body)
		return
	}
	var result huma.ValidateResult
	huma.Validate(h.edge.api.OpenAPI().Components.Schemas, resp.Content[contentType].Schema,
		huma.NewPathBuffer([]byte{}, 0), huma.ModeReadFromServer, body, &result)
	for _, err := range result.Errors {
		h.t.Errorf("%s %s: the answer breaks the OpenAPI document: %v: %s", req.Method, req.URL, err, rec.Body)
	}
}

// problem decodes a problem document.
func problem(t *testing.T, rec *httptest.ResponseRecorder) Problem {
	t.Helper()
	var p Problem
	if err := json.Unmarshal(rec.Body.Bytes(), &p); err != nil {
		t.Fatalf("no problem document: %v: %s", err, rec.Body)
	}
	if p.Status != rec.Code || p.Type != "about:blank" || p.Title == "" || p.Detail == "" || p.Code == "" {
		t.Errorf("incomplete problem for status %d: %s", rec.Code, rec.Body)
	}
	return p
}
