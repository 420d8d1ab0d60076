package rpc

import (
	"context"
	"runtime"
	"testing"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/prototest"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

// onlyWorkflow has one workflow, and counts how often it is read.
type onlyWorkflow struct {
	enginev1.WorkflowServiceClient
	reads int
}

func (w *onlyWorkflow) GetWorkflow(context.Context, *enginev1.GetWorkflowRequest, ...grpc.CallOption) (*enginev1.GetWorkflowResponse, error) {
	w.reads++
	const text = `{"id": "w", "initial": "a", "states": {"a": {"on": {"GO": "b"}}, "b": {"type": "final"}}}`
	return &enginev1.GetWorkflowResponse{Workflow: &enginev1.Workflow{Definition: []byte(text)}}, nil
}

// A definition that is in use is in memory once, also after it was pushed out of the cache.
func TestDefinitionsInUseAreShared(t *testing.T) {
	t.Parallel()
	from := &onlyWorkflow{}
	e := NewEngine(from, nil, nil, definition.Flags{})
	read := func() *enforcer.Definition {
		t.Helper()
		d, err := e.Definition(t.Context(), "default", "w", 1)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	inUse := read()
	e.definitions.Clear() // as when others needed the room
	if again := read(); again != inUse || from.reads != 1 {
		t.Errorf("it is in memory twice; read %d times", from.reads)
	}
	e.Forget() // another era of the store may have another one
	if again := read(); again == inUse || from.reads != 2 {
		t.Errorf("a definition of another era; read %d times", from.reads)
	}
	runtime.KeepAlive(inUse)

	// What nothing refers to goes.
	e.definitions.Clear()
	for range 1000 {
		runtime.GC()
		if _, found := e.alive.find("default\x00w\x001"); found == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Error("a definition that is not in use is remembered")
}

// Each field of a run is read for decisions, or excluded here, with the reason. What is
// excluded because of the BASIC view must not be read: it is not there.
func TestSnapshotIsComplete(t *testing.T) {
	t.Parallel()
	prototest.Complete(t, func(r *enginev1.Run) any { return runOf(r) },
		"context", "rules", "usage", // not in the BASIC view: the definition has the rules, the ledger the counts
		"workflow_meta",                                   // the definition has it
		"arrived_at", "deadline", "dues", "last_activity", // the engine keeps the clocks
		"freeze",                                                                          // the engine judges transitions
		"halt.halt_id", "halt.scope", "halt.reason", "halt.created_by", "halt.created_at", // the enforcer reads the halts itself
		"schedule",                                     // the history says what has started the run
		"created_at", "updated_at", "transition_count", // irrelevant to decisions
		"interrupt", "fork", "child", "approval", // status and state say what follows from them
		"evidence",      // not in the BASIC view: the ledger has it
		"superseded_by", // returned next to the run
	)
}
