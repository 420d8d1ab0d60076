// Package migrate has the command that moves running runs to another version of their
// workflow.
package migrate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/verify/explore"
	"github.com/interlock-run/interlock/pkg/verify/migrate"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	definitions "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/verify"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Command plans a move, or makes it.
type Command struct {
	client.Connection
	From      string            `arg:"" help:"The version that runs have: NAME@NUMBER, or a file for a plan without a server." placeholder:"NAME@NUMBER|FILE"`
	To        string            `arg:"" help:"The version to move them to: NAME@NUMBER, or a file." placeholder:"NAME@NUMBER|FILE"`
	Map       map[string]string `help:"The name in the other version of a state of the one. A state that is not mapped keeps its name. May be repeated." placeholder:"OLD=NEW" mapsep:"none"`
	Plan      bool              `help:"Show the new rights that the move would give, without moving runs. This is the default; exits with 1 unless it is proved that there are none."`
	Apply     bool              `help:"Move the runs, one commit each. Runs without a place in the other version stay, and so do runs with new rights that were not accepted."`
	Accept    string            `help:"With --apply, the digest of the plan whose gains you accept." placeholder:"DIGEST"`
	Only      []string          `name:"run" help:"Only this run; may be repeated. Without it, every run of that version that has not ended." placeholder:"RUN"`
	MaxStates int               `help:"The most pairs of conditions that are compared." default:"20000" placeholder:"N"`
	Format    string            `help:"Output: text or json." enum:"text,json" default:"text"`
}

// result is the command's output for programs.
type result struct {
	Workflow string                  `json:"workflow"`
	Plan     *jsonview.MigrationPlan `json:"plan"`
	Runs     []moved                 `json:"runs"`
	Applied  bool                    `json:"applied"`

	// server is whether runs of a server were looked for.
	server bool
}

// moved is the outcome, or the expected one, for one run.
type moved struct {
	RunID string `json:"run_id"`
	State string `json:"state"`
	Moved bool   `json:"moved"`
	// Unknown is true where the answer was lost, and the run may have moved.
	Unknown bool   `json:"unknown,omitzero"`
	Reason  string `json:"reason,omitempty"`
}

