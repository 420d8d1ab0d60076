package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rpc"
)

// askTime bounds one request of a runner.
const askTime = 30 * time.Second

// host serves runners.
type host struct {
	up       *server
	people   *issuer
	operator *grpc.ClientConn
	approver *grpc.ClientConn

	mu    sync.Mutex
	count int
	cases map[string]*hosted
}

// hosted is one case that runs: its namespace, and its way to the server.
type hosted struct {
	id, namespace string
	proxy         *proxy
	decided       map[string]bool // approvals
}

// other is the second namespace of a case.
func (c *hosted) other() string { return c.namespace + "-other" }

// setup is the beginning of a case.
type setup struct {
	Workflows []json.RawMessage `json:"workflows"`
	// Policies judge the calls of every agent.
	Policies []json.RawMessage `json:"policies"`
	// Attachable are policies that judge nobody until a step attaches them.
	Attachable []json.RawMessage          `json:"attachable"`
	Schemas    map[string]json.RawMessage `json:"schemas"`
}

func newHost(up *server, people *issuer) (*host, error) {
	h := &host{up: up, people: people, cases: map[string]*hosted{}}
	var err error
	if h.operator, err = rpc.Dial(up.grpc, rpc.ClientConfig{Token: up.tokens[auth.Operator]}); err != nil {
		return nil, err
	}
	h.approver, err = rpc.Dial(up.grpc, rpc.ClientConfig{Token: up.tokens[auth.Approver]})
	return h, err
}

func (h *host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, c := range h.cases {
		c.proxy.close()
	}
	_ = h.operator.Close()
	_ = h.approver.Close()
}

// routes of the control.
func (h *host) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /cases", serve(func(ctx context.Context, _ *http.Request, s setup) (any, error) { return h.begin(ctx, s) }))
	mux.HandleFunc("DELETE /cases/{id}", serve(h.of(func(_ context.Context, c *hosted, _ struct{}) (any, error) {
		h.mu.Lock()
		delete(h.cases, c.id)
		h.mu.Unlock()
		c.proxy.close()
		return struct{}{}, nil
	})))
	mux.HandleFunc("POST /cases/{id}/faults", serve(ofCase(h, func(_ context.Context, c *hosted, faults []fault) (any, error) {
		return struct{}{}, c.proxy.add(faults)
	})))
	mux.HandleFunc("DELETE /cases/{id}/faults", serve(h.of(func(_ context.Context, c *hosted, _ struct{}) (any, error) {
		c.proxy.clear()
		return struct{}{}, nil
	})))
	mux.HandleFunc("POST /cases/{id}/down", serve(h.of(func(_ context.Context, c *hosted, _ struct{}) (any, error) {
		c.proxy.lis.setDown(true)
		return struct{}{}, nil
	})))
	mux.HandleFunc("POST /cases/{id}/up", serve(h.of(func(_ context.Context, c *hosted, _ struct{}) (any, error) {
		c.proxy.lis.setDown(false)
		return struct{}{}, nil
	})))
	mux.HandleFunc("GET /cases/{id}/traffic", serve(h.of(func(_ context.Context, c *hosted, _ struct{}) (any, error) {
		return c.proxy.seen(), nil
	})))
	mux.HandleFunc("GET /cases/{id}/attempts", serve(h.of(func(_ context.Context, c *hosted, _ struct{}) (any, error) {
		return c.proxy.attempts(), nil
	})))
	mux.HandleFunc("POST /cases/{id}/human", serve(ofCase(h, h.human)))
	mux.HandleFunc("POST /cases/{id}/person", serve(ofCase(h, h.person)))
	mux.HandleFunc("GET /cases/{id}/record", serve(h.of(h.record)))
	return mux
}

// serve returns a route that takes and returns JSON.
func serve[Req any](do func(context.Context, *http.Request, Req) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req Req
		ctx, cancel := context.WithTimeout(r.Context(), askTime)
		defer cancel()
		if r.ContentLength != 0 {
			if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		out, err := do(ctx, r, req)
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(out)
	}
}

// ofCase returns a route of one case.
func ofCase[Req any](h *host, do func(context.Context, *hosted, Req) (any, error)) func(context.Context, *http.Request, Req) (any, error) {
	return func(ctx context.Context, r *http.Request, req Req) (any, error) {
		h.mu.Lock()
		c := h.cases[r.PathValue("id")]
		h.mu.Unlock()
		if c == nil {
			return nil, fmt.Errorf("there is no case %q", r.PathValue("id"))
		}
		return do(rpc.InNamespace(ctx, c.namespace), c, req)
	}
}

func (h *host) of(do func(context.Context, *hosted, struct{}) (any, error)) func(context.Context, *http.Request, struct{}) (any, error) {
	return ofCase(h, do)
}

