package app

import (
	"context"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// readFor notes the facts that an event's question would rest on (S18.5), or says why it
// cannot be asked: without a shared state there are none.
func (f *family) readFor(ctx context.Context, lane workflow.View, m definition.Compiled, fire workflow.Fire) (workflow.Fire, error) {
	pointers := m.Meta().ApprovalReads
	if len(pointers) == 0 || fire.ApprovalID == "" {
		return fire, nil
	}
	session := lane.SessionIn(lane.Branch)
	if session == "" || f.app.ports.Shared == nil {
		fire.ApprovalID, fire.Unasked = "", "the decision rests on the shared state, and the run has no session that shares one"
		return fire, nil
	}
	reads, err := f.app.ports.Shared.Reads(ctx, f.caller.Namespace, session, pointers)
	if err != nil {
		return fire, fault.From(err)
	}
	if reads.StateID == "" {
		fire.ApprovalID, fire.Unasked = "", "the decision rests on the shared state, and the session shares none yet; its root creates one"
		return fire, nil
	}
	fire.Reads = reads
	return fire, nil
}

// moved describes the facts of an approval that have changed since, empty if there is
// none (S18.6). That the state is as it was found becomes a condition of the commit,
// where the commit can have it.
func (f *family) moved(ctx context.Context, lane workflow.View) (string, error) {
	was := lane.Approval.Reads
	if was == nil {
		return "", nil
	}
	session := lane.SessionIn(lane.Branch)
	if session == "" || f.app.ports.Shared == nil {
		return "the run has no session any more that shares a state", nil
	}
	pointers := make([]string, len(was.Values))
	for i, v := range was.Values {
		pointers[i] = v.Pointer
	}
	now, err := f.app.ports.Shared.Reads(ctx, f.caller.Namespace, session, pointers)
	if err != nil {
		return "", fault.From(err) // it is not known, so it does not fire; the run's timer tries again
	}
	moved := was.Moved(now)
	if moved == "" {
		f.scene.checks = append(f.scene.checks, store.Check{Key: ledger.State(f.caller.Namespace, now.StateID), Version: now.Version})
	}
	return moved, nil
}
