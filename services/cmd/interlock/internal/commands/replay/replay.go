// Package replay has the command that drives recorded runs through a candidate.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	recorded "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/verify"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/replayed"
)

// Command replays runs.
type Command struct {
	client.Connection
	Files     []string `arg:"" optional:"" name:"run" help:"Runs to replay: ids of a server, or files that interlock verify --run RUN --save FILE exported. Without any, those of the server that the flags below pick." placeholder:"RUN|FILE"`
	Candidate string   `required:"" help:"The workflow that they are driven through." placeholder:"FILE"`
	Policy    []string `help:"Policies that judge every call in place of those that did; may be repeated. Without any, recorded decisions of policies stay." placeholder:"FILE" sep:"none"`
	Status    string   `help:"Only runs of this status, e.g. COMPLETED." placeholder:"STATUS"`
	Session   string   `help:"Only runs that this session drives." placeholder:"ID"`
	Limit     int      `help:"At most this many runs of the server, the newest first." default:"100" placeholder:"N"`
	FailOn    string   `help:"Exit with 1 when a decision is loosened, or for any difference; undecided ones may be loosened, too." enum:"none,loosened,any" default:"none"`
	Format    string   `help:"Output: text, json, sarif or junit." enum:"text,json,sarif,junit" default:"text"`
}

// Run replays.
func (c *Command) Run(ctx context.Context, io console.Streams) error {
	if c.Limit < 1 {
		return console.Misusedf("--limit must be at least 1")
	}
	if _, err := client.Choice("status", c.Status, enginev1.RunStatus_value, "RUN_STATUS_", jsonview.StatusNames()); err != nil {
		return err
	}
	by, name, err := c.candidate(io)
	if err != nil {
		return err
	}
	traces, err := c.traces(ctx, io, name)
	if err != nil {
		return err
	}
	if len(traces) == 0 {
		fmt.Fprintf(io.Err, "interlock: no run of workflow %q was found, so there is no result: see --status, --session and --limit\n", name)
	}
	all := make([]conform.Replayed, 0, len(traces))
	for _, t := range traces {
		if other := t.Workflow(); other != by.Machine.Name() {
			return console.Misusedf("run %s is one of workflow %q, and the candidate is one of %q: a run is replayed by a version of its own workflow", t.RunID, other, name)
		}
		all = append(all, conform.Replay(t, by))
	}
	s := replayed.Summarize(all)
	switch c.Format {
	case "json":
		err = show.JSON(io.Out, s)
	case "sarif":
		err = recorded.SARIF(io.Out, "interlock replay", c.Candidate, findings(s))
	case "junit":
		err = recorded.JUnit(io.Out, "interlock replay", []recorded.Suite{{Name: c.Candidate, Cases: c.cases(name, all)}})
	default:
		print(io, s)
	}
	if err != nil {
		return err
	}
	if c.FailOn != "none" && len(traces) == 0 { // there is no record, so that any part may differ
		return console.ErrNo
	}
	if c.FailOn == "any" && (len(s.Differences) > 0 || s.Undecided > 0) || c.FailOn == "loosened" && (s.Loosened > 0 || s.Undecided > 0) {
		return console.ErrNo
	}
	return nil
}

// candidate reads the files that runs are driven through.
func (c *Command) candidate(io console.Streams) (*conform.Candidate, string, error) {
	compiled, _, err := recorded.Compile(c.Candidate, 1, io)
	if err != nil {
		return nil, "", err
	}
	by := &conform.Candidate{Machine: compiled.Machine}
	for _, file := range c.Policy {
		src, err := input.Document(file, io)
		if err != nil {
			return nil, "", err
		}
		policy, problems := rules.ParsePolicy(src.JSON)
		if problems.HasErrors() {
			src.Wanted = "policy"
			return nil, "", src.Refuse(problems, io)
		}
		policy.Name = cmp.Or(policy.Name, file)
		by.Policies = append(by.Policies, rules.Compile(policy, 0))
	}
	return by, compiled.Name(), nil
}

