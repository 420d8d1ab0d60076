package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// SessionEnded pauses the run that a session drives, under any of its names, once
// the session has ended (S11.1). A run whose workflow enforces always is held, so
// that whoever still acts for the session does not escape it (S6.6). cause makes it
// happen once: a run that was resumed since stays as it is.
func (a *App) SessionEnded(ctx context.Context, namespace, cause string, names ...string) error {
	caller := Caller{Namespace: namespace, Principal: auth.Principal{Name: "interlock", Role: auth.Operator}}
	for _, name := range names {
		binding, err := a.binding(ctx, namespace, name)
		if err != nil {
			return err
		}
		if binding.Version == store.Absent || len(binding.Data) == 0 {
			continue
		}
		runID, _ := boundTo(binding)
		run, err := a.loadRun(ctx, runKey(namespace, runID))
		if err != nil {
			return err
		}
		if left(run, name) {
			continue
		}
		m, err := a.machine(ctx, namespace, run.Workflow, run.WorkflowVersion)
		if err != nil {
			return err
		}
		// A refusal says that it can not be paused any more: there is nothing to do.
		_, err = a.change(ctx, caller, change{
			target:  Target{RunID: runID},
			command: workflow.Pause{Reason: "its session has ended", Actor: caller.Principal.Name, Operator: m.AlwaysEnforce()},
			family:  true, key: requestName("session end " + cause), digest: digest("session end", name),
		})
		if err != nil {
			return err
		}
	}
	return nil
}
