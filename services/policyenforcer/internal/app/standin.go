package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// openWorkflow restricts nothing: it stands in for the run that a session does not
// drive.
const openWorkflow = `{"id": "no-run", "initial": "open", "states": {"open": {"on": {"END": "end"}}, "end": {"type": "final"}}}`

var standInFor = func() *Definition {
	def, problems := workflow.Parse([]byte(openWorkflow))
	if problems.HasErrors() {
		panic(problems.Err())
	}
	return &Definition{Machine: workflow.Compile(def, 0)}
}()

// found is a snapshot, or one that stands in for it where a session drives no run and
// policies hold for it all the same.
func (a *App) found(
	ctx context.Context, caller Caller, target Target, look func(context.Context, Caller, Target) (*snapshotOf, error),
) (*snapshotOf, error) {
	s, err := look(ctx, caller, target)
	if err == nil || target.RunID != "" || target.SessionID == "" || fault.ReasonOf(err) != fault.NotFound {
		return s, err
	}
	if held, heldErr := a.heldWithoutRun(ctx, caller, target.SessionID); heldErr != nil || !held {
		return nil, firstOf(heldErr, err)
	}
	return standIn(caller.Namespace, target.SessionID), nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// heldWithoutRun reports that policies hold for the caller, or for a session or one
// above it, whatever it does.
func (a *App) heldWithoutRun(ctx context.Context, caller Caller, session string) (bool, error) {
	index, err := a.policies(ctx, caller.Namespace)
	if err != nil {
		return false, err
	}
	// The index may be old, and nothing is committed that would tell.
	if err := a.unchanged(ctx, index); err != nil {
		if index, err = a.refreshPolicies(ctx, caller.Namespace); err != nil {
			return false, err
		}
	}
	if len(index.attachedTo(AttachedToRole, string(caller.Principal.Role))) > 0 {
		return true, nil
	}
	if !index.sessionsAttached() {
		return false, nil
	}
	lineage, err := a.Sessions.Lineage(ctx, caller.Namespace, session)
	if err != nil {
		return false, err
	}
	for _, above := range lineage {
		if len(index.attachedTo(AttachedToSession, above)) > 0 {
			return true, nil
		}
	}
	return false, nil
}

// standIn stands in for the run of a session that drives none. It is in no store, and
// a decision holds as long as that is so.
func standIn(namespace, session string) *snapshotOf {
	sum := sha256.Sum256([]byte(session)) // names may hold what subjects and ids can not
	key := ledger.Run(namespace, "session_"+hex.EncodeToString(sum[:16]))
	run := &workflow.Run{
		ID: key.ID, Workflow: standInFor.Machine.Name(), SessionID: session, Status: workflow.Running, State: "open", Version: store.Absent,
	}
	return &snapshotOf{run: run, Definition: standInFor, key: key, entry: ledger.Entry(key, 0), root: key, all: []*Definition{standInFor}, unbound: true}
}
