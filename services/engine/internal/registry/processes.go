package registry

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/store"
)

// processes returns the labels of records of processes.
func processes() map[string]string { return map[string]string{"form": "process"} }

// Process does the work of Workflow for a process, and returns it compiled.
func (reg *Registry) Process(ctx context.Context, namespace, name string, number int64) (*Version, *process.Process, error) {
	v, err := reg.Workflow(ctx, namespace, name, number)
	switch {
	case fault.ReasonOf(err) == fault.NotFound && number == 0:
		return nil, nil, fault.New(fault.NotFound, "no process %q is registered; register it first", name)
	case err != nil:
		return nil, nil, err
	case !v.Process:
		return nil, nil, fault.New(fault.NotFound, "there is no process %q, but a workflow of that name; it is started as a workflow", name)
	}
	m, err := reg.Machine(ctx, namespace, name, v.Number)
	return v, m.Process, err
}

// Compile compiles a version that may not be stored.
func (reg *Registry) Compile(v *Version) (*process.Process, error) {
	m, err := reg.ports.Definitions.Compile(v.Definition, v.Number)
	if err != nil {
		return nil, fault.New(fault.InvalidDefinition, "%s version %d: %s", v.what(), v.Number, err)
	}
	return m.Process, nil
}

// Processes does the work of Workflows for processes.
func (reg *Registry) Processes(ctx context.Context, namespace, after string, limit int) ([]*Version, string, error) {
	return reg.page(ctx, store.Query{Namespace: namespace, Labels: processes(), After: after, Limit: limit})
}
