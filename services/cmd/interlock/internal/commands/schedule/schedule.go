// Package schedule keeps schedules, which start runs at times.
package schedule

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/document"
	times "github.com/interlock-run/interlock/pkg/schedule"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

// Command is the family of commands on schedules.
type Command struct {
	Add     addCommand     `cmd:"" help:"Start runs of a workflow or process at times."`
	List    listCommand    `cmd:"" help:"List schedules."`
	Get     getCommand     `cmd:"" help:"Show a schedule."`
	Pause   pauseCommand   `cmd:"" help:"Keep a schedule from starting runs."`
	Resume  resumeCommand  `cmd:"" help:"Let a paused schedule go on."`
	Remove  removeCommand  `cmd:"" help:"Remove a schedule. Its runs go on."`
	Trigger triggerCommand `cmd:"" help:"Start a run of a schedule now."`
	Next    nextCommand    `cmd:"" help:"Show the next times of a schedule, or of --cron without a server."`
}

type addCommand struct {
	client.Connection
	show.Printer
	Name            string `arg:"" help:"Name of the schedule: a-z, 0-9 and -."`
	Workflow        string `xor:"starts" required:"" help:"Workflow to start." placeholder:"NAME"`
	Process         string `xor:"starts" required:"" help:"Process to start." placeholder:"NAME"`
	Version         int64  `help:"Version of it; the latest at each start by default." placeholder:"N"`
	Cron            string `required:"" help:"Minute, hour, day, month and weekday, e.g. '0 7 * * mon-fri'; or @hourly, @daily, @weekly, @monthly, @yearly." placeholder:"EXPRESSION"`
	Zone            string `default:"UTC" help:"Zone of the times, e.g. Europe/Berlin." placeholder:"ZONE"`
	Missed          string `default:"skip" enum:"skip,once,all" help:"Rule for missed times: skip, once, or all of the last 100." placeholder:"RULE"`
	Overlap         string `default:"skip" enum:"skip,queue,allow" help:"Rule for a time during the last run: skip, queue or allow." placeholder:"RULE"`
	Session         string `xor:"session" help:"Session of every run; a new one of each by default." placeholder:"ID"`
	SessionPrefix   string `xor:"session" help:"Begins the names of new sessions; the name of the schedule by default." placeholder:"TEXT"`
	Context         string `help:"JSON object that is merged over the workflow's context; @FILE or - to read it." placeholder:"JSON"`
	Workspace       string `help:"Folder that file patterns are relative to." placeholder:"DIR"`
	Until           string `help:"The end: 30d, or 2026-12-31T23:00:00Z." placeholder:"TIME"`
	Only            string `help:"Entries that all calls of each new session must meet: a JSON list, written as the calls of a state; @FILE reads a file." placeholder:"JSON|@FILE"`
	Paused          bool   `help:"Add it paused."`
	Replace         bool   `help:"Replace the schedule of this name, from now on."`
	ExpectedVersion int64  `help:"With --replace, fail unless the schedule is at this version." placeholder:"N"`
}

func (c *addCommand) Run(ctx context.Context, io console.Streams) error {
	spec, err := c.spec(io, time.Now())
	if err != nil {
		return err
	}
	if !c.Replace && c.ExpectedVersion != 0 {
		return console.Misusedf("--expected-version goes with --replace")
	}
	if c.Replace && c.Paused {
		return console.Misusedf("--replace leaves a schedule paused or not, as it is; use `interlock schedule pause %s`", c.Name)
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		schedules := enginev1.NewScheduleServiceClient(conn)
		if c.Replace {
			resp, err := schedules.UpdateSchedule(ctx, &enginev1.UpdateScheduleRequest{Spec: spec, ExpectedVersion: c.ExpectedVersion})
			return printChanged(c.Printer, io, "replaced", resp, err)
		}
		resp, err := schedules.CreateSchedule(ctx, &enginev1.CreateScheduleRequest{Spec: spec, Paused: c.Paused})
		return printChanged(c.Printer, io, "added", resp, err)
	})
}

func (c *addCommand) spec(io console.Streams, now time.Time) (*enginev1.ScheduleSpec, error) {
	if _, err := times.ParseTimes(c.Cron, c.Zone, time.Time{}); err != nil {
		return nil, console.Misusedf("--%w", err)
	}
	given, err := input.Object("context", c.Context, io)
	if err != nil {
		return nil, err
	}
	spec := &enginev1.ScheduleSpec{
		Name: c.Name, Workflow: cmp.Or(c.Workflow, c.Process), WorkflowVersion: c.Version, Cron: c.Cron, Zone: c.Zone,
		SessionId: c.Session, SessionPrefix: c.SessionPrefix, Context: given,
	}
	spec.Missed, spec.Overlap = jsonview.ScheduleRules(c.Missed, c.Overlap)
	if spec.Only, err = input.Text(c.Only, io); err != nil {
		return nil, err
	}
	if c.Workspace != "" {
		if spec.Workspace, err = input.Workspace(c.Workspace); err != nil {
			return nil, err
		}
	}
	if c.Until != "" {
		end, err := until(c.Until, now)
		if err != nil {
			return nil, err
		}
		spec.Until = timestamppb.New(end)
	}
	return spec, nil
}

