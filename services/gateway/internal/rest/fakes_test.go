package rest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/timestamppb"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	identityv1 "github.com/interlock-run/interlock/gen/go/interlock/identity/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/access"
	"github.com/interlock-run/interlock/services/gateway/internal/openapi"
)

// services plays all services, behind the generated clients: each RPC records its
// request and metadata and returns what the test put there, or its error, or else the
// usual.
type services struct {
	mu      sync.Mutex
	answers map[string]proto.Message // by the name of the RPC
	errs    map[string]error
	got     map[string]proto.Message
	meta    metadata.MD
	changes chan *statev1.WatchStateResponse  // of watched states
	waits   chan *approvalv1.Approval         // of approvals that are waited for
	pages   []*policyv1.ListDecisionsResponse // of the log, one after the other
}

// note records a request. Errors cross a gRPC status like real ones do.
func (s *services) note(ctx context.Context, rpc string, in any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meta, _ = metadata.FromOutgoingContext(ctx)
	if _, err := proto.Marshal(in.(proto.Message)); err != nil { // as the real client would
		return err
	}
	if rpc == "ListDecisions" && len(s.pages) > 0 {
		return nil
	}
	s.got[rpc] = in.(proto.Message)
	if err := s.errs[rpc]; err != nil {
		return fault.From(err).GRPCStatus().Err()
	}
	return nil
}

// Invoke implements grpc.ClientConnInterface.
func (s *services) Invoke(ctx context.Context, method string, in, out any, _ ...grpc.CallOption) error {
	rpc := path.Base(method)
	if err := s.note(ctx, rpc, in); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	reply := out.(proto.Message)
	switch {
	case rpc == "ListDecisions" && len(s.pages) > 0:
		proto.Merge(reply, s.pages[0])
		s.pages = s.pages[1:]
	case s.answers[rpc] != nil:
		proto.Merge(reply, s.answers[rpc])
	default:
		usual(reply)
	}
	return nil
}

// usual fills a response: things are as they are in this file, and what was asked for
// is done.
func usual(reply proto.Message) {
	m := reply.ProtoReflect()
	for i := range m.Descriptor().Fields().Len() {
		field := m.Descriptor().Fields().Get(i)
		switch {
		case field.IsList() || field.IsMap() || field.ContainingOneof() != nil:
		case field.Message() != nil && things[field.Message().Name()] != nil:
			m.Set(field, protoreflect.ValueOfMessage(things[field.Message().Name()]().ProtoReflect()))
		}
	}
	switch r := reply.(type) {
	case *enginev1.ListRunsResponse:
		r.Runs = []*enginev1.Run{aRun()}
	case *enginev1.ValidateWorkflowResponse:
		r.Ok = true
	case *enginev1.TransitionRunResponse:
		r.Accepted = true
	case *enginev1.ForceStateResponse:
		r.Accepted = true
	case *enginev1.AnswerQuestionResponse:
		r.Accepted = true
	case *policyv1.CheckToolCallResponse:
		r.Decision, r.CallId = policyv1.Decision_DECISION_ALLOW, "c1"
	case *policyv1.ReportToolCallResponse:
		r.Accounted = true
	case *policyv1.ShadowWorkflowResponse:
		r.Digest = "abc"
	case *statev1.RegisterSchemaResponse:
		r.Created = true
	case *statev1.CreateSessionResponse:
		r.Created = true
	case *statev1.LockStateResponse:
		r.FencingToken, r.ExpiresAt = 3, noon
	}
}

var things = map[protoreflect.Name]func() proto.Message{
	"Workflow": func() proto.Message { return aWorkflow() }, "Run": func() proto.Message { return aRun() },
	"Process": func() proto.Message { return aProcess() }, "Turn": func() proto.Message { return aTurn() },
	"Policy": func() proto.Message { return aPolicy() }, "Approval": func() proto.Message { return anApproval() },
	"Schema": func() proto.Message { return aSchema() }, "State": func() proto.Message { return aState() },
	"Session": func() proto.Message { return aSession() }, "Component": func() proto.Message { return aComponent() },
	"Execution": func() proto.Message { return anExecution() },
}

// NewStream implements grpc.ClientConnInterface.
func (s *services) NewStream(ctx context.Context, _ *grpc.StreamDesc, method string, _ ...grpc.CallOption) (grpc.ClientStream, error) {
	return watched{services: s, ctx: ctx, rpc: path.Base(method)}, nil
}

// watched is the client's end of a watch.
type watched struct {
	grpc.ClientStream
	*services
	ctx context.Context
	rpc string
}

func (w watched) SendMsg(in any) error { return w.note(w.ctx, w.rpc, in) }
func (w watched) CloseSend() error     { return nil }

func (w watched) RecvMsg(out any) error {
	select {
	case <-w.ctx.Done():
		return w.ctx.Err()
	case change, open := <-w.changes:
		if open {
			proto.Merge(out.(proto.Message), change)
			return nil
		}
	case a, open := <-w.waits:
		if open {
			out.(*approvalv1.WatchApprovalResponse).Approval = a
			return nil
		}
	}
	return io.EOF
}

var noon = timestamppb.New(time.Date(2026, 3, 4, 12, 0, 0, 5e6, time.UTC))