// begun has the data for an SDK's connection.
type begun struct {
	ID        string `json:"id"`
	Server    string `json:"server"`
	Namespace string `json:"namespace"`
	// Other is a namespace that no other case uses.
	Other    string `json:"other"`
	Token    string `json:"token"`
	Operator string `json:"operator_token"`
	Approver string `json:"approver_token"`
}

// begin makes a case: a namespace of its own with its definitions, behind a proxy of its own.
func (h *host) begin(ctx context.Context, s setup) (begun, error) {
	h.mu.Lock()
	h.count++
	c := &hosted{id: fmt.Sprint(h.count), namespace: fmt.Sprintf("case-%d", h.count), decided: map[string]bool{}}
	h.mu.Unlock()
	if err := h.define(rpc.InNamespace(ctx, c.namespace), s); err != nil {
		return begun{}, err
	}
	var err error
	if c.proxy, err = newProxy(h.up.grpc, grpc.WithTransportCredentials(insecure.NewCredentials())); err != nil {
		return begun{}, err
	}
	h.mu.Lock()
	h.cases[c.id] = c
	h.mu.Unlock()
	return begun{
		ID: c.id, Server: c.proxy.address, Namespace: c.namespace, Other: c.other(),
		Token: h.up.tokens[auth.Agent], Operator: h.up.tokens[auth.Operator], Approver: h.up.tokens[auth.Approver],
	}, nil
}

func (h *host) define(ctx context.Context, s setup) error {
	workflows := enginev1.NewWorkflowServiceClient(h.operator)
	for _, definition := range s.Workflows {
		if _, err := workflows.RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: definition}); err != nil {
			return fmt.Errorf("a workflow of the case: %w", err)
		}
	}
	policies := policyv1.NewPolicyServiceClient(h.operator)
	for _, definition := range s.Attachable {
		if _, err := policies.RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{Definition: definition}); err != nil {
			return fmt.Errorf("a policy of the case: %w", err)
		}
	}
	for _, definition := range s.Policies {
		made, err := policies.RegisterPolicy(ctx, &policyv1.RegisterPolicyRequest{Definition: definition})
		if err != nil {
			return fmt.Errorf("a policy of the case: %w", err)
		}
		if _, err := policies.AttachPolicy(ctx, &policyv1.AttachPolicyRequest{
			Name: made.GetPolicy().GetName(), To: []*policyv1.Attachment{{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_ROLE, Id: string(auth.Agent)}},
		}); err != nil {
			return fmt.Errorf("attach a policy of the case: %w", err)
		}
	}
	schemas := statev1.NewSchemaServiceClient(h.operator)
	for _, name := range slices.Sorted(maps.Keys(s.Schemas)) {
		if _, err := schemas.RegisterSchema(ctx, &statev1.RegisterSchemaRequest{Name: name, JsonSchema: s.Schemas[name]}); err != nil {
			return fmt.Errorf("a schema of the case: %w", err)
		}
	}
	return nil
}

// person returns a token of the deployment's OpenID Connect issuer.
func (h *host) person(_ context.Context, c *hosted, p person) (any, error) {
	if p.Name == "" {
		return nil, errors.New("a person has a name")
	}
	if p.Namespaces == nil {
		p.Namespaces = []string{"own"}
	}
	for i, name := range p.Namespaces {
		switch name {
		case "own":
			p.Namespaces[i] = c.namespace
		case "other":
			p.Namespaces[i] = c.other()
		}
	}
	token, err := h.people.token(p)
	return map[string]string{"name": p.Name, "token": token, "issuer": h.people.url, "subject": h.people.url + "#" + p.Name}, err
}

// vote is the human's vote.
type vote struct {
	// Approval to decide; empty for the only one that waits.
	Approval string `json:"approval"`
	Approve  bool   `json:"approve"`
	Note     string `json:"note"`
}

// human decides an approval, once it waits.
func (h *host) human(ctx context.Context, _ *hosted, v vote) (any, error) {
	approvals := approvalv1.NewApprovalServiceClient(h.approver)
	for v.Approval == "" {
		list, err := approvals.ListApprovals(ctx, &approvalv1.ListApprovalsRequest{Filter: "status=PENDING"})
		if err != nil {
			return nil, err
		}
		switch waiting := list.GetApprovals(); len(waiting) {
		case 0:
			select {
			case <-ctx.Done():
				return nil, errors.New("no approval waits for the human")
			case <-time.After(10 * time.Millisecond):
			}
		case 1:
			v.Approval = waiting[0].GetApprovalId()
		default:
			return nil, fmt.Errorf("%d approvals wait for the human: name one", len(waiting))
		}
	}
	decided, err := approvals.DecideApproval(ctx, &approvalv1.DecideApprovalRequest{ApprovalId: v.Approval, Approve: v.Approve, Note: v.Note})
	if err != nil {
		return nil, err
	}
	return map[string]string{"approval_id": v.Approval, "status": decided.GetApproval().GetStatus().String()}, nil
}

