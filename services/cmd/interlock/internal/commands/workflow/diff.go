package workflow

import (
	"context"
	"fmt"
	"io"
	"strings"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type diffCommand struct {
	client.Connection
	show.Printer
	Name string `arg:"" help:"Name of the workflow; or a file, and the file to compare it with." placeholder:"NAME"`
	File string `arg:"" optional:"" help:"The later one of two files, JSON or YAML by their names: no server is asked." placeholder:"FILE"`
	From int64  `help:"The earlier version; the one before --to by default."`
	To   int64  `help:"The later version; the newest by default."`
}

func (c *diffCommand) Run(ctx context.Context, streams console.Streams) error {
	if c.File != "" {
		return c.files(streams)
	}
	return c.Do(ctx, streams, auth.Operator, func(conn grpc.ClientConnInterface) error {
		workflows := enginev1.NewWorkflowServiceClient(conn)
		read := func(version int64) (jsonview.Definition, int64, error) {
			resp, err := workflows.GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: c.Name, Version: version})
			if err != nil {
				return jsonview.Definition{}, 0, err
			}
			def, err := parsed(input.Source{Name: c.Name, Text: resp.GetWorkflow().GetDefinition()}, streams)
			return def, resp.GetWorkflow().GetVersion(), err
		}
		after, to, err := read(c.To)
		if err != nil {
			return err
		}
		from := c.From
		if from == 0 {
			from = max(to-1, 1)
		}
		before, from, err := read(from)
		if err != nil {
			return err
		}
		return c.print(streams, jsonview.WorkflowDiffOf(from, to, before, after))
	})
}

// files compares two files.
func (c *diffCommand) files(streams console.Streams) error {
	if c.From != 0 || c.To != 0 {
		return console.Misusedf("files have no versions: leave --from and --to out")
	}
	var read [2]jsonview.Definition
	for i, file := range []string{c.Name, c.File} {
		text, err := input.File(file, streams.In)
		if err != nil {
			return err
		}
		if read[i], err = parsed(input.Source{Name: file, Text: text}, streams); err != nil {
			return err
		}
	}
	return c.print(streams, jsonview.WorkflowDiffOf(0, 0, read[0], read[1]))
}

// parsed reads a valid workflow.
func parsed(src input.Source, streams console.Streams) (jsonview.Definition, error) {
	doc, problems := src.Parse()
	if problems.HasErrors() {
		return jsonview.Definition{}, src.Refuse(problems, streams)
	}
	if kind := document.KindOf(doc); kind != "" && kind != "workflow" {
		return jsonview.Definition{}, fmt.Errorf("%s is a %s: only workflows can be compared", src.Name, kind)
	}
	def, problems := workflow.ParseValue(doc)
	if problems.HasErrors() {
		return jsonview.Definition{}, src.Refuse(problems, streams)
	}
	return jsonview.Definition{Parsed: def, Document: doc}, nil
}

func (c *diffCommand) print(streams console.Streams, d jsonview.WorkflowDiff) error {
	return c.Print(streams.Out, d, func(w *show.Sheet) {
		if d.To > 0 {
			fmt.Fprintf(w, "version %d -> version %d\n", d.From, d.To)
		}
		if len(d.States)+len(d.DefinitionFields) == 0 {
			fmt.Fprintln(w, "no differences")
		}
		printDiff(w, &d)
	})
}

func printDiff(w io.Writer, d *jsonview.WorkflowDiff) {
	for i := range d.States {
		printState(w, &d.States[i])
	}
	if len(d.DefinitionFields) > 0 {
		fmt.Fprintln(w, "definition:")
		printFields(w, d.DefinitionFields)
	}
}

// Describe returns a difference in words, line by line.
func Describe(d *jsonview.WorkflowDiff) []string {
	var out strings.Builder
	printDiff(&out, d)
	return strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
}

func printState(w io.Writer, s *jsonview.StateDiff) {
	fmt.Fprintf(w, "state %s: %s\n", show.Text(s.State), s.Change)
	for _, l := range []struct {
		sign, what string
		list       []string
	}{
		{"+", "tools", s.ToolsGained}, {"-", "tools", s.ToolsLost}, {"+", "commands", s.CommandsGained}, {"-", "commands", s.CommandsLost},
	} {
		if len(l.list) > 0 {
			fmt.Fprintf(w, "  %s %s: %s\n", l.sign, l.what, show.Text(strings.Join(l.list, ", ")))
		}
	}
	for i := range s.EventsAdded {
		fmt.Fprintf(w, "  + %s\n", event(&s.EventsAdded[i]))
	}
	for i := range s.EventsRemoved {
		fmt.Fprintf(w, "  - %s\n", event(&s.EventsRemoved[i]))
	}
	for i := range s.EventsChanged {
		e := &s.EventsChanged[i]
		before, after := event(&e.Before), event(&e.After)
		if before == after { // the difference is not in the short form
			before, after = show.Text(e.Event+" "+string(e.Before.Definition)), show.Text(e.Event+" "+string(e.After.Definition))
		}
		fmt.Fprintf(w, "  - %s\n  + %s\n", before, after)
	}
	printFields(w, s.Fields)
}

func event(e *jsonview.EventDef) string {
	return show.Text(workflow.LegalEvent{
		Event: e.Event, Targets: e.Targets, Guards: e.Guards, RequiresApproval: e.RequiresApproval,
	}.String())
}

func printFields(w io.Writer, fields []jsonview.FieldDiff) {
	for i := range fields {
		f := &fields[i]
		if len(f.Before) > 0 {
			fmt.Fprintf(w, "  - %s: %s\n", show.Text(f.Pointer), show.Text(string(f.Before)))
		}
		if len(f.After) > 0 {
			fmt.Fprintf(w, "  + %s: %s\n", show.Text(f.Pointer), show.Text(string(f.After)))
		}
	}
}