// until returns a moment, or how long from now it is.
func until(text string, now time.Time) (time.Time, error) {
	if ahead, err := document.ParseDuration(text); err == nil && ahead > 0 {
		return now.Add(ahead), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return at, console.Misusedf("--until: %q is not a time; write how long the schedule lasts (12h, 30d), or a moment (2026-12-31T23:00:00Z)", text)
	}
	return at, nil
}

// changed is an answer with a schedule.
type changed interface{ GetSchedule() *enginev1.Schedule }

func printChanged(p show.Printer, io console.Streams, verb string, resp changed, err error) error {
	if err != nil {
		return err
	}
	view := jsonview.ScheduleOf(resp.GetSchedule())
	return p.Print(io.Out, view, func(w *show.Sheet) {
		fmt.Fprintf(w, "%s\t%s\tversion %d\t%s\n", verb, show.Text(view.Name), view.Version, next(&view))
	})
}

// next describes when a schedule starts a run next.
func next(s *jsonview.Schedule) string {
	switch {
	case s.Status != "active":
		return s.Status
	case s.NextAt.IsZero():
		return "queued"
	}
	return "next " + inZone(s.NextAt, s.Zone)
}

// inZone shows a time as the clocks of a zone do.
func inZone(at time.Time, zone string) string {
	if location, err := time.LoadLocation(zone); err == nil {
		at = at.In(location)
	}
	return at.Format("Mon 2006-01-02 15:04 MST")
}

type listCommand struct {
	client.Connection
	show.Printer
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		schedules := enginev1.NewScheduleServiceClient(conn)
		all, err := client.Collect(client.NoLimit, jsonview.ScheduleOf, func(token string, size int32) ([]*enginev1.Schedule, string, error) {
			page, err := schedules.ListSchedules(ctx, &enginev1.ListSchedulesRequest{PageSize: size, PageToken: token})
			return page.GetSchedules(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return show.Table(c.Printer, io.Out, "SCHEDULE\tSTARTS\tCRON\tZONE\tSTATUS\tNEXT\tLAST", all, func(s *jsonview.Schedule) []any {
			at, last := "-", "-"
			if !s.NextAt.IsZero() {
				at = inZone(s.NextAt, s.Zone)
			}
			if s.Last != nil {
				last = s.Last.Result
			}
			return []any{s.Name, s.Workflow, s.Cron, s.Zone, s.Status, at, last}
		})
	})
}

// oneSchedule names the schedule of a command.
type oneSchedule struct {
	client.Connection
	show.Printer
	Name string `arg:"" help:"Name of the schedule."`
}

type getCommand struct {
	oneSchedule
	Version int64 `help:"Version to show, as it was when it was put." placeholder:"N"`
}

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewScheduleServiceClient(conn).GetSchedule(ctx, &enginev1.GetScheduleRequest{Name: c.Name, Version: c.Version})
		if err != nil {
			return err
		}
		view := jsonview.ScheduleOf(resp.GetSchedule())
		return c.Print(io.Out, view, func(w *show.Sheet) { rows(w, &view) })
	})
}

func rows(w *show.Sheet, s *jsonview.Schedule) {
	t := show.Rows{W: w}
	t.Row("schedule", s.Name)
	starts := s.Workflow
	if s.WorkflowVersion != 0 {
		starts += fmt.Sprintf(", version %d", s.WorkflowVersion)
	}
	t.Row("starts", starts)
	t.Row("cron", s.Cron)
	t.Row("zone", s.Zone)
	t.Row("missed", s.Missed)
	t.Row("overlap", s.Overlap)
	t.Row("session", cmp.Or(s.SessionID, s.SessionPrefix+"-TIME-DIGITS"))
	t.Row("context", string(s.Context))
	t.Row("workspace", s.Workspace)
	if s.Until != nil {
		t.Time("until", *s.Until)
	}
	t.Row("acts as", s.CreatedBy)
	t.Row("status", s.Status)
	if !s.NextAt.IsZero() {
		t.Row("next", inZone(s.NextAt, s.Zone))
	}
	if !s.QueuedAt.IsZero() {
		t.Row("queued", inZone(s.QueuedAt, s.Zone))
	}
	if o := s.Last; o != nil {
		t.Row("last", describe(o, s.Zone))
	}
	t.Row("last run", s.LastRunID)
	t.Row("times", fmt.Sprintf("%d started, %d missed, %d skipped, %d refused", s.Counts.Started, s.Counts.Missed, s.Counts.Skipped, s.Counts.Refused))
	t.Row("version", fmt.Sprint(s.Version))
}

