package enforcertest

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/sessionread"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Engine has one workflow, and the parents of runs.
type Engine struct{ Parents map[string]string }

var machine = func() *workflow.Machine {
	def, problems := workflow.Parse([]byte(`{"id":"w","initial":"work","states":{"work":{"allowed_commands":["ls"],"allowed_commands_tool":"console","on":{"DONE":"done"}},"done":{"type":"final"}}}`))
	if err := problems.Err(); err != nil {
		panic(err)
	}
	return workflow.Compile(def, 1)
}()

// Run returns the run of a target.
func (e *Engine) Run(ctx context.Context, namespace string, target enforcer.Target) (*workflow.View, string, error) {
	run, err := e.Lane(ctx, namespace, target.RunID, "")
	return run, "", err
}

// Lane returns a run below the root that Parents has for it.
func (e *Engine) Lane(_ context.Context, _, runID, _ string) (*workflow.View, error) {
	root, ok := e.Parents[runID]
	if !ok {
		return nil, fault.New(fault.NotFound, "no such run")
	}
	return new((&workflow.Run{ID: runID, Parent: &workflow.Parent{RunID: root, Root: root}}).At("")), nil
}

// Interrupt fires none.
func (e *Engine) Interrupt(context.Context, string, string, []string) (*enforcer.Interrupted, error) {
	return nil, nil
}

// Definition returns a workflow whose state "work" allows `ls`.
func (e *Engine) Definition(context.Context, string, string, int64) (*enforcer.Definition, error) {
	return &enforcer.Definition{Machine: machine}, nil
}

// Trees are sessions of which "child" is below "s".
type Trees struct{}

// Agent returns an agent without a policy.
func (Trees) Agent(_ context.Context, _, name string) (sessionread.Agent, error) {
	return sessionread.Agent{Name: name, Version: 1}, nil
}

// Place returns the names of a session and of those above it.
func (Trees) Place(_ context.Context, _, session, _ string) (*sessionread.Place, error) {
	if session == "child" {
		return &sessionread.Place{Names: []string{"s", "child"}, Account: "s"}, nil
	}
	return &sessionread.Place{Names: []string{session}, Account: session}, nil
}
