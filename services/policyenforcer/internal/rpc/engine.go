package rpc

import (
	"context"
	"fmt"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/app"
)

// Engine reads runs and workflows through the engine's contract, with the
// caller's own credentials.
type Engine struct {
	workflows enginev1.WorkflowServiceClient
	runs      enginev1.RunServiceClient
	compile   definition.Flags
	// definitions by namespace, name and version.
	definitions *snapshot.Cache[string, *app.Definition]
}

var _ app.Runs = (*Engine)(nil)

// definitionBytes bounds the memory of the definitions that are kept.
const definitionBytes = 256 << 20

// NewEngine makes the adapter.
func NewEngine(workflows enginev1.WorkflowServiceClient, runs enginev1.RunServiceClient, compile definition.Flags) *Engine {
	return &Engine{workflows: workflows, runs: runs, compile: compile, definitions: snapshot.New[string, *app.Definition](definitionBytes)}
}

// Forget drops what is cached.
func (e *Engine) Forget() { e.definitions.Clear() }

// Run implements app.Runs. Only what decides is taken: not the context.
func (e *Engine) Run(ctx context.Context, _ string, target app.Target) (run *workflow.View, superseded string, err error) {
	resp, err := e.runs.GetRun(rpc.Forward(ctx), &enginev1.GetRunRequest{
		RunId: target.RunID, SessionId: target.SessionID, Branch: target.Branch, Active: true,
		View: enginev1.RunView_RUN_VIEW_BASIC,
	})
	if err != nil {
		return nil, "", err
	}
	return runOf(resp.GetRun()), resp.GetRun().GetSupersededBy(), nil
}

// Lane implements app.Runs.
func (e *Engine) Lane(ctx context.Context, _, runID, branch string) (*workflow.View, error) {
	resp, err := e.runs.GetRun(rpc.Forward(ctx), &enginev1.GetRunRequest{
		RunId: runID, Branch: branch, View: enginev1.RunView_RUN_VIEW_BASIC,
	})
	if err != nil {
		return nil, err
	}
	return runOf(resp.GetRun()), nil
}

// Interrupt implements app.Runs.
func (e *Engine) Interrupt(ctx context.Context, runID, callID string, files []string) (*app.Interrupted, error) {
	resp, err := e.runs.InterruptRun(rpc.Forward(ctx), &enginev1.InterruptRunRequest{RunId: runID, CallId: callID, FilesChanged: files})
	if err != nil || !resp.GetFired() {
		return nil, err
	}
	run := runOf(resp.GetRun())
	d, err := e.Definition(ctx, rpc.Namespace(ctx), run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	return &app.Interrupted{Name: resp.GetInterrupt(), From: resp.GetFrom(), Run: run, Machine: d.Machine, Files: files}, nil
}

// runOf is a run as decisions need it.
func runOf(r *enginev1.Run) *workflow.View {
	run := workflow.Run{
		ID: r.GetRunId(), Workflow: r.GetWorkflow(), WorkflowVersion: r.GetWorkflowVersion(),
		SessionID: r.GetSessionId(), Workspace: r.GetWorkspace(), Version: r.GetVersion(),
		// A status that this version does not know is none: the core denies.
		Status: workflow.Status(strings.TrimPrefix(r.GetStatus().String(), "RUN_STATUS_")),
		Lane:   workflow.Lane{State: r.GetState(), Entry: r.GetEntry()},
	}
	for _, h := range r.GetHolds() {
		run.Holds = append(run.Holds, workflow.Hold{
			By: h.GetBy(), Cause: workflow.HoldCause(protomap.LowerWord(h.GetCause(), "HOLD_CAUSE_")),
			Reason: h.GetReason(), Since: h.GetSince().AsTime(),
		})
	}
	if parent := r.GetParentRunId(); parent != "" {
		run.Parent = &workflow.Parent{RunID: parent, Root: r.GetRootRunId()}
	}
	at := run.At("")
	at.Branch, at.Over = r.GetBranch(), r.GetBranchOver()
	return &at
}

// Definition implements app.Runs. Versions are immutable, so the cache is always
// right.
func (e *Engine) Definition(ctx context.Context, namespace, name string, version int64) (*app.Definition, error) {
	key := fmt.Sprintf("%s\x00%s\x00%d", namespace, name, version)
	if d, ok := e.definitions.Get(key); ok {
		return d, nil
	}
	resp, err := e.workflows.GetWorkflow(rpc.Forward(ctx), &enginev1.GetWorkflowRequest{Name: name, Version: version})
	if err != nil {
		return nil, err
	}
	compiled, err := e.compile.Compile(resp.GetWorkflow().GetDefinition(), version)
	if err != nil {
		return nil, fmt.Errorf("workflow %s version %d: %w", name, version, err)
	}
	d := &app.Definition{Machine: compiled.Machine, Process: compiled.Process != nil, Policies: compiled.Meta().Policies}
	if d.Process {
		for _, policy := range compiled.Process.Policies() {
			d.Rules = append(d.Rules, rules.Compile(policy, version))
		}
	}
	e.definitions.PutSized(key, d, definition.Memory(resp.GetWorkflow().GetDefinition()), nil)
	return d, nil
}
