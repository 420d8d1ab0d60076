package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type componentCommand struct {
	Create componentCreate `cmd:"" help:"Create a component."`
	Update componentUpdate `cmd:"" help:"Replace the definition of a component."`
	List   componentList   `cmd:"" help:"List components."`
	Get    componentGet    `cmd:"" help:"Show a component."`
	Delete componentDelete `cmd:"" help:"Delete a component."`
	Values componentValues `cmd:"" help:"Show the values that the next execution would start with."`
	Begin  componentBegin  `cmd:"" help:"Begin an execution, and show the values that it starts with."`
	Commit componentCommit `cmd:"" help:"End an execution, and keep its values as long as the component says."`
}

type componentCreate struct {
	clientFlags
	show.Printer
	File           string `arg:"" help:"The definition, in JSON or YAML by its name." placeholder:"FILE"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first component." placeholder:"KEY"`
}

func (c *componentCreate) Run(ctx context.Context, io console.Streams) error {
	text, err := input.Document(c.File, io)
	if err != nil {
		return err
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).CreateComponent(ctx, &statev1.CreateComponentRequest{
			Definition: text, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return invalidFile(c.File, "", err, io)
		}
		return printComponentChanged(c.Printer, io, "created", resp.GetComponent())
	})
}

type componentUpdate struct {
	clientFlags
	show.Printer
	File            string `arg:"" help:"The new definition of the component that its slug names, in JSON or YAML by its name." placeholder:"FILE"`
	ExpectedVersion int64  `help:"Fail unless the component is at this version." placeholder:"N"`
}

func (c *componentUpdate) Run(ctx context.Context, io console.Streams) error {
	text, err := input.Document(c.File, io)
	if err != nil {
		return err
	}
	component, problems := document.ParseComponent(text)
	if problems.HasErrors() {
		return input.Refuse(c.File, problems, io)
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).UpdateComponent(ctx, &statev1.UpdateComponentRequest{
			Slug: component.Slug, Definition: text, ExpectedVersion: c.ExpectedVersion,
		})
		if err != nil {
			return invalidFile(c.File, "", err, io)
		}
		return printComponentChanged(c.Printer, io, "updated", resp.GetComponent())
	})
}

func printComponentChanged(p show.Printer, io console.Streams, verb string, component *statev1.Component) error {
	view := jsonview.ComponentOf(component)
	return p.Print(io.Out, view, func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, show.Text(view.Slug), view.Version)
	})
}

type componentList struct {
	clientFlags
	show.Printer
	Tag string `help:"Only components that have this tag." placeholder:"TAG"`
}

func (c *componentList) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		components := statev1.NewComponentServiceClient(conn)
		all, err := collect(noLimit, jsonview.ComponentOf, func(token string, size int32) ([]*statev1.Component, string, error) {
			page, err := components.ListComponents(ctx, &statev1.ListComponentsRequest{Tag: c.Tag, PageToken: token, PageSize: size})
			return page.GetComponents(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return c.Print(io.Out, all, func(w *tabwriter.Writer) {
			fmt.Fprintln(w, "SLUG\tNAME\tVERSION\tPERSISTENCE\tTAGS\tUPDATED")
			for i := range all {
				v := &all[i]
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", v.Slug, show.Text(v.Name), v.Version, v.Persistence,
					show.Text(strings.Join(v.Tags, ", ")), show.Time(v.UpdatedAt))
			}
		})
	})
}

type componentGet struct {
	clientFlags
	show.Printer
	Slug string `arg:"" help:"Slug of the component."`
}

func (c *componentGet) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).GetComponent(ctx, &statev1.GetComponentRequest{Slug: c.Slug})
		if err != nil {
			return err
		}
		view := jsonview.ComponentOf(resp.GetComponent())
		return c.Print(io.Out, view, func(w *tabwriter.Writer) {
			t := show.Rows{W: w}
			t.Row("component", view.Slug)
			t.Row("name", view.Name)
			t.Row("description", view.Description)
			t.Row("tags", strings.Join(view.Tags, ", "))
			t.Row("persistence", view.Persistence)
			t.Row("initial values", string(view.InitialValues))
			t.Row("updated", show.Time(view.UpdatedAt))
			t.Row("version", fmt.Sprint(view.Version))
			fmt.Fprintln(w, show.Indented(view.SchemaDefinition))
		})
	})
}

type componentDelete struct {
	clientFlags
	show.Printer
	Slug            string `arg:"" help:"Slug of the component."`
	ExpectedVersion int64  `help:"Fail unless the component is at this version." placeholder:"N"`
}

func (c *componentDelete) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		_, err := statev1.NewComponentServiceClient(conn).DeleteComponent(ctx, &statev1.DeleteComponentRequest{
			Slug: c.Slug, ExpectedVersion: c.ExpectedVersion,
		})
		if err != nil {
			return err
		}
		view := struct {
			Slug    string `json:"slug"`
			Deleted bool   `json:"deleted"`
		}{c.Slug, true}
		return c.Print(io.Out, view, func(w *tabwriter.Writer) { fmt.Fprintf(w, "deleted\t%s\n", show.Text(c.Slug)) })
	})
}
