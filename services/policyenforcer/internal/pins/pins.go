// Package pins remembers the tools of MCP servers behind the gate by their digests, and hides those that
// have changed until an operator accepts them.
package pins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/interlock-run/interlock/pkg/fault"
	"github.com/interlock-run/interlock/pkg/store"
	"github.com/interlock-run/interlock/services/internal/retry"
	"github.com/interlock-run/interlock/services/policyenforcer/internal/enforcer"
)

const (
	kindUpstreams = "upstream_tools"
	upstreamsID   = "tools"
	// maxUpstreamTools bounds the tools of a namespace that gateways report, and maxServerTools those of
	// one server. One record holds them and the tools of agents.
	maxUpstreamTools = 4096
	maxServerTools   = 2048
	// maxAgentsTools bounds the tools that only agents report, maxAgentTools those of one principal, and
	// maxAgentServerTools those of one server and principal.
	maxAgentsTools      = 2048
	maxAgentTools       = 512
	maxAgentServerTools = 128
	// maxAccepted bounds the accepted digests of a tool. Several are needed while replicas of a server are
	// updated.
	maxAccepted = 4
)

// Announcer creates the events of changes of tools.
type Announcer interface {
	UpstreamChanged(namespace, actor string, c *Change, at time.Time) (store.Event, error)
}

// Registry pins the tools of MCP servers behind the gate, and lists, accepts and forgets changes of them.
type Registry struct {
	store    store.Store
	announce Announcer
	clock    func() time.Time
}

// New returns the registry in a store.
func New(st store.Store, announce Announcer, clock func() time.Time) *Registry {
	return &Registry{store: st, announce: announce, clock: clock}
}

// Offered is a tool that an MCP server offers.
type Offered struct {
	Tool, Digest, Description string
	// Draft is a description made from its input schema, and Others are the arguments outside of it.
	Draft, Others string
}

// Tool is a known tool of a server.
type Tool struct {
	Server, Tool string
	pin
}

// pin is the status of a tool.
type pin struct {
	// Accepted are the digests that may be used, in order of acceptance.
	Accepted []string `json:"accepted"`
	// By is the agent that reported the tool first. It is empty after a report of a gateway or an
	// acceptance.
	By string `json:"by,omitempty"`
	// Changed is a digest that waits for acceptance, and Description its description.
	Changed     string `json:"changed,omitempty"`
	Description string `json:"description,omitempty"`
	// LeftOut is the reason why the tool cannot be relayed, or empty.
	LeftOut string `json:"left_out,omitempty"`
	// ChangedBy is the agent that reported the change, or empty for a gateway.
	ChangedBy string `json:"changed_by,omitempty"`
	// Drafted is the draft that belongs to the latest of Accepted, and ChangedDraft that of Changed.
	Drafted      *drafted `json:"drafted,omitempty"`
	ChangedDraft *drafted `json:"changed_draft,omitempty"`
}

// ReportedBy returns the agent that reported the latest digest, or "" for a gateway.
func (p pin) ReportedBy() string {
	if p.Changed != "" {
		return p.ChangedBy
	}
	return p.By
}

// tools has the pins of a namespace, by server and tool.
type tools map[string]map[string]pin

// Change is the event of a change of a server's tools.
type Change struct {
	Server  string
	Type    string // changed, accepted, forgotten or described
	Tools   []string
	Version int64 // counts the changes of the namespace
}

// Hidden lists the tools of a server that must not be used.
type Hidden struct {
	Changed []string // not as they were accepted
	NoRoom  []string // never seen, and not remembered
}

