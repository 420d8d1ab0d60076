// Package suggest has the command that proposes the tightest definition under which recorded
// runs would have gone the same way.
package suggest

import (
	"context"
	"fmt"
	"os"
	"strings"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	loaded "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/verify"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// Command suggests.
type Command struct {
	client.Connection
	Named           []string `arg:"" optional:"" name:"run" help:"Runs to learn from: ids of a server, or files that interlock verify --run RUN --save FILE exported. Without any, the newest of the workflow." placeholder:"RUN|FILE"`
	Workflow        string   `required:"" help:"The workflow: a file, or the name of one of the server, in its latest version." placeholder:"NAME|FILE"`
	Runs            int      `help:"At most this many runs of the server, the newest first." default:"100" placeholder:"N"`
	MinRuns         int      `help:"How many runs must have been in a state before anything is proposed for it." default:"5" placeholder:"N"`
	DropTransitions bool     `help:"Remove transitions that were never taken, too."`
	Out             string   `short:"f" help:"Write the suggestion there." placeholder:"FILE"`
	Format          string   `help:"Output: text or json." enum:"text,json" default:"text"`
}

// view is what programs get.
type view struct {
	Workflow   string     `json:"workflow"`
	Runs       int        `json:"runs"`
	Verdict    string     `json:"verdict"`
	Proposals  []proposal `json:"proposals"`
	Left       []string   `json:"left"`
	Cut        []string   `json:"cut"`
	NotKept    []string   `json:"not_kept"`
	Definition string     `json:"definition"`
}

type proposal struct {
	State string   `json:"state"`
	Field string   `json:"field"`
	Was   string   `json:"was,omitempty"`
	Is    string   `json:"is,omitempty"`
	Why   string   `json:"why"`
	Runs  []string `json:"runs"`
}

// Run suggests.
func (c *Command) Run(ctx context.Context, io console.Streams) error {
	if c.MinRuns < 1 || c.Runs < 1 {
		return console.Misusedf("--min-runs and --runs must be at least 1")
	}
	text, traces, err := c.load(ctx, io)
	if err != nil {
		return err
	}
	source, problems := document.ParseAll(text, document.Limits{})
	if problems.HasErrors() {
		return fmt.Errorf("%s: %w", c.Workflow, problems.Err())
	}
	old, err := definition.Flags{}.Compile(text, 1)
	if err != nil {
		return fmt.Errorf("%s: %w", c.Workflow, err)
	}
	if old.Process != nil {
		return console.Misusedf("%s is a process: suggestions are made of workflows", c.Workflow)
	}
	out, err := verify.Suggest(source, 1, traces, verify.SuggestOptions{MinRuns: c.MinRuns, DropTransitions: c.DropTransitions})
	if err != nil {
		return err
	}
	lost, err := notKept(text, old, out)
	if err != nil {
		return err
	}
	v := viewOf(old.Name(), out, lost)
	if c.Out != "" {
		if err := os.WriteFile(c.Out, []byte(v.Definition), 0o600); err != nil {
			return fmt.Errorf("write the suggestion: %w", err)
		}
	}
	if c.Format == "json" {
		if err := show.JSON(io.Out, v); err != nil {
			return err
		}
	} else {
		c.print(io, v, len(traces))
	}
	if len(lost) > 0 {
		return console.ErrNo
	}
	return nil
}

// load reads the workflow and the runs.
func (c *Command) load(ctx context.Context, io console.Streams) (text []byte, traces []*verify.Trace, err error) {
	_, missing := os.Stat(c.Workflow)
	fromFile := missing == nil || c.Workflow == "-"
	if fromFile {
		src, err := input.Definition(c.Workflow, io)
		if err != nil {
			return nil, nil, err
		}
		text = src.JSON
	} else if input.IsDefinition(c.Workflow) {
		return nil, nil, fmt.Errorf("there is no file %s; a workflow of the server is named without .json", show.Text(c.Workflow))
	}
	var ids []string
	for _, name := range c.Named {
		if _, err := os.Stat(name); err != nil {
			if err := loaded.NoFile(name); err != nil {
				return nil, nil, err
			}
			ids = append(ids, name)
			continue
		}
		t, err := loaded.FromFile(name, io)
		if err != nil {
			return nil, nil, err
		}
		traces = append(traces, t)
	}
	if fromFile && len(c.Named) > 0 && len(ids) == 0 {
		return text, traces, nil
	}
	err = c.Do(ctx, io, auth.Operator, func(conn grpc.ClientConnInterface) error {
		if !fromFile {
			got, err := enginev1.NewWorkflowServiceClient(conn).GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: c.Workflow})
			if err != nil {
				return err
			}
			text = got.GetWorkflow().GetDefinition()
		}
		if len(c.Named) == 0 {
			m, err := definition.Flags{}.Compile(text, 1)
			if err != nil {
				return fmt.Errorf("%s: %w", c.Workflow, err)
			}
			if ids, err = c.newest(ctx, conn, m.Name()); err != nil {
				return err
			}
		}
		for _, id := range ids {
			t, err := loaded.FromServer(ctx, conn, id)
			if err != nil {
				return err
			}
			traces = append(traces, t)
		}
		return nil
	})
	return text, traces, err
}

