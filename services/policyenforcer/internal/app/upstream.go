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
	// maxUpstreamTools bounds the tools of a namespace, which are one record.
	maxUpstreamTools = 4096
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
	// Changed is the digest that was seen and is not accepted, with its description.
	Changed     string `json:"changed,omitempty"`
	Description string `json:"description,omitempty"`
}

// pins are those of a namespace, by server and tool.
type pins map[string]map[string]pin

// UpstreamChange is a change of a server's tools, as it is announced.
type UpstreamChange struct {
	Server  string
	Type    string // changed or accepted
	Tools   []string
	Version int64 // counts the changes of the namespace
}

// ObserveTools pins the tools of a server that were never seen, and returns the names of
// those that are not as they were accepted.
func (a *App) ObserveTools(ctx context.Context, caller Caller, server string, seen []ObservedTool) (changed []string, err error) {
	return retry.Do(ctx, "the tools of "+server, func() ([]string, error) {
		known, version, err := a.pins(ctx, caller.Namespace)
		if err != nil {
			return nil, err
		}
		change, hidden, grown := known.observe(server, seen)
		if change == nil && !grown {
			return hidden, nil
		}
		if known.count() > maxUpstreamTools {
			return nil, fault.New(fault.LimitReached, "a namespace remembers at most %d tools of upstream servers", maxUpstreamTools)
		}
		return hidden, retry.Fault(a.putPins(ctx, caller, known, version, change))
	})
}

// observe takes a server's tools over. change is nil when none has changed since the last
// time, and grown is true when there are new ones.
func (p pins) observe(server string, seen []ObservedTool) (change *UpstreamChange, hidden []string, grown bool) {
	var news []string
	for _, tool := range seen {
		now, known := p[server][tool.Tool]
		switch {
		case !known:
			if p[server] == nil {
				p[server] = map[string]pin{}
			}
			p[server][tool.Tool] = pin{Accepted: []string{tool.Digest}}
			grown = true
			continue
		case slices.Contains(now.Accepted, tool.Digest):
			continue
		case now.Changed != tool.Digest:
			now.Changed, now.Description = tool.Digest, tool.Description
			p[server][tool.Tool] = now
			news = append(news, tool.Tool)
		}
		hidden = append(hidden, tool.Tool)
	}
	if len(news) > 0 {
		change = &UpstreamChange{Server: server, Type: "changed", Tools: news}
	}
	return change, hidden, grown
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

// AcceptTools accepts what has changed of a server's tool, or of all of its tools.
func (a *App) AcceptTools(ctx context.Context, caller Caller, server, tool string) ([]UpstreamTool, error) {
	return retry.Do(ctx, "the tools of "+server, func() ([]UpstreamTool, error) {
		known, version, err := a.pins(ctx, caller.Namespace)
		if err != nil {
			return nil, err
		}
		accepted, change := known.accept(server, tool)
		if change == nil {
			return nil, fault.New(fault.NotFound, "no change of such a tool of the server %q waits to be accepted", server)
		}
		return accepted, retry.Fault(a.putPins(ctx, caller, known, version, change))
	})
}

func (p pins) accept(server, only string) (accepted []UpstreamTool, change *UpstreamChange) {
	change = &UpstreamChange{Server: server, Type: "accepted"}
	for _, tool := range slices.Sorted(maps.Keys(p[server])) {
		now := p[server][tool]
		if now.Changed == "" || only != "" && only != tool {
			continue
		}
		all := append(slices.Clone(now.Accepted), now.Changed)
		now = pin{Accepted: all[max(0, len(all)-maxAccepted):]}
		p[server][tool] = now
		accepted = append(accepted, UpstreamTool{server, tool, now})
		change.Tools = append(change.Tools, tool)
	}
	if len(accepted) == 0 {
		return nil, nil
	}
	return accepted, change
}

func (p pins) count() (n int) {
	for _, tools := range p {
		n += len(tools)
	}
	return n
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
