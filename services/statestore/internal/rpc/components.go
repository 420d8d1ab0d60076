package rpc

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/internal/listing"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
	"github.com/interlock-run/interlock/services/statestore/internal/components"
)

// Components serves ComponentService.
type Components struct {
	statev1.UnimplementedComponentServiceServer
	App *app.App
}

// CreateComponent implements ComponentService.
func (s *Components) CreateComponent(ctx context.Context, req *statev1.CreateComponentRequest) (*statev1.CreateComponentResponse, error) {
	var c *components.Component
	var err error
	if req.GetStaged() {
		c, err = s.App.Components.Stage(ctx, caller(ctx, ""), req.GetDefinition())
	} else {
		c, err = s.App.Components.Create(ctx, caller(ctx, ""), req.GetDefinition(), req.GetIdempotencyKey())
	}
	if err != nil {
		return nil, err
	}
	return &statev1.CreateComponentResponse{Component: componentProto(c)}, nil
}

// GetComponent implements ComponentService.
func (s *Components) GetComponent(ctx context.Context, req *statev1.GetComponentRequest) (*statev1.GetComponentResponse, error) {
	c, err := s.App.Components.Get(ctx, rpc.Namespace(ctx), req.GetSlug())
	if err != nil {
		return nil, err
	}
	return &statev1.GetComponentResponse{Component: componentProto(c)}, nil
}

// ListComponents implements ComponentService.
func (s *Components) ListComponents(ctx context.Context, req *statev1.ListComponentsRequest) (*statev1.ListComponentsResponse, error) {
	terms, err := listing.Parse(req.GetFilter(), "tag")
	if err != nil {
		return nil, err
	}
	found, next, err := s.App.Components.List(ctx, rpc.Namespace(ctx), terms["tag"], req.GetPageToken(), pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &statev1.ListComponentsResponse{NextPageToken: next}
	for _, c := range found {
		brief := componentProto(c)
		brief.Definition = nil
		resp.Components = append(resp.Components, brief)
	}
	return resp, nil
}

// UpdateComponent implements ComponentService.
func (s *Components) UpdateComponent(ctx context.Context, req *statev1.UpdateComponentRequest) (*statev1.UpdateComponentResponse, error) {
	c, err := s.App.Components.Update(ctx, caller(ctx, ""), req.GetSlug(), req.GetDefinition(), req.GetExpectedVersion())
	if err != nil {
		return nil, err
	}
	return &statev1.UpdateComponentResponse{Component: componentProto(c)}, nil
}

// DeleteComponent implements ComponentService.
func (s *Components) DeleteComponent(ctx context.Context, req *statev1.DeleteComponentRequest) (*statev1.DeleteComponentResponse, error) {
	if err := s.App.Components.Delete(ctx, caller(ctx, ""), req.GetSlug(), req.GetExpectedVersion()); err != nil {
		return nil, err
	}
	return &statev1.DeleteComponentResponse{}, nil
}

// BeginExecution implements ComponentService.
func (s *Components) BeginExecution(ctx context.Context, req *statev1.BeginExecutionRequest) (*statev1.BeginExecutionResponse, error) {
	ex, err := s.App.Executions.Begin(ctx, caller(ctx, req.GetSession()), components.Scope{Slug: req.GetSlug(), Subject: req.GetSubject()})
	if err != nil {
		return nil, err
	}
	return &statev1.BeginExecutionResponse{Execution: executionProto(ex)}, nil
}

// CommitExecution implements ComponentService.
func (s *Components) CommitExecution(ctx context.Context, req *statev1.CommitExecutionRequest) (*statev1.CommitExecutionResponse, error) {
	var out components.Outcome
	switch change := req.GetChange().(type) {
	case *statev1.CommitExecutionRequest_Values:
		out.Values = given(change.Values)
	case *statev1.CommitExecutionRequest_Patch:
		out.Patch = given(change.Patch)
	case *statev1.CommitExecutionRequest_MergePatch:
		out.Merge = given(change.MergePatch)
	}
	ex, err := s.App.Executions.End(ctx, caller(ctx, req.GetSession()), req.GetExecutionId(), out)
	if err != nil {
		return nil, err
	}
	return &statev1.CommitExecutionResponse{Execution: executionProto(ex)}, nil
}

// GetComponentValues implements ComponentService.
func (s *Components) GetComponentValues(ctx context.Context, req *statev1.GetComponentValuesRequest) (*statev1.GetComponentValuesResponse, error) {
	ex, err := s.App.Executions.Read(ctx, caller(ctx, req.GetSession()), components.Scope{Slug: req.GetSlug(), Subject: req.GetSubject()})
	if err != nil {
		return nil, err
	}
	return &statev1.GetComponentValuesResponse{Execution: executionProto(ex)}, nil
}

func componentProto(c *components.Component) *statev1.Component {
	out := &statev1.Component{
		ComponentId: c.ID, Slug: c.Slug, Name: c.Name, Description: c.Description, Tags: c.Tags, Persistence: persistenceMode[string(c.Persistence)],
		Version: c.Version, CreatedAt: timestamppb.New(c.CreatedAt), UpdatedAt: timestamppb.New(c.UpdatedAt),
		Definition: c.Definition.AppendJSON(nil), Digest: c.Digest, UpdatedBy: c.UpdatedBy,
	}
	if schema, ok := c.Definition.Get("schema_definition"); ok {
		out.SchemaDefinition = schema.AppendJSON(nil)
	}
	if initial, ok := c.Definition.Get("initial_values"); ok {
		out.InitialValues = initial.AppendJSON(nil)
	}
	return out
}

func executionProto(ex *components.Execution) *statev1.Execution {
	return &statev1.Execution{
		ExecutionId: ex.ID, Slug: ex.Slug, Values: ex.Values.AppendJSON(nil), Version: ex.Version,
		Persistence: persistenceMode[string(ex.Persistence)], SessionId: ex.SessionID, Subject: ex.Subject, Unset: ex.Unset,
	}
}
