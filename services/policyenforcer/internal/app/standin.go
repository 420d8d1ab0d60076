package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// openWorkflow restricts nothing: it stands in for the run that a session does not
// drive.
const openWorkflow = `{"id": "no-run", "initial": "open", "states": {"open": {"on": {"END": "end"}}, "end": {"type": "final"}}}`

var standInFor = sync.OnceValue(func() *Definition {
	def, problems := workflow.Parse([]byte(openWorkflow))
	if problems.HasErrors() {
		panic(problems.Err())
	}
	return &Definition{Machine: workflow.Compile(def, 0)}
})

// found is a snapshot, or one that stands in for it where a session drives no run and
// policies hold for it all the same.
func (a *App) found(
	ctx context.Context, caller Caller, target Target, look func(context.Context, Caller, Target) (*snapshotOf, error),
) (*snapshotOf, error) {
	s, noRun := look(ctx, caller, target)
	if !errors.As(noRun, new(*noRunError)) || target.RunID != "" || target.SessionID == "" {
		return s, noRun
	}
	held, err := a.heldWithoutRun(ctx, caller, target.SessionID)
	switch {
	case err != nil:
		return nil, err
	case !held:
		return nil, noRun
	default:
		return standIn(caller.Namespace, target.SessionID), nil
	}
}

// noRunError is the engine's word that there is no run. Nothing else that is missing
// means that: what cannot be found of a run that there is denies.
type noRunError struct{ cause error }

func (e *noRunError) Error() string { return e.cause.Error() }

// Unwrap is the engine's error.
func (e *noRunError) Unwrap() error { return e.cause }

// incomplete is the failure to find a part of a run that there is. It must not look
// like the lack of the run, which some callers let pass.
func incomplete(run *workflow.View, err error) error {
	if fault.ReasonOf(err) != fault.NotFound {
		return err
	}
	return fault.From(fmt.Errorf("run %s is incomplete: %v", run.ID, err)) //nolint:errorlint // its reason must not be this one's
}

// heldWithoutRun reports that policies hold for the caller, or for a session or one
// above it, whatever it does; or that the session has ended.
func (a *App) heldWithoutRun(ctx context.Context, caller Caller, session string) (bool, error) {
	index, err := a.knownPolicies(ctx, caller.Namespace)
	if err != nil {
		return false, err
	}
	// The index may be old, and nothing is committed that would tell.
	if err := a.unmoved(ctx, index.check()); err != nil {
		if index, err = a.refreshPolicies(ctx, caller.Namespace); err != nil {
			return false, err
		}
	}
	if len(index.attachedTo(AttachedToRole, string(caller.Principal.Role))) > 0 {
		return true, nil
	}
	// Nothing is committed that would tell of an old answer.
	place, err := a.place(ctx, caller, session, true)
	if err != nil {
		return false, err
	}
	attached := func(above string) bool { return len(index.attachedTo(AttachedToSession, above)) > 0 }
	return heldBySession(place) || slices.ContainsFunc(place.Names, attached), nil
}

// standIn stands in for the run of a session that drives none. It is in no store, and
// a decision holds as long as that is so.
func standIn(namespace, session string) *snapshotOf {
	sum := sha256.Sum256([]byte(session)) // names may hold what subjects and ids cannot
	key := ledger.Run(namespace, "session_"+hex.EncodeToString(sum[:16]))
	run := &workflow.Run{
		ID: key.ID, Workflow: standInFor().Machine.Name(), SessionID: session, Status: workflow.Running, Version: store.Absent,
		Lane: workflow.Lane{State: "open"},
	}
	return &snapshotOf{
		run: new(run.At("")), Definition: standInFor(), key: key, entry: ledger.Entry(key, 0), root: key,
		all: []*Definition{standInFor()}, unbound: true,
	}
}
