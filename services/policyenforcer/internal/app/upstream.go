package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
)

const (
	kindUpstreams = "upstream_tools"
	upstreamsID   = "tools"
	// maxUpstreamTools bounds the tools of a namespace that gateways have reported, which
	// are in one record with those of agents, and maxServerTools those of one server.
	maxUpstreamTools = 4096
	maxServerTools   = 2048
	// maxAgentsTools bounds those that only agents have reported, maxAgentTools those of one
	// principal, and maxAgentServerTools those of a server that one principal has reported.
	maxAgentsTools      = 2048
	maxAgentTools       = 512
	maxAgentServerTools = 128
	// maxAccepted bounds the digests of a tool that hold at once: replicas of a server are
	// updated one after the other.
	maxAccepted = 4
)

// ObservedTool is a tool as an MCP server behind the gate offers it.
type ObservedTool struct{ Tool, Digest, Description string }

// UpstreamTool is what is known of a server's tool.
type UpstreamTool struct {
	Server, Tool string
	pin
}

// pin is what holds of a tool.
type pin struct {
	// Accepted are the digests that may be used, the latest last.
	Accepted []string `json:"accepted"`
	// By is the agent that reported the tool first; empty when a gateway has, or when an
	// operator has accepted it.
	By string `json:"by,omitempty"`
	// Changed is the digest that was seen and is not accepted, with its description.
	Changed     string `json:"changed,omitempty"`
	Description string `json:"description,omitempty"`
	// ChangedBy is the agent that reported the change; empty when a gateway has.
	ChangedBy string `json:"changed_by,omitempty"`
}

// ReportedBy is the agent whose word the latest digest is, or empty.
func (p pin) ReportedBy() string {
	if p.Changed != "" {
		return p.ChangedBy
	}
	return p.By
}

// pins are those of a namespace, by server and tool.
type pins map[string]map[string]pin

// UpstreamChange is a change of a server's tools, as it is announced.
type UpstreamChange struct {
	Server  string
	Type    string // changed, accepted or forgotten
	Tools   []string
	Version int64 // counts the changes of the namespace
}

// HiddenTools is what must not be used of a server's tools.
type HiddenTools struct {
	Changed []string // not as they were accepted
	NoRoom  []string // never seen, and not remembered
}

// ObserveTools pins the tools of a server that were never seen, as far as there is room, and
// returns the names of those that must not be used.
func (a *App) ObserveTools(ctx context.Context, caller Caller, server string, seen []ObservedTool) (HiddenTools, error) {
	by := ""
	if caller.Principal.Role.Drives() {
		by = caller.Principal.Name
	}
	return retry.Do(ctx, "the tools of "+server, func() (HiddenTools, error) {
		known, version, err := a.pins(ctx, caller.Namespace)
		if err != nil {
			return HiddenTools{}, err
		}
		change, hidden, pinned := known.observe(server, by, seen)
		if change == nil && !pinned {
			return hidden, nil
		}
		return hidden, retry.Fault(a.putPins(ctx, caller, known, version, change))
	})
}

// observe takes a server's tools over, as an agent reports them, or when by is empty a
// gateway. change is nil when none has changed since the last time, and pinned is true when
// one was seen for the first time.
//
// The word of an agent counts less: a gateway is what operators have configured, and an agent
// can report what it likes, about any server. So a gateway's first sight replaces an agent's,
// and an agent replaces nothing of a gateway's.
func (p pins) observe(server, by string, seen []ObservedTool) (change *UpstreamChange, hidden HiddenTools, pinned bool) {
	var news []string
	room := p.room(server, by)
	for _, tool := range seen {
		now, known := p[server][tool.Tool]
		switch {
		case (!known || by == "" && now.By != "") && room == 0:
			hidden.NoRoom = append(hidden.NoRoom, tool.Tool)
			continue
		case !known, by == "" && now.By != "":
			room--
			if p[server] == nil {
				p[server] = map[string]pin{}
			}
			p[server][tool.Tool] = pin{Accepted: []string{tool.Digest}, By: by}
			pinned = true
			continue
		case slices.Contains(now.Accepted, tool.Digest):
			continue
		case now.Changed != "" && now.ChangedBy == "" && by != "":
		case now.Changed != tool.Digest || now.ChangedBy != "" && by == "":
			now.Changed, now.Description, now.ChangedBy = tool.Digest, tool.Description, by
			p[server][tool.Tool] = now
			news = append(news, tool.Tool)
		}
		hidden.Changed = append(hidden.Changed, tool.Tool)
	}
	if len(news) > 0 {
		change = &UpstreamChange{Server: server, Type: "changed", Tools: news}
	}
	return change, hidden, pinned
}

