package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"google.golang.org/grpc"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/console"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/input"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/show"
	"github.com/interlock-run/interlock/services/internal/jsonview"
)

type schemaCommand struct {
	Register schemaRegister `cmd:"" help:"Register a JSON Schema as the next version of its name."`
	List     schemaList     `cmd:"" help:"List schemas."`
	Get      schemaGet      `cmd:"" help:"Show a schema."`
	Versions schemaVersions `cmd:"" help:"List the versions of a schema."`
}

type schemaRegister struct {
	clientFlags
	show.Printer
	Name           string `arg:"" help:"Name of the schema."`
	File           string `arg:"" help:"The JSON Schema, in JSON or YAML by its name." placeholder:"FILE"`
	Description    string `help:"What it is for." placeholder:"TEXT"`
	IdempotencyKey string `help:"Makes a repeat of this command answer the first version." placeholder:"KEY"`
}

// registeredSchema is the JSON of a registered schema. Created is false when the
// latest version was the same.
type registeredSchema struct {
	jsonview.Schema
	Created bool `json:"created"`
}

func (c *schemaRegister) Run(ctx context.Context, io console.Streams) error {
	schema, err := input.Document(c.File, io)
	if err != nil {
		return err
	}
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSchemaServiceClient(conn).RegisterSchema(ctx, &statev1.RegisterSchemaRequest{
			Name: c.Name, JsonSchema: schema, Description: c.Description, IdempotencyKey: c.IdempotencyKey,
		})
		if err != nil {
			return invalidFile(c.File, "/json_schema", err, io)
		}
		view := registeredSchema{jsonview.SchemaOf(resp.GetSchema()), resp.GetCreated()}
		view.JSONSchema = nil
		return c.Print(io.Out, view, func(w *tabwriter.Writer) {
			verb := "registered"
			if !view.Created {
				verb = "unchanged"
			}
			fmt.Fprintf(w, "%s\t%s\tversion %d\n", verb, show.Text(view.Name), view.Version)
		})
	})
}

type schemaList struct {
	clientFlags
	show.Printer
}

func (c *schemaList) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		schemas := statev1.NewSchemaServiceClient(conn)
		all, err := collect(noLimit, jsonview.SchemaOf, func(token string, size int32) ([]*statev1.Schema, string, error) {
			page, err := schemas.ListSchemas(ctx, &statev1.ListSchemasRequest{PageToken: token, PageSize: size})
			return page.GetSchemas(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return printSchemas(c.Printer, io, all)
	})
}

type schemaVersions struct {
	clientFlags
	show.Printer
	Name string `arg:"" help:"Name of the schema."`
}

func (c *schemaVersions) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		schemas := statev1.NewSchemaServiceClient(conn)
		all, err := collect(noLimit, jsonview.SchemaOf, func(token string, size int32) ([]*statev1.Schema, string, error) {
			page, err := schemas.ListSchemaVersions(ctx, &statev1.ListSchemaVersionsRequest{Name: c.Name, PageToken: token, PageSize: size})
			return page.GetSchemas(), page.GetNextPageToken(), err
		})
		if err != nil {
			return err
		}
		return printSchemas(c.Printer, io, all)
	})
}

func printSchemas(p show.Printer, io console.Streams, all []jsonview.Schema) error {
	return p.Print(io.Out, all, func(w *tabwriter.Writer) {
		fmt.Fprintln(w, "NAME\tVERSION\tCREATED\tBY\tDESCRIPTION")
		for i := range all {
			s := &all[i]
			fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\n", show.Text(s.Name), s.Version, show.Time(s.CreatedAt),
				show.Text(s.CreatedBy), show.Text(s.Description))
		}
	})
}

type schemaGet struct {
	clientFlags
	show.Printer
	Name    string `arg:"" help:"Name of the schema."`
	Version int64  `help:"Version; the latest by default." placeholder:"N"`
}

func (c *schemaGet) Run(ctx context.Context, io console.Streams) error {
	return c.ask(ctx, io, func(conn grpc.ClientConnInterface) error {
		resp, err := statev1.NewSchemaServiceClient(conn).GetSchema(ctx, &statev1.GetSchemaRequest{Name: c.Name, Version: c.Version})
		if err != nil {
			return err
		}
		view := jsonview.SchemaOf(resp.GetSchema())
		return c.Print(io.Out, view, func(w *tabwriter.Writer) {
			fmt.Fprintf(w, "%s\tversion %d\t%s\n", show.Text(view.Name), view.Version, view.Digest)
			if view.Description != "" {
				fmt.Fprintln(w, show.Text(view.Description))
			}
			fmt.Fprintln(w, show.Indented(view.JSONSchema))
		})
	})
}
