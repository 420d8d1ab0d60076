// Package agents stores the definitions of agents, from which sessions start (S15.10).
package agents

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
	"github.com/interlock-run/interlock/services/statestore/internal/ports"

	"github.com/interlock-run/interlock/services/statestore/internal/components"
)

// Agents stores the definitions of agents.
type Agents struct {
	ports    *ports.Ports
	registry *components.Registry
}

// New returns the agents of a store.
func New(p *ports.Ports, registry *components.Registry) *Agents {
	return &Agents{ports: p, registry: registry}
}

// Spec is the definition of an agent, from which sessions start (S15.10).
type Spec struct {
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
	Spec

	ID        string    `json:"id,omitempty"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
	Version   int64     `json:"-"`
}

func keyOf(namespace, name string) store.Key {
	return store.Key{Namespace: namespace, Kind: kind, ID: name}
}

// check refuses names of missing objects. Workflow and policy are other services': they are
// looked for when a session starts.
func (as *Agents) check(ctx context.Context, namespace string, spec Spec) error {
	if err := ports.PlainName("name", spec.Name); err != nil {
		return err
	}
	for _, ref := range spec.StateRefs {
		if _, err := as.registry.Get(ctx, namespace, ref); err != nil {
			return err
		}
	}
	return nil
}

// Find reads the record of a name; nil for one that is not there.
func (as *Agents) Find(ctx context.Context, namespace, name string) (version int64, agent *Agent, err error) {
	record, err := as.ports.Store.Get(ctx, keyOf(namespace, name))
	if ports.NotFound(err) {
		return store.Absent, nil, nil
	}
	if err != nil {
		return 0, nil, fault.From(err)
	}
	agent, err = decode(record)
	return record.Version, agent, err
}

// decode returns nil for an agent that was deleted.
func decode(record store.Record) (*Agent, error) {
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

func (as *Agents) put(ctx context.Context, caller ports.Caller, name string, expect int64, agent *Agent) error {
	data, err := json.Marshal(agent)
	if err != nil {
		return fault.From(fmt.Errorf("encode agent: %w", err))
	}
	result, err := as.ports.Commit(ctx, caller.Principal, store.Batch{Puts: []store.Put{{Key: keyOf(caller.Namespace, name), Expect: expect, Data: data}}})
	if err != nil {
		return retry.Fault(err)
	}
	agent.Version = result.Versions[0]
	return nil
}

// Create stores an agent under its name. The same again answers the same agent.
func (as *Agents) Create(ctx context.Context, caller ports.Caller, spec Spec) (*Agent, error) {
	if err := as.check(ctx, caller.Namespace, spec); err != nil {
		return nil, err
	}
	return retry.Do(ctx, "agent "+spec.Name, func() (*Agent, error) {
		version, known, err := as.Find(ctx, caller.Namespace, spec.Name)
		switch {
		case err != nil:
			return nil, err
		case known != nil && reflect.DeepEqual(known.Spec, spec):
			return known, nil
		case known != nil:
			return nil, fault.New(fault.NameTaken, "agent %q already exists; update it with PUT, or choose another name", ports.Clip(spec.Name))
		}
		now := as.ports.Now()
		agent := &Agent{Spec: spec, ID: typeid.New(typeid.Agent), CreatedAt: now, UpdatedAt: now}
		return agent, as.put(ctx, caller, spec.Name, version, agent)
	})
}

// Get returns an agent by its name.
func (as *Agents) Get(ctx context.Context, namespace, name string) (*Agent, error) {
	_, agent, err := as.Find(ctx, namespace, name)
	if err == nil && agent == nil {
		return nil, fault.New(fault.NotFound, "there is no agent %q; create it first", ports.Clip(name))
	}
	return agent, err
}

// List returns a page of agents by name.
func (as *Agents) List(ctx context.Context, namespace, after string, limit int) ([]*Agent, string, error) {
	query := store.Query{Namespace: namespace, Kind: kind, After: after, Limit: limit}
	var found []*Agent
	for {
		page, err := as.ports.Store.List(ctx, query)
		if err != nil {
			return nil, "", fault.From(err)
		}
		for _, record := range page.Records {
			agent, err := decode(record)
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

// Update replaces the definition of an agent.
func (as *Agents) Update(ctx context.Context, caller ports.Caller, spec Spec, expected int64) (*Agent, error) {
	if err := as.check(ctx, caller.Namespace, spec); err != nil {
		return nil, err
	}
	return as.change(ctx, caller, spec.Name, expected, func(agent *Agent) { agent.Spec = spec })
}

// Delete removes an agent. Sessions that have started from it stay, and so does its policy for
// them (S15.10).
func (as *Agents) Delete(ctx context.Context, caller ports.Caller, name string, expected int64) error {
	_, err := as.change(ctx, caller, name, expected, func(agent *Agent) { *agent = Agent{Spec: Spec{Policy: agent.Policy}} })
	return err
}

func (as *Agents) change(ctx context.Context, caller ports.Caller, name string, expected int64, change func(*Agent)) (*Agent, error) {
	return retry.Do(ctx, "agent "+name, func() (*Agent, error) {
		agent, err := as.Get(ctx, caller.Namespace, name)
		if err != nil {
			return nil, err
		}
		if err := ports.AtVersion("agent "+name, agent.Version, expected); err != nil {
			return nil, err
		}
		version := agent.Version
		change(agent)
		agent.UpdatedAt = as.ports.Now()
		return agent, as.put(ctx, caller, name, version, agent)
	})
}

// HasPolicy refuses a session of an agent whose policy does not exist: every call in it would be
// denied.
func (as *Agents) HasPolicy(ctx context.Context, namespace string, agent *Agent) error {
	if agent.Policy == "" {
		return nil
	}
	index, err := as.ports.Store.Get(ctx, ledger.PolicyIndexOf(namespace))
	if err != nil && !ports.NotFound(err) {
		return fault.From(err)
	}
	missing, err := ledger.MissingPolicies(index, []string{agent.Policy})
	switch {
	case err != nil:
		return fault.From(err)
	case len(missing) > 0:
		return fault.New(fault.FailedPrecondition, "agent %q names policy %q, which does not exist, so no session was created: "+
			"store it with `interlock policy put FILE`, or change the agent", ports.Clip(agent.Name), ports.Clip(agent.Policy))
	}
	return nil
}

const kind = ledger.KindAgent