// room is how many more tools of a server can be pinned for an agent, or for a gateway when by
// is empty. Agents and gateways take no places from one another.
func (p pins) room(server, by string) int {
	gateways, agents, own, here := 0, 0, 0, 0
	for name, tools := range p {
		for _, one := range tools {
			switch one.By {
			case "":
				gateways++
			case by:
				own++
				agents++
			default:
				agents++
			}
			if name == server && one.By == by {
				here++
			}
		}
	}
	if by == "" {
		return max(0, min(maxUpstreamTools-gateways, maxServerTools-here))
	}
	return max(0, min(maxAgentsTools-agents, maxAgentTools-own, maxAgentServerTools-here))
}

// ForgetTools forgets the tools of a server, or one of them, and returns what they were.
func (a *App) ForgetTools(ctx context.Context, caller Caller, server, tool string) ([]UpstreamTool, error) {
	return retry.Do(ctx, "the tools of "+server, func() ([]UpstreamTool, error) {
		known, version, err := a.pins(ctx, caller.Namespace)
		if err != nil {
			return nil, err
		}
		gone := known.forget(server, tool)
		if len(gone) == 0 {
			return nil, fault.New(fault.NotFound, "no such tool of the server %q is pinned; `interlock upstream list` shows those that are", server)
		}
		change := &UpstreamChange{Server: server, Type: "forgotten"}
		for _, one := range gone {
			change.Tools = append(change.Tools, one.Tool)
		}
		return gone, retry.Fault(a.putPins(ctx, caller, known, version, change))
	})
}

// forget removes the pins of a server, or of one of its tools, and returns them.
func (p pins) forget(server, tool string) (gone []UpstreamTool) {
	for _, name := range slices.Sorted(maps.Keys(p[server])) {
		if tool == "" || tool == name {
			gone = append(gone, UpstreamTool{server, name, p[server][name]})
			delete(p[server], name)
		}
	}
	if len(p[server]) == 0 {
		delete(p, server)
	}
	return gone
}

// UpstreamTools returns all tools that were seen, by server and name.
func (a *App) UpstreamTools(ctx context.Context, namespace string) ([]UpstreamTool, error) {
	known, _, err := a.pins(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var all []UpstreamTool
	for _, server := range slices.Sorted(maps.Keys(known)) {
		for _, tool := range slices.Sorted(maps.Keys(known[server])) {
			all = append(all, UpstreamTool{server, tool, known[server][tool]})
		}
	}
	return all, nil
}

// AcceptTool accepts the change of a server's tool that has the digest.
func (a *App) AcceptTool(ctx context.Context, caller Caller, server, tool, digest string) (*UpstreamTool, error) {
	return retry.Do(ctx, "the tools of "+server, func() (*UpstreamTool, error) {
		known, version, err := a.pins(ctx, caller.Namespace)
		if err != nil {
			return nil, err
		}
		now := known[server][tool]
		switch {
		case now.Changed == "":
			return nil, fault.New(fault.NotFound, "no change of the tool %q of the server %q waits to be accepted", tool, server)
		case now.Changed != digest:
			return nil, fault.New(fault.VersionConflict,
				"the tool %q of the server %q has changed again since: list it, and accept what it is now", tool, server)
		}
		all := append(slices.Clone(now.Accepted), now.Changed)
		now = pin{Accepted: all[max(0, len(all)-maxAccepted):]}
		known[server][tool] = now
		change := &UpstreamChange{Server: server, Type: "accepted", Tools: []string{tool}}
		return &UpstreamTool{server, tool, now}, retry.Fault(a.putPins(ctx, caller, known, version, change))
	})
}

func pinsKey(namespace string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindUpstreams, ID: upstreamsID}
}

func (a *App) pins(ctx context.Context, namespace string) (pins, int64, error) {
	record, err := a.store.Get(ctx, pinsKey(namespace))
	if errors.Is(err, store.ErrNotFound) {
		return pins{}, store.Absent, nil
	}
	if err != nil {
		return nil, 0, fault.From(err)
	}
	known := pins{}
	if err := json.Unmarshal(record.Data, &known); err != nil {
		return nil, 0, fault.From(fmt.Errorf("decode tools of upstream servers: %w", err))
	}
	return known, record.Version, nil
}

func (a *App) putPins(ctx context.Context, caller Caller, known pins, before int64, change *UpstreamChange) error {
	data, err := json.Marshal(known)
	if err != nil {
		return fmt.Errorf("encode tools of upstream servers: %w", err)
	}
	key := pinsKey(caller.Namespace)
	batch := store.Batch{Puts: []store.Put{{Key: key, Expect: before, Data: data}}}
	if change != nil {
		change.Version = before + 1
		event, err := a.announce.UpstreamChanged(caller.Namespace, caller.Principal.Name, change, a.clock().UTC())
		if err != nil {
			return err
		}
		event.Key = key
		batch.Events = []store.Event{event}
	}
	_, err = a.store.Commit(ctx, batch)
	return err
}
