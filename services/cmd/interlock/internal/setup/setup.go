// Package setup makes a session what its agent says (S15.10): it starts the workflow and attaches
// the policy. Everything may be done again, and then changes nothing.
package setup

import (
	"context"
	"fmt"

	enginev1 "github.com/interlock-run/interlock/gen/go/interlock/engine/v1"
	policyv1 "github.com/interlock-run/interlock/gen/go/interlock/policy/v1"
	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
	"github.com/interlock-run/interlock/pkg/fault"
)

// Services are who does it.
type Services struct {
	Runs     enginev1.RunServiceClient
	Policies policyv1.PolicyServiceClient
}

// Session sets a session up for its agent. The policy comes first: no call may be made
// without it.
func (s Services) Session(ctx context.Context, session string, agent *statev1.AgentSpec) error {
	if policy := agent.GetPolicy(); policy != "" {
		_, err := s.Policies.AttachPolicy(ctx, &policyv1.AttachPolicyRequest{
			Name: policy, To: &policyv1.Attachment{Kind: policyv1.AttachmentKind_ATTACHMENT_KIND_SESSION, Id: session},
		})
		if err != nil {
			return fmt.Errorf("attach policy %s of agent %s: %w", policy, agent.GetName(), err)
		}
	}
	if agent.GetWorkflow() == "" {
		return nil
	}
	_, err := s.Runs.GetRun(ctx, &enginev1.GetRunRequest{SessionId: session})
	if fault.ReasonOf(err) != fault.NotFound {
		return err // it drives a run, or has driven one
	}
	_, err = s.Runs.StartRun(ctx, &enginev1.StartRunRequest{
		Workflow: agent.GetWorkflow(), SessionId: session, IdempotencyKey: "agent/" + agent.GetName(),
	})
	if err != nil {
		return fmt.Errorf("start workflow %s of agent %s: %w", agent.GetWorkflow(), agent.GetName(), err)
	}
	return nil
}
