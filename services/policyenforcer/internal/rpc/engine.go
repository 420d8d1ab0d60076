package rpc

import (
	"context"
	"fmt"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// Engine reads runs and workflows through the engine's contract, with the
// caller's own credentials.
type Engine struct {
	workflows enginev1.WorkflowServiceClient
	runs      enginev1.RunServiceClient
	machines  *snapshot.Cache[string, *workflow.Machine]
}

var _ app.Runs = (*Engine)(nil)

// NewEngine makes the adapter.
func NewEngine(workflows enginev1.WorkflowServiceClient, runs enginev1.RunServiceClient) *Engine {
	return &Engine{workflows: workflows, runs: runs, machines: snapshot.New[string, *workflow.Machine](4096)}
}

// Run implements app.Runs. Only what decides is taken: not the context.
func (e *Engine) Run(ctx context.Context, _ string, target app.Target) (*workflow.Run, error) {
	resp, err := e.runs.Get(rpc.Forward(ctx), &enginev1.RunServiceGetRequest{
		RunId: target.RunID, SessionId: target.SessionID, Branch: target.Branch, Active: true,
	})
	if err != nil {
		return nil, err
	}
	return runOf(resp.GetRun()), nil
}

// Lane implements app.Runs.
func (e *Engine) Lane(ctx context.Context, _, runID, branch string) (*workflow.Run, error) {
	resp, err := e.runs.Get(rpc.Forward(ctx), &enginev1.RunServiceGetRequest{RunId: runID, Branch: branch})
	if err != nil {
		return nil, err
	}
	return runOf(resp.GetRun()), nil
}

// Interrupt implements app.Runs.
func (e *Engine) Interrupt(ctx context.Context, runID, callID string, files []string) (*app.Interrupted, error) {
	resp, err := e.runs.Interrupt(rpc.Forward(ctx), &enginev1.InterruptRequest{RunId: runID, CallId: callID, FilesChanged: files})
	if err != nil || !resp.GetFired() {
		return nil, err
	}
	run := runOf(resp.GetRun())
	m, err := e.Machine(ctx, rpc.Namespace(ctx), run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	return &app.Interrupted{Name: resp.GetInterrupt(), From: resp.GetFrom(), Run: run, Machine: m, Files: files}, nil
}

// runOf is a run as decisions need it.
func runOf(r *enginev1.Run) *workflow.Run {
	run := &workflow.Run{
		ID: r.GetRunId(), Workflow: r.GetWorkflow(), WorkflowVersion: r.GetWorkflowVersion(),
		SessionID: r.GetSessionId(), Workspace: r.GetWorkspace(),
		// A status that this version does not know is none: the core denies.
		Status: workflow.Status(strings.TrimPrefix(r.GetStatus().String(), "RUN_STATUS_")), State: r.GetState(),
		Entry: r.GetEntry(), Version: r.GetVersion(), Held: r.GetHeld(), Branch: r.GetBranch(), Over: r.GetBranchOver(),
	}
	if parent := r.GetParentRunId(); parent != "" {
		run.Parent = &workflow.Parent{RunID: parent, Root: r.GetRootRunId()}
	}
	return run
}

// Machine implements app.Runs. Versions are immutable, so the cache is always
// right.
func (e *Engine) Machine(ctx context.Context, namespace, name string, version int64) (*workflow.Machine, error) {
	key := fmt.Sprintf("%s\x00%s\x00%d", namespace, name, version)
	if m, ok := e.machines.Get(key); ok {
		return m, nil
	}
	resp, err := e.workflows.Get(rpc.Forward(ctx), &enginev1.WorkflowServiceGetRequest{Name: name, Version: version})
	if err != nil {
		return nil, err
	}
	def, problems := workflow.Parse(resp.GetWorkflow().GetDefinition())
	if problems.HasErrors() {
		return nil, fmt.Errorf("workflow %s version %d: %w", name, version, problems.Err())
	}
	m := workflow.Compile(def, version)
	e.machines.Put(key, m, nil)
	return m, nil
}