// describe describes the outcome of a time.
func describe(o *jsonview.ScheduleOutcome, zone string) string {
	text := o.Result + " " + inZone(o.NominalAt, zone)
	if o.Count > 1 {
		text = fmt.Sprintf("%d times %s, to %s", o.Count, o.Result, inZone(o.NominalAt, zone))
	}
	if o.Code != "" {
		text += " " + o.Code
	}
	if o.Reason != "" {
		text += ": " + o.Reason
	}
	return text
}

type pauseCommand struct{ oneSchedule }

func (c *pauseCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewScheduleServiceClient(conn).PauseSchedule(ctx, &enginev1.PauseScheduleRequest{Name: c.Name})
		return printChanged(c.Printer, io, "paused", resp, err)
	})
}

type resumeCommand struct{ oneSchedule }

func (c *resumeCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewScheduleServiceClient(conn).ResumeSchedule(ctx, &enginev1.ResumeScheduleRequest{Name: c.Name})
		return printChanged(c.Printer, io, "resumed", resp, err)
	})
}

type removeCommand struct {
	oneSchedule
	ExpectedVersion int64 `help:"Fail unless the schedule is at this version." placeholder:"N"`
}

func (c *removeCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		_, err := enginev1.NewScheduleServiceClient(conn).DeleteSchedule(ctx, &enginev1.DeleteScheduleRequest{Name: c.Name, ExpectedVersion: c.ExpectedVersion})
		if err != nil {
			return err
		}
		view := struct {
			Name    string `json:"name"`
			Removed bool   `json:"removed"`
		}{c.Name, true}
		return c.Print(io.Out, view, func(w *show.Sheet) { fmt.Fprintf(w, "removed\t%s\n", show.Text(c.Name)) })
	})
}

type triggerCommand struct {
	oneSchedule
	IdempotencyKey string `help:"Makes a repeat of this command answer the first run." placeholder:"KEY"`
}

// triggered is the JSON of a run that was started.
type triggered struct {
	RunID     string `json:"run_id"`
	SessionID string `json:"session_id"`
}

func (c *triggerCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewScheduleServiceClient(conn).TriggerSchedule(ctx, &enginev1.TriggerScheduleRequest{Name: c.Name, IdempotencyKey: c.IdempotencyKey})
		if err != nil {
			return err
		}
		view := triggered{resp.GetRunId(), resp.GetSessionId()}
		return c.Print(io.Out, view, func(w *show.Sheet) {
			fmt.Fprintf(w, "run\t%s\nsession\t%s\n", show.Text(view.RunID), show.Text(view.SessionID))
		})
	})
}

type nextCommand struct {
	client.Connection
	show.Printer
	Name  string `arg:"" optional:"" help:"Name of the schedule."`
	Cron  string `help:"Show the times of this expression instead." placeholder:"EXPRESSION"`
	Zone  string `help:"Zone of --cron; UTC by default." placeholder:"ZONE"`
	Count int32  `default:"5" help:"How many times to show, at most 100." placeholder:"N"`
}

// listed is the JSON of the next times.
type listed struct {
	Times []time.Time `json:"times"`
	Zone  string      `json:"zone"`
}

func (c *nextCommand) Run(ctx context.Context, io console.Streams) error {
	switch {
	case (c.Name == "") == (c.Cron == ""):
		return console.Misusedf("name a schedule, or give an expression: --cron '0 7 * * mon-fri'")
	case c.Name != "" && c.Zone != "":
		return console.Misusedf("--zone goes with --cron: a schedule has a zone of its own")
	case c.Count < 1 || c.Count > 100:
		return console.Misusedf("--count must be 1 to 100")
	case c.Cron != "":
		return c.preview(io, time.Now())
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := enginev1.NewScheduleServiceClient(conn).ListScheduleTimes(ctx, &enginev1.ListScheduleTimesRequest{Name: c.Name, Count: c.Count})
		if err != nil {
			return err
		}
		return c.print(io, listed{jsonview.Each(resp.GetTimes(), jsonview.Time), resp.GetZone()})
	})
}

func (c *nextCommand) preview(io console.Streams, now time.Time) error {
	parsed, err := times.ParseTimes(c.Cron, c.Zone, time.Time{})
	if problem := (*times.Problem)(nil); errors.As(err, &problem) {
		return console.Misusedf("--%s: %s", problem.Field, problem.Message)
	}
	if err != nil {
		return err
	}
	return c.print(io, listed{parsed.List(now, int(c.Count)), parsed.Zone().String()})
}

func (c *nextCommand) print(io console.Streams, view listed) error {
	return c.Print(io.Out, view, func(w *show.Sheet) {
		for _, at := range view.Times {
			fmt.Fprintln(w, inZone(at, view.Zone))
		}
	})
}
