package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
	"github.com/interlock-run/interlock/services/gateway/internal/mcp/gate"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// plane is the engine and the policy service in memory, small: two states, one
// guard, allowed and disallowed tools, a counter, and runs that wait for others.
type plane struct {
	mu       sync.Mutex
	runs     map[string]*enginev1.Run
	drives   map[string]string // session: run
	bound    map[string]string // session: branch
	next     int
	checks   []*policyv1.CheckToolCallRequest
	reports  []*policyv1.ReportToolCallRequest
	seen     []metadata.MD
	reported chan struct{} // one token per report that arrived

	// states may be changed before use.
	states map[string]planeState
	always bool // meta.enforcement
	debug  bool // meta.debug
	// Hooks replace an answer.
	onCheck  func(context.Context, *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error)
	onReport func(context.Context, *policyv1.ReportToolCallRequest) (*policyv1.ReportToolCallResponse, error)
	onGet    func(*enginev1.Run)
	failGet  string // session that cannot be looked up
	// onTransition may answer an event itself.
	onTransition func(run *enginev1.Run, event string) *enginev1.TransitionRunResponse

	answers       []*enginev1.AnswerQuestionRequest // to the process
	failProcesses bool
	failApprovals int // how many calls of the approval service fail
	approvals     map[string]*approvalv1.Approval
	waiters       []*planeWait

	watchers map[chan *enginev1.Run]string // of the run
	binds    []*enginev1.BindBranchRequest
}

type planeState struct {
	restricted bool
	allowed    []string
	disallowed []string
	events     map[string]string // event: target
	guard      map[string]string // event: context key that must be "pass"
	blocked    []string
	overrides  map[string]string
	max        int64
	final      bool
	notes      string
}

func newPlane() *plane {
	return &plane{
		runs: map[string]*enginev1.Run{}, drives: map[string]string{}, bound: map[string]string{},
		approvals: map[string]*approvalv1.Approval{}, reported: make(chan struct{}, 1000), watchers: map[chan *enginev1.Run]string{},
		states: map[string]planeState{
			"testing": {
				restricted: true, allowed: []string{"Read", "mcp__fs__read_file"}, max: 10, notes: "Run the test suite.",
				events: map[string]string{"DEPLOY": "deploying", "FAIL": "failed", "TESTED": "testing"},
				guard:  map[string]string{"DEPLOY": "test_result"},
			},
			"deploying": {restricted: true, allowed: []string{"mcp__fs__write_file"}, events: map[string]string{"DONE": "complete"}},
			"complete":  {final: true},
			"failed":    {final: true},
		},
	}
}

func (p *plane) config() Config {
	return Config{
		Workflows: planeWorkflows{plane: p}, Runs: planeRuns{plane: p}, Policy: planePolicy{plane: p},
		Processes: planeProcesses{plane: p}, Approvals: planeApprovals{plane: p},
	}
}

type (
	planeWorkflows struct {
		enginev1.WorkflowServiceClient
		*plane
	}
	planeRuns struct {
		enginev1.RunServiceClient
		*plane
	}
	planePolicy struct {
		policyv1.PolicyEnforcerServiceClient
		*plane
	}
)

func (p *plane) enter(ctx context.Context) func() {
	md, _ := metadata.FromOutgoingContext(ctx)
	p.mu.Lock()
	p.seen = append(p.seen, md)
	return p.mu.Unlock
}

func (p *plane) find(runID, session string) (*enginev1.Run, error) {
	if runID == "" {
		runID = p.drives[session]
	}
	if run := p.runs[runID]; run != nil {
		return run, nil
	}
	return nil, fault.New(fault.NotFound, "no run %q of session %q", runID, session).GRPCStatus().Err()
}

