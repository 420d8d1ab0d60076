package main

import (
	"context"
	_ "embed"
	"errors"
	"path/filepath"
	"strconv"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/services/approval"
	"github.com/interlock-run/interlock/services/engine"
	"github.com/interlock-run/interlock/services/policyenforcer"
	"github.com/interlock-run/interlock/services/statestore"
)

//go:embed workflow.json
var definition []byte

// sample has commits and answers of the services: the bare servers commit and
// answer as much.
type sample struct {
	Check, Transition, Patch                   store.Batch
	CheckAnswer, TransitionAnswer, PatchAnswer []byte
}

// recorder keeps the last batch.
type recorder struct {
	store.Store
	mu   sync.Mutex
	last store.Batch
}

// Commit keeps a batch and commits it.
func (r *recorder) Commit(ctx context.Context, batch store.Batch) (store.Result, error) {
	r.mu.Lock()
	r.last = batch
	r.mu.Unlock()
	return r.Store.Commit(ctx, batch)
}

// record runs the services once, within this process, and keeps their commits and answers.
func record(ctx context.Context, dir string) (_ *sample, err error) {
	st, err := sqlitestore.Open(ctx, sqlitestore.Config{Path: filepath.Join(dir, "sample.db")})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	rec := &recorder{Store: st}
	server, err := rpc.NewServer(rpc.Config{Listen: []string{"127.0.0.1:0"}, AllowAnonymous: true})
	if err != nil {
		return nil, err
	}
	defer server.Close()
	local := server.Local(rpc.ClientConfig{})
	if _, err := register(server.GRPC(), rec, local, local); err != nil {
		return nil, err
	}
	ids, err := begin(ctx, local, 1)
	if err != nil {
		return nil, err
	}
	s := &sample{}
	checked, err := policyv1.NewPolicyEnforcerServiceClient(local).CheckToolCall(ctx, checkRequest(ids[0]))
	if err != nil {
		return nil, err
	}
	s.Check = rec.last
	moved, err := enginev1.NewRunServiceClient(local).TransitionRun(ctx, transitionRequest(ids[0], 0))
	if err != nil {
		return nil, err
	}
	s.Transition = rec.last
	if checked.GetDecision() != policyv1.Decision_DECISION_ALLOW || !moved.GetAccepted() {
		return nil, errors.New("the sample calls were refused")
	}
	if s.CheckAnswer, err = proto.Marshal(checked); err != nil {
		return nil, err
	}
	if s.TransitionAnswer, err = proto.Marshal(moved); err != nil {
		return nil, err
	}
	sessions, err := createStates(ctx, local, stateOf(100<<10), 1)
	if err != nil {
		return nil, err
	}
	patched, err := statev1.NewStateServiceClient(local).UpdateState(ctx, patchRequest(sessions[0], 0, 1))
	if err != nil {
		return nil, err
	}
	s.Patch = rec.last
	s.PatchAnswer, err = proto.Marshal(patched)
	return s, err
}

// register adds the services to a server, as all binaries do, and returns the work that they
// do in addition to serving, until a context ends.
func register(
	r grpc.ServiceRegistrar, st store.Store, local, self grpc.ClientConnInterface,
) ([]func(context.Context) error, error) {
	policies, err := policyenforcer.New(policyenforcer.Config{Store: st, Engine: local, Approval: self, State: self})
	if err != nil {
		return nil, err
	}
	approvals, err := approval.New(approval.Config{Store: st, Engine: self})
	if err != nil {
		return nil, err
	}
	runs := engine.New(engine.Config{Store: st, Approval: self, Sessions: self})
	states := statestore.New(statestore.Config{Store: st})
	runs.Register(r)
	states.Register(r)
	policies.Register(r)
	approvals.Register(r)
	return []func(context.Context) error{runs.Run, states.Run, policies.Run, approvals.Run}, nil
}

// begin registers the workflow and starts n runs of it.
func begin(ctx context.Context, conn grpc.ClientConnInterface, n int) ([]string, error) {
	workflows := enginev1.NewWorkflowServiceClient(conn)
	_, err := workflows.RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: definition})
	if err != nil {
		return nil, err
	}
	ids := make([]string, n)
	for i := range ids {
		started, err := enginev1.NewRunServiceClient(conn).StartRun(ctx, &enginev1.StartRunRequest{Workflow: "bench"})
		if err != nil {
			return nil, err
		}
		ids[i] = started.GetRun().GetRunId()
	}
	return ids, nil
}

// input is the input of an agent's small edit.
var input = []byte(`{"file_path": "src/server/handler.go", "old_string": "if err != nil {\n\treturn err\n}", ` +
	`"new_string": "if err != nil {\n\treturn fmt.Errorf(\"handle: %w\", err)\n}"}`)

func checkRequest(run string) *policyv1.CheckToolCallRequest {
	return &policyv1.CheckToolCallRequest{RunId: run, Tool: "Edit", Input: input}
}

// bashRequest returns a call of the shell with a line as agents write them.
func bashRequest(run string) *policyv1.CheckToolCallRequest {
	return &policyv1.CheckToolCallRequest{
		RunId: run, Tool: "Bash", Input: []byte(`{"command": "cd server && pytest -q 2>&1 | tail -5"}`),
	}
}

// transitionRequest returns the nth transition of a run: to and fro, with three guards
// on the way to.
func transitionRequest(run string, n int) *enginev1.TransitionRunRequest {
	event := "TEST"
	if n%2 == 1 {
		event = "FIX"
	}
	return &enginev1.TransitionRunRequest{
		RunId: run, Event: event, Data: []byte(`{"attempt": ` + strconv.Itoa(n) + `, "rationale": "the fix is in"}`),
		IdempotencyKey: run + "/" + strconv.Itoa(n),
	}
}
