package schema

import (
	"context"
	"fmt"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/client"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type registerCommand struct {
	client.Connection
	show.Printer
	Name           string `arg:"" help:"Name of the schema."`
	File           string `arg:"" help:"The JSON Schema, in JSON or YAML by its name." placeholder:"FILE"`
	Description    string `help:"Its purpose." placeholder:"TEXT"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first version." placeholder:"KEY"`
}

// registeredSchema is the JSON of a registered schema. Created is false when the
// latest version was the same.
type registeredSchema struct {
	jsonview.Schema
	Created bool `json:"created"`
}

func (c *registerCommand) Run(ctx context.Context, io console.Streams) error {
	schema, err := input.Document(c.File, io)
	if err != nil {
		return err
	}
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSchemaServiceClient(conn).RegisterSchema(ctx, &statev1.RegisterSchemaRequest{
			Name: c.Name, JsonSchema: schema.JSON, Description: c.Description, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return client.InvalidFile(schema, "/json_schema", err, io)
		}
		view := registeredSchema{jsonview.SchemaOf(resp.GetSchema()), resp.GetCreated()}
		view.JSONSchema = nil
		return c.Print(io.Out, view, func(w *show.Sheet) {
			verb := "registered"
			if !view.Created {
				verb = "unchanged"
			}
			fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, show.Text(view.Name), view.Version)
		})
	})
}

// lists are the flags of commands that list schemas.
type lists struct {
	client.Connection
	show.Printer
}

// table prints the schemas that all pages have.
func (c *lists) table(
	ctx context.Context, io console.Streams,
	pages func(statev1.SchemaServiceClient) client.Pages[*statev1.Schema],
) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		all, err := client.Collect(client.NoLimit, jsonview.SchemaOf, pages(statev1.NewSchemaServiceClient(conn)))
		if err != nil {
			return err
		}
		const columns = "NAME\tVERSION\tCREATED\tBY\tDESCRIPTION"
		return show.Table(c.Printer, io.Out, columns, all, func(s *jsonview.Schema) []any {
			return []any{s.Name, s.Version, s.CreatedAt, s.CreatedBy, s.Description}
		})
	})
}

type listCommand struct{ lists }

func (c *listCommand) Run(ctx context.Context, io console.Streams) error {
	return c.table(ctx, io, func(schemas statev1.SchemaServiceClient) client.Pages[*statev1.Schema] {
		return func(token string, size int32) ([]*statev1.Schema, string, error) {
			page, err := schemas.ListSchemas(ctx, &statev1.ListSchemasRequest{PageToken: token, PageSize: size})
			return page.GetSchemas(), page.GetNextPageToken(), err
		}
	})
}

type versionsCommand struct {
	lists
	Name string `arg:"" help:"Name of the schema."`
}

func (c *versionsCommand) Run(ctx context.Context, io console.Streams) error {
	return c.table(ctx, io, func(schemas statev1.SchemaServiceClient) client.Pages[*statev1.Schema] {
		return func(token string, size int32) ([]*statev1.Schema, string, error) {
			page, err := schemas.ListSchemaVersions(ctx, &statev1.ListSchemaVersionsRequest{
				Name: c.Name, PageToken: token, PageSize: size,
			})
			return page.GetSchemas(), page.GetNextPageToken(), err
		}
	})
}

type getCommand struct {
	client.Connection
	show.Printer
	Name    string `arg:"" help:"Name of the schema."`
	Version int64  `help:"Version; the live one by default." placeholder:"N"`
}

func (c *getCommand) Run(ctx context.Context, io console.Streams) error {
	return c.Ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSchemaServiceClient(conn).GetSchema(ctx, &statev1.GetSchemaRequest{
			Name: c.Name, Version: c.Version,
		})
		if err != nil {
			return err
		}
		view := jsonview.SchemaOf(resp.GetSchema())
		return c.Print(io.Out, view, func(w *show.Sheet) {
			fmt.Fprintf(w, "%s\tversion %d%s\t%s\n", show.Text(view.Name), view.Version, standing(&view), view.Digest)
			if view.Description != "" {
				fmt.Fprintln(w, show.Text(view.Description))
			}
			fmt.Fprintln(w, show.Indented(view.JSONSchema))
		})
	})
}

// standing says that a version is not the one that new states get; empty if it is.
func standing(s *jsonview.Schema) string {
	switch {
	case s.Retired != nil:
		return " (retired)"
	case s.LiveVersion != s.Version:
		return " (not live)"
	}
	return ""
}
