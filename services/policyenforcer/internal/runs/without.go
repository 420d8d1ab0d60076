package runs

import (
	"fmt"
	"sync"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// openWorkflow has no restrictions. It stands in for the run of a session that drives none.
const openWorkflow = `{"id": "no-run", "initial": "open", "states": {"open": {"on": {"END": "end"}}, "end": {"type": "final"}}}`

var standInFor = sync.OnceValue(func() *enforcer.Definition {
	def, problems := workflow.Parse([]byte(openWorkflow))
	if problems.HasErrors() {
		panic(problems.Err())
	}
	return &enforcer.Definition{Machine: workflow.Compile(def, 0)}
})

// NoRunError reports that the engine has no such run. A run whose parts cannot be found is another error,
// which denies.
type NoRunError struct{ cause error }

func (e *NoRunError) Error() string { return e.cause.Error() }

// Unwrap returns the engine's error.
func (e *NoRunError) Unwrap() error { return e.cause }

// incomplete returns the error for a run whose parts cannot be found. It must differ from NotFound, which
// some callers ignore.
func incomplete(run *workflow.View, err error) error {
	if fault.ReasonOf(err) != fault.NotFound {
		return err
	}
	return fault.From(fmt.Errorf("run %s is incomplete: %v", run.ID, err)) //nolint:errorlint // its reason must not be this one's
}

// StandIn returns a snapshot for a session that drives no run. No store has its run; a decision on it rests
// on that.
func StandIn(namespace, session string) *Snapshot {
	key := enforcer.WithoutRun(namespace, session)
	run := &workflow.Run{
		ID: key.ID, Workflow: standInFor().Machine.Name(), SessionID: session, Status: workflow.Running, Version: store.Absent,
		Lane: workflow.Lane{State: "open"},
	}
	return &Snapshot{
		Run: new(run.At("")), Definition: standInFor(), Key: key, Entry: ledger.Entry(key, 0), Root: key,
		All: []*enforcer.Definition{standInFor()}, Unbound: true,
	}
}