// aRun is a run whose context no float64 could carry.
func aRun() *enginev1.Run {
	return &enginev1.Run{
		RunId: "run_01", Workflow: "deploy v1.0", WorkflowVersion: 2, Status: enginev1.RunStatus_RUN_STATUS_RUNNING,
		State: "planning", Context: []byte(`{"id":9007199254740993,"b":1.10,"a":"\u00e9<&>"}`),
		Usage: &enginev1.Usage{Iterations: 3}, TransitionCount: 1, Version: 7, SessionId: "ses_01", Rules: &enginev1.StateRules{ToolsRestricted: true, AllowedTools: []string{"Read", "Grep"}, Instructions: "Plan.", LegalEvents: []*enginev1.LegalEvent{
			{Event: "READY", Targets: []string{"testing"}, Guards: []string{"planned"}},
			{Event: "STOP", Targets: []string{"failed"}, RequiresApproval: true},
		}},

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
	jsonMade     = `"created_at":"2026-03-04T12:00:00.005Z","updated_at":"2026-03-04T12:00:00.005Z","created_by":"alice"`
)

func aWorkflow() *enginev1.Workflow {
	return &enginev1.Workflow{Name: "deploy v1.0", Version: 2, Digest: "abc", CreatedAt: noon, CreatedBy: "alice"}
}

// house is an edge on fake services.
type house struct {
	t testing.TB
	*services
	edge *edge
	cfg  Config
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
		Workflows: enginev1.NewWorkflowServiceClient(s), Runs: enginev1.NewRunServiceClient(s), Processes: enginev1.NewProcessServiceClient(s), Schedules: enginev1.NewScheduleServiceClient(s),
		Policy: policyv1.NewPolicyEnforcerServiceClient(s), Policies: policyv1.NewPolicyServiceClient(s), Sets: policyv1.NewSetServiceClient(s),
		Decisions: policyv1.NewDecisionServiceClient(s), Upstreams: policyv1.NewUpstreamServiceClient(s), Halts: identityv1.NewHaltServiceClient(s), Namespaces: identityv1.NewNamespaceServiceClient(s), BreakGlass: policyv1.NewBreakGlassServiceClient(s), Approvals: approvalv1.NewApprovalServiceClient(s),
		People: identityv1.NewPersonServiceClient(s), Login: identityv1.NewLoginServiceClient(s),
		Schemas: statev1.NewSchemaServiceClient(s), States: statev1.NewStateServiceClient(s), Sessions: statev1.NewSessionServiceClient(s),
		Tasks: statev1.NewTaskServiceClient(s), Components: statev1.NewComponentServiceClient(s), Agents: statev1.NewAgentServiceClient(s),
		Definitions: map[string][]byte{
			"workflow": []byte(`{"type": "object"}`), "policy": []byte(`{}`), "process": []byte(`{}`), "component": []byte(`{}`), "scenario": []byte(`{}`),
		}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	}
	for _, f := range change {
		f(&cfg)
	}
	e, err := newEdge(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return &house{t: t, services: s, edge: e, cfg: cfg, Handler: door.Protect(e, e.Refuse)}
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
	rooted := &http.Request{Method: req.Method, Host: req.Host, URL: rooted(req.URL)}
	_, pattern := h.edge.mux.Handler(rooted)
	method, path, _ := strings.Cut(pattern, " ")
	op := h.edge.doc.Paths[path][strings.ToLower(method)]
	if op == nil || contentType == contentEvents || contentType == contentLines {
		return
	}
	resp := op.Responses[strconv.Itoa(rec.Code)]
	if resp == nil && rec.Code >= 400 {
		resp = op.Responses[fmt.Sprintf("%dXX", rec.Code/100)]
	}
	if resp != nil && resp.Content == nil && rec.Body.Len() == 0 && contentType == "" {
		return
	}
	if resp == nil || resp.Content[contentType] == nil {
		h.t.Errorf("%s %s: the OpenAPI document knows no %d of type %q", req.Method, req.URL, rec.Code, contentType)
		return
	}
	body, bad := document.Parse(rec.Body.Bytes(), document.Limits{})
	if bad != nil {
		h.t.Errorf("%s %s: the answer is not valid JSON: %v: %s", req.Method, req.URL, bad, rec.Body)
		return
	}
	for _, problem := range h.compiled(resp.Content[contentType].Schema).Validate(body) {
		h.t.Errorf("%s %s: the answer breaks the OpenAPI document: %v: %s", req.Method, req.URL, problem, rec.Body)
	}
}

// compiledSchemas are schemas of the document, which is the same for all houses, by their text.
var compiledSchemas sync.Map

// compiled returns a schema of the document, as one that asserts formats.
func (h *house) compiled(s *openapi.Schema) *document.Schema {
	h.t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		h.t.Fatal(err)
	}
	if known, ok := compiledSchemas.Load(string(text)); ok {
		return known.(*document.Schema)
	}
	components, err := json.Marshal(h.edge.doc.Components)
	if err != nil {
		h.t.Fatal(err)
	}
	whole, problem := document.Parse(fmt.Appendf(nil,
		`{"$schema": "http://json-schema.org/draft-07/schema", "allOf": [%s], "components": %s}`, text, components), document.Limits{})
	if problem != nil {
		h.t.Fatal(problem)
	}
	schema, problems := document.CompileSchema(whole)
	if schema == nil {
		h.t.Fatal(problems)
	}
	compiledSchemas.Store(string(text), schema)
	return schema
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