// traces returns the runs that are named, or those of the workflow.
func (c *Command) traces(ctx context.Context, io console.Streams, workflowName string) ([]*conform.Trace, error) {
	all, ids, err := recorded.Named(c.Files, io)
	if err != nil {
		return nil, err
	}
	if len(c.Files) > 0 && len(ids) == 0 {
		return all, nil
	}
	err = c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		if len(c.Files) == 0 {
			filter := replayed.Filter{Workflow: workflowName, Status: strings.ToUpper(c.Status), Session: c.Session}
			found, _, err := replayed.Newest(ctx, enginev1.NewRunServiceClient(conn), filter, c.Limit)
			if err != nil {
				return err
			}
			ids = found
		}
		for _, id := range ids {
			t, err := recorded.FromServer(ctx, conn, id)
			if err != nil {
				return err
			}
			all = append(all, t)
		}
		return nil
	})
	return all, err
}

// mostShown bounds the runs that are shown of one cause.
const mostShown = 3

func print(io console.Streams, s *replayed.Summary) {
	for i := range s.Differences {
		g := &s.Differences[i]
		fmt.Fprintf(io.Out, "%s: %s: %s\n", g.Effect, show.Text(g.Cause), show.Counted(len(g.Runs), "run"))
		for _, d := range g.Runs[:min(mostShown, len(g.Runs))] {
			fmt.Fprintf(io.Out, "  %s %s %d: %s; %s beyond it not known\n", show.Text(d.RunID), d.Entry, d.Number, show.Text(d.What), entries(d.Beyond))
		}
	}
	fmt.Fprintf(io.Out, "%s replayed: %s the same; %d loosened, %d tightened, %d other\n",
		show.Counted(s.Runs, "run"), entries(s.Same), s.Loosened, s.Tightened, s.Other)
	for _, line := range open(s.Open) {
		fmt.Fprintf(io.Out, "  %s\n", line)
	}
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// findings returns the differences as a pull request shows them.
func findings(s *replayed.Summary) []recorded.Finding {
	var all []recorded.Finding
	for i := range s.Differences {
		g := &s.Differences[i]
		level := "warning"
		if g.Effect == conform.Loosened {
			level = "error"
		}
		d := &g.Runs[0]
		all = append(all, recorded.Finding{
			Rule: string(g.Effect), Level: level,
			Message: fmt.Sprintf("%s in %s, such as %s: %s", g.Cause, show.Counted(len(g.Runs), "run"), d.RunID, d.What),
		})
	}
	return all
}

// cases returns the runs, one each: a class that --fail-on names is a failure, and an
// undecided run an error.
func (c *Command) cases(class string, all []conform.Replayed) []recorded.Case {
	cases := make([]recorded.Case, 0, len(all))
	for i := range all {
		r := &all[i]
		one := recorded.Case{Name: r.RunID, Class: class, Verdict: verify.Proved}
		switch d := r.First; {
		case c.FailOn == "none":
		case d != nil && (c.FailOn == "any" || d.Effect == conform.Loosened):
			one.Verdict, one.Message = verify.Refuted, fmt.Sprintf("%s: %s", d.Effect, d.Cause)
			one.Text = fmt.Sprintf("%s %d: %s; %s beyond it not known", d.Entry, d.Number, d.What, entries(d.Beyond))
		case replayed.Undecided(r) > 0:
			one.Verdict, one.Message = verify.Undecided, strings.Join(open(r.Open), "; ")
		}
		cases = append(cases, one)
	}
	return cases
}

// open returns the lines about undecided entries.
func open(counts map[string]int) []string {
	var lines []string
	for _, why := range slices.Sorted(maps.Keys(counts)) {
		lines = append(lines, fmt.Sprintf("not decided: %d, because %s", counts[why], why))
	}
	return lines
}
