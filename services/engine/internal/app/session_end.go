package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// system is who acts when a session has ended, or is resumed.
func system(namespace string) Caller {
	return Caller{Namespace: namespace, Principal: auth.Principal{Name: "interlock", Role: auth.Operator}}
}

// SessionEnded pauses and holds the run that a session drives, under any of its
// names, once the session has ended (S11.1): a caller that still acts for the session
// does not escape the run's rules by that. cause makes it happen once: a run that was
// resumed since stays as it is.
func (a *App) SessionEnded(ctx context.Context, namespace, cause string, names ...string) error {
	pause := workflow.Pause{
		Reason: "its session has ended", Hold: workflow.HoldSessionEnd, Actor: system(namespace).Principal.Name,
	}
	return a.forSession(ctx, namespace, names, func(run *workflow.Run, session string) error {
		if left(run, session) {
			return nil
		}
		return a.settle(ctx, namespace, run.ID, pause, "session end "+cause)
	})
}

// SessionResumed lifts what SessionEnded has done, and no other hold.
func (a *App) SessionResumed(ctx context.Context, namespace, cause string, names ...string) error {
	resume := workflow.Resume{
		Lifts: []workflow.HoldCause{workflow.HoldSessionEnd}, Actor: system(namespace).Principal.Name,
	}
	return a.forSession(ctx, namespace, names, func(run *workflow.Run, session string) error {
		if run.SessionID != session || !run.HeldFor(workflow.HoldSessionEnd) {
			return nil
		}
		return a.settle(ctx, namespace, run.ID, resume, "session resume "+cause)
	})
}

// settle applies what follows for a run, once. A refusal says that it cannot be any
// more: then there is nothing to do.
func (a *App) settle(ctx context.Context, namespace, runID string, command workflow.Command, cause string) error {
	_, err := a.change(ctx, system(namespace), change{
		target: Target{RunID: runID}, command: command, family: true,
		key: requestName(cause), digest: digest(cause),
	})
	return err
}

// forSession visits the runs that a session drives, by each of its names.
func (a *App) forSession(ctx context.Context, namespace string, names []string, visit func(*workflow.Run, string) error) error {
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
		if err := visit(run, name); err != nil {
			return err
		}
	}
	return nil
}
