package runner

import (
	"context"
	"encoding/json"
	"errors"

	"google.golang.org/grpc/status"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/services/cmd/interlock/internal/setup"
)

// Agents sets up sessions that start from an agent (S15.10).
type Agents struct {
	Sessions statev1.SessionServiceClient
	Agents   statev1.AgentServiceClient
	Runs     enginev1.RunServiceClient
}

// setUp sets the session up as its agent demands, and returns the variables about it for
// the agent's runtime.
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
	if err := setup.Session(ctx, j.Agents.Runs, j.task.GetSessionName(), spec); err != nil {
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
	if instructions := j.task.GetInstructions(); instructions != "" {
		variables = append(variables, "INTERLOCK_INSTRUCTIONS="+instructions)
	}
	if spec.GetEnableConversations() {
		variables = append(variables, "INTERLOCK_CONVERSATIONS=true")
	}
	return variables, nil
}

// said returns an error as people read it.
func said(err error) error {
	if _, answered := status.FromError(err); err != nil && answered {
		return errors.New(fault.From(err).Message)
	}
	return err
}
