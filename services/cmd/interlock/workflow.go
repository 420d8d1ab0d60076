package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type workflowCommand struct {
	Register workflowRegister `cmd:"" help:"Register a definition as the next version of its workflow."`
	List     workflowList     `cmd:"" help:"List workflows."`
	Get      workflowGet      `cmd:"" help:"Show a workflow."`
}

type workflowRegister struct {
	clientFlags
	formatFlag
	Files []string `arg:"" name:"file" help:"Definitions, JSON or YAML by their names." placeholder:"FILE"`
}

func (c *workflowRegister) Run(ctx context.Context, io streams) error {
	sources := make([][]byte, len(c.Files))
	for i, file := range c.Files {
		var err error
		if sources[i], err = definition(file, io); err != nil {
			return err
		}
	}
	conn, err := c.dial(ctx, auth.Operator)
	if err != nil {
		return err
	}
	defer conn.Close()
	workflows := enginev1.NewWorkflowServiceClient(conn)
	registered := []registeredView{}
	invalid := false
	for i, file := range c.Files {
		resp, err := workflows.Register(ctx, &enginev1.RegisterRequest{Definition: sources[i]})
		if f := fault.From(err); err != nil && f.Reason == fault.InvalidDefinition {
			invalid = true
			for _, v := range f.Violations {
				fmt.Fprintln(io.err, problemLine(file, document.Problem{
					Pointer: v.Pointer, Code: v.Code, Severity: document.SeverityError, Message: v.Message,
				}))
			}
			continue
		}
		if err != nil {
			return err
		}
		for _, w := range resp.GetWarnings() {
			fmt.Fprintln(io.err, problemLine(file, document.Problem{
				Pointer: w.GetPointer(), Code: w.GetCode(), Severity: document.SeverityWarning, Message: w.GetMessage(),
			}))
		}
		view := registeredView{jsonview.WorkflowOf(resp.GetWorkflow()), resp.GetCreated()}
		view.Definition = nil
		registered = append(registered, view)
	}
	if err := c.printRegistered(io, registered); err != nil {
		return err
	}
	if invalid {
		return errNo
	}
	return nil
}

// registeredView is the JSON of a registered workflow. Created is false when the
// same definition was registered before.
type registeredView struct {
	jsonview.Workflow
	Created bool `json:"created"`
}

// printRegistered prints one object for one file, and a list for several.
func (c *workflowRegister) printRegistered(io streams, registered []registeredView) error {
	var value any = registered
	if len(c.Files) == 1 {
		if len(registered) == 0 {
			return nil
		}
		value = registered[0]
	}
	return c.print(io.out, value, func(w *tabwriter.Writer) {
		for _, view := range registered {
			verb := "registered"
			if !view.Created {
				verb = "unchanged"
			}
			fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, visible(view.Name), view.Version)
		}
	})
}

// definition reads a file as the JSON that servers take.
func definition(file string, io streams) ([]byte, error) {
	src, err := readFile(file, io)
	if err != nil || !isYAML(file) {
		return src, err
	}
	value, problems := document.FromYAML(src)
	if problems.HasErrors() {
		return nil, refuse(file, problems, io)
	}
	return value.AppendJSON(nil), nil
}

// refuse prints a file's problems, one on a line.
func refuse(file string, problems document.Problems, io streams) error {
	for _, p := range problems {
		fmt.Fprintln(io.err, problemLine(file, p))
	}
	return errNo
}

type workflowList struct {
	clientFlags
	formatFlag
}

func (c *workflowList) Run(ctx context.Context, io streams) error {
	conn, err := c.dial(ctx, auth.Operator)
	if err != nil {
		return err
	}
	defer conn.Close()
	workflows := enginev1.NewWorkflowServiceClient(conn)
	all := []jsonview.Workflow{}
	for token := ""; ; {
		page, err := workflows.List(ctx, &enginev1.WorkflowServiceListRequest{PageToken: token, PageSize: 1000})
		if err != nil {
			return err
		}
		for _, w := range page.GetWorkflows() {
			all = append(all, jsonview.WorkflowOf(w))
		}
		if token = page.GetNextPageToken(); token == "" {
			break
		}
	}
	return c.print(io.out, all, func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "NAME\tVERSION\tCREATED\tBY")
		for _, v := range all {
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", visible(v.Name), v.Version, v.CreatedAt.Format(timeLayout), visible(v.CreatedBy))
		}
	})
}

type workflowGet struct {
	clientFlags
	formatFlag
	Name    string `arg:"" help:"Name of the workflow."`
	Version int64  `help:"Version; the latest by default."`
}

func (c *workflowGet) Run(ctx context.Context, io streams) error {
	conn, err := c.dial(ctx, auth.Operator)
	if err != nil {
		return err
	}
	defer conn.Close()
	resp, err := enginev1.NewWorkflowServiceClient(conn).Get(ctx, &enginev1.WorkflowServiceGetRequest{Name: c.Name, Version: c.Version})
	if err != nil {
		return err
	}
	view := jsonview.WorkflowOf(resp.GetWorkflow())
	return c.print(io.out, view, func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "%s\tversion %d\t%s\n", visible(view.Name), view.Version, view.Digest)
		fmt.Fprintln(w, visibleLines(string(view.Definition)))
	})
}
