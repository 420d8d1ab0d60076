// Package suggest has the command that proposes the tightest definition under which recorded
// runs would have gone the same way.
package suggest

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/verify"
	"github.com/interlock-run/interlock/pkg/verify/conform"
	"github.com/interlock-run/interlock/pkg/verify/suggest"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	loaded "github.com/interlock-run/interlock/services/cmd/interlock/internal/commands/verify"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/definition"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/replayed"
)

// Command suggests.
type Command struct {
	client.Connection
	Named           []string `arg:"" optional:"" name:"run" help:"Runs to learn from: ids of a server, or files that interlock verify --run RUN --save FILE exported. Without any, the newest of the workflow." placeholder:"RUN|FILE"`
	Observed        bool     `help:"Write a first workflow, from the calls of sessions that drove no run: interlock init --observe records them."`
	Name            string   `help:"With --observed: the name of the workflow." default:"first" placeholder:"NAME"`
	Since           string   `help:"With --observed: only calls since then: 24h, or 2026-01-31T08:00:00Z." placeholder:"TIME"`
	Workflow        string   `help:"The workflow: a file, or the name of one of the server, in its latest version." placeholder:"NAME|FILE"`
	Runs            int      `help:"At most this many runs of the server, the newest first." default:"100" placeholder:"N"`
	Status          string   `help:"Only runs of this status, e.g. COMPLETED." placeholder:"STATUS"`
	Session         string   `help:"Only runs that this session drives." placeholder:"ID"`
	MinRuns         int      `help:"How many runs must have been in a state before anything is proposed for it." default:"5" placeholder:"N"`
	DropTransitions bool     `help:"Remove transitions that were never taken, too."`
	Conditions      bool     `help:"Propose conditions on the inputs of calls, too: folders, hosts, few values, bounds. Agents choose their inputs, so read each."`
	Properties      string   `help:"A file of more properties that must stay proved; those of the workflow, and of NAME.properties.yaml next to NAME.json, must anyway." placeholder:"FILE"`
	Policy          []string `help:"A policy that judges the calls of the workflow when properties are checked; may be repeated." placeholder:"FILE" sep:"none"`
	PolicyOut       string   `help:"Write a policy there that allows agents their calls in these runs, as often, and denies the rest." placeholder:"FILE"`
	MaxStates       int      `help:"The most states that are explored to prove that there are no new rights, and for each property." default:"20000" placeholder:"N"`
	Out             string   `short:"f" help:"Write the suggestion there." placeholder:"FILE"`
	Format          string   `help:"Output: text or json." enum:"text,json" default:"text"`
}

// view is the output for programs.
type view struct {
	Workflow   string     `json:"workflow"`
	Runs       int        `json:"runs"`
	Verdict    string     `json:"verdict"`
	Proposals  []proposal `json:"proposals"`
	Left       []string   `json:"left"`
	Cut        []string   `json:"cut"`
	NotKept    []string   `json:"not_kept"`
	Definition string     `json:"definition"`
	// Capabilities are those that a policy of these runs allows; with --policy-out.
	Capabilities []capability `json:"capabilities,omitempty"`
}

type capability struct {
	Capability string   `json:"capability"`
	Calls      int      `json:"calls"`
	MaxCalls   int64    `json:"max_calls"`
	Runs       []string `json:"runs"`
	Cut        []string `json:"cut"`
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
	if c.MinRuns < 1 || c.Runs < 1 || c.MaxStates < 1 {
		return console.Misusedf("--min-runs, --runs and --max-states must be at least 1")
	}
	if _, err := client.Choice("status", c.Status, enginev1.RunStatus_value, "RUN_STATUS_", jsonview.StatusNames()); err != nil {
		return err
	}
	switch {
	case c.Observed && (c.Workflow != "" || len(c.Named) > 0):
		return console.Misusedf("give --observed, or a workflow and its runs, not both: observed sessions drove no run")
	case !c.Observed && c.Workflow == "":
		return console.Misusedf("give --workflow NAME, or --observed for sessions that drove no run")
	}
	load := c.load
	if c.Observed {
		load = c.loadObserved
	}
	text, traces, err := load(ctx, io)
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
	for _, t := range traces {
		if other := t.Workflow(); other != old.Name() {
			return console.Misusedf("run %s is one of workflow %q, and not of %q", t.RunID, other, old.Name())
		}
	}
	out, err := suggest.Definition(source, 1, traces, suggest.Options{MinRuns: c.MinRuns, DropTransitions: c.DropTransitions, Conditions: c.Conditions, MaxStates: c.MaxStates})
	if err != nil {
		return err
	}
	lost, err := c.notKept(io, source, old, out)
	if err != nil {
		return err
	}
	v, err := viewOf(old.Name(), out, lost)
	if err != nil {
		return err
	}
	if err := c.writePolicy(old.Machine, out.Kept, v); err != nil {
		return err
	}
	if c.Out != "" {
		if err := os.WriteFile(c.Out, []byte(v.Definition), 0o600); err != nil {
			return fmt.Errorf("write the suggestion: %w", err)
		}
	}
	if c.Format == "json" {
		if err := show.JSON(io.Out, v); err != nil {
			return err
		}
		return c.answer(v)
	}
	c.print(io, v, len(traces))
	if c.Observed {
		c.printFirst(io, v)
	}
	return c.answer(v)
}

// writePolicy writes the policy that the runs need.
func (c *Command) writePolicy(m *workflow.Machine, runs []*conform.Trace, v *view) error {
	if c.PolicyOut == "" {
		return nil
	}
	policy, used, err := suggest.Policy(m, string(auth.Agent), runs)
	if err != nil {
		return err
	}
	text, err := indented(policy)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.PolicyOut, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write the policy: %w", err)
	}
	for _, u := range used {
		v.Capabilities = append(v.Capabilities, capability{u.Capability, u.Calls, u.Most, u.Runs, append([]string{}, u.Cut...)})
	}
	return nil
}

