// Package rpc translates between the state-store's contracts and its use cases, and has
// no other task.
package rpc

import (
	"context"
	"strconv"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/auth"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/catalog"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/ports"
	"github.com/interlock-run/interlock/services/statestore/internal/schemas"
)

const defaultPageSize = 100

// Schemas serves SchemaService.
type Schemas struct {
	statev1.UnimplementedSchemaServiceServer
	App *app.App
}

// caller returns the caller, and the session that acts for them.
func caller(ctx context.Context, session string) ports.Caller {
	principal, _ := auth.FromContext(ctx)
	return ports.Caller{Namespace: rpc.Namespace(ctx), Principal: principal, Session: session}
}

func pageSize(asked int32) int {
	if asked == 0 {
		return defaultPageSize
	}
	return int(asked)
}

// RegisterSchema implements SchemaService.
func (s *Schemas) RegisterSchema(ctx context.Context, req *statev1.RegisterSchemaRequest) (*statev1.RegisterSchemaResponse, error) {
	v, created, err := s.App.Schemas.Register(ctx, caller(ctx, ""), schemas.Registration{
		Name: req.GetName(), Description: req.GetDescription(), Text: req.GetJsonSchema(), IdempotencyKey: req.GetIdempotencyKey(), Staged: req.GetStaged(),
	})
	if err != nil {
		return nil, err
	}
	return &statev1.RegisterSchemaResponse{Schema: schemaProto(v), Created: created}, nil
}

// GetSchema implements SchemaService.
func (s *Schemas) GetSchema(ctx context.Context, req *statev1.GetSchemaRequest) (*statev1.GetSchemaResponse, error) {
	v, err := s.App.Schemas.Get(ctx, rpc.Namespace(ctx), req.GetName(), req.GetVersion())
	if err != nil {
		return nil, err
	}
	return &statev1.GetSchemaResponse{Schema: schemaProto(v)}, nil
}

// ListSchemas implements SchemaService.
func (s *Schemas) ListSchemas(ctx context.Context, req *statev1.ListSchemasRequest) (*statev1.ListSchemasResponse, error) {
	versions, next, err := s.App.Schemas.List(ctx, rpc.Namespace(ctx), req.GetPageToken(), pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	return &statev1.ListSchemasResponse{Schemas: briefSchemas(versions), NextPageToken: next}, nil
}

// ListSchemaVersions implements SchemaService.
func (s *Schemas) ListSchemaVersions(ctx context.Context, req *statev1.ListSchemaVersionsRequest) (*statev1.ListSchemaVersionsResponse, error) {
	var before int64
	if token := req.GetPageToken(); token != "" {
		var err error
		if before, err = strconv.ParseInt(token, 10, 64); err != nil || before < 1 {
			return nil, fault.New(fault.InvalidRequest, "page_token was not returned by this list").Violate("/page_token", "INVALID", "use next_page_token of the previous page")
		}
	}
	versions, next, err := s.App.Schemas.Versions(ctx, rpc.Namespace(ctx), req.GetName(), before, pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &statev1.ListSchemaVersionsResponse{Schemas: briefSchemas(versions)}
	if next != 0 {
		resp.NextPageToken = strconv.FormatInt(next, 10)
	}
	return resp, nil
}

func schemaProto(v *schemas.Schema) *statev1.Schema {
	return &statev1.Schema{
		SchemaId: v.ID, Name: v.Name, Version: v.Number, JsonSchema: v.Text, Description: v.Description,
		CreatedAt: timestamppb.New(v.CreatedAt), CreatedBy: v.CreatedBy, Digest: v.Digest, LiveVersion: v.Live, Retired: schemaRetirementProto(v.Retired),
	}
}

func schemaRetirementProto(r *catalog.Retirement) *statev1.SchemaRetirement {
	if r == nil {
		return nil
	}
	return &statev1.SchemaRetirement{At: timestamppb.New(r.At), By: r.By, Reason: r.Reason}
}

func briefSchemas(versions []*schemas.Schema) []*statev1.Schema {
	out := make([]*statev1.Schema, len(versions))
	for i, v := range versions {
		out[i] = schemaProto(v)
		out[i].JsonSchema = nil
	}
	return out
}