// Pin pins the new tools of a server as far as there is room, and returns the names of tools that must
// not be used. left has the tools that cannot be relayed, with the reasons.
func (r *Registry) Pin(ctx context.Context, caller enforcer.Caller, server string, seen []Offered, left map[string]string) (Hidden, error) {
	by := ""
	if caller.Principal.Role.Drives() {
		by = caller.Principal.Name
	}
	return retry.Do(ctx, "the tools of "+server, func() (Hidden, error) {
		known, version, err := r.load(ctx, caller.Namespace)
		if err != nil {
			return Hidden{}, err
		}
		change, hidden, pinned := known.take(server, by, seen)
		noted := known.leaveOut(server, by, left)
		if change == nil && !pinned && !noted {
			return hidden, nil
		}
		return hidden, r.update(ctx, caller, known, version, server, change)
	})
}

// take applies a report of a server's tools by an agent, or by a gateway if by is empty. change is nil
// if no tool has changed since the last report. pinned is true if a tool is new.
//
// Operators configure gateways, but an agent can report anything about any server. So the first report of a
// gateway replaces that of an agent, and agents never replace reports of gateways.
func (p tools) take(server, by string, seen []Offered) (change *Change, hidden Hidden, pinned bool) {
	var news []string
	room := p.room(server, by)
	for _, tool := range seen {
		now, known := p[server][tool.Tool]
		if now.LeftOut != "" && (by == "" || now.By != "") { // it can be relayed again
			now.LeftOut, pinned = "", true
			p[server][tool.Tool] = now
		}
		if known && len(now.Accepted) == 0 { // it was left out until now
			delete(p[server], tool.Tool)
			known, room = false, p.room(server, by)
		}
		switch {
		case (!known || by == "" && now.By != "") && room == 0:
			hidden.NoRoom = append(hidden.NoRoom, tool.Tool)
			continue
		case !known, by == "" && now.By != "":
			room--
			if p[server] == nil {
				p[server] = map[string]pin{}
			}
			p[server][tool.Tool] = pin{Accepted: []string{tool.Digest}, By: by, Drafted: draftOf(tool, by)}
			pinned = true
			continue
		case slices.Contains(now.Accepted, tool.Digest):
			if now.redraft(tool, by) {
				p[server][tool.Tool], pinned = now, true
			}
			continue
		case now.Changed != "" && now.ChangedBy == "" && by != "":
		case now.Changed != tool.Digest || now.ChangedBy != "" && by == "":
			now.Changed, now.Description, now.ChangedBy, now.ChangedDraft = tool.Digest, tool.Description, by, draftOf(tool, by)
			p[server][tool.Tool] = now
			news = append(news, tool.Tool)
		}
		hidden.Changed = append(hidden.Changed, tool.Tool)
	}
	if len(news) > 0 {
		change = &Change{Server: server, Type: "changed", Tools: news}
	}
	return change, hidden, pinned
}

// leaveOut stores the reasons why tools of a server cannot be relayed, as far as there is room, and reports
// whether one is new. Agents never change reports of gateways.
func (p tools) leaveOut(server, by string, left map[string]string) (changed bool) {
	for _, tool := range slices.Sorted(maps.Keys(left)) {
		now, known := p[server][tool]
		switch {
		case now.LeftOut == left[tool], known && by != "" && now.By == "", !known && p.room(server, by) == 0:
			continue
		case !known:
			now.By = by
		}
		if p[server] == nil {
			p[server] = map[string]pin{}
		}
		now.LeftOut = left[tool]
		p[server][tool], changed = now, true
	}
	return changed
}

