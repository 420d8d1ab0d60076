package sdk

import (
	"context"
	"time"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
)

// CreateSchedule starts runs at times, as an operator (S25.20). A schedule that is paused starts none until it is resumed.
func (g *scheduleGroup) CreateSchedule(ctx context.Context, spec *enginev1.ScheduleSpec, paused bool) (*enginev1.Schedule, error) {
	resp, err := retry(ctx, g.schedules.CreateSchedule, &enginev1.CreateScheduleRequest{Spec: spec, Paused: paused})
	return resp.GetSchedule(), err
}

// GetSchedule returns a schedule: as it is, or for a version with the definition that it had then.
func (g *scheduleGroup) GetSchedule(ctx context.Context, name string, version int64) (*enginev1.Schedule, error) {
	resp, err := retry(ctx, g.schedules.GetSchedule, &enginev1.GetScheduleRequest{Name: name, Version: version})
	return resp.GetSchedule(), err
}

// ListSchedules returns all schedules.
func (g *scheduleGroup) ListSchedules(ctx context.Context) ([]*enginev1.Schedule, error) {
	return page(ctx, 0, func(ctx context.Context, size int32, token string) ([]*enginev1.Schedule, string, error) {
		resp, err := retry(ctx, g.schedules.ListSchedules, &enginev1.ListSchedulesRequest{PageSize: size, PageToken: token})
		return resp.GetSchedules(), resp.GetNextPageToken(), err
	})
}

// UpdateSchedule replaces a schedule at a version; 0 for any.
func (g *scheduleGroup) UpdateSchedule(ctx context.Context, spec *enginev1.ScheduleSpec, expectedVersion int64) (*enginev1.Schedule, error) {
	resp, err := retry(ctx, g.schedules.UpdateSchedule, &enginev1.UpdateScheduleRequest{Spec: spec, ExpectedVersion: expectedVersion})
	return resp.GetSchedule(), err
}

// PauseSchedule keeps a schedule from starting runs.
func (g *scheduleGroup) PauseSchedule(ctx context.Context, name string) (*enginev1.Schedule, error) {
	resp, err := retry(ctx, g.schedules.PauseSchedule, &enginev1.PauseScheduleRequest{Name: name})
	return resp.GetSchedule(), err
}

// ResumeSchedule lets a paused schedule go on.
func (g *scheduleGroup) ResumeSchedule(ctx context.Context, name string) (*enginev1.Schedule, error) {
	resp, err := retry(ctx, g.schedules.ResumeSchedule, &enginev1.ResumeScheduleRequest{Name: name})
	return resp.GetSchedule(), err
}

// TriggerSchedule starts a run of a schedule now, and returns the run and its session.
func (g *scheduleGroup) TriggerSchedule(ctx context.Context, name string, opts ...ChangeOption) (runID, session string, err error) {
	resp, err := retry(ctx, g.schedules.TriggerSchedule, &enginev1.TriggerScheduleRequest{Name: name, IdempotencyKey: keyOf(opts)})
	return resp.GetRunId(), resp.GetSessionId(), err
}

// DeleteSchedule deletes a schedule at a version; 0 for any.
func (g *scheduleGroup) DeleteSchedule(ctx context.Context, name string, expectedVersion int64) error {
	_, err := retry(ctx, g.schedules.DeleteSchedule, &enginev1.DeleteScheduleRequest{Name: name, ExpectedVersion: expectedVersion})
	return err
}

// ScheduleTimes returns the next times of a schedule, at most count.
func (g *scheduleGroup) ScheduleTimes(ctx context.Context, name string, count int) ([]time.Time, error) {
	resp, err := retry(ctx, g.schedules.ListScheduleTimes, &enginev1.ListScheduleTimesRequest{Name: name, Count: int32(min(count, 100))}) //nolint:gosec // at most 100
	return each(resp.GetTimes(), timeOf), err
}