func (c *Command) newest(ctx context.Context, conn grpc.ClientConnInterface, name string) ([]string, error) {
	runs, filter := enginev1.NewRunServiceClient(conn), listing.Filter(listing.Term{Key: "workflow", Value: name})
	return client.Collect(c.Runs, (*enginev1.Run).GetRunId, func(token string, size int32) ([]*enginev1.Run, string, error) {
		page, err := runs.ListRuns(ctx, &enginev1.ListRunsRequest{PageSize: size, PageToken: token, Filter: filter})
		return page.GetRuns(), page.GetNextPageToken(), err
	})
}

// notKept are the properties that hold for the definition and would not hold for the
// suggestion.
func notKept(text []byte, old definition.Compiled, out *verify.Suggestion) ([]string, error) {
	properties := old.Definition().Properties
	if len(properties) == 0 {
		return nil, nil
	}
	after, err := definition.Flags{}.Compile(out.Definition.AppendJSON(nil), 2)
	if err != nil {
		return nil, err
	}
	source, _ := document.Parse(text, document.Limits{})
	was := verify.Check(&verify.Model{Main: verify.Definition{Machine: old.Machine, Text: source}}, properties, verify.Options{MaxStates: 100_000})
	is := verify.Check(&verify.Model{Main: verify.Definition{Machine: after.Machine, Text: out.Definition}}, properties, verify.Options{MaxStates: 100_000})
	var lost []string
	for i := range was.Results {
		if was.Results[i].Verdict == verify.Proved && is.Results[i].Verdict != verify.Proved {
			lost = append(lost, properties[i].Name)
		}
	}
	return lost, nil
}

func viewOf(name string, out *verify.Suggestion, lost []string) *view {
	v := &view{
		Workflow: name, Runs: out.Runs, Verdict: string(out.Verdict), Proposals: []proposal{}, Left: append([]string{}, out.Left...),
		Cut: append([]string{}, out.Cut...), NotKept: append([]string{}, lost...), Definition: string(out.Definition.AppendJSON(nil)) + "\n",
	}
	for _, p := range out.Proposals {
		v.Proposals = append(v.Proposals, proposal(p))
	}
	return v
}

// mostShown bounds the runs that are named for one line.
const mostShown = 3

func (c *Command) print(io console.Streams, v *view, given int) {
	say := func(format string, args ...any) { fmt.Fprintf(io.Out, format+"\n", args...) }
	say("%s: %s of %d looked at; %s", show.Text(v.Workflow), show.Counted(v.Runs, "run"), given, show.Counted(len(v.Proposals), "proposal"))
	for _, p := range v.Proposals {
		say("state %q, %s: %s", p.State, show.Text(p.Field), show.Text(p.Why))
		if p.Was != "" {
			say("- %s", show.Text(p.Was))
		}
		if p.Is != "" {
			say("+ %s", show.Text(p.Is))
		}
		more := ""
		if len(p.Runs) > mostShown {
			more = fmt.Sprintf(" and %d more", len(p.Runs)-mostShown)
		}
		say("  %s%s", show.Text(strings.Join(p.Runs[:min(mostShown, len(p.Runs))], ", ")), more)
	}
	for _, text := range v.Left {
		say("%s", show.Text(text))
	}
	for _, run := range v.Cut {
		say("run %s would have been stopped by a limit", show.Text(run))
	}
	for _, name := range v.NotKept {
		say("property %q would no longer be proved", name)
	}
	if len(v.Proposals) > 0 {
		say("replayed: %s the same; that it allows nothing new: %s", show.Counted(v.Runs-len(v.Cut), "run"), v.Verdict)
		if c.Out != "" {
			say("Next: interlock verify %[1]s; interlock replay --candidate %[1]s; interlock workflow shadow %[1]s", show.Text(c.Out))
		}
	}
}
