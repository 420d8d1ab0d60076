package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"google.golang.org/grpc"

	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
)

type policyShadowWorkflow struct {
	clientFlags
	show.Printer
	File string `arg:"" optional:"" help:"The other definition of the workflow, JSON or YAML by its name." placeholder:"FILE"`
	End  string `help:"End the shadow of this workflow." placeholder:"NAME"`
}

func (c *policyShadowWorkflow) Run(ctx context.Context, io console.Streams) error {
	if (c.File == "") == (c.End == "") {
		return errors.New("give the file of a definition, or --end with the name of a workflow")
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		view := shadowView{Workflow: c.End}
		var err error
		if c.End == "" {
			view, err = putShadow(ctx, conn, c.File, io)
		} else {
			_, err = policyv1.NewPolicyServiceClient(conn).ShadowWorkflow(ctx, &policyv1.ShadowWorkflowRequest{Workflow: c.End})
		}
		if err != nil {
			return err
		}
		return c.Print(io.Out, view, func(w *tabwriter.Writer) { view.row(w) })
	})
}

// shadowView is the JSON of a workflow's shadow; the digest is empty when it has
// ended.
type shadowView struct {
	Workflow string `json:"workflow"`
	Digest   string `json:"digest"`
}

func (v *shadowView) row(w *tabwriter.Writer) {
	if v.Digest == "" {
		fmt.Fprintf(w, "ended\t%s\n", show.Text(v.Workflow))
		return
	}
	fmt.Fprintf(w, "shadow\t%s\t%s\n", show.Text(v.Workflow), v.Digest)
}

// putShadow makes a file's definition the shadow of the workflow of its id.
func putShadow(ctx context.Context, conn grpc.ClientConnInterface, file string, io console.Streams) (shadowView, error) {
	source, err := input.Document(file, io)
	if err != nil {
		return shadowView{}, err
	}
	id, _ := document.Parse(source, input.Limits)
	name, _ := id.Get("id")
	resp, err := policyv1.NewPolicyServiceClient(conn).ShadowWorkflow(ctx, &policyv1.ShadowWorkflowRequest{Definition: source})
	if err != nil {
		return shadowView{}, invalidFile(file, "", err, io)
	}
	return shadowView{Workflow: name.Str(), Digest: resp.GetDigest()}, nil
}