// room returns the number of tools of a server that can still be pinned for an agent, or for a gateway if
// by is empty. Agents and gateways have separate bounds.
func (p tools) room(server, by string) int {
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

// Forget removes the pins of a server, or of one of its tools, and returns them.
func (r *Registry) Forget(ctx context.Context, caller enforcer.Caller, server, tool string) ([]Tool, error) {
	return retry.Do(ctx, "the tools of "+server, func() ([]Tool, error) {
		known, version, err := r.load(ctx, caller.Namespace)
		if err != nil {
			return nil, err
		}
		gone := known.forget(server, tool)
		if len(gone) == 0 {
			return nil, fault.New(fault.NotFound, "no such tool of the server %q is pinned; `interlock upstream list` shows those that are", server)
		}
		change := &Change{Server: server, Type: "forgotten"}
		for _, one := range gone {
			change.Tools = append(change.Tools, one.Tool)
		}
		return gone, r.update(ctx, caller, known, version, server, change)
	})
}

// forget removes the pins of a server, or of one of its tools, and returns them.
func (p tools) forget(server, tool string) (gone []Tool) {
	for _, name := range slices.Sorted(maps.Keys(p[server])) {
		if tool == "" || tool == name {
			gone = append(gone, Tool{server, name, p[server][name]})
			delete(p[server], name)
		}
	}
	if len(p[server]) == 0 {
		delete(p, server)
	}
	return gone
}

// List returns all known tools, by server and name.
func (r *Registry) List(ctx context.Context, namespace string) ([]Tool, error) {
	known, _, err := r.load(ctx, namespace)
	if err != nil {
		return nil, err
	}
	var all []Tool
	for _, server := range slices.Sorted(maps.Keys(known)) {
		for _, tool := range slices.Sorted(maps.Keys(known[server])) {
			all = append(all, Tool{server, tool, known[server][tool]})
		}
	}
	return all, nil
}

// Accept accepts the change of a server's tool that has the digest.
func (r *Registry) Accept(ctx context.Context, caller enforcer.Caller, server, tool, digest string) (*Tool, error) {
	return retry.Do(ctx, "the tools of "+server, func() (*Tool, error) {
		known, version, err := r.load(ctx, caller.Namespace)
		if err != nil {
			return nil, err
		}
		now := known[server][tool]
		switch {
		case now.Changed == "":
			return nil, fault.New(fault.NotFound, "no change of the tool %q of the server %q waits to be accepted", tool, server)
		case now.Changed != digest:
			return nil, fault.New(fault.VersionConflict,
				"the tool %q of the server %q has changed again since: list it, and accept its present version", tool, server)
		}
		all := append(slices.Clone(now.Accepted), now.Changed)
		now = pin{Accepted: all[max(0, len(all)-maxAccepted):], Drafted: now.ChangedDraft}
		known[server][tool] = now
		change := &Change{Server: server, Type: "accepted", Tools: []string{tool}}
		return &Tool{server, tool, now}, r.update(ctx, caller, known, version, server, change)
	})
}

func pinsKey(namespace string) store.Key {
	return store.Key{Namespace: namespace, Kind: kindUpstreams, ID: upstreamsID}
}

func (r *Registry) load(ctx context.Context, namespace string) (tools, int64, error) {
	record, err := r.store.Get(ctx, pinsKey(namespace))
	if errors.Is(err, store.ErrNotFound) {
		return tools{}, store.Absent, nil
	}
	if err != nil {
		return nil, 0, fault.From(err)
	}
	known := tools{}
	if err := json.Unmarshal(record.Data, &known); err != nil {
		return nil, 0, fault.From(fmt.Errorf("decode tools of upstream servers: %w", err))
	}
	return known, record.Version, nil
}

func (r *Registry) put(ctx context.Context, caller enforcer.Caller, known tools, before int64, change *Change, more ...store.Put) error {
	data, err := json.Marshal(known)
	if err != nil {
		return fmt.Errorf("encode tools of upstream servers: %w", err)
	}
	key := pinsKey(caller.Namespace)
	batch := store.Batch{Puts: append([]store.Put{{Key: key, Expect: before, Data: data}}, more...)}
	if change != nil {
		change.Version = before + 1
		event, err := r.announce.UpstreamChanged(caller.Namespace, caller.Principal.Name, change, r.clock().UTC())
		if err != nil {
			return err
		}
		event.Key = key
		batch.Events = []store.Event{event}
	}
	_, err = r.store.Commit(ctx, batch)
	return err
}
