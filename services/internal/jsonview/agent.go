package jsonview

import (
	"time"

	statev1 "github.com/interlock-run/interlock/gen/go/interlock/state/v1"
)

// AgentSpec is the definition of an agent (S15.10).
type AgentSpec struct {
	Name                string   `json:"name" doc:"Unique name; it cannot change."`
	ModelRef            string   `json:"model_ref,omitzero" doc:"Model that its runtime is to use."`
	Instructions        string   `json:"instructions,omitzero" doc:"Text for it before its first prompt; at most 64 KiB."`
	ToolRefs            []string `json:"tool_refs,omitzero" doc:"Tools that its runtime is to offer. States and policies decide which may be called."`
	StateRefs           []string `json:"state_refs,omitzero" doc:"Components, by slug or id. The executions of its sessions begin and end with the first one."`
	Workflow            string   `json:"workflow,omitzero" doc:"Workflow that its sessions drive."`
	Policy              string   `json:"policy,omitzero" doc:"Policy that is attached to its sessions."`
	EnableConversations bool     `json:"enable_conversations,omitzero" doc:"Whether its runtime is to continue the conversation when the session is resumed."`
}

// Agent is an agent that sessions start from.
type Agent struct {
	AgentID string `json:"agent_id"`
	AgentSpec
	Version   int64     `json:"version" doc:"Also the ETag."`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}

// AgentOf returns the JSON of an agent.
func AgentOf(a *statev1.Agent) Agent {
	s := a.GetSpec()
	return Agent{
		AgentID: a.GetAgentId(), Version: a.GetVersion(), CreatedAt: Time(a.GetCreatedAt()), UpdatedAt: Time(a.GetUpdatedAt()),
		AgentSpec: AgentSpec{
			Name: s.GetName(), ModelRef: s.GetModelRef(), Instructions: s.GetInstructions(), ToolRefs: s.GetToolRefs(), StateRefs: s.GetStateRefs(),
			Workflow: s.GetWorkflow(), Policy: s.GetPolicy(), EnableConversations: s.GetEnableConversations(),
		},
	}
}

// Proto returns the agent of a contract.
func (s AgentSpec) Proto() *statev1.AgentSpec {
	return &statev1.AgentSpec{
		Name: s.Name, ModelRef: s.ModelRef, Instructions: s.Instructions, ToolRefs: s.ToolRefs, StateRefs: s.StateRefs,
		Workflow: s.Workflow, Policy: s.Policy, EnableConversations: s.EnableConversations,
	}
}
