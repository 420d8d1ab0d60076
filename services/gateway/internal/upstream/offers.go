package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Bounds of what one server offers: things of one kind, and what it says of them, as JSON.
const (
	maxOffers     = 4096
	maxOfferBytes = 8 << 20
)

// anyObject is the schema of a tool that has none.
var anyObject = json.RawMessage(`{"type":"object"}`)

// offers is all that a server offers.
type offers struct {
	tools        []*sdk.Tool
	prompts      []*sdk.Prompt
	resources    []*sdk.Resource
	templates    []*sdk.ResourceTemplate
	capabilities sdk.ServerCapabilities
	instructions string
}

// Kinds says which lists are meant.
type Kinds struct{ Tools, Prompts, Resources bool }

// and is the lists that either means.
func (k Kinds) and(other Kinds) Kinds {
	return Kinds{k.Tools || other.Tools, k.Prompts || other.Prompts, k.Resources || other.Resources}
}

// differ is which lists differ from others.
func (o offers) differ(from offers) Kinds {
	return Kinds{
		Tools:     !reflect.DeepEqual(o.tools, from.tools),
		Prompts:   !reflect.DeepEqual(o.prompts, from.prompts),
		Resources: !reflect.DeepEqual(o.resources, from.resources) || !reflect.DeepEqual(o.templates, from.templates),
	}
}

// ask lists all that the server offers.
func (c *connection) ask(ctx context.Context, session *sdk.ClientSession) (o offers, err error) {
	about := session.InitializeResult()
	o.instructions = about.Instructions
	c.mu.Lock()
	c.onlyAsTask = nil // the list says it anew
	c.mu.Unlock()
	if about.Capabilities != nil {
		o.capabilities = *about.Capabilities
	}
	if about.Capabilities == nil || o.capabilities.Tools != nil {
		if o.tools, err = collect(c, "tools", session.Tools(ctx, nil)); err != nil {
			return o, err
		}
		// Tasks are not relayed.
		o.tools = slices.DeleteFunc(o.tools, func(tool *sdk.Tool) bool { return c.needsTask(tool.Name) })
		for _, tool := range o.tools {
			if tool.InputSchema == nil {
				tool.InputSchema = anyObject
			}
		}
	}
	if o.capabilities.Prompts != nil {
		if o.prompts, err = collect(c, "prompts", session.Prompts(ctx, nil)); err != nil && !unknownMethod(err) {
			return o, err
		}
	}
	if o.capabilities.Resources != nil {
		if o.resources, err = collect(c, "resources", session.Resources(ctx, nil)); err != nil && !unknownMethod(err) {
			return o, err
		}
		if o.templates, err = collect(c, "resource templates", session.ResourceTemplates(ctx, nil)); err != nil && !unknownMethod(err) {
			return o, err
		}
	}
	return o, nil
}

// needTask notes tools that can only be called as tasks.
func (c *connection) needTask(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, name := range names {
		if c.onlyAsTask[name] || len(c.onlyAsTask) == maxOffers {
			continue
		}
		if c.onlyAsTask == nil {
			c.onlyAsTask = map[string]bool{}
		}
		c.onlyAsTask[name] = true
		c.log.Warn("upstream: a tool is not listed: it can only be called as a task, and tasks are not relayed", "tool", fmt.Sprintf("%.64s", name))
	}
}

func (c *connection) needsTask(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.onlyAsTask[name]
}

// collect lists things of one kind, up to the bounds.
func collect[T any](c *connection, kind string, all iter.Seq2[*T, error]) (list []*T, err error) {
	size := 0
	for one, err := range all {
		if err != nil {
			return nil, err
		}
		text, err := json.Marshal(one)
		if err != nil {
			return nil, fmt.Errorf("one of its %s: %w", kind, err)
		}
		if size += len(text); len(list) == maxOffers || size > maxOfferBytes {
			c.log.Warn("upstream: a server offers too much; the rest is ignored", "kind", kind, "limit", maxOffers, "bytes", maxOfferBytes)
			break
		}
		list = append(list, one)
	}
	return list, nil
}

// unknownMethod is whether a server declares more than it answers.
func unknownMethod(err error) bool {
	var protocol *jsonrpc.Error
	return errors.As(err, &protocol) && protocol.Code == jsonrpc.CodeMethodNotFound
}
