package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type workflowCommand struct {
	Register workflowRegister `cmd:"" help:"Register a definition as the next version of its workflow."`
	List     workflowList     `cmd:"" help:"List workflows."`
	Get      workflowGet      `cmd:"" help:"Show a workflow."`
}

type workflowRegister struct {
	registerFlags
	Shadow bool `help:"Judge tool calls by it beside the live version, and enforce nothing."`
}

func (c *workflowRegister) Run(ctx context.Context, io streams) error {
	if c.Shadow {
		return c.shadow(ctx, io)
	}
	return c.register(ctx, io, func(conn grpc.ClientConnInterface, source []byte) (*registeredView, []*enginev1.Problem, error) {
		resp, err := enginev1.NewWorkflowServiceClient(conn).RegisterWorkflow(ctx, &enginev1.RegisterWorkflowRequest{Definition: source})
		if err != nil {
			return nil, nil, err
		}
		view := jsonview.WorkflowOf(resp.GetWorkflow())
		view.Definition = nil
		return &registeredView{
			value: registeredWorkflow{view, resp.GetCreated()}, name: view.Name, version: view.Version, created: resp.GetCreated(),
		}, resp.GetWarnings(), nil
	})
}

// registeredWorkflow is the JSON of a registered workflow.
type registeredWorkflow struct {
	jsonview.Workflow
	Created bool `json:"created"`
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
		page, err := workflows.ListWorkflows(ctx, &enginev1.ListWorkflowsRequest{PageToken: token, PageSize: 1000})
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
	resp, err := enginev1.NewWorkflowServiceClient(conn).GetWorkflow(ctx, &enginev1.GetWorkflowRequest{Name: c.Name, Version: c.Version})
	if err != nil {
		return err
	}
	view := jsonview.WorkflowOf(resp.GetWorkflow())
	return c.print(io.out, view, func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "%s\tversion %d\t%s\n", visible(view.Name), view.Version, view.Digest)
		fmt.Fprintln(w, visibleLines(string(view.Definition)))
	})
}
