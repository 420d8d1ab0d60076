// Package replay has the command that drives recorded runs through a candidate.
package replay

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/rules"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	recorded "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/verify"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// Command replays runs.
type Command struct {
	client.Connection
	Files     []string `arg:"" optional:"" name:"run" help:"Runs to replay: ids of a server, or files that interlock verify --run RUN --save FILE exported. Without any, those of the server that the flags below pick." placeholder:"RUN|FILE"`
	Candidate string   `required:"" help:"The workflow that they are driven through." placeholder:"FILE"`
	Policy    []string `help:"Policies that judge every call in place of those that did; may be repeated. Without any, what policies said stays." placeholder:"FILE" sep:"none"`
	Status    string   `help:"Only runs of this status, e.g. COMPLETED." placeholder:"STATUS"`
	Session   string   `help:"Only runs that this session drives." placeholder:"ID"`
	Limit     int      `help:"At most this many runs of the server, the newest first." default:"100" placeholder:"N"`
	FailOn    string   `help:"Exit with 1 when something is loosened, or for any difference; what cannot be decided may be loosened, too." enum:"none,loosened,any" default:"none"`
	Format    string   `help:"Output: text, json or sarif." enum:"text,json,sarif" default:"text"`
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
		fmt.Fprintf(io.Err, "interlock: no run of workflow %q was found, so that nothing is known: see --status, --session and --limit\n", name)
	}
	all := make([]verify.Replayed, 0, len(traces))
	for _, t := range traces {
		if other := workflowOf(t); other != by.Machine.Definition().ID {
			return console.Misusedf("run %s is one of workflow %q, and the candidate is one of %q: a run is replayed by a version of its own workflow", t.RunID, other, name)
		}
		all = append(all, verify.Replay(t, by))
	}
	s := summarize(all)
	switch c.Format {
	case "json":
		err = show.JSON(io.Out, s)
	case "sarif":
		err = recorded.SARIF(io.Out, "interlock replay", c.Candidate, s.findings())
	default:
		s.print(io)
	}
	if err != nil {
		return err
	}
	if c.FailOn == "any" && (len(s.Differences) > 0 || s.Undecided > 0) || c.FailOn == "loosened" && (s.Loosened > 0 || s.Undecided > 0) {
		return console.ErrNo
	}
	return nil
}

// workflowOf is the workflow whose run was recorded.
func workflowOf(t *verify.Trace) string {
	for _, m := range t.Definitions {
		return m.Definition().ID
	}
	return ""
}

// candidate reads the files that runs are driven through.
func (c *Command) candidate(io console.Streams) (*verify.Candidate, string, error) {
	compiled, err := recorded.Compile(c.Candidate, 1, io)
	if err != nil {
		return nil, "", err
	}
	by := &verify.Candidate{Machine: compiled.Machine}
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

// traces are the runs that are named, or those of the workflow.
func (c *Command) traces(ctx context.Context, io console.Streams, workflowName string) ([]*verify.Trace, error) {
	var all []*verify.Trace
	var ids []string
	for _, name := range c.Files {
		if _, err := os.Stat(name); err != nil {
			if err := recorded.NoFile(name); err != nil {
				return nil, err
			}
			ids = append(ids, name)
			continue
		}
		t, err := recorded.FromFile(name, io)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	if len(c.Files) > 0 && len(ids) == 0 {
		return all, nil
	}
	err := c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		if len(c.Files) == 0 {
			filter := listing.Filter(
				listing.Term{Key: "workflow", Value: workflowName}, listing.Term{Key: "status", Value: strings.ToUpper(c.Status)},
				listing.Term{Key: "session_id", Value: c.Session},
			)
			runs := enginev1.NewRunServiceClient(conn)
			found, err := client.Collect(c.Limit, (*enginev1.Run).GetRunId, func(token string, size int32) ([]*enginev1.Run, string, error) {
				page, err := runs.ListRuns(ctx, &enginev1.ListRunsRequest{PageSize: size, PageToken: token, Filter: filter})
				return page.GetRuns(), page.GetNextPageToken(), err
			})
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

// summary is what came of all runs.
type summary struct {
	Runs      int `json:"runs"`
	Same      int `json:"same"`
	Loosened  int `json:"loosened"`
	Tightened int `json:"tightened"`
	Other     int `json:"other"`
	// Undecided counts entries that cannot be decided, Beyond those after a difference.
	Undecided   int            `json:"undecided"`
	Beyond      int            `json:"beyond"`
	Open        map[string]int `json:"open"`
	Differences []group        `json:"differences"`
}

// group is the differences of one cause.
type group struct {
	Effect verify.Effect `json:"effect"`
	Cause  string        `json:"cause"`
	Runs   []difference  `json:"runs"`
}

type difference struct {
	RunID  string `json:"run_id"`
	Entry  string `json:"entry"`
	Number int64  `json:"number"`
	What   string `json:"what"`
	Beyond int    `json:"beyond"`
}

func summarize(all []verify.Replayed) *summary {
	s := &summary{Runs: len(all), Open: map[string]int{}, Differences: []group{}}
	for i := range all {
		r := &all[i]
		s.Same += r.Same
		for why, n := range r.Open {
			s.Open[why] += n
			if why != verify.OpenLimits {
				s.Undecided += n
			}
		}
		d := r.First
		if d == nil {
			continue
		}
		s.Beyond += d.Beyond
		switch d.Effect {
		case verify.Loosened:
			s.Loosened++
		case verify.Tightened:
			s.Tightened++
		default:
			s.Other++
		}
		at := slices.IndexFunc(s.Differences, func(g group) bool { return g.Effect == d.Effect && g.Cause == d.Cause })
		if at < 0 {
			at = len(s.Differences)
			s.Differences = append(s.Differences, group{Effect: d.Effect, Cause: d.Cause})
		}
		g := &s.Differences[at]
		g.Runs = append(g.Runs, difference{r.RunID, d.Entry, d.Number, d.What, d.Beyond})
	}
	slices.SortStableFunc(s.Differences, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.Effect, b.Effect), cmp.Compare(len(b.Runs), len(a.Runs)), cmp.Compare(a.Cause, b.Cause))
	})
	return s
}

// mostShown bounds the runs that are shown of one cause.
const mostShown = 3

func (s *summary) print(io console.Streams) {
	for i := range s.Differences {
		g := &s.Differences[i]
		fmt.Fprintf(io.Out, "%s: %s: %s\n", g.Effect, show.Text(g.Cause), show.Counted(len(g.Runs), "run"))
		for _, d := range g.Runs[:min(mostShown, len(g.Runs))] {
			fmt.Fprintf(io.Out, "  %s %s %d: %s; %s beyond it not known\n", show.Text(d.RunID), d.Entry, d.Number, show.Text(d.What), entries(d.Beyond))
		}
	}
	fmt.Fprintf(io.Out, "%s replayed: %s the same; %d loosened, %d tightened, %d other\n",
		show.Counted(s.Runs, "run"), entries(s.Same), s.Loosened, s.Tightened, s.Other)
	whys := make([]string, 0, len(s.Open))
	for why := range s.Open {
		whys = append(whys, why)
	}
	slices.Sort(whys)
	for _, why := range whys {
		fmt.Fprintf(io.Out, "  not decided: %d, because %s\n", s.Open[why], why)
	}
}

func entries(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// findings are the differences as a pull request shows them.
func (s *summary) findings() []recorded.Finding {
	var all []recorded.Finding
	for i := range s.Differences {
		g := &s.Differences[i]
		level := "warning"
		if g.Effect == verify.Loosened {
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
