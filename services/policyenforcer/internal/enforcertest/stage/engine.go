package stage

import (
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/store/sqlitestore"
	"github.com/interlock-run/interlock/pkg/store/storetest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// Limited is a workflow with limits and an interrupt.
const Limited = `{
	"id": "w", "initial": "planning", "meta": {"capture_output": true},
	"interrupts": {"sql": {"trigger": {"file_pattern": "db/*.sql"}, "target": "checking"}},
	"states": {
		"planning": {"max_files_per_state": 3, "context_budget_bytes": 1000, "on": {"READY": "planning"}},
		"checking": {"on": {"OK": "$return", "END": "done"}},
		"done": {"type": "final"}
	}
}`

// Proven is a workflow that asks for tests after edits.
const Proven = `{
	"id": "w", "initial": "work",
	"states": {"work": {"on": {"READY": "work", "DONE": {"target": "done", "guard": "green"}}}, "done": {"type": "final"}},
	"evidence": {"tests": {"tool": "Bash", "command": "go test ./...", "after": "edit"}},
	"guards": {"green": {"evidence": "tests"}}
}`

// Sample is a workflow of two states.
const Sample = `{
	"id": "w", "initial": "planning",
	"states": {
		"planning": {"allowed_tools": ["Read"], "max_iterations": 10, "on": {"READY": "implementing"}},
		"implementing": {"allowed_tools": ["Edit"], "on": {"DONE": "done"}},
		"done": {"type": "final"}
	}
}`

// Engine is the engine as the enforcer sees it: one run, in a store.
type Engine struct {
	Store   store.Store
	Machine *workflow.Machine
	// Before is a version of the workflow that the run has had.
	Before *workflow.Machine
	// ParentPolicies are named by the workflow of a run parent_N, which may have invoked the run.
	ParentPolicies []string
	// Incomplete: the workflow of the run is missing.
	Incomplete bool
	// AnySession: any session drives the run, not s alone.
	AnySession bool
	// Superseded is the run that the session drives instead.
	Superseded string
	// Policies that the workflow names.
	Policies []string

	Mu      sync.Mutex
	Current workflow.Run
	Down    bool
	// Interrupts are the calls that asked for one.
	Interrupts []string
	// Fires is its answer to them.
	Fires *enforcer.Interrupted
}

// ErrDown is the fault of services that are down.
var ErrDown = fault.New(fault.Unavailable, "the engine is down")

// Run implements enforcer.Runs.
func (e *Engine) Run(_ context.Context, _ string, target enforcer.Target) (*workflow.View, string, error) {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	switch {
	case e.Down:
		return nil, "", ErrDown
	case target.RunID != e.Current.ID && target.SessionID != "s" && (!e.AnySession || target.SessionID == ""):
		return nil, "", fault.New(fault.NotFound, "no such run")
	}
	run := e.Current // a snapshot: later events do not change it
	at := run.At(target.Branch)
	return &at, e.Superseded, nil
}

// Lane implements enforcer.Runs.
func (e *Engine) Lane(ctx context.Context, namespace, runID, branch string) (*workflow.View, error) {
	if strings.HasPrefix(runID, "parent_") {
		return new((&workflow.Run{ID: runID, Workflow: "parent", WorkflowVersion: 1}).At("")), nil
	}
	run, _, err := e.Run(ctx, namespace, enforcer.Target{RunID: runID, Branch: branch})
	return run, err
}

// Interrupt implements enforcer.Runs.
func (e *Engine) Interrupt(_ context.Context, _, callID string, _ []string) (*enforcer.Interrupted, error) {
	e.Mu.Lock()
	defer e.Mu.Unlock()
	if e.Down {
		return nil, ErrDown
	}
	e.Interrupts = append(e.Interrupts, callID)
	return e.Fires, nil
}

// Definition implements enforcer.Runs.
func (e *Engine) Definition(_ context.Context, _, name string, version int64) (*enforcer.Definition, error) {
	if e.Incomplete {
		return nil, fault.New(fault.NotFound, "no such workflow")
	}
	if e.Before != nil && version == e.Before.Version() {
		return &enforcer.Definition{Machine: e.Before, Policies: e.Policies}, nil
	}
	if name == "parent" {
		return &enforcer.Definition{Machine: e.Machine, Policies: e.ParentPolicies}, nil
	}
	return &enforcer.Definition{Machine: e.Machine, Policies: e.Policies}, nil
}

// Fire steps the run, as the engine does.
func (e *Engine) Fire(t *testing.T, event string) {
	t.Helper()
	e.Mu.Lock()
	defer e.Mu.Unlock()
	out := e.Machine.Step(&e.Current, workflow.Fire{Event: event, Actor: "x"}, time.Now())
	if !out.Changed {
		t.Fatalf("%s: %+v", event, out.Rejection)
	}
	key := ledger.Run("default", e.Current.ID)
	_, err := e.Store.Commit(t.Context(), store.Batch{
		Puts: []store.Put{{Key: key, Expect: e.Current.Version}}, Reset: []store.Key{ledger.Entry(key, e.Current.Entry)},
	})
	if err != nil {
		t.Fatal(err)
	}
	e.Current = out.Run
}

// Moves moves the run to another version of its workflow.
func (e *Engine) Moves(t *testing.T, version int64) {
	t.Helper()
	e.Mu.Lock()
	defer e.Mu.Unlock()
	run := e.Current
	run.WorkflowVersion = version
	run.Version++
	e.Machine = workflow.Compile(e.Machine.Definition(), version)
	if _, err := e.Store.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: ledger.Run("default", run.ID), Expect: store.AnyVersion, Data: []byte("{}")}}}); err != nil {
		t.Fatal(err)
	}
	e.Current = run
}

// NewEngine returns an engine with a run of Sample.
func NewEngine(t *testing.T) (*Engine, *storetest.Faulty) {
	t.Helper()
	return NewEngineOf(t, Sample)
}

// NewEngineOf returns an engine with a run of a workflow.
func NewEngineOf(t *testing.T, definition string) (*Engine, *storetest.Faulty) {
	t.Helper()
	st, err := sqlitestore.Open(t.Context(), sqlitestore.Config{Path: filepath.Join(t.TempDir(), "store.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return NewEngineOn(t, st, definition)
}

// NewEngineOn returns an engine with a run of a workflow, in an open store.
func NewEngineOn(t *testing.T, st store.Store, definition string) (*Engine, *storetest.Faulty) {
	t.Helper()
	def, problems := workflow.Parse([]byte(definition))
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	e := &Engine{Store: st, Machine: workflow.Compile(def, 1)}
	out := e.Machine.Start(workflow.StartParams{ID: "run_1", SessionID: "s"}, "x", time.Now())
	if out.Rejection != nil {
		t.Fatalf("start: %+v", out.Rejection)
	}
	e.Current = out.Run
	if _, err := st.Commit(t.Context(), store.Batch{Puts: []store.Put{{Key: ledger.Run("default", "run_1")}}}); err != nil {
		t.Fatal(err)
	}
	return e, &storetest.Faulty{Store: st}
}
