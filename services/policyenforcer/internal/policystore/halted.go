package policystore

import (
	"context"
	"time"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/services/internal/halts"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/runs"
)

// Over returns the halt that a call is in the scope of; nil for none. Interlock's own tools are not halted: what
// they do is refused where it is done, and agents can read, report and stop.
func Over(all *halts.Index, caller enforcer.Caller, s *runs.Snapshot, sessions *runs.Status, tool string) *halts.Halt {
	if toolcall.Own(tool) {
		return nil
	}
	return all.Over(SubjectOf(caller, s, sessions))
}

// SubjectOf returns a call as halts see it.
func SubjectOf(caller enforcer.Caller, s *runs.Snapshot, sessions *runs.Status) *halts.Subject {
	subject := &halts.Subject{Namespace: caller.Namespace, Principal: caller.Principal}
	subject.In(&sessions.Place)
	subject.Humans = append(subject.Humans, enforcer.OnBehalf(sessions.Human.Read(), caller, time.Time{}).People()...)
	if !s.Unbound {
		for _, of := range s.All {
			subject.Workflows = append(subject.Workflows, of.Machine.Name())
		}
	}
	return subject
}

// Freshen reads the policies and the halts of a call again.
func (st *Store) Freshen(ctx context.Context, caller enforcer.Caller, s *runs.Snapshot) error {
	if _, err := st.Refresh(ctx, caller.Namespace); err != nil {
		return err
	}
	_, err := st.halts.Refresh(ctx)
	return err
}

// HaltedNow returns the halts as they are now, and the one that a call is in the scope of; nil for none.
func (st *Store) HaltedNow(ctx context.Context, caller enforcer.Caller, s *runs.Snapshot, sessions *runs.Status, tool string) (*halts.Index, *halts.Halt, error) {
	all, err := st.halts.Refresh(ctx)
	if err != nil {
		return nil, nil, err
	}
	return all, Over(all, caller, s, sessions, tool), nil
}
