package brief_test

import (
	"strings"
	"testing"

	"google.golang.org/protobuf/proto"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/prototest"
	"github.com/interlock-run/interlock/services/gateway/internal/brief"
)

// TestStateIsComplete: each field of a run is among what its agent reads, or is excluded
// here, with the reason.
func TestStateIsComplete(t *testing.T) {
	t.Parallel()
	prototest.Complete(t, everyText,
		"session_id", "workspace", "workspace_claimed", "root_run_id", // the agent's own, or another's
		"created_at", "updated_at", "version", "entry", // irrelevant to what to do next
		"context", "transition_count", // get_status tells them
		"holds.by", "holds.reason", "holds.since", // the cause says who lifts it
		"arrived_at", "deadline", "last_activity", "dues.kind", "dues.event", "dues.after", "dues.left", "dues.holds", "dues.stopped_by", // where time leads, and when, says it
		"schedule",                         // what has started the run changes nothing for it
		"freeze.freeze_id", "halt.halt_id", // operators lift it by that
		"child.event",                                           // it was fired by the agent
		"evidence.needs", "evidence.voided_by", "evidence.tree", // what is missing says it
		"workflow_meta.output_tools", // for callers that report
		"workflow_meta.enforcement",  // TestStatus: notes of a pause, a failure and an end follow from it
		"workflow_meta.debug", "workflow_meta.capture_output", "workflow_meta.policies", "workflow_meta.approval_wait",
	)
}

// everyText is what the agent reads of a run as it is, and of the same one in each status
// while nothing else closes it.
func everyText(run *enginev1.Run) any {
	texts := []string{brief.State(run, ""), strings.Join(brief.Asks(run, ""), "\n")}
	for status := range enginev1.RunStatus(len(enginev1.RunStatus_name)) {
		open := proto.CloneOf(run)
		open.Status, open.SupersededBy, open.BranchOver = status, "", false
		texts = append(texts, brief.State(open, ""))
		open.BranchOver, open.ParentRunId = run.GetBranchOver(), ""
		texts = append(texts, brief.State(open, ""))
	}
	// The branch that the agent works in, and the one of all who have none.
	own := proto.CloneOf(run)
	own.SupersededBy, own.Branch = "", own.GetFork().GetBranches()[0].GetName()
	texts = append(texts, brief.State(own, ""))
	shared := proto.CloneOf(run)
	shared.Fork.Branches[0].SessionId, shared.Fork.Branches[0].Name = "", "current"
	return append(texts, brief.State(shared, ""))
}
