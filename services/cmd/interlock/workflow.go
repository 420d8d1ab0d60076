package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"google.golang.org/grpc"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
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

func (c *workflowRegister) Run(ctx context.Context, io console.Streams) error {
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

type workflowList struct {
	clientFlags
	show.Printer
}

func (c *workflowList) Run(ctx context.Context, io console.Streams) error {
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
	return c.Print(io.Out, all, func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "NAME\tVERSION\tCREATED\tBY")
		for _, v := range all {
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\n", show.Text(v.Name), v.Version, show.Time(v.CreatedAt), show.Text(v.CreatedBy))
		}
	})
}

type workflowGet struct {
	clientFlags
	show.Printer
	Name    string `arg:"" help:"Name of the workflow."`
	Version int64  `help:"Version; the latest by default."`
}

func (c *workflowGet) Run(ctx context.Context, io console.Streams) error {
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
	return c.Print(io.Out, view, func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "%s\tversion %d\t%s\n", show.Text(view.Name), view.Version, view.Digest)
		fmt.Fprintln(w, show.Lines(string(view.Definition)))
	})
}
