package runner

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/grpc/status"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/setup"
)

// Agents is what sets up sessions that start from an agent (S15.10).
type Agents struct {
	Sessions statev1.SessionServiceClient
	Agents   statev1.AgentServiceClient
	Setup    setup.Services
}

// setUp makes the session what its agent says, and returns what the agent's runtime is told
// of it in its environment.
func (j *job) setUp(ctx context.Context) ([]string, error) {
	if j.Agents == nil {
		return nil, nil
	}
	got, err := j.Agents.Sessions.GetSession(ctx, &statev1.GetSessionRequest{SessionId: j.task.GetSessionId()})
	name := got.GetSession().GetAgent()
	if err != nil || name == "" {
		return nil, said(err)
	}
	agent, err := j.Agents.Agents.GetAgent(ctx, &statev1.GetAgentRequest{Name: name})
	if err != nil {
		return nil, said(err)
	}
	spec := agent.GetAgent().GetSpec()
	if err := j.Agents.Setup.Session(ctx, j.task.GetSessionName(), spec); err != nil {
		return nil, said(err)
	}
	tools, err := json.Marshal(append([]string{}, spec.GetToolRefs()...))
	if err != nil {
		return nil, err
	}
	variables := []string{"INTERLOCK_AGENT=" + name, "INTERLOCK_TOOLS=" + string(tools)}
	if spec.GetModelRef() != "" {
		variables = append(variables, "INTERLOCK_MODEL="+spec.GetModelRef())
	}
	if spec.GetInstructions() != "" {
		variables = append(variables, "INTERLOCK_INSTRUCTIONS="+spec.GetInstructions())
	}
	if spec.GetEnableConversations() {
		variables = append(variables, "INTERLOCK_CONVERSATIONS=true")
	}
	return variables, nil
}

// said is an error as people read it.
func said(err error) error {
	if _, answered := status.FromError(err); err != nil && answered {
		return errors.New(fault.From(err).Message)
	}
	return err
}
