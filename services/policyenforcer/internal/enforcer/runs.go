package enforcer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"

	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
)

// Runs is the port to the engine.
type Runs interface {
	// Run returns the run whose rules apply to a target, as it is in the branch: the innermost of the
	// runs that were invoked. superseded is the run that its session drives now, if that is another.
	Run(ctx context.Context, namespace string, target Target) (run *workflow.View, superseded string, err error)
	// Lane returns a run itself, as it is in a branch.
	Lane(ctx context.Context, namespace, runID, branch string) (*workflow.View, error)
	// Interrupt diverts a run because an allowed call has changed files, once per call. It returns nil
	// without a change.
	Interrupt(ctx context.Context, runID, callID string, files []string) (*Interrupted, error)
	// Definition returns a version of a workflow or process.
	Definition(ctx context.Context, namespace, name string, version int64) (*Definition, error)
}

// Definition holds a compiled version of a workflow or process. It is immutable.
type Definition struct {
	Machine *workflow.Machine
	// Process is true for processes (S8). Rules are a process's own policy and limits.
	Process bool
	Rules   []*rules.Set
	// Policies are the names of the policies that the workflow requires (meta.policy).
	Policies []string
}

// Interrupted describes an interrupt that has fired.
type Interrupted struct {
	Name string
	// From is the state that the run has left.
	From string
	// Run is in the state of the handler.
	Run     *workflow.View
	Machine *workflow.Machine
	// Files are those that the call has changed.
	Files []string
}

// WithoutRun returns the key of the run that stands in where a session drives none. The store has no
// such run. Names of sessions may have characters that ids must not have.
func WithoutRun(namespace, session string) store.Key {
	sum := sha256.Sum256([]byte(session))
	return ledger.Run(namespace, "session_"+hex.EncodeToString(sum[:16]))
}
