package mcp

import (
	"context"
	"slices"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	approvalv1 "github.com/interlock-run/interlock/gen/go/interlock/approval/v1"
	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// gate is the process of the plane: two questions, the last of which a human
// reviews when it is answered with "ask".
var deployGate = struct {
	name, prompt string
	questions    map[string]string
	answers      map[string]map[string]string // state: answer: target
	reviewed     string
	tools        []string
}{
	name: "deploy-gate", prompt: "Walk through the checklist.",
	questions: map[string]string{"env": "Is the environment right?", "load": "Is it safe to shift traffic?"},
	answers: map[string]map[string]string{
		"env":  {"yes": "load", "no": "$blocked"},
		"load": {"yes": "$completed", "ask": "$completed"},
	},
	reviewed: "ask",
	tools:    []string{"memory*", "process_step"},
}

// startGate makes a run of the process that a session drives; p.mu is held.
func (p *plane) startGate(session string) *enginev1.Run {
	run := p.startLocked(deployGate.name, session)
	run.WorkflowMeta.Process, run.Version = true, 0
	p.ask(run, "env")
	return run
}

// ask puts a run of the process into a state; p.mu is held.
func (p *plane) ask(run *enginev1.Run, state string) {
	run.State, run.Version, run.Rules.Instructions, run.Rules.LegalEvents = state, run.GetVersion()+1, deployGate.questions[state], nil
	run.Rules.ToolsRestricted, run.Rules.AllowedTools, run.Rules.MaxIterations = false, nil, 0
	for answer, target := range deployGate.answers[state] {
		run.Rules.LegalEvents = append(run.GetRules().GetLegalEvents(), &enginev1.LegalEvent{Event: answer, Targets: []string{target}})
	}
	sortEvents(run.GetRules().GetLegalEvents())
	switch state {
	case "$completed":
		run.Status = enginev1.RunStatus_RUN_STATUS_COMPLETED
	case "$blocked":
		run.Status = enginev1.RunStatus_RUN_STATUS_BLOCKED
	}
	p.wake(run)
}

type planeProcesses struct {
	enginev1.ProcessServiceClient
	*plane
}

func (p planeProcesses) GetProcess(ctx context.Context, in *enginev1.GetProcessRequest, _ ...grpc.CallOption) (*enginev1.GetProcessResponse, error) {
	defer p.enter(ctx)()
	if p.failProcesses {
		return nil, fault.New(fault.Unavailable, "the store is down").GRPCStatus().Err()
	}
	if in.GetName() != deployGate.name || in.GetVersion() != 3 {
		return nil, fault.New(fault.NotFound, "no process %q", in.GetName()).GRPCStatus().Err()
	}
	return &enginev1.GetProcessResponse{Process: &enginev1.Process{Name: deployGate.name, Version: 3, Tools: deployGate.tools}}, nil
}

func (p planeProcesses) ListProcesses(ctx context.Context, in *enginev1.ListProcessesRequest, _ ...grpc.CallOption) (*enginev1.ListProcessesResponse, error) {
	defer p.enter(ctx)()
	if in.GetPageToken() == "" {
		return &enginev1.ListProcessesResponse{Processes: []*enginev1.Process{{Name: deployGate.name, Version: 3}}, NextPageToken: "2"}, nil
	}
	return &enginev1.ListProcessesResponse{Processes: []*enginev1.Process{{Name: "standup", Version: 1}}}, nil
}

func (p planeProcesses) AnswerQuestion(ctx context.Context, in *enginev1.AnswerQuestionRequest, _ ...grpc.CallOption) (*enginev1.AnswerQuestionResponse, error) {
	defer p.enter(ctx)()
	p.answers = append(p.answers, in)
	run, err := p.find(in.GetRunId(), in.GetSessionId())
	switch {
	case err != nil:
		return nil, err
	case !run.GetWorkflowMeta().GetProcess():
		return nil, fault.New(fault.FailedPrecondition, "run %s is not a process", run.GetRunId()).GRPCStatus().Err()
	case in.GetAnswer() == "":
		return p.turn(run, true), nil
	}
	target, ok := deployGate.answers[run.GetState()][in.GetAnswer()]
	switch {
	case !ok || run.GetApproval().GetPending():
		res := p.turn(run, false)
		res.Rejection = &enginev1.Rejection{
			Code: enginev1.RejectionCode_REJECTION_CODE_UNKNOWN_EVENT, Message: in.GetAnswer() + " is not an answer",
			LegalEvents: run.GetRules().GetLegalEvents(), State: run.GetState(), Status: run.GetStatus(),
		}
		return res, nil
	case in.GetAnswer() == deployGate.reviewed:
		run.Status, run.Version = enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL, run.GetVersion()+1
		run.Approval = &enginev1.RunApproval{ApprovalId: "apr_1", Event: in.GetAnswer(), To: target, AskedBy: "agent", Message: "really?", Pending: true}
		p.asked("apr_1", approvalv1.ApprovalKind_APPROVAL_KIND_PROCESS_STEP, run.GetRunId())
		res := p.turn(run, true)
		res.ApprovalId = "apr_1"
		return res, nil
	}
	run.TransitionCount++
	p.ask(run, target)
	return p.turn(run, true), nil
}

// turn is where a run of the process stands; p.mu is held.
func (p *plane) turn(run *enginev1.Run, accepted bool) *enginev1.AnswerQuestionResponse {
	turn := &enginev1.Turn{Question: run.GetRules().GetInstructions(), Status: run.GetStatus(), State: run.GetState(), Text: "[" + run.GetState() + "] " + run.GetRules().GetInstructions()}
	for _, e := range run.GetRules().GetLegalEvents() {
		turn.Answers = append(turn.Answers, e.GetEvent())
	}
	if run.GetVersion() == 1 {
		turn.InitialPrompt, turn.Text = deployGate.prompt, deployGate.prompt+"\n"+turn.GetText()
	}
	return &enginev1.AnswerQuestionResponse{Accepted: accepted, Run: clone(run), Turn: turn}
}

// asked makes an approval that is pending; p.mu is held.
func (p *plane) asked(id string, kind approvalv1.ApprovalKind, runID string) {
	p.approvals[id] = &approvalv1.Approval{
		ApprovalId: id, Kind: kind, Status: approvalv1.ApprovalStatus_APPROVAL_STATUS_PENDING, RunId: runID, Version: 1,
		Outcome: "approval " + id + " is pending: 0 of 1 approvals",
	}
}

// decide decides an approval.
func (p *plane) decide(id string, status approvalv1.ApprovalStatus, outcome string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.approvals[id]
	a.Status, a.Outcome, a.Version = status, outcome, a.GetVersion()+1
	for _, w := range p.waiters {
		if w.id == id {
			w.states <- proto.CloneOf(a)
		}
	}
}

// waited is how many wait for approvals, or have.
func (p *plane) waited() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.waiters)
}

