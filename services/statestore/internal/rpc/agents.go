package rpc

import (
	"context"

	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/rpc"
	"github.com/interlock-run/interlock/services/statestore/internal/agents"
	"github.com/interlock-run/interlock/services/statestore/internal/app"
)

// Agents serves AgentService.
type Agents struct {
	statev1.UnimplementedAgentServiceServer
	App *app.App
}

// CreateAgent implements AgentService.
func (s *Agents) CreateAgent(ctx context.Context, req *statev1.CreateAgentRequest) (*statev1.CreateAgentResponse, error) {
	agent, err := s.App.Agents.Create(ctx, caller(ctx, ""), agentSpec(req.GetSpec()))
	if err != nil {
		return nil, err
	}
	return &statev1.CreateAgentResponse{Agent: agentProto(agent)}, nil
}

// GetAgent implements AgentService.
func (s *Agents) GetAgent(ctx context.Context, req *statev1.GetAgentRequest) (*statev1.GetAgentResponse, error) {
	agent, err := s.App.Agents.Get(ctx, rpc.Namespace(ctx), req.GetName())
	if err != nil {
		return nil, err
	}
	return &statev1.GetAgentResponse{Agent: agentProto(agent)}, nil
}

// ListAgents implements AgentService.
func (s *Agents) ListAgents(ctx context.Context, req *statev1.ListAgentsRequest) (*statev1.ListAgentsResponse, error) {
	found, next, err := s.App.Agents.List(ctx, rpc.Namespace(ctx), req.GetPageToken(), pageSize(req.GetPageSize()))
	if err != nil {
		return nil, err
	}
	resp := &statev1.ListAgentsResponse{NextPageToken: next}
	for _, agent := range found {
		resp.Agents = append(resp.Agents, agentProto(agent))
	}
	return resp, nil
}

// UpdateAgent implements AgentService.
func (s *Agents) UpdateAgent(ctx context.Context, req *statev1.UpdateAgentRequest) (*statev1.UpdateAgentResponse, error) {
	agent, err := s.App.Agents.Update(ctx, caller(ctx, ""), agentSpec(req.GetSpec()), req.GetExpectedVersion())
	if err != nil {
		return nil, err
	}
	return &statev1.UpdateAgentResponse{Agent: agentProto(agent)}, nil
}

// DeleteAgent implements AgentService.
func (s *Agents) DeleteAgent(ctx context.Context, req *statev1.DeleteAgentRequest) (*statev1.DeleteAgentResponse, error) {
	if err := s.App.Agents.Delete(ctx, caller(ctx, ""), req.GetName(), req.GetExpectedVersion()); err != nil {
		return nil, err
	}
	return &statev1.DeleteAgentResponse{}, nil
}

func agentSpec(s *statev1.AgentSpec) agents.Spec {
	return agents.Spec{
		Name: s.GetName(), ModelRef: s.GetModelRef(), Instructions: s.GetInstructions(), ToolRefs: s.GetToolRefs(), StateRefs: s.GetStateRefs(),
		Workflow: s.GetWorkflow(), Policy: s.GetPolicy(), EnableConversations: s.GetEnableConversations(),
	}
}

func agentProto(a *agents.Agent) *statev1.Agent {
	return &statev1.Agent{
		AgentId: a.ID, Version: a.Version, CreatedAt: timestamppb.New(a.CreatedAt), UpdatedAt: timestamppb.New(a.UpdatedAt),
		Spec: &statev1.AgentSpec{
			Name: a.Name, ModelRef: a.ModelRef, Instructions: a.Instructions, ToolRefs: a.ToolRefs, StateRefs: a.StateRefs,
			Workflow: a.Workflow, Policy: a.Policy, EnableConversations: a.EnableConversations,
		},
	}
}
