package offline

import (
	"context"
	"fmt"

	"github.com/interlock-run/interlock/pkg/diagram"
	"github.com/interlock-run/interlock/pkg/process"
	"github.com/interlock-run/interlock/pkg/workflow"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
)

// Viz is the command that draws a workflow or a process.
type Viz struct {
	File   string `arg:"" help:"Workflow or process, JSON or YAML by its name; - is standard input." placeholder:"FILE"`
	Format string `help:"Output: mermaid, dot or svg." enum:"mermaid,dot,svg" default:"mermaid"`
}

// Run draws valid files. Others are explained as validate does, on the other stream: it
// must not be taken for a picture.
func (c *Viz) Run(_ context.Context, io console.Streams) error {
	src, err := input.File(c.File, io.In)
	if err != nil {
		return err
	}
	v := validate(input.Source{Name: c.File, Text: src}, false, workflow.UntilSuccess)
	if !v.OK {
		return v.source.Refuse(v.Problems, io)
	}
	var graph *diagram.Diagram
	value, _ := v.source.Parse()
	switch v.Kind {
	case "workflow":
		def, _ := workflow.ParseValue(value) // which has been found valid
		graph = diagram.Workflow(def)
	case "process":
		def, _ := process.ParseValue(value)
		graph = diagram.Process(def)
	default:
		return fmt.Errorf("%s is a %s, which has no states to draw: name a workflow or a process", c.File, v.Kind)
	}
	draw := map[string]func() string{"mermaid": graph.Mermaid, "dot": graph.DOT, "svg": graph.SVG}[c.Format]
	_, err = fmt.Fprint(io.Out, draw())
	return err
}
