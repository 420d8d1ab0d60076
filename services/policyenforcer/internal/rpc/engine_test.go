package rpc

import (
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/prototest"
)

// Each field of a run is read for decisions, or excluded here, with the reason. What is
// excluded because of the BASIC view must not be read: it is not there.
func TestSnapshotIsComplete(t *testing.T) {
	t.Parallel()
	prototest.Complete(t, func(r *enginev1.Run) any { return runOf(r) },
		"context", "rules", "usage", // not in the BASIC view: the definition has the rules, the ledger the counts
		"workflow_meta",                                // the definition has it
		"held",                                         // holds say it
		"created_at", "updated_at", "transition_count", // irrelevant to decisions
		"interrupt", "fork", "child", "approval", // status and state say what follows from them
		"superseded_by", // returned next to the run
	)
}
