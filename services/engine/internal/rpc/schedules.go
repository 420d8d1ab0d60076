package rpc

import (
	"context"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	eventv1 "github.com/interlock-run/interlock/gen/go/interlock/event/v1"
	"github.com/interlock-run/interlock/pkg/bus"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/pkg/schedule"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/engine/internal/schedules"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// Schedules serves ScheduleService.
type Schedules struct {
	enginev1.UnimplementedScheduleServiceServer
	Schedules *schedules.Schedules
}

var (
	missedTimes = protomap.LowerEnums[schedule.Missed, enginev1.MissedTimes](enginev1.MissedTimes_value, "MISSED_TIMES_")
	overlaps    = protomap.LowerEnums[schedule.Overlap, enginev1.ScheduleOverlap](enginev1.ScheduleOverlap_value, "SCHEDULE_OVERLAP_")
	results     = protomap.LowerEnums[schedules.Result, enginev1.ScheduleResult](enginev1.ScheduleResult_value, "SCHEDULE_RESULT_")
)

// CreateSchedule implements ScheduleService.
func (s *Schedules) CreateSchedule(ctx context.Context, req *enginev1.CreateScheduleRequest) (*enginev1.CreateScheduleResponse, error) {
	made, err := s.Schedules.Create(ctx, caller(ctx), specFrom(req.GetSpec()), req.GetPaused())
	if err != nil {
		return nil, err
	}
	return &enginev1.CreateScheduleResponse{Schedule: scheduleProto(made)}, nil
}

// GetSchedule implements ScheduleService.
func (s *Schedules) GetSchedule(ctx context.Context, req *enginev1.GetScheduleRequest) (*enginev1.GetScheduleResponse, error) {
	found, err := s.Schedules.Get(ctx, rpc.Namespace(ctx), req.GetName(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	return &enginev1.GetScheduleResponse{Schedule: scheduleProto(found)}, nil
}

// ListSchedules implements ScheduleService.
func (s *Schedules) ListSchedules(ctx context.Context, req *enginev1.ListSchedulesRequest) (*enginev1.ListSchedulesResponse, error) {
	found, next, err := s.Schedules.List(ctx, rpc.Namespace(ctx), req.GetPageToken(), pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &enginev1.ListSchedulesResponse{NextPageToken: next}
	for _, one := range found {
		resp.Schedules = append(resp.Schedules, scheduleProto(one))
	}
	return resp, nil
}

// UpdateSchedule implements ScheduleService.
func (s *Schedules) UpdateSchedule(ctx context.Context, req *enginev1.UpdateScheduleRequest) (*enginev1.UpdateScheduleResponse, error) {
	changed, err := s.Schedules.Update(ctx, caller(ctx), specFrom(req.GetSpec()), req.GetExpectedVersion())
	if err != nil {
		return nil, err
	}
	return &enginev1.UpdateScheduleResponse{Schedule: scheduleProto(changed)}, nil
}

// PauseSchedule implements ScheduleService.
func (s *Schedules) PauseSchedule(ctx context.Context, req *enginev1.PauseScheduleRequest) (*enginev1.PauseScheduleResponse, error) {
	paused, err := s.Schedules.Pause(ctx, caller(ctx), req.GetName())
	if err != nil {
		return nil, err
	}
	return &enginev1.PauseScheduleResponse{Schedule: scheduleProto(paused)}, nil
}

// ResumeSchedule implements ScheduleService.
func (s *Schedules) ResumeSchedule(ctx context.Context, req *enginev1.ResumeScheduleRequest) (*enginev1.ResumeScheduleResponse, error) {
	resumed, err := s.Schedules.Resume(ctx, caller(ctx), req.GetName())
	if err != nil {
		return nil, err
	}
	return &enginev1.ResumeScheduleResponse{Schedule: scheduleProto(resumed)}, nil
}

// DeleteSchedule implements ScheduleService.
func (s *Schedules) DeleteSchedule(ctx context.Context, req *enginev1.DeleteScheduleRequest) (*enginev1.DeleteScheduleResponse, error) {
	return &enginev1.DeleteScheduleResponse{}, s.Schedules.Delete(ctx, caller(ctx), req.GetName(), req.GetExpectedVersion())
}

// TriggerSchedule implements ScheduleService.
func (s *Schedules) TriggerSchedule(ctx context.Context, req *enginev1.TriggerScheduleRequest) (*enginev1.TriggerScheduleResponse, error) {
	triggered, err := s.Schedules.Trigger(ctx, caller(ctx), req.GetName(), req.GetIdempotencyKey())
	if err != nil {
		return nil, err
	}
	return &enginev1.TriggerScheduleResponse{
		Schedule: scheduleProto(triggered.Schedule), RunId: triggered.RunID, SessionId: triggered.SessionID,
	}, nil
}

// defaultTimes is how many times are listed unless the request says so.
const defaultTimes = 5

// ListScheduleTimes implements ScheduleService.
func (s *Schedules) ListScheduleTimes(ctx context.Context, req *enginev1.ListScheduleTimesRequest) (*enginev1.ListScheduleTimesResponse, error) {
	count := defaultTimes
	if req.GetCount() > 0 {
		count = int(req.GetCount())
	}
	times, zone, err := s.Schedules.Times(ctx, rpc.Namespace(ctx), req.GetName(), count)
	if err != nil {
		return nil, err
	}
	resp := &enginev1.ListScheduleTimesResponse{Zone: zone}
	for _, at := range times {
		resp.Times = append(resp.Times, timestamppb.New(at))
	}
	return resp, nil
}

func specFrom(sp *enginev1.ScheduleSpec) schedules.Spec {
	out := schedules.Spec{
		Name: sp.GetName(), Workflow: sp.GetWorkflow(), WorkflowVersion: sp.GetWorkflowVersion(), Cron: sp.GetCron(), Zone: sp.GetZone(),
		Missed:    schedule.Missed(protomap.LowerWord(sp.GetMissed(), "MISSED_TIMES_")),
		Overlap:   schedule.Overlap(protomap.LowerWord(sp.GetOverlap(), "SCHEDULE_OVERLAP_")),
		SessionID: sp.GetSessionId(), SessionPrefix: sp.GetSessionPrefix(), Context: string(sp.GetContext()), Workspace: sp.GetWorkspace(),
		Only: string(sp.GetOnly()),
	}
	if sp.GetUntil() != nil {
		out.Until = sp.GetUntil().AsTime()
		if out.Until.IsZero() { // that would be no end, and any other time of the past is refused
			out.Until = time.Unix(0, 0).UTC()
		}
	}
	return out
}

func scheduleProto(s *schedules.Schedule) *enginev1.Schedule {
	out := &enginev1.Schedule{
		Spec: &enginev1.ScheduleSpec{
			Name: s.Name, Workflow: s.Workflow, WorkflowVersion: s.WorkflowVersion, Cron: s.Cron, Zone: s.Zone,
			Missed: missedTimes[s.Missed], Overlap: overlaps[s.Overlap], SessionId: s.SessionID, SessionPrefix: s.SessionPrefix,
			Context: []byte(s.Context), Workspace: s.Workspace, Until: moment(s.Until),
		},
		Version: s.Number, Status: enginev1.ScheduleStatus_SCHEDULE_STATUS_ACTIVE, CreatedBy: s.By.Name,
		CreatedAt: timestamppb.New(s.CreatedAt), UpdatedAt: timestamppb.New(s.UpdatedAt), QueuedAt: moment(s.Waiting), LastRunId: s.LastRun,
		Counts: &enginev1.ScheduleCounts{Started: s.Counts.Started, Missed: s.Counts.Missed, Skipped: s.Counts.Skipped, Refused: s.Counts.Refused},
	}
	next, more := s.Next()
	switch {
	case s.Paused:
		out.Status = enginev1.ScheduleStatus_SCHEDULE_STATUS_PAUSED
	case more:
		out.NextAt = timestamppb.New(next)
	case s.Waiting.IsZero():
		out.Status = enginev1.ScheduleStatus_SCHEDULE_STATUS_ENDED
	}
	if o := s.Last; o != nil {
		out.Last = &enginev1.ScheduleOutcome{
			NominalAt: timestamppb.New(o.Nominal), At: timestamppb.New(o.At), Result: results[o.Result], Count: o.Count,
			RunId: o.RunID, SessionId: o.Session, Code: string(o.Code), Reason: o.Reason,
		}
	}
	return out
}

// moment returns nil for no time.
func moment(at time.Time) *timestamppb.Timestamp {
	if at.IsZero() {
		return nil
	}
	return timestamppb.New(at)
}

// ScheduleChanged implements schedules.Announcer.
func (Announcer) ScheduleChanged(namespace, actor, change string, version int64, s *schedules.Schedule, at time.Time) (store.Event, error) {
	payload := &eventv1.ScheduleChanged{ScheduleVersion: s.Number, Workflow: s.Workflow, Cron: s.Cron, Zone: s.Zone}
	if next, ok := s.Next(); ok && change != "deleted" {
		payload.NextAt = timestamppb.New(next)
	}
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "schedule", EntityId: s.Name, Type: change, Version: version, Time: timestamppb.New(at), Actor: actor,
		Payload: &eventv1.Event_ScheduleChanged{ScheduleChanged: payload},
	})
}

// ScheduleHandled implements schedules.Announcer.
func (Announcer) ScheduleHandled(namespace, actor string, version int64, s *schedules.Schedule, o *schedules.Outcome) (store.Event, error) {
	change := string(o.Result)
	if o.Result == schedules.Started {
		change = "fired"
	}
	return bus.Encode(&eventv1.Event{
		Namespace: namespace, Entity: "schedule", EntityId: s.Name, Type: change, Version: version, Time: timestamppb.New(o.At), Actor: actor,
		Payload: &eventv1.Event_ScheduleHandled{ScheduleHandled: &eventv1.ScheduleHandled{
			ScheduleVersion: s.Number, Workflow: s.Workflow, NominalAt: timestamppb.New(o.Nominal), LateMs: o.At.Sub(o.Nominal).Milliseconds(),
			Count: o.Count, FirstAt: moment(o.First), RunId: o.RunID, SessionId: o.Session, Code: string(o.Code), Reason: bus.Clip(o.Reason),
			TriggeredBy: o.TriggeredBy,
		}},
	})
}
