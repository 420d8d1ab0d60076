package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// sessionEnded is the reason of a hold that lasts until the session is resumed.
const sessionEnded = "its session has ended"

// system is who acts when a session has ended, or goes on.
func system(namespace string) Caller {
	return Caller{Namespace: namespace, Principal: auth.Principal{Name: "interlock", Role: auth.Operator}}
}

// SessionEnded pauses and holds the run that a session drives, under any of its
// names, once the session has ended (S11.1): whoever still acts for the session does
// not escape the run's rules by that. cause makes it happen once: a run that was
// resumed since stays as it is.
func (a *App) SessionEnded(ctx context.Context, namespace, cause string, names ...string) error {
	pause := workflow.Pause{Reason: sessionEnded, Actor: system(namespace).Principal.Name, Operator: true}
	return a.forSession(ctx, namespace, names, func(run *workflow.Run, session string) error {
		if left(run, session) {
			return nil
		}
		return a.settle(ctx, namespace, run.ID, pause, "session end "+cause)
	})
}

// SessionResumed lifts what SessionEnded has done, and no other hold.
func (a *App) SessionResumed(ctx context.Context, namespace, cause string, names ...string) error {
	caller := system(namespace)
	return a.forSession(ctx, namespace, names, func(run *workflow.Run, session string) error {
		if run.Status != workflow.Paused || !run.Held || run.SessionID != session {
			return nil
		}
		last, _, err := a.History(ctx, caller, run.ID, Position{Version: run.Version - 1}, 1)
		if err != nil {
			return err
		}
		if len(last) == 0 || last[0].Actor != caller.Principal.Name || last[0].Reason != sessionEnded {
			return nil
		}
		return a.settle(ctx, namespace, run.ID, workflow.Resume{Actor: caller.Principal.Name}, "session resume "+cause)
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
