package sdk

import (
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/prototest"
)

// Each field of a run and of a change is in the SDK's own, or is excluded here, with the
// reason. Anyone who needs more asks the generated client.
func TestViewsAreComplete(t *testing.T) {
	t.Parallel()
	prototest.Complete(t, func(r *enginev1.Run) any { return runOf(r) },
		"root_run_id", "entry", // for the services among each other
		"holds", "superseded_by", // calls are denied, with a message that says it
		"branch_over", "fork.event", "fork.state", "fork.join", "fork.on_complete", "fork.on_fail", "fork.current",
		"fork.branches.terminal",
		"child", "approval", // the status says that it waits; Transition says for which approval
		"workflow_meta.process", "workflow_meta.debug", "workflow_meta.capture_output", "workflow_meta.enforcement",
		"workflow_meta.policies", "workflow_meta.approval_wait",
		// A denial says which limit is reached.
		"rules.commands_restricted", "rules.allowed_commands", "rules.max_edit_lines", "rules.max_files_per_state",
		"rules.context_budget_bytes", "usage.context_bytes", "usage.files_changed",
	)
	prototest.Complete(t, func(v *statev1.StateVersion) any { return changeOf("s", v) })
	prototest.Complete(t, func(e *enginev1.LegalEvent) any { return legalEvents([]*enginev1.LegalEvent{e}) })
	prototest.Complete(t, func(g *enginev1.GuardResult) any { return guardResults([]*enginev1.GuardResult{g}) })
}
