package rest

import (
	"testing"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

func aSchedule() *enginev1.Schedule {
	at := noon
	return &enginev1.Schedule{
		Spec: aSpec(), Version: 3, Status: enginev1.ScheduleStatus_SCHEDULE_STATUS_ACTIVE, CreatedBy: "olga", CreatedAt: at, UpdatedAt: at, NextAt: at,
		Last: &enginev1.ScheduleOutcome{
			NominalAt: at, At: at, Result: enginev1.ScheduleResult_SCHEDULE_RESULT_REFUSED, Count: 1, Code: "HALTED", Reason: "no",
		},
		LastRunId: "run_01", Counts: &enginev1.ScheduleCounts{Started: 4, Missed: 3, Skipped: 2, Refused: 1},
	}
}

func aSpec() *enginev1.ScheduleSpec {
	return &enginev1.ScheduleSpec{
		Name: "nightly", Workflow: "fix", WorkflowVersion: 2, Cron: "@daily", Zone: "UTC", Missed: enginev1.MissedTimes_MISSED_TIMES_ONCE,
		Overlap: enginev1.ScheduleOverlap_SCHEDULE_OVERLAP_QUEUE, SessionPrefix: "n", Context: []byte(`{"a":1}`), Workspace: "/repo",
		Until: timestamppb.New(noon.AsTime().Add(time.Hour)),
	}
}

// TestScheduleAnswers pins the exact JSON of schedules (S25.20).
func TestScheduleAnswers(t *testing.T) {
	t.Parallel()
	const (
		spec = `"name":"nightly","workflow":"fix","workflow_version":2,"cron":"@daily","zone":"UTC","missed":"once","overlap":"queue","session_prefix":"n",` +
			`"context":{"a":1},"workspace":"/repo","until":"2026-03-04T13:00:00.005Z"`
		shown = `{` + spec + `,"version":3,"status":"active","created_by":"olga","created_at":"2026-03-04T12:00:00.005Z","updated_at":"2026-03-04T12:00:00.005Z",` +
			`"next_at":"2026-03-04T12:00:00.005Z","last":{"result":"refused","nominal_at":"2026-03-04T12:00:00.005Z","at":"2026-03-04T12:00:00.005Z","count":1,"code":"HALTED","reason":"no"},` +
			`"last_run_id":"run_01","counts":{"started":4,"missed":3,"skipped":2,"refused":1}}`
	)
	tag := map[string]string{"ETag": `"3"`}
	one := &enginev1.GetScheduleResponse{Schedule: aSchedule()}
	checkAnswers(t, []answerCase{
		{
			name: "create", method: "POST", path: "/v1/schedules", body: `{` + spec + `,"paused":true}`, rpc: "CreateSchedule",
			answer: &enginev1.CreateScheduleResponse{Schedule: aSchedule()}, want: &enginev1.CreateScheduleRequest{Spec: aSpec(), Paused: true},
			status: 201, json: shown, header: map[string]string{"ETag": `"3"`, "Location": "/v1/schedules/nightly"},
		},
		{
			name: "get", method: "GET", path: "/v1/schedules/nightly?version=2", rpc: "GetSchedule", answer: one,
			want: &enginev1.GetScheduleRequest{Name: "nightly", Version: 2}, status: 200, json: shown, header: tag,
		},
		{
			name: "list", method: "GET", path: "/v1/schedules?page_size=2&page_token=t", rpc: "ListSchedules",
			answer: &enginev1.ListSchedulesResponse{Schedules: []*enginev1.Schedule{aSchedule()}, NextPageToken: "u"},
			want:   &enginev1.ListSchedulesRequest{PageSize: 2, PageToken: "t"}, status: 200, json: `{"schedules":[` + shown + `],"next_page_token":"u"}`,
		},
		{
			name: "update", method: "PUT", path: "/v1/schedules/nightly", body: `{` + spec + `}`, headers: []string{"If-Match", `"3"`}, rpc: "UpdateSchedule",
			answer: &enginev1.UpdateScheduleResponse{Schedule: aSchedule()}, want: &enginev1.UpdateScheduleRequest{Spec: aSpec(), ExpectedVersion: 3},
			status: 200, json: shown, header: tag,
		},
		{
			name: "pause", method: "POST", path: "/v1/schedules/nightly/pause", rpc: "PauseSchedule", answer: &enginev1.PauseScheduleResponse{Schedule: aSchedule()},
			want: &enginev1.PauseScheduleRequest{Name: "nightly"}, status: 200, json: shown, header: tag,
		},
		{
			name: "resume", method: "POST", path: "/v1/schedules/nightly/resume", body: `{}`, rpc: "ResumeSchedule", answer: &enginev1.ResumeScheduleResponse{Schedule: aSchedule()},
			want: &enginev1.ResumeScheduleRequest{Name: "nightly"}, status: 200, json: shown, header: tag,
		},
		{
			name: "trigger", method: "POST", path: "/v1/schedules/nightly/trigger", headers: []string{"Idempotency-Key", "k"}, rpc: "TriggerSchedule",
			answer: &enginev1.TriggerScheduleResponse{Schedule: aSchedule(), RunId: "run_01", SessionId: "n-trigger-1"},
			want:   &enginev1.TriggerScheduleRequest{Name: "nightly", IdempotencyKey: "k"}, status: 201,
			json: `{"schedule":` + shown + `,"run_id":"run_01","session_id":"n-trigger-1"}`, header: map[string]string{"Location": "/v1/runs/run_01"},
		},
		{
			name: "next", method: "GET", path: "/v1/schedules/nightly/next?count=2", rpc: "ListScheduleTimes",
			answer: &enginev1.ListScheduleTimesResponse{Times: []*timestamppb.Timestamp{noon}, Zone: "UTC"},
			want:   &enginev1.ListScheduleTimesRequest{Name: "nightly", Count: 2}, status: 200, json: `{"times":["2026-03-04T12:00:00.005Z"],"zone":"UTC"}`,
		},
		{
			name: "delete", method: "DELETE", path: "/v1/schedules/nightly", headers: []string{"If-Match", `"3"`}, rpc: "DeleteSchedule",
			want: &enginev1.DeleteScheduleRequest{Name: "nightly", ExpectedVersion: 3}, status: 204,
		},
	})
}