// enterState writes a state into a run; p.mu is held.
func (p *plane) enterState(run *enginev1.Run, name string) {
	state := p.states[name]
	run.State, run.Version, run.Usage.Iterations = name, run.GetVersion()+1, 0
	run.Rules.ToolsRestricted, run.Rules.AllowedTools, run.Rules.DisallowedTools = state.restricted, state.allowed, state.disallowed
	run.Rules.Instructions, run.Rules.MaxIterations, run.Rules.LegalEvents = state.notes, state.max, nil
	run.Rules.BlockedEnv, run.Rules.EnvOverrides = state.blocked, nil
	for name, value := range state.overrides {
		run.Rules.EnvOverrides = append(run.GetRules().GetEnvOverrides(), &enginev1.EnvVar{Name: name, Value: value})
	}
	for event, target := range state.events {
		legal := &enginev1.LegalEvent{Event: event, Targets: []string{target}}
		if state.guard[event] != "" {
			legal.Guards = []string{"tests_passed"}
		}
		run.Rules.LegalEvents = append(run.GetRules().GetLegalEvents(), legal)
	}
	sortEvents(run.GetRules().GetLegalEvents())
	if state.final {
		run.Status = enginev1.RunStatus_RUN_STATUS_COMPLETED
	}
	p.wake(run)
}

func sortEvents(events []*enginev1.LegalEvent) {
	slices.SortFunc(events, func(a, b *enginev1.LegalEvent) int { return strings.Compare(a.GetEvent(), b.GetEvent()) })
}

// wake notifies the watchers of a run; p.mu is held.
func (p *plane) wake(run *enginev1.Run) {
	for ch, id := range p.watchers {
		if id == run.GetRunId() {
			ch <- clone(run)
		}
	}
}

// change changes a run without notifying sessions.
func (p *plane) change(runID string, write func(*enginev1.Run)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	run := p.runs[runID]
	write(run)
	run.Version++
	p.wake(run)
}

// invoke makes a run wait for a child, which it answers.
func (p *plane) invoke(parent string) *enginev1.Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	child := p.startLocked("suite", "")
	child.ParentRunId = parent
	p.runs[parent].Child = &enginev1.Invocation{RunId: child.GetRunId(), Workflow: "suite", Event: "TEST"}
	p.runs[parent].Status = enginev1.RunStatus_RUN_STATUS_WAITING
	p.runs[parent].Version++
	return child
}

// innermost follows the runs that are waited for; p.mu is held.
func (p *plane) innermost(run *enginev1.Run) *enginev1.Run {
	for run.GetChild() != nil {
		run = p.runs[run.GetChild().GetRunId()]
	}
	return run
}

// seen is a run as a session sees it: those with a branch of their own see that
// one; p.mu is held.
func (p *plane) seenBy(run *enginev1.Run, session string) *enginev1.Run {
	run = clone(run)
	if branch := p.bound[session]; branch != "" {
		run.Branch = branch
	}
	return run
}

// start makes a run that a session drives.
func (p *plane) start(session string) *enginev1.Run {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.startLocked("deploy", session)
}

func (p *plane) startLocked(workflow, session string) *enginev1.Run {
	p.next++
	run := &enginev1.Run{
		RunId: fmt.Sprintf("run_%d", p.next), Workflow: workflow, WorkflowVersion: 3, SessionId: session,
		Status: enginev1.RunStatus_RUN_STATUS_RUNNING, Context: []byte(`{"big":12345678901234567890}`),
		Rules: &enginev1.StateRules{}, Usage: &enginev1.Usage{}, WorkflowMeta: &enginev1.WorkflowMeta{CaptureOutput: true, Enforcement: "while_running"},
	}
	p.enterState(run, "testing")
	p.runs[run.GetRunId()] = run
	if session != "" {
		p.drives[session] = run.GetRunId()
	}
	return run
}

// move puts a run into a state without notifying sessions.
func (p *plane) move(runID, state string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.enterState(p.runs[runID], state)
}

func (r planeRuns) StartRun(ctx context.Context, in *enginev1.StartRunRequest, _ ...grpc.CallOption) (*enginev1.StartRunResponse, error) {
	defer r.enter(ctx)()
	if in.GetWorkflow() == deployGate.name {
		return &enginev1.StartRunResponse{Run: clone(r.startGate(in.GetSessionId()))}, nil
	}
	if in.GetWorkflow() != "deploy" {
		return nil, fault.New(fault.NotFound, "no workflow %q", in.GetWorkflow()).GRPCStatus().Err()
	}
	return &enginev1.StartRunResponse{Run: clone(r.startLocked(in.GetWorkflow(), in.GetSessionId()))}, nil
}

