package rpc

import (
	"testing"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// A number that is no status, which any client can send, is the client's mistake.
func TestStatusToListBy(t *testing.T) {
	t.Parallel()
	for number, want := range map[enginev1.RunStatus]workflow.Status{
		enginev1.RunStatus_RUN_STATUS_UNSPECIFIED:       "",
		enginev1.RunStatus_RUN_STATUS_RUNNING:           workflow.Running,
		enginev1.RunStatus_RUN_STATUS_AWAITING_APPROVAL: workflow.AwaitingApproval,
	} {
		if got, err := statusFromProto(number); err != nil || got != want {
			t.Errorf("%s is %q, %v", number, got, err)
		}
	}
	for _, number := range []enginev1.RunStatus{99, -1} {
		if _, err := statusFromProto(number); fault.ReasonOf(err) != fault.InvalidRequest {
			t.Errorf("%d: %v", number, err)
		}
	}
}
