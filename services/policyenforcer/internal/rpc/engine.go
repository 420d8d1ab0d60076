package rpc

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"weak"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	peerv1 "github.com/interlock-run/interlock/gen/go/interlock/peer/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/protomap"
	"github.com/interlock-run/interlock/services/internal/snapshot"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Engine reads runs and workflows through the engine's contract, with the
// caller's own credentials.
type Engine struct {
	workflows enginev1.WorkflowServiceClient
	runs      enginev1.RunServiceClient
	peer      peerv1.RunPeerServiceClient
	compile   definition.Flags
	// definitions by namespace, name and version.
	definitions *snapshot.Cache[string, *enforcer.Definition]
	alive       alive
}

// alive are the definitions that something still refers to, whether they are cached or not:
// cached runs keep theirs. Without it each run that is cached after its definition has been
// pushed out would keep one of its own, and runs are bounded by their number.
type alive struct {
	mu    sync.Mutex
	known map[string]living
}

type living struct {
	definition weak.Pointer[enforcer.Definition]
	bytes      int
}

// find returns a definition that is in use, or nil.
func (a *alive) find(key string) (*enforcer.Definition, int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	one := a.known[key]
	return one.definition.Value(), one.bytes
}

// keep remembers a definition for as long as it is in use. It returns the one that another
// caller has kept since.
func (a *alive) keep(key string, d *enforcer.Definition, bytes int) *enforcer.Definition {
	a.mu.Lock()
	defer a.mu.Unlock()
	if other := a.known[key].definition.Value(); other != nil {
		return other
	}
	if a.known == nil {
		a.known = map[string]living{}
	}
	a.known[key] = living{weak.Make(d), bytes}
	runtime.AddCleanup(d, a.forget, key)
	return d
}

// forget drops a definition that is not in use.
func (a *alive) forget(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known[key].definition.Value() == nil {
		delete(a.known, key)
	}
}

func (a *alive) clear() {
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.known)
}

var _ enforcer.Runs = (*Engine)(nil)

// definitionBytes bounds the memory of the definitions that are kept.
const definitionBytes = 256 << 20

// NewEngine makes the adapter.
func NewEngine(workflows enginev1.WorkflowServiceClient, runs enginev1.RunServiceClient, peer peerv1.RunPeerServiceClient, compile definition.Flags) *Engine {
	return &Engine{workflows: workflows, runs: runs, peer: peer, compile: compile, definitions: snapshot.New[string, *enforcer.Definition](definitionBytes)}
}

// Caches returns the memory that the cache uses.
func (e *Engine) Caches() []snapshot.Use {
	return []snapshot.Use{e.definitions.UseBytes("enforcer_definitions")}
}

// Forget drops the cached definitions.
func (e *Engine) Forget() {
	e.alive.clear() // first, or the cache could be given one of them again
	e.definitions.Clear()
}

// Run implements enforcer.Runs. It omits the context of the run.
func (e *Engine) Run(ctx context.Context, _ string, target enforcer.Target) (run *workflow.View, superseded string, err error) {
	resp, err := e.runs.GetRun(rpc.Forward(ctx), &enginev1.GetRunRequest{
		RunId: target.RunID, SessionId: target.SessionID, Branch: target.Branch, Active: true,
		View: enginev1.RunView_RUN_VIEW_BASIC,
	})
	if err != nil {
		return nil, "", err
	}
	return runOf(resp.GetRun()), resp.GetRun().GetSupersededBy(), nil
}

// Lane implements enforcer.Runs.
func (e *Engine) Lane(ctx context.Context, _, runID, branch string) (*workflow.View, error) {
	resp, err := e.runs.GetRun(rpc.Forward(ctx), &enginev1.GetRunRequest{
		RunId: runID, Branch: branch, View: enginev1.RunView_RUN_VIEW_BASIC,
	})
	if err != nil {
		return nil, err
	}
	return runOf(resp.GetRun()), nil
}

// Interrupt implements enforcer.Runs.
func (e *Engine) Interrupt(ctx context.Context, runID, callID string, files []string) (*enforcer.Interrupted, error) {
	resp, err := e.peer.InterruptRun(rpc.Forward(ctx), &peerv1.InterruptRunRequest{RunId: runID, CallId: callID, FilesChanged: files})
	if err != nil || !resp.GetFired() {
		return nil, err
	}
	run := runOf(resp.GetRun())
	d, err := e.Definition(ctx, rpc.Namespace(ctx), run.Workflow, run.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	return &enforcer.Interrupted{Name: resp.GetInterrupt(), From: resp.GetFrom(), Run: run, Machine: d.Machine, Files: files}, nil
}

// runOf returns the parts of a run that decisions need.
func runOf(r *enginev1.Run) *workflow.View {
	run := workflow.Run{
		ID: r.GetRunId(), Workflow: r.GetWorkflow(), WorkflowVersion: r.GetWorkflowVersion(),
		SessionID: r.GetSessionId(), Workspace: r.GetWorkspace(), Claimed: r.GetWorkspaceClaimed(), Version: r.GetVersion(),
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

// Definition implements enforcer.Runs. Versions are immutable, so the cache is always
// right.
func (e *Engine) Definition(ctx context.Context, namespace, name string, version int64) (*enforcer.Definition, error) {
	key := fmt.Sprintf("%s\x00%s\x00%d", namespace, name, version)
	if d, ok := e.definitions.Get(key); ok {
		return d, nil
	}
	if d, bytes := e.alive.find(key); d != nil {
		e.definitions.PutSized(key, d, bytes, nil)
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
	d := &enforcer.Definition{Machine: compiled.Machine, Process: compiled.Process != nil, Policies: compiled.Meta().Policies}
	if d.Process {
		for _, policy := range compiled.Process.Policies() {
			d.Rules = append(d.Rules, rules.Compile(policy, version))
		}
	}
	bytes := definition.Memory(resp.GetWorkflow().GetDefinition())
	d = e.alive.keep(key, d, bytes)
	e.definitions.PutSized(key, d, bytes, nil)
	return d, nil
}