// Run plans or moves.
func (c *Command) Run(ctx context.Context, io console.Streams) error {
	switch {
	case c.Plan && c.Apply:
		return console.Misusedf("--plan shows the effects of --apply: give one of them")
	case c.Accept != "" && !c.Apply:
		return console.Misusedf("--accept goes with --apply")
	case c.MaxStates < 1:
		return console.Misusedf("--max-states must be at least 1")
	}
	name, from, err := version(c.From)
	if err != nil {
		return c.offline(io)
	}
	other, to, err := version(c.To)
	switch {
	case err != nil:
		return console.Misusedf("%s is a version of a server: name the other one as %s@NUMBER", c.From, name)
	case other != name:
		return console.Misusedf("a run moves to another version of its own workflow: %s and %s are two workflows", name, other)
	}
	r := &result{Workflow: name, Applied: c.Apply, Runs: []moved{}, server: true}
	err = c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		plan, err := enginev1.NewWorkflowServiceClient(conn).PlanMigration(ctx, &enginev1.PlanMigrationRequest{
			Workflow: name, FromVersion: from, ToVersion: to, States: c.Map, MaxStates: int64(c.MaxStates),
		})
		if err != nil {
			return err
		}
		r.Plan = jsonview.MigrationPlanOf(from, plan)
		runs, err := c.runs(ctx, conn, name, from)
		if err != nil {
			return err
		}
		for _, run := range runs {
			r.Runs = append(r.Runs, c.move(ctx, conn, run, r.Plan))
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.answer(io, r)
}

// version reads NAME@NUMBER.
func version(text string) (name string, number int64, err error) {
	i := strings.LastIndexByte(text, '@')
	if i <= 0 {
		return "", 0, fmt.Errorf("%q is not NAME@NUMBER", text)
	}
	number, err = strconv.ParseInt(text[i+1:], 10, 64)
	if err != nil || number < 1 {
		return "", 0, fmt.Errorf("%q is not NAME@NUMBER", text)
	}
	return text[:i], number, nil
}

// offline plans for two files.
func (c *Command) offline(io console.Streams) error {
	if c.Apply || len(c.Only) > 0 {
		return console.Misusedf("runs are moved between versions of a server: name them as NAME@NUMBER")
	}
	from, was, err := compile(c.From, 1, io)
	if err != nil {
		return err
	}
	to, is, err := compile(c.To, 2, io)
	if err != nil {
		return err
	}
	switch {
	case from.Name() != to.Name():
		return console.Misusedf("a run moves to another version of its own workflow: %s has %q, and %s has %q", c.From, from.Name(), c.To, to.Name())
	case (from.Process == nil) != (to.Process == nil):
		return console.Misusedf("one of %s and %s is a process, and the other is not", c.From, c.To)
	}
	for old, name := range c.Map {
		if !from.State(old).Known() || !to.State(name).Known() {
			return console.Misusedf("--map %s=%s: there must be a state %q in %s, and %q in %s", old, name, old, c.From, name, c.To)
		}
	}
	plan := migrate.New(&migrate.Migration{From: from.Machine, To: to.Machine, Processes: [2]*process.Process{from.Process, to.Process}, States: c.Map, Digests: [2]string{was, is}}, explore.Bounds{MaxStates: c.MaxStates})
	return c.answer(io, &result{Workflow: from.Name(), Plan: jsonview.MigrationPlanIn(&plan), Runs: []moved{}})
}

func compile(file string, number int64, io console.Streams) (definition.Compiled, string, error) {
	m, digest, err := definitions.Compile(file, number, io)
	if errors.Is(err, fs.ErrNotExist) {
		return m, "", fmt.Errorf("there is no file %s; a version of a server is named as NAME@NUMBER, such as bugfix@2", show.Text(file))
	}
	return m, digest, err
}

// runs returns those of a version that have not ended, or those that are named.
func (c *Command) runs(ctx context.Context, conn grpc.ClientConnInterface, name string, from int64) ([]*enginev1.Run, error) {
	service := enginev1.NewRunServiceClient(conn)
	if len(c.Only) > 0 {
		var all []*enginev1.Run
		for _, id := range c.Only {
			id, err := client.RunID(ctx, conn, id)
			if err != nil {
				return nil, err
			}
			resp, err := service.GetRun(ctx, &enginev1.GetRunRequest{RunId: id})
			if err != nil {
				return nil, err
			}
			if run := resp.GetRun(); run.GetWorkflow() != name || run.GetWorkflowVersion() != from {
				return nil, console.Misusedf("run %s is at version %d of %s, and not at version %d of %s", id, run.GetWorkflowVersion(), run.GetWorkflow(), from, name)
			}
			all = append(all, resp.GetRun())
		}
		return all, nil
	}
	filter := listing.Filter(listing.Term{Key: "workflow", Value: name}, listing.Term{Key: "not_status", Value: "COMPLETED,FAILED,BLOCKED,CANCELLED"})
	found, err := client.Collect(client.NoLimit, func(r *enginev1.Run) *enginev1.Run { return r }, func(token string, size int32) ([]*enginev1.Run, string, error) {
		page, err := service.ListRuns(ctx, &enginev1.ListRunsRequest{PageSize: size, PageToken: token, Filter: filter})
		return page.GetRuns(), page.GetNextPageToken(), err
	})
	if err != nil {
		return nil, err
	}
	var all []*enginev1.Run
	for _, run := range found {
		if run.GetWorkflowVersion() == from {
			all = append(all, run)
		}
	}
	return all, nil
}

// move moves one run, or finds out whether it would.
func (c *Command) move(ctx context.Context, conn grpc.ClientConnInterface, run *enginev1.Run, plan *jsonview.MigrationPlan) moved {
	out := moved{RunID: run.GetRunId(), State: run.GetState()}
	req := &enginev1.MigrateRunRequest{RunId: run.GetRunId(), ToVersion: plan.ToVersion, States: c.Map, Accept: c.Accept, DryRun: !c.Apply}
	if !c.Apply {
		req.Accept = plan.Digest // whether there is a place for it is asked
	}
	resp, err := enginev1.NewRunServiceClient(conn).MigrateRun(ctx, req)
	switch {
	case err != nil:
		out.Reason, out.Unknown = client.Explain(err), c.Apply && lost(err)
	case resp.GetRejection() != nil:
		out.Reason = resp.GetRejection().GetMessage()
	default:
		out.Moved, out.State, out.Reason = resp.GetChanged(), resp.GetRun().GetState(), resp.GetNote()
	}
	return out
}

// lost reports that a request may have been carried out although it has failed.
func lost(err error) bool {
	switch status.Code(err) {
	case codes.Unavailable, codes.DeadlineExceeded, codes.Canceled, codes.Unknown, codes.Internal:
		return true
	default:
		return false
	}
}

// answer prints the findings and changes. An unproved plan, and a run that stays, give
// exit code 1.
func (c *Command) answer(io console.Streams, r *result) error {
	if c.Format == "json" {
		if err := show.JSON(io.Out, r); err != nil {
			return err
		}
	} else {
		c.print(io, r)
	}
	stay := 0
	for _, run := range r.Runs {
		if !run.Moved {
			stay++
		}
	}
	if c.Apply && stay > 0 || !c.Apply && r.Plan.Verdict != "PROVED" {
		return console.ErrNo
	}
	return nil
}

// mostShown is the most that is shown of one kind.
const mostShown = 20

func (c *Command) print(io console.Streams, r *result) {
	p := r.Plan
	say := func(format string, args ...any) { fmt.Fprintf(io.Out, format+"\n", args...) }
	verdict := map[string]string{
		"PROVED": "no new permissions", "LOOSENED": show.Counted(len(p.Gains), "thing") + " newly allowed", "NOT_PROVED": show.Text(p.Reason),
	}[p.Verdict]
	say("%s from version %d to version %d: %s: %s (%d pairs compared)", show.Text(r.Workflow), p.FromVersion, p.ToVersion, strings.ReplaceAll(p.Verdict, "_", " "), verdict, p.Pairs)
	for _, g := range p.Gains[:min(mostShown, len(p.Gains))] {
		gain := migrate.Gain{Kind: migrate.GainKind(g.Kind), Was: g.Was, Is: g.Is, What: g.What}
		say("  %s", show.Text(gain.String()))
		if len(g.Path) > 0 {
			say("    after: %s", show.Text(strings.Join(g.Path, ", ")))
		}
	}
	if more := len(p.Gains) - mostShown; more > 0 {
		say("  and %d more: --format json has them all", more)
	}
	for _, s := range p.Stays {
		say("  state %q stays: %s", s.State, show.Text(s.Reason))
	}
	for _, name := range p.DroppedEvidence {
		say("  evidence %q is dropped: the other version declares it otherwise, or not at all", name)
	}
	c.printRuns(say, r)
	if p.Verdict == "LOOSENED" && !c.Apply && len(r.Runs) > 0 {
		say("To move them all the same: interlock migrate --apply %s %s --accept %s%s", c.From, c.To, p.Digest, c.mapped())
	}
}

func (c *Command) printRuns(say func(string, ...any), r *result) {
	count := 0
	for _, run := range r.Runs {
		if run.Moved {
			count++
		}
	}
	if r.server && len(r.Runs) == 0 {
		say("no run that has not ended is at version %d", r.Plan.FromVersion)
		return
	}
	if r.Applied || len(r.Runs) > 0 {
		what := "can move"
		if r.Applied {
			what = "moved"
		}
		say("%d of %s %s", count, show.Counted(len(r.Runs), "run"), what)
	}
	for _, run := range r.Runs {
		if !run.Moved {
			what := "stays"
			if run.Unknown {
				what = "may have moved"
			}
			say("  %s in %q %s: %s", show.Text(run.RunID), run.State, what, show.Text(strings.TrimPrefix(run.Reason, fmt.Sprintf("the run stays at version %d: ", r.Plan.FromVersion))))
		}
	}
}

// mapped repeats the renamed states.
func (c *Command) mapped() string {
	var all strings.Builder
	for _, old := range slices.Sorted(maps.Keys(c.Map)) {
		fmt.Fprintf(&all, " --map %s=%s", old, c.Map[old])
	}
	return all.String()
}
