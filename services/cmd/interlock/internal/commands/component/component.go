package component

import (
	"context"
	"fmt"
	"strings"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
	"github.com/interlock-run/interlock/services/internal/listing"
)

// oneComponent names the component of a command.
type oneComponent struct {
	client.Connection
	show.Printer
	Slug string `arg:"" help:"Slug of the component."`
}

// printChanged prints the change of a component.
func printChanged(p show.Printer, io console.Streams, verb string, component *statev1.Component) error {
	view := jsonview.ComponentOf(component)
	return p.Print(io.Out, view, func(w *show.Sheet) {
		fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, show.Text(view.Slug), view.Version)
	})
}

type createCommand struct {
	client.Connection
	show.Printer
	File           string `arg:"" help:"The definition, in JSON or YAML by its name." placeholder:"FILE"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first component." placeholder:"KEY"`
}

func (c *createCommand) Run(ctx context.Context, io console.Streams) error {
	text, err := input.Document(c.File, io)
	if err != nil {
		return err
	}
	text.Wanted = "component"
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).CreateComponent(ctx, &statev1.CreateComponentRequest{
			Definition: text.JSON, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return client.InvalidFile(text, "", err, io)
		}
		return printChanged(c.Printer, io, "created", resp.GetComponent())
	})
}

type updateCommand struct {
	client.Connection
	show.Printer
	File            string `arg:"" help:"The new definition of the component that its slug names, in JSON or YAML by its name." placeholder:"FILE"`
	ExpectedVersion int64  `help:"Fail unless the component is at this version." placeholder:"N"`
}

func (c *updateCommand) Run(ctx context.Context, io console.Streams) error {
	text, err := input.Document(c.File, io)
	if err != nil {
		return err
	}
	text.Wanted = "component"
	component, problems := document.ParseComponent(text.JSON)
	if problems.HasErrors() {
		return text.Refuse(problems, io)
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).UpdateComponent(ctx, &statev1.UpdateComponentRequest{
			Slug: component.Slug, Definition: text.JSON, ExpectedVersion: c.ExpectedVersion,
		})
		if err != nil {
			return client.InvalidFile(text, "", err, io)
		}
		return printChanged(c.Printer, io, "updated", resp.GetComponent())
	})
}

type listCommand struct {
	client.Connection
	show.Printer
	Tag string `help:"Only components that have this tag." placeholder:"TAG"`
}

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		components := statev1.NewComponentServiceClient(conn)
		all, err := client.Collect(client.NoLimit, jsonview.ComponentOf,
			func(token string, size int32) ([]*statev1.Component, string, error) {
				page, err := components.ListComponents(ctx, &statev1.ListComponentsRequest{
					PageSize: size, PageToken: token, Filter: listing.Filter(listing.Term{Key: "tag", Value: c.Tag}),
				})
				return page.GetComponents(), page.GetNextPageToken(), err
			})
		if err != nil {
			return err
		}
		const columns = "SLUG\tNAME\tVERSION\tPERSISTENCE\tTAGS\tUPDATED"
		return show.Table(c.Printer, io.Out, columns, all, func(v *jsonview.Component) []any {
			return []any{v.Slug, v.Name, v.Version, v.Persistence, strings.Join(v.Tags, ", "), v.UpdatedAt}
		})
	})
}

type getCommand struct{ oneComponent }

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewComponentServiceClient(conn).GetComponent(ctx, &statev1.GetComponentRequest{Slug: c.Slug})
		if err != nil {
			return err
		}
		view := jsonview.ComponentOf(resp.GetComponent())
		return c.Print(io.Out, view, func(w *show.Sheet) { componentRows(w, &view) })
	})
}

func componentRows(w *show.Sheet, c *jsonview.Component) {
	t := show.Rows{W: w}
	t.Row("component", c.Slug)
	t.Row("name", c.Name)
	t.Row("description", c.Description)
	t.Row("tags", strings.Join(c.Tags, ", "))
	t.Row("persistence", c.Persistence)
	t.Row("initial values", string(c.InitialValues))
	t.Time("updated", c.UpdatedAt)
	t.Row("version", fmt.Sprint(c.Version))
	fmt.Fprintln(w, show.Indented(c.SchemaDefinition))
}

type deleteCommand struct {
	oneComponent
	ExpectedVersion int64 `help:"Fail unless the component is at this version." placeholder:"N"`
}

func (c *deleteCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
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
		return c.Print(io.Out, view, func(w *show.Sheet) { fmt.Fprintf(w, "deleted\t%s\n", show.Text(c.Slug)) })
	})
}
