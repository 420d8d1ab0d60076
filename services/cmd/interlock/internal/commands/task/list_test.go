package task

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

func TestTaskTexts(t *testing.T) {
	t.Parallel()
	at := timestamppb.New(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	for want, task := range map[string]*statev1.Task{
		"start 0001-01-01T00:00:00Z":                    {Kind: statev1.TaskKind_TASK_KIND_START, Status: statev1.TaskStatus_TASK_STATUS_READY, DueAt: at, ClaimExpiresAt: at},
		"state_update (attempt 2) 2026-11-21T12:00:00Z": {Kind: statev1.TaskKind_TASK_KIND_STATE_UPDATE, Attempt: 2, Status: statev1.TaskStatus_TASK_STATUS_DELAYED, DueAt: at},
		"callback 2026-11-21T12:00:00Z":                 {Kind: statev1.TaskKind_TASK_KIND_CALLBACK, Status: statev1.TaskStatus_TASK_STATUS_CLAIMED, ClaimExpiresAt: at},
	} {
		view := jsonview.TaskOf(task)
		if got := taskKindText(&view) + " " + (show.Style{}).Time(until(&view)); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
