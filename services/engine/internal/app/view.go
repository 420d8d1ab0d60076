package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/evidence"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"

	"github.com/interlock-run/interlock/services/engine/internal/ports"
	"github.com/interlock-run/interlock/services/engine/internal/registry"
)

// Views shows runs with the rules of their states and the status of their evidence.
type Views struct {
	ports     *ports.Ports
	registry  *registry.Registry
	runs      *Runs
	lastTrees lastTrees
}

// View is a run together with the rules of its state.
type View struct {
	Run *workflow.Run
	// At is the run as the branch sees it that it was asked about, or the one that
	// unbound callers work in.
	At      workflow.View
	Machine *workflow.Machine
	// Process is the definition of the run when that is not a workflow, else nil (S8).
	Process *process.Process
	// AskedID is the run that was asked for: this one, or one that has invoked it.
	AskedID string
	// SupersededBy is the run that is driven instead of this one, which is paused or has
	// ended. Only Get by a run's id sets it; see authority.SupersededBy.
	SupersededBy string
	// Evidence is how that of the workflow stands, in definition order.
	Evidence []evidence.Status
}

func newView(at workflow.View, m definition.Compiled) *View {
	return &View{Run: at.Run, At: at, Machine: m.Machine, Process: m.Process, AskedID: at.ID}
}

// State returns the state in force.
func (v *View) State() *workflow.StateView { return v.Machine.State(v.At.State) }

// of adds the rules of its state to a run.
func (vs *Views) of(ctx context.Context, namespace string, at workflow.View, tree string) (*View, error) {
	m, err := vs.registry.Machine(ctx, namespace, at.Workflow, at.WorkflowVersion)
	if err != nil {
		return nil, err
	}
	v := newView(at, m)
	return v, vs.addEvidence(ctx, namespace, v, tree)
}
