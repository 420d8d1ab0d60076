package jsonview_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/prototest"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// TestViewsAreComplete: each field of the contracts' views has a place in the JSON, or
// is excluded here, with the reason.
func TestViewsAreComplete(t *testing.T) {
	t.Parallel()
	complete(t, jsonview.RunOf,
		"workspace_claimed",            // tells who named the workspace, which only guards ask
		"root_run_id",                  // the parents show it
		"entry",                        // counts inside of the engine
		"workflow_meta.debug",          // as the definition says
		"workflow_meta.capture_output", // as the definition says
	)
	complete(t, func(r *enginev1.LegalEvent) any { return jsonview.LegalEvents([]*enginev1.LegalEvent{r}) })
	complete(t, func(r *enginev1.GuardResult) any { return jsonview.GuardResults([]*enginev1.GuardResult{r}) })
	complete(t, jsonview.RejectionOf,
		"state", "status", // those of the run that comes with it
	)
	complete(t, func(r *enginev1.HistoryEntry) any { return jsonview.HistoryOf([]*enginev1.HistoryEntry{r}) })
	complete(t, jsonview.WorkflowOf)
	complete(t, jsonview.ProcessOf)
	complete(t, jsonview.TurnOf)
	complete(t, jsonview.ApprovalOf,
		"why.entry", // counts inside of the engine
	)
	complete(t, jsonview.LeaseOf)
	complete(t, jsonview.PolicyOf)
	complete(t, jsonview.UsageOf)
	complete(t, jsonview.DecisionRecordOf,
		"raw", "committed_us", // for receipts
	)
	complete(t, jsonview.CallerOf)
	complete(t, jsonview.ExplanationOf)
	complete(t, jsonview.SimulatedChangeOf,
		"recorded.raw", "recorded.committed_us",
	)
	complete(t, jsonview.ChainReportOf)
	complete(t, jsonview.DecisionOf,
		"run_id", "state", // in the request, and in the run
		"iterations", "max_iterations", // in the run
		"jail.profile", // for jails, over gRPC
	)
	complete(t, jsonview.SchemaOf)
	complete(t, jsonview.StateOf)
	complete(t, jsonview.PartOf)
	complete(t, jsonview.StateVersionOf)
	complete(t, jsonview.WriterOf)
	complete(t, jsonview.SessionOf)
	complete(t, jsonview.TaskOf,
		"claim_token", // anyone who has it could end the task
		"execution",   // for the runner that has the task
	)
	complete(t, jsonview.ComponentOf,
		"definition", // its fields show it
	)
	complete(t, jsonview.ExecutionOf)
}

func complete[M proto.Message, V any](t *testing.T, view func(M) V, excluded ...string) {
	t.Helper()
	prototest.Complete(t, func(m M) any { return text(t, view(m)) }, excluded...)
}