func indented(v document.Value) (string, error) {
	text := jsontext.Value(v.AppendJSON(nil))
	if err := text.Indent(jsontext.WithIndent("  ")); err != nil {
		return "", fmt.Errorf("write the suggestion: %w", err)
	}
	return string(text) + "\n", nil
}

// answer returns the exit code: 1 when a property is lost, 2 when it is not proved that there
// are no new rights.
func (c *Command) answer(v *view) error {
	switch {
	case len(v.NotKept) > 0:
		return console.ErrNo
	case len(v.Proposals) > 0 && v.Verdict != string(verify.Proved):
		return fmt.Errorf("it is not proved that the suggestion adds no permission: more than %d pairs of conditions; raise --max-states", c.MaxStates)
	default:
		return nil
	}
}

// load reads the workflow and the runs.
func (c *Command) load(ctx context.Context, io console.Streams) (text []byte, traces []*conform.Trace, err error) {
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
	traces, ids, err := loaded.Named(c.Named, io)
	if err != nil {
		return nil, nil, err
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
	filter := replayed.Filter{Workflow: name, Status: strings.ToUpper(c.Status), Session: c.Session}
	ids, _, err := replayed.Newest(ctx, enginev1.NewRunServiceClient(conn), filter, c.Runs)
	return ids, err
}

// notKept returns the properties that are proved of the definition and would not be of
// the suggestion.
func (c *Command) notKept(io console.Streams, source document.Value, old definition.Compiled, out *suggest.Suggestion) ([]string, error) {
	more, err := loaded.MoreProperties(c.Workflow, c.Properties, old.Definition(), io)
	if err != nil {
		return nil, err
	}
	policies, err := loaded.Policies(c.Policy, io)
	if err != nil {
		return nil, err
	}
	properties := append(slices.Clone(old.Definition().Properties), more...)
	if len(properties) == 0 || len(out.Proposals) == 0 {
		return nil, nil
	}
	after, err := definition.Flags{}.Compile(out.Definition.AppendJSON(nil), 2)
	if err != nil {
		return nil, err
	}
	check := func(m *workflow.Machine, text document.Value) verify.Report {
		return verify.Check(&verify.Model{Main: verify.Definition{Machine: m, Text: text}, Policies: policies}, properties, verify.Options{MaxStates: c.MaxStates})
	}
	was, is := check(old.Machine, source), check(after.Machine, out.Definition)
	var lost []string
	for i := range was.Results {
		if before, after := was.Results[i].Verdict, is.Results[i].Verdict; before.Holds() && after != before && after != verify.Proved {
			lost = append(lost, properties[i].Name)
		}
	}
	return lost, nil
}

func viewOf(name string, out *suggest.Suggestion, lost []string) (*view, error) {
	text, err := indented(out.Definition)
	if err != nil {
		return nil, err
	}
	v := &view{
		Workflow: name, Runs: out.Runs, Verdict: string(out.Verdict), Proposals: []proposal{}, Left: append([]string{}, out.Left...),
		Cut: append([]string{}, out.Cut...), NotKept: append([]string{}, lost...), Definition: text,
	}
	for _, p := range out.Proposals {
		v.Proposals = append(v.Proposals, proposal(p))
	}
	return v, nil
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
		say("  %s", named(p.Runs))
	}
	for _, text := range v.Left {
		say("%s", show.Text(text))
	}
	for _, run := range v.Cut {
		say("run %s: a limit would have refused a call", show.Text(run))
	}
	for _, name := range v.NotKept {
		say("property %q would no longer be proved", name)
	}
	c.printPolicy(say, v)
	if len(v.Proposals) > 0 {
		say("replayed: %s the same; no new permissions: %s", show.Counted(v.Runs-len(v.Cut), "run"), v.Verdict)
		if c.Out != "" && !c.Observed {
			say("Next: interlock verify %[1]s; interlock replay --candidate %[1]s; interlock workflow register %[1]s --shadow", show.Text(c.Out))
		}
	}
}

// printFirst shows the workflow of observed sessions, and how to enforce it.
func (c *Command) printFirst(io console.Streams, v *view) {
	if c.Out == "" {
		fmt.Fprint(io.Out, v.Definition)
		return
	}
	fmt.Fprintf(io.Out, "written to %s. Read it, name its phases, and add guards. Next:\n  interlock workflow register %[1]s\n  interlock init claude-code --workflow %[1]s\n", show.Text(c.Out))
}

// printPolicy shows the calls that a policy of the runs allows.
func (c *Command) printPolicy(say func(string, ...any), v *view) {
	if c.PolicyOut == "" {
		return
	}
	say("%s: the calls that agents may make, and how often; others are denied", show.Text(c.PolicyOut))
	for _, u := range v.Capabilities {
		say("+ %s: at most %d an hour in a session, for %s", show.Text(u.Capability), u.MaxCalls, show.Counted(u.Calls, "call"))
		say("  %s", named(u.Runs))
		for _, session := range u.Cut {
			say("  session %s called it more often", show.Text(session))
		}
	}
	say("Next: interlock policy simulate %[1]s --since 24h; interlock policy put %[1]s --shadow", show.Text(c.PolicyOut))
}

// named returns runs for people, not all where there are many.
func named(runs []string) string {
	text := show.Text(strings.Join(runs[:min(mostShown, len(runs))], ", "))
	if len(runs) > mostShown {
		text += fmt.Sprintf(" and %d more", len(runs)-mostShown)
	}
	return text
}