func (r planeRuns) GetRun(ctx context.Context, in *enginev1.GetRunRequest, _ ...grpc.CallOption) (*enginev1.GetRunResponse, error) {
	defer r.enter(ctx)()
	run, err := r.find(in.GetRunId(), in.GetSessionId())
	if err != nil {
		return nil, err
	}
	if r.failGet != "" && in.GetSessionId() == r.failGet {
		return nil, fault.New(fault.Unavailable, "the store is down").GRPCStatus().Err()
	}
	shown := run
	if in.GetActive() || in.GetRunId() == "" {
		shown = r.innermost(run)
	}
	answer := r.seenBy(shown, in.GetSessionId())
	if r.onGet != nil {
		r.onGet(run)
	}
	return &enginev1.GetRunResponse{Run: answer, AskedRunId: run.GetRunId()}, nil
}

func (r planeRuns) BindBranch(ctx context.Context, in *enginev1.BindBranchRequest, _ ...grpc.CallOption) (*enginev1.BindBranchResponse, error) {
	defer r.enter(ctx)()
	r.binds = append(r.binds, in)
	run := r.runs[in.GetRunId()]
	if run == nil {
		return nil, fault.New(fault.NotFound, "no run of workflow %q is in a fork with an open branch %q", in.GetWorkflow(), in.GetBranch()).GRPCStatus().Err()
	}
	r.drives[in.GetSessionId()], r.bound[in.GetSessionId()] = run.GetRunId(), in.GetBranch()
	return &enginev1.BindBranchResponse{Run: r.seenBy(run, in.GetSessionId())}, nil
}

func (r planeRuns) ForceState(ctx context.Context, in *enginev1.ForceStateRequest, _ ...grpc.CallOption) (*enginev1.ForceStateResponse, error) {
	defer r.enter(ctx)()
	run, err := r.find(in.GetRunId(), in.GetSessionId())
	if err != nil {
		return nil, err
	}
	if !r.debug {
		return &enginev1.ForceStateResponse{Run: clone(run), Rejection: &enginev1.Rejection{
			Code: enginev1.RejectionCode_REJECTION_CODE_DEBUG_DISABLED, Message: "the workflow has no meta.debug", State: run.GetState(), Status: run.GetStatus(),
		}}, nil
	}
	run.Context = in.GetContext()
	r.enterState(run, in.GetState())
	return &enginev1.ForceStateResponse{Accepted: true, Run: clone(run)}, nil
}

func (r planeRuns) WatchRun(ctx context.Context, in *enginev1.WatchRunRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[enginev1.WatchRunResponse], error) {
	defer r.enter(ctx)()
	run, err := r.find(in.GetRunId(), "")
	if err != nil {
		return nil, err
	}
	ch := make(chan *enginev1.Run, 100)
	ch <- clone(run)
	r.watchers[ch] = run.GetRunId()
	return &planeWatch{ctx: ctx, runs: ch}, nil
}

type planeWatch struct {
	grpc.ServerStreamingClient[enginev1.WatchRunResponse]
	ctx  context.Context
	runs chan *enginev1.Run
}

func (w *planeWatch) Recv() (*enginev1.WatchRunResponse, error) {
	select {
	case run := <-w.runs:
		return &enginev1.WatchRunResponse{Run: run}, nil
	case <-w.ctx.Done():
		return nil, w.ctx.Err()
	}
}

