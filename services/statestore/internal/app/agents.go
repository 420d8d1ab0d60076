package app

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/pkg/typeid"
	"github.com/interlock-run/interlock/services/internal/ledger"
	"github.com/interlock-run/interlock/services/internal/retry"
)

// AgentSpec is the definition of an agent, from which sessions start (S15.10).
type AgentSpec struct {
	Name                string   `json:"name"`
	ModelRef            string   `json:"model_ref,omitempty"`
	Instructions        string   `json:"instructions,omitempty"`
	ToolRefs            []string `json:"tool_refs,omitempty"`
	StateRefs           []string `json:"state_refs,omitempty"`
	Workflow            string   `json:"workflow,omitempty"`
	Policy              string   `json:"policy,omitempty"`
	EnableConversations bool     `json:"enable_conversations,omitempty"`
}

// Agent is an agent as it is stored. The record of one that was deleted stays, without an id
// and with its policy, so that no version of a name means two things.
type Agent struct {
	AgentSpec

	ID        string    `json:"id,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Version   int64     `json:"-"`
}

func agentKey(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindAgent, ID: name}
}

// check refuses names of missing objects. Workflow and policy are other services': they are
// looked for when a session starts.
func (a *App) checkAgent(ctx context.Context, namespace string, spec AgentSpec) error {
	if err := plainName("name", spec.Name); err != nil {
		return err
	}
	for _, ref := range spec.StateRefs {
		if _, err := a.Component(ctx, namespace, ref); err != nil {
			return err
		}
	}
	return nil
}

// findAgent reads the record of a name; nil for one that is not there.
func (a *App) findAgent(ctx context.Context, namespace, name string) (version int64, agent *Agent, err error) {
	record, err := a.store.Get(ctx, agentKey(namespace, name))
	if notFound(err) {
		return store.Absent, nil, nil
	}
	if err != nil {
		return 0, nil, fault.From(err)
	}
	agent, err = decodeAgent(record)
	return record.Version, agent, err
}

// decodeAgent returns nil for an agent that was deleted.
func decodeAgent(record store.Record) (*Agent, error) {
	agent := &Agent{}
	if err := json.Unmarshal(record.Data, agent); err != nil {
		return nil, fault.From(fmt.Errorf("decode agent: %w", err))
	}
	if agent.ID == "" {
		return nil, nil
	}
	agent.Version = record.Version
	return agent, nil
}

func (a *App) putAgent(ctx context.Context, namespace, name string, expect int64, agent *Agent) error {
	data, err := json.Marshal(agent)
	if err != nil {
		return fault.From(fmt.Errorf("encode agent: %w", err))
	}
	result, err := a.store.Commit(ctx, store.Batch{Puts: []store.Put{{Key: agentKey(namespace, name), Expect: expect, Data: data}}})
	if err != nil {
		return retry.Fault(err)
	}
	agent.Version = result.Versions[0]
	return nil
}

// CreateAgent stores an agent under its name. The same again answers the same agent.
func (a *App) CreateAgent(ctx context.Context, caller Caller, spec AgentSpec) (*Agent, error) {
	if err := a.checkAgent(ctx, caller.Namespace, spec); err != nil {
		return nil, err
	}
	return retry.Do(ctx, "agent "+spec.Name, func() (*Agent, error) {
		version, known, err := a.findAgent(ctx, caller.Namespace, spec.Name)
		switch {
		case err != nil:
			return nil, err
		case known != nil && reflect.DeepEqual(known.AgentSpec, spec):
			return known, nil
		case known != nil:
			return nil, fault.New(fault.NameTaken, "agent %q already exists; update it with PUT, or choose another name", clip(spec.Name))
		}
		now := a.now()
		agent := &Agent{AgentSpec: spec, ID: typeid.New(typeid.Agent), CreatedAt: now, UpdatedAt: now}
		return agent, a.putAgent(ctx, caller.Namespace, spec.Name, version, agent)
	})
}

// Agent returns an agent by its name.
func (a *App) Agent(ctx context.Context, namespace, name string) (*Agent, error) {
	_, agent, err := a.findAgent(ctx, namespace, name)
	if err == nil && agent == nil {
		return nil, fault.New(fault.NotFound, "there is no agent %q; create it first", clip(name))
	}
	return agent, err
}

// Agents returns a page of agents by name.
func (a *App) Agents(ctx context.Context, namespace, after string, limit int) ([]*Agent, string, error) {
	query := store.Query{Namespace: namespace, Kind: kindAgent, After: after, Limit: limit}
	var found []*Agent
	for {
		page, err := a.store.List(ctx, query)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			agent, err := decodeAgent(record)
			switch {
			case err != nil:
				return nil, "", err
			case agent == nil:
				continue
			case len(found) == limit:
				return found, found[limit-1].Name, nil
			}
			found = append(found, agent)
		}
		if page.Next == "" {
			return found, "", nil
		}
		query.After = page.Next
	}
}

// UpdateAgent replaces the definition of an agent.
func (a *App) UpdateAgent(ctx context.Context, caller Caller, spec AgentSpec, expected int64) (*Agent, error) {
	if err := a.checkAgent(ctx, caller.Namespace, spec); err != nil {
		return nil, err
	}
	return a.changeAgent(ctx, caller.Namespace, spec.Name, expected, func(agent *Agent) { agent.AgentSpec = spec })
}

// DeleteAgent removes an agent. Sessions that have started from it stay, and so does its policy for
// them (S15.10).
func (a *App) DeleteAgent(ctx context.Context, caller Caller, name string, expected int64) error {
	_, err := a.changeAgent(ctx, caller.Namespace, name, expected, func(agent *Agent) { *agent = Agent{AgentSpec: AgentSpec{Policy: agent.Policy}} })
	return err
}

func (a *App) changeAgent(ctx context.Context, namespace, name string, expected int64, change func(*Agent)) (*Agent, error) {
	return retry.Do(ctx, "agent "+name, func() (*Agent, error) {
		agent, err := a.Agent(ctx, namespace, name)
		if err != nil {
			return nil, err
		}
		if err := atVersion("agent "+name, agent.Version, expected); err != nil {
			return nil, err
		}
		version := agent.Version
		change(agent)
		agent.UpdatedAt = a.now()
		return agent, a.putAgent(ctx, namespace, name, version, agent)
	})
}

// hasPolicy refuses a session of an agent whose policy does not exist: every call in it would be
// denied.
func (a *App) hasPolicy(ctx context.Context, namespace string, agent *Agent) error {
	if agent.Policy == "" {
		return nil
	}
	index, err := a.store.Get(ctx, ledger.PolicyIndexOf(namespace))
	if err != nil && !notFound(err) {
		return fault.From(err)
	}
	missing, err := ledger.MissingPolicies(index, []string{agent.Policy})
	switch {
	case err != nil:
		return fault.From(err)
	case len(missing) > 0:
		return fault.New(fault.FailedPrecondition, "agent %q names policy %q, which does not exist, so no session was created: "+
			"store it with `interlock policy put FILE`, or change the agent", clip(agent.Name), clip(agent.Policy))
	}
	return nil
}