type planeApprovals struct {
	approvalv1.ApprovalServiceClient
	*plane
}

func (p planeApprovals) find(id string) (*approvalv1.Approval, error) {
	if p.failApprovals > 0 {
		p.failApprovals--
		return nil, fault.New(fault.Unavailable, "restarting").GRPCStatus().Err()
	}
	if a := p.approvals[id]; a != nil {
		return proto.CloneOf(a), nil
	}
	return nil, fault.New(fault.NotFound, "no approval %q", id).GRPCStatus().Err()
}

func (p planeApprovals) GetApproval(ctx context.Context, in *approvalv1.GetApprovalRequest, _ ...grpc.CallOption) (*approvalv1.GetApprovalResponse, error) {
	defer p.enter(ctx)()
	a, err := p.find(in.GetApprovalId())
	return &approvalv1.GetApprovalResponse{Approval: a}, err
}

func (p planeApprovals) WatchApproval(ctx context.Context, in *approvalv1.WatchApprovalRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[approvalv1.WatchApprovalResponse], error) {
	defer p.enter(ctx)()
	a, err := p.find(in.GetApprovalId())
	if err != nil {
		return nil, err
	}
	w := &planeWait{ctx: ctx, id: in.GetApprovalId(), states: make(chan *approvalv1.Approval, 100)}
	w.states <- a
	p.waiters = append(p.waiters, w)
	return w, nil
}

type planeWait struct {
	grpc.ServerStreamingClient[approvalv1.WatchApprovalResponse]
	ctx    context.Context
	id     string
	states chan *approvalv1.Approval
}

func (w *planeWait) Recv() (*approvalv1.WatchApprovalResponse, error) {
	select {
	case a := <-w.states:
		return &approvalv1.WatchApprovalResponse{Approval: a}, nil
	case <-w.ctx.Done():
		return nil, w.ctx.Err()
	}
}

// heard is a list that several write.
type heard[T any] struct {
	mu  sync.Mutex
	all []T
}

func (h *heard[T]) add(v T) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, v)
}

func (h *heard[T]) list() []T {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}