func (r planeRuns) TransitionRun(ctx context.Context, in *enginev1.TransitionRunRequest, _ ...grpc.CallOption) (*enginev1.TransitionRunResponse, error) {
	defer r.enter(ctx)()
	run, err := r.find(in.GetRunId(), in.GetSessionId())
	if err != nil {
		return nil, err
	}
	run = r.innermost(run)
	if r.onTransition != nil {
		if res := r.onTransition(run, in.GetEvent()); res != nil {
			return res, nil
		}
	}
	state := r.states[run.GetState()]
	target, ok := state.events[in.GetEvent()]
	reject := func(code enginev1.RejectionCode, message string, guards ...*enginev1.GuardResult) (*enginev1.TransitionRunResponse, error) {
		return &enginev1.TransitionRunResponse{Run: clone(run), Rejection: &enginev1.Rejection{
			Code: code, Message: message, Guards: guards, LegalEvents: run.GetRules().GetLegalEvents(), State: run.GetState(), Status: run.GetStatus(),
		}}, nil
	}
	if !ok {
		return reject(enginev1.RejectionCode_REJECTION_CODE_UNKNOWN_EVENT, "no event "+in.GetEvent()+" in "+run.GetState())
	}
	values := map[string]json.RawMessage{}
	json.Unmarshal(run.GetContext(), &values) // ours
	if key := state.guard[in.GetEvent()]; key != "" && string(values[key]) != `"pass"` {
		return reject(enginev1.RejectionCode_REJECTION_CODE_GUARD_FAILED, "a guard failed", &enginev1.GuardResult{
			Name: "tests_passed", Field: key, Operator: enginev1.GuardOperator_GUARD_OPERATOR_EQ, Expected: []byte(`"pass"`), Actual: values[key],
		})
	}
	if len(in.GetData()) > 0 {
		if err := json.Unmarshal(in.GetData(), &values); err != nil {
			return nil, err
		}
		run.Context, _ = json.Marshal(values)
	}
	run.TransitionCount++
	r.enterState(run, target)
	return &enginev1.TransitionRunResponse{Accepted: true, Run: clone(run)}, nil
}

func (r planeRuns) PauseRun(ctx context.Context, in *enginev1.PauseRunRequest, _ ...grpc.CallOption) (*enginev1.PauseRunResponse, error) {
	run, err := r.leave(ctx, in.GetRunId(), enginev1.RunStatus_RUN_STATUS_PAUSED)
	return &enginev1.PauseRunResponse{Run: run}, err
}

func (r planeRuns) CancelRun(ctx context.Context, in *enginev1.CancelRunRequest, _ ...grpc.CallOption) (*enginev1.CancelRunResponse, error) {
	run, err := r.leave(ctx, in.GetRunId(), enginev1.RunStatus_RUN_STATUS_CANCELLED)
	return &enginev1.CancelRunResponse{Run: run}, err
}

func (r planeRuns) leave(ctx context.Context, runID string, status enginev1.RunStatus) (*enginev1.Run, error) {
	defer r.enter(ctx)()
	if r.always {
		return nil, fault.New(fault.EnforcementKept, "this workflow is enforced until it ends; an operator can stop it").GRPCStatus().Err()
	}
	run, err := r.find(runID, "")
	if err != nil {
		return nil, err
	}
	run.Status = status
	return clone(run), nil
}

func (w planeWorkflows) ListWorkflows(ctx context.Context, in *enginev1.ListWorkflowsRequest, _ ...grpc.CallOption) (*enginev1.ListWorkflowsResponse, error) {
	defer w.enter(ctx)()
	if in.GetPageToken() == "" {
		return &enginev1.ListWorkflowsResponse{Workflows: []*enginev1.Workflow{{Name: "deploy", Version: 3}}, NextPageToken: "2"}, nil
	}
	return &enginev1.ListWorkflowsResponse{Workflows: []*enginev1.Workflow{{Name: "review", Version: 1}}}, nil
}

func (w planeWorkflows) RegisterWorkflow(ctx context.Context, in *enginev1.RegisterWorkflowRequest, _ ...grpc.CallOption) (*enginev1.RegisterWorkflowResponse, error) {
	defer w.enter(ctx)()
	var definition struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal(in.GetDefinition(), &definition); err != nil || definition.ID == "" {
		return nil, fault.New(fault.InvalidDefinition, "the definition is invalid").
			Violate("/id", "REQUIRED", "add an id").GRPCStatus().Err()
	}
	return &enginev1.RegisterWorkflowResponse{
		Workflow: &enginev1.Workflow{Name: definition.ID, Version: 1, Digest: string(in.GetDefinition())}, Created: true,
		Warnings: []*enginev1.Problem{{Pointer: "/states/a", Code: "DEAD_END", Message: "it leads nowhere"}},
	}, nil
}

