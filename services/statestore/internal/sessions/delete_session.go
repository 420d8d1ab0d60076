package sessions

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/session"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
)

// Delete removes a session that has ended, with cascade all that are below it, and
// with a root the state of its tree (S15.11). It answers their names, those below first: the
// order in which they go, so that a removal that was cut short is taken up by the next.
func (ss *Sessions) Delete(ctx context.Context, caller ports.Caller, name string, cascade bool) ([]string, error) {
	m, err := ss.names.Find(ctx, caller.Namespace, name)
	if err != nil {
		return nil, err
	}
	tree, err := ss.members.Below(ctx, m)
	if err != nil {
		return nil, err
	}
	if len(tree) > 1 && !cascade {
		return nil, fault.New(fault.FailedPrecondition, "session %q has %d sessions below it; delete them first, or all with cascade", ports.Clip(m.Name), len(tree)-1)
	}
	for _, each := range tree {
		if each.Status != session.Ended {
			return nil, fault.New(fault.FailedPrecondition, "session %q has not ended (it is %s); end it first", ports.Clip(each.Name), each.Status)
		}
	}
	if m.Root() && m.StateID != "" {
		if !cascade {
			return nil, fault.New(fault.FailedPrecondition, "session %q is the root of state %s; delete the state first, or both with cascade", ports.Clip(m.Name), m.StateID)
		}
		err := ss.remover.Delete(ctx, caller, m.StateID, 0, false)
		if err != nil && fault.ReasonOf(err) != fault.NotFound {
			return nil, err
		}
	}
	var names []string
	for _, each := range tree {
		if err := ss.names.Remove(ctx, caller, each.Key); err != nil {
			return names, err
		}
		names = append(names, each.Name)
	}
	ss.ports.Log.InfoContext(ctx, "sessions are deleted", "namespace", caller.Namespace, "by", caller.Principal.Name, "sessions", names)
	return names, nil
}