// record has the server's records of a case, independent of the answers to its agent.
type record struct {
	Decisions []decision `json:"decisions"`
	Results   []result   `json:"results"`
	// Events that were accepted.
	Events []string   `json:"events"`
	States []state    `json:"states"`
	Runs   []standing `json:"runs"`
	// Pending are the approvals that wait.
	Pending []string `json:"pending"`
}

type standing struct {
	ID         string `json:"id"`
	Session    string `json:"session"`
	State      string `json:"state"`
	Status     string `json:"status"`
	Iterations int64  `json:"iterations"`
}

type decision struct {
	Tool     string `json:"tool"`
	Decision string `json:"decision"`
	Code     string `json:"code"`
	Session  string `json:"session"`
	CallID   string `json:"call_id"`
}

type result struct {
	Tool   string `json:"tool"`
	OK     bool   `json:"ok"`
	Output string `json:"output"`
	CallID string `json:"call_id"`
}

type state struct {
	Schema  string          `json:"schema"`
	Version int64           `json:"version"`
	Data    json.RawMessage `json:"data"`
}

// record reads it, oldest first. Results are kept where the workflow has meta.capture_output.
func (h *host) record(ctx context.Context, _ *hosted, _ struct{}) (any, error) {
	out := record{Decisions: []decision{}, Results: []result{}, Events: []string{}, States: []state{}, Runs: []standing{}, Pending: []string{}}
	list, err := policyv1.NewDecisionServiceClient(h.operator).ListDecisions(ctx, &policyv1.ListDecisionsRequest{PageSize: 1000})
	if err != nil {
		return nil, err
	}
	records := list.GetDecisions()
	slices.SortStableFunc(records, func(a, b *policyv1.DecisionRecord) int {
		return cmp.Or(a.GetTime().AsTime().Compare(b.GetTime().AsTime()), cmp.Compare(a.GetSequence(), b.GetSequence()))
	})
	for _, d := range records {
		out.Decisions = append(out.Decisions, decision{
			d.GetTool(), short(d.GetDecision(), "DECISION_"), short(d.GetCode(), "DECISION_CODE_"), d.GetSessionId(), d.GetCallId(),
		})
	}
	if err := h.history(ctx, &out); err != nil {
		return nil, err
	}
	waiting, err := approvalv1.NewApprovalServiceClient(h.approver).ListApprovals(ctx, &approvalv1.ListApprovalsRequest{Filter: "status=PENDING"})
	if err != nil {
		return nil, err
	}
	for _, a := range waiting.GetApprovals() {
		out.Pending = append(out.Pending, a.GetApprovalId())
	}
	return &out, h.states(ctx, &out)
}

func (h *host) history(ctx context.Context, out *record) error {
	runs := enginev1.NewRunServiceClient(h.operator)
	listed, err := runs.ListRuns(ctx, &enginev1.ListRunsRequest{PageSize: 1000, View: enginev1.RunView_RUN_VIEW_FULL})
	if err != nil {
		return err
	}
	slices.Reverse(listed.GetRuns())
	for _, r := range listed.GetRuns() {
		out.Runs = append(out.Runs, standing{
			r.GetRunId(), r.GetSessionId(), r.GetState(), short(r.GetStatus(), "RUN_STATUS_"), r.GetUsage().GetIterations(),
		})
		history, err := runs.GetRunHistory(ctx, &enginev1.GetRunHistoryRequest{RunId: r.GetRunId(), PageSize: 1000})
		if err != nil {
			return err
		}
		for _, entry := range history.GetEntries() {
			switch entry.GetType() {
			case enginev1.HistoryType_HISTORY_TYPE_TRANSITIONED:
				out.Events = append(out.Events, entry.GetEvent())
			case enginev1.HistoryType_HISTORY_TYPE_TOOL_RESULT:
				r := entry.GetToolResult()
				out.Results = append(out.Results, result{r.GetTool(), r.GetOk(), string(r.GetOutput()), r.GetCallId()})
			default:
			}
		}
	}
	return nil
}

func (h *host) states(ctx context.Context, out *record) error {
	states := statev1.NewStateServiceClient(h.operator)
	listed, err := states.ListStates(ctx, &statev1.ListStatesRequest{})
	if err != nil {
		return err
	}
	for _, s := range listed.GetStates() {
		full, err := states.GetState(ctx, &statev1.GetStateRequest{StateId: s.GetStateId()})
		if err != nil {
			return err
		}
		st := full.GetState()
		out.States = append(out.States, state{st.GetSchemaName(), st.GetVersion(), st.GetData()})
	}
	return nil
}