func (p planePolicy) CheckToolCall(ctx context.Context, in *policyv1.CheckToolCallRequest, _ ...grpc.CallOption) (*policyv1.CheckToolCallResponse, error) {
	unlock := p.enter(ctx)
	p.checks = append(p.checks, in)
	hook := p.onCheck
	if hook != nil {
		unlock()
		return hook(ctx, in)
	}
	defer unlock()
	return p.judge(in)
}

// judge decides; p.mu is held.
func (p *plane) judge(in *policyv1.CheckToolCallRequest) (*policyv1.CheckToolCallResponse, error) {
	run, err := p.find(in.GetRunId(), in.GetSessionId())
	if err != nil {
		return nil, err
	}
	run = p.innermost(run)
	if only := in.GetIfRun(); only != nil && (only.GetRunId() != run.GetRunId() || only.GetVersion() != run.GetVersion()) {
		return nil, fault.New(fault.VersionConflict, "the run has moved").GRPCStatus().Err()
	}
	res := &policyv1.CheckToolCallResponse{
		Branch: p.bound[in.GetSessionId()], Decision: policyv1.Decision_DECISION_DENY, CallId: in.GetCallId(), RunId: run.GetRunId(), RunVersion: run.GetVersion(), State: run.GetState(),
		ToolsRestricted: run.GetRules().GetToolsRestricted(), AllowedTools: run.GetRules().GetAllowedTools(), LegalEvents: run.GetRules().GetLegalEvents(), MaxIterations: run.GetRules().GetMaxIterations(),
	}
	switch {
	case brief.ToolStatusOf(run) == brief.Closed:
		res.Code, res.Message = policyv1.DecisionCode_DECISION_CODE_RUN_NOT_ACTIVE, "the run is "+jsonview.StatusName(run.GetStatus())
	case gate.Matches(run.GetRules().GetDisallowedTools(), in.GetTool()):
		res.Code, res.Message = policyv1.DecisionCode_DECISION_CODE_TOOL_DISALLOWED, in.GetTool()+" is disallowed in "+run.GetState()
	case run.GetRules().GetToolsRestricted() && !gate.Matches(run.GetRules().GetAllowedTools(), in.GetTool()):
		res.Code, res.Message = policyv1.DecisionCode_DECISION_CODE_TOOL_NOT_ALLOWED, in.GetTool()+" is not allowed in "+run.GetState()
	case run.GetRules().GetMaxIterations() > 0 && run.GetUsage().GetIterations() >= run.GetRules().GetMaxIterations():
		res.Code, res.Message = policyv1.DecisionCode_DECISION_CODE_MAX_ITERATIONS, "no iterations left"
	case in.GetDryRun():
		res.Decision, res.CallId = policyv1.Decision_DECISION_ALLOW, ""
	default:
		run.Usage.Iterations++
		res.Decision, res.Iterations = policyv1.Decision_DECISION_ALLOW, run.GetUsage().GetIterations()
	}
	return res, nil
}

func (p planePolicy) ReportToolCall(ctx context.Context, in *policyv1.ReportToolCallRequest, _ ...grpc.CallOption) (*policyv1.ReportToolCallResponse, error) {
	unlock := p.enter(ctx)
	defer unlock()
	if p.onReport != nil {
		if res, err := p.onReport(ctx, in); err != nil || res != nil {
			return res, err
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	p.reports = append(p.reports, in)
	p.reported <- struct{}{}
	run, err := p.find(in.GetRunId(), in.GetSessionId())
	if err != nil {
		return nil, err
	}
	run = clone(p.innermost(run))
	run.Branch = in.GetBranch()
	if in.GetKnownRunVersion() == run.GetVersion() {
		run = nil
	}
	return &policyv1.ReportToolCallResponse{Run: run, Accounted: true}, nil
}

func clone(run *enginev1.Run) *enginev1.Run { return proto.CloneOf(run) }

func (p *plane) lastReport() *policyv1.ReportToolCallRequest {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.reports) == 0 {
		return nil
	}
	return p.reports[len(p.reports)-1]
}

func (p *plane) counts() (checks, reports int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.checks), len(p.reports)
}
