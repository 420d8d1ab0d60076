package jsonview

import (
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/services/internal/protomap"
)

// ScheduleSpec is the definition of a schedule (S25.20).
type ScheduleSpec struct {
	Name            string         `json:"name" doc:"Unique name: 1 to 128 of a-z, 0-9 and -. It cannot change."`
	Workflow        string         `json:"workflow" doc:"Name of the workflow or process."`
	WorkflowVersion int64          `json:"workflow_version,omitzero" doc:"Version of it; absent for the latest at each start."`
	Cron            string         `json:"cron" doc:"Five fields, such as 0 7 * * mon-fri, or a word such as @daily."`
	Zone            string         `json:"zone,omitzero" doc:"Zone of the IANA database, such as Europe/Berlin. UTC by default."`
	Missed          string         `json:"missed,omitzero" enum:"skip,once,all" doc:"Rule for missed times: no run (the default), one run, or a run of each of the last 100."`
	Overlap         string         `json:"overlap,omitzero" enum:"skip,queue,allow" doc:"Rule for a time during the last run: no run (the default), one waits, or runs overlap."`
	SessionID       string         `json:"session_id,omitzero" doc:"The session of every run; absent for a new session of each."`
	SessionPrefix   string         `json:"session_prefix,omitzero" doc:"Begins the names of new sessions. The name of the schedule by default."`
	Context         jsontext.Value `json:"context,omitzero" doc:"A JSON object that is merged over the workflow's context."`
	Workspace       string         `json:"workspace,omitzero" doc:"Root that file globs are relative to."`
	Until           *time.Time     `json:"until,omitzero" doc:"There are no times after it."`
	Only            jsontext.Value `json:"only,omitzero" doc:"Entries that all calls of each new session must meet: a list, as a session has them."`
}

// Schedule starts runs of a workflow or process at times.
type Schedule struct {
	ScheduleSpec
	Version   int64            `json:"version" doc:"Bumped by every change by people; also the ETag."`
	Status    string           `json:"status" enum:"active,paused,ended"`
	CreatedBy string           `json:"created_by" doc:"Who has put it: its runs are started as this principal."`
	CreatedAt time.Time        `json:"created_at"`
	UpdatedAt time.Time        `json:"updated_at"`
	NextAt    time.Time        `json:"next_at,omitzero" doc:"The next time at which it starts a run."`
	QueuedAt  time.Time        `json:"queued_at,omitzero" doc:"The time that waits for the end of the last run."`
	Last      *ScheduleOutcome `json:"last,omitzero" doc:"Outcome of the last time."`
	LastRunID string           `json:"last_run_id,omitzero" doc:"The run that it started last."`
	Counts    ScheduleCounts   `json:"counts" doc:"Its times so far, by their outcome."`
}

// ScheduleCounts counts the times of a schedule by their outcome.
type ScheduleCounts struct {
	Started int64 `json:"started" doc:"Runs that it has started."`
	Missed  int64 `json:"missed"`
	Skipped int64 `json:"skipped" doc:"Times at which the last run had not ended."`
	Refused int64 `json:"refused" doc:"Times at which the start was refused."`
}

// ScheduleOutcome is the outcome of a time of a schedule.
type ScheduleOutcome struct {
	Result    string    `json:"result" enum:"started,missed,skipped,queued,refused"`
	NominalAt time.Time `json:"nominal_at" doc:"The time. Of several that were missed, the last."`
	At        time.Time `json:"at" doc:"When it was handled."`
	Count     int64     `json:"count" doc:"How many times this is about: more than one only of missed ones."`
	RunID     string    `json:"run_id,omitzero" doc:"The run that was started, or that has not ended."`
	SessionID string    `json:"session_id,omitzero" doc:"The session of the run that was started."`
	Code      string    `json:"code,omitzero" doc:"Code of a refusal, such as HALTED."`
	Reason    string    `json:"reason,omitzero" doc:"Why no run was started."`
}

// ScheduleOf returns the JSON of a schedule.
func ScheduleOf(s *enginev1.Schedule) Schedule {
	sp := s.GetSpec()
	out := Schedule{
		ScheduleSpec: ScheduleSpec{
			Name: sp.GetName(), Workflow: sp.GetWorkflow(), WorkflowVersion: sp.GetWorkflowVersion(), Cron: sp.GetCron(), Zone: sp.GetZone(),
			Missed: protomap.LowerWord(sp.GetMissed(), missedPrefix), Overlap: protomap.LowerWord(sp.GetOverlap(), overlapPrefix),
			SessionID: sp.GetSessionId(), SessionPrefix: sp.GetSessionPrefix(), Context: sp.GetContext(), Workspace: sp.GetWorkspace(),
			Only: sp.GetOnly(),
		},
		Version: s.GetVersion(), Status: protomap.LowerWord(s.GetStatus(), "SCHEDULE_STATUS_"), CreatedBy: s.GetCreatedBy(),
		CreatedAt: Time(s.GetCreatedAt()), UpdatedAt: Time(s.GetUpdatedAt()), NextAt: Time(s.GetNextAt()), QueuedAt: Time(s.GetQueuedAt()),
		LastRunID: s.GetLastRunId(),
	}
	if sp.GetUntil() != nil {
		until := Time(sp.GetUntil())
		out.Until = &until
	}
	if n := s.GetCounts(); n != nil {
		out.Counts = ScheduleCounts{Started: n.GetStarted(), Missed: n.GetMissed(), Skipped: n.GetSkipped(), Refused: n.GetRefused()}
	}
	if o := s.GetLast(); o != nil {
		out.Last = &ScheduleOutcome{
			Result: protomap.LowerWord(o.GetResult(), "SCHEDULE_RESULT_"), NominalAt: Time(o.GetNominalAt()), At: Time(o.GetAt()), Count: o.GetCount(),
			RunID: o.GetRunId(), SessionID: o.GetSessionId(), Code: o.GetCode(), Reason: o.GetReason(),
		}
	}
	return out
}

const (
	missedPrefix  = "MISSED_TIMES_"
	overlapPrefix = "SCHEDULE_OVERLAP_"
)

// ScheduleRules returns the values of the words for missed times and for overlaps. An unknown word has the value of none: check it
// before.
func ScheduleRules(missed, overlap string) (enginev1.MissedTimes, enginev1.ScheduleOverlap) {
	return enginev1.MissedTimes(enginev1.MissedTimes_value[missedPrefix+strings.ToUpper(missed)]),
		enginev1.ScheduleOverlap(enginev1.ScheduleOverlap_value[overlapPrefix+strings.ToUpper(overlap)])
}

// Proto returns the schedule of a contract.
func (s ScheduleSpec) Proto() *enginev1.ScheduleSpec {
	out := &enginev1.ScheduleSpec{
		Name: s.Name, Workflow: s.Workflow, WorkflowVersion: s.WorkflowVersion, Cron: s.Cron, Zone: s.Zone,
		SessionId: s.SessionID, SessionPrefix: s.SessionPrefix, Context: s.Context, Workspace: s.Workspace, Only: s.Only,
	}
	out.Missed, out.Overlap = ScheduleRules(s.Missed, s.Overlap)
	if s.Until != nil {
		out.Until = timestamppb.New(*s.Until)
	}
	return out
}
