package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
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
	formatFlag
	File           string `arg:"" help:"The definition, in JSON or YAML by its name." placeholder:"FILE"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first component." placeholder:"KEY"`
}

func (c *componentCreate) Run(ctx context.Context, io streams) error {
	text, err := documentFile(c.File, io)
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
		return c.printComponentChanged(io, "created", resp.GetComponent())
	})
}

type componentUpdate struct {
	clientFlags
	formatFlag
	File            string `arg:"" help:"The new definition of the component that its slug names, in JSON or YAML by its name." placeholder:"FILE"`
	ExpectedVersion int64  `help:"Fail unless the component is at this version." placeholder:"N"`
}

func (c *componentUpdate) Run(ctx context.Context, io streams) error {
	text, err := documentFile(c.File, io)
	if err != nil {
		return err
	}
	component, problems := document.ParseComponent(text)
	if problems.HasErrors() {
		return refuse(c.File, problems, io)
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).UpdateComponent(ctx, &statev1.UpdateComponentRequest{
			Slug: component.Slug, Definition: text, ExpectedVersion: c.ExpectedVersion,
		})
		if err != nil {
			return invalidFile(c.File, "", err, io)
		}
		return c.printComponentChanged(io, "updated", resp.GetComponent())
	})
}

func (f formatFlag) printComponentChanged(io streams, verb string, component *statev1.Component) error {
	view := jsonview.ComponentOf(component)
	return f.print(io.out, view, func(w *tabwriter.Writer) {
		fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, visible(view.Slug), view.Version)
	})
}

type componentList struct {
	clientFlags
	formatFlag
	Tag string `help:"Only components that have this tag." placeholder:"TAG"`
}

func (c *componentList) Run(ctx context.Context, io streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		components := statev1.NewComponentServiceClient(conn)
		all, err := collect(noLimit, jsonview.ComponentOf, func(token string, size int32) ([]*statev1.Component, string, error) {
			page, err := components.ListComponents(ctx, &statev1.ListComponentsRequest{Tag: c.Tag, PageToken: token, PageSize: size})
			return page.GetComponents(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return c.print(io.out, all, func(w *tabwriter.Writer) {
			fmt.Fprintln(w, "SLUG\tNAME\tVERSION\tPERSISTENCE\tTAGS\tUPDATED")
			for i := range all {
				v := &all[i]
				fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\n", v.Slug, visible(v.Name), v.Version, v.Persistence,
					visible(strings.Join(v.Tags, ", ")), v.UpdatedAt.Format(timeLayout))
			}
		})
	})
}

type componentGet struct {
	clientFlags
	formatFlag
	Slug string `arg:"" help:"Slug of the component."`
}

func (c *componentGet) Run(ctx context.Context, io streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).GetComponent(ctx, &statev1.GetComponentRequest{Slug: c.Slug})
		if err != nil {
			return err
		}
		view := jsonview.ComponentOf(resp.GetComponent())
		return c.print(io.out, view, func(w *tabwriter.Writer) {
			t := rows{w}
			t.row("component", view.Slug)
			t.row("name", view.Name)
			t.row("description", view.Description)
			t.row("tags", strings.Join(view.Tags, ", "))
			t.row("persistence", view.Persistence)
			t.row("initial values", string(view.InitialValues))
			t.row("updated", view.UpdatedAt.Format(timeLayout))
			t.row("version", fmt.Sprint(view.Version))
			fmt.Fprintln(w, indented(view.SchemaDefinition))
		})
	})
}

type componentDelete struct {
	clientFlags
	formatFlag
	Slug            string `arg:"" help:"Slug of the component."`
	ExpectedVersion int64  `help:"Fail unless the component is at this version." placeholder:"N"`
}

func (c *componentDelete) Run(ctx context.Context, io streams) error {
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
		return c.print(io.out, view, func(w *tabwriter.Writer) { fmt.Fprintf(w, "deleted\t%s\n", visible(c.Slug)) })
	})
}
