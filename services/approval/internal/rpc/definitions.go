package rpc

import (
	"context"
	"fmt"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/approval/internal/app"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/snapshot"
)

// definitionBytes bounds the memory of the definitions that are kept.
const definitionBytes = 64 << 20

// Definitions reads workflows and processes through the engine's contract, with the approval
// service's own credentials. Versions are immutable, so the cache is always right.
type Definitions struct {
	workflows enginev1.WorkflowServiceClient
	compile   definition.Flags
	kept      *snapshot.Cache[string, *workflow.Machine]
}

var _ app.Definitions = (*Definitions)(nil)

// NewDefinitions makes the adapter.
func NewDefinitions(workflows enginev1.WorkflowServiceClient, compile definition.Flags) *Definitions {
	return &Definitions{workflows: workflows, compile: compile, kept: snapshot.New[string, *workflow.Machine](definitionBytes)}
}

// Forget clears the cache.
func (d *Definitions) Forget() { d.kept.Clear() }

// Machine implements app.Definitions.
func (d *Definitions) Machine(ctx context.Context, namespace, name string, version int64) (*workflow.Machine, error) {
	key := fmt.Sprintf("%s\x00%s\x00%d", namespace, name, version)
	if m, ok := d.kept.Get(key); ok {
		return m, nil
	}
	resp, err := d.workflows.GetWorkflow(rpc.InNamespace(ctx, namespace), &enginev1.GetWorkflowRequest{Name: name, Version: version})
	if err != nil {
		return nil, err
	}
	text := resp.GetWorkflow().GetDefinition()
	compiled, err := d.compile.Compile(text, version)
	if err != nil {
		return nil, fmt.Errorf("workflow %s version %d: %w", name, version, err)
	}
	d.kept.PutSized(key, compiled.Machine, definition.Memory(text), nil)
	return compiled.Machine, nil
}
