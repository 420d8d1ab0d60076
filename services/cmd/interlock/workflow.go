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
	conn, err := c.dial(ctx, auth.Operator)
	if err != nil {
		return err
	}
	defer conn.Close()
	workflows := enginev1.NewWorkflowServiceClient(conn)
	for _, file := range c.Files {
		src, err := definition(file, io)
		if err != nil {
			return err
		}
		resp, err := workflows.Register(ctx, &enginev1.RegisterRequest{Definition: src})
		if f := fault.From(err); err != nil && f.Reason == fault.InvalidDefinition {
			for _, v := range f.Violations {
				fmt.Fprintf(io.err, "%s: %s: %s: %s\n", file, v.Pointer, v.Code, v.Message)
			}
			return errNo
		}
		if err != nil {
			return err
		}
		for _, w := range resp.GetWarnings() {
			fmt.Fprintf(io.err, "%s: warning: %s: %s: %s\n", file, w.GetPointer(), w.GetCode(), w.GetMessage())
		}
		view := jsonview.WorkflowOf(resp.GetWorkflow())
		view.Definition = nil
		err = c.print(io.out, view, func(w *tabwriter.Writer) {
			verb := "registered"
			if !resp.GetCreated() {
				verb = "unchanged"
			}
			fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, view.Name, view.Version)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// definition reads a file as the JSON that servers take.
func definition(file string, io streams) ([]byte, error) {
	src, err := readFile(file, io)
	if err != nil || !isYAML(file) {
		return src, err
	}
	value, problems := document.FromYAML(src)
	if err := problems.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return value.AppendJSON(nil), nil
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
		fmt.Fprintf(w, "%s\tversion %d\t%s\n%s\n", view.Name, view.Version, view.Digest, view.Definition)
	})
}
