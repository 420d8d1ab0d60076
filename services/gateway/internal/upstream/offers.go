package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// Bounds of the offers of one server: their number by kind, and their size as JSON.
const (
	maxOffers     = 4096
	maxOfferBytes = 8 << 20
)

// anyObject is the schema of a tool that has none.
var anyObject = json.RawMessage(`{"type":"object"}`)

// offers is all that a server offers.
type offers struct {
	tools        []Described
	prompts      []offered[sdk.Prompt]
	resources    []offered[sdk.Resource]
	templates    []offered[sdk.ResourceTemplate]
	leftOut      map[string]string // why a tool is not listed, by its name
	capabilities sdk.ServerCapabilities
	instructions string
}

// Kinds says which lists are meant.
type Kinds struct{ Tools, Prompts, Resources bool }

// and returns the lists that either means.
func (k Kinds) and(other Kinds) Kinds {
	return Kinds{k.Tools || other.Tools, k.Prompts || other.Prompts, k.Resources || other.Resources}
}

// differ returns which lists differ from others.
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
	if about.Capabilities != nil {
		o.capabilities = *about.Capabilities
	}
	if about.Capabilities == nil || o.capabilities.Tools != nil {
		all, err := list(ctx, c, "tools", readTool, func(ctx context.Context, cursor string) error {
			_, err := session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
			return err
		})
		if err != nil {
			return o, err
		}
		o.tools, o.leftOut = c.usable(all)
	}
	if o.capabilities.Prompts != nil {
		o.prompts, err = collect(ctx, c, "prompts", readPrompt, func(ctx context.Context, cursor string) error {
			_, err := session.ListPrompts(ctx, &sdk.ListPromptsParams{Cursor: cursor})
			return err
		})
		if err != nil && !unknownMethod(err) {
			return o, err
		}
	}
	if o.capabilities.Resources != nil {
		o.resources, err = collect(ctx, c, "resources", readResource, func(ctx context.Context, cursor string) error {
			_, err := session.ListResources(ctx, &sdk.ListResourcesParams{Cursor: cursor})
			return err
		})
		if err != nil && !unknownMethod(err) {
			return o, err
		}
		o.templates, err = collect(ctx, c, "resourceTemplates", readTemplate, func(ctx context.Context, cursor string) error {
			_, err := session.ListResourceTemplates(ctx, &sdk.ListResourceTemplatesParams{Cursor: cursor})
			return err
		})
		if err != nil && !unknownMethod(err) {
			return o, err
		}
	}
	return o, nil
}

// usable parts the tools that can be called from those that cannot.
func (c *connection) usable(all []listed[Described]) (tools []Described, leftOut map[string]string) {
	leftOut = map[string]string{}
	seen := map[string]bool{}
	for _, one := range all {
		name := one.name
		var why string
		switch {
		case one.err != nil:
			why = one.err.Error()
		case !toolName().MatchString(one.item.Name) || namesOffer(one.item.Name):
			why = "its name has unusual characters, is too long, or begins as those of prompts and resources do"
		case one.item.onlyAsTask:
			why = "it can only be called as a task, and tasks are not relayed"
		case seen[one.item.Name]:
			why = "the server has listed a tool of this name before"
		default:
			seen[one.item.Name] = true
			tools = append(tools, one.item)
			continue
		}
		c.log.Warn("upstream: a tool is left out", "tool", fmt.Sprintf("%.64s", name), "why", why)
		if len(leftOut) < maxLeftOut && !seen[name] {
			leftOut[name] = why
		}
	}
	return tools, leftOut
}

// maxLeftOut bounds the tools of a server of which it is remembered why they are left out.
const maxLeftOut = 256

// listed is an entry of a list, or why it cannot be used.
type listed[T any] struct {
	item T
	name string // as far as it can be read
	err  error
}

// list asks for the pages of a list, up to the bounds, and reads each entry.
func list[T any](
	ctx context.Context, c *connection, kind string, read func(json.RawMessage) (T, error), page func(context.Context, string) error,
) ([]listed[T], error) {
	var all []listed[T]
	size, cursor := 0, ""
	for {
		asking, got := expecting(ctx)
		if err := page(asking, cursor); err != nil {
			return nil, err
		}
		if got.failure != nil {
			return nil, got.failure
		}
		if got.result == nil {
			return all, nil
		}
		elements, err := relay.Elements(got.result.Get(kind))
		if err != nil {
			return nil, fmt.Errorf("its list of %s: %w", kind, err)
		}
		for _, element := range elements {
			if size += len(element); len(all) == maxOffers || size > maxOfferBytes {
				c.log.Warn("upstream: a server offers too much; the rest is ignored", "kind", kind, "limit", maxOffers, "bytes", maxOfferBytes)
				return all, nil
			}
			one := listed[T]{name: nameIn(element)}
			one.item, one.err = read(element)
			all = append(all, one)
		}
		next := readable(got.result.Get("nextCursor"))
		if next == "" || next == "null" || next == cursor {
			return all, nil
		}
		cursor = next
	}
}

// nameIn returns the name in an entry, as far as it has one.
func nameIn(element json.RawMessage) string {
	written, err := relay.ReadResult(element)
	if err != nil {
		return ""
	}
	var name string
	if json.Unmarshal(written.Get("name"), &name) != nil {
		return ""
	}
	return name
}

// collect lists the usable offers of one kind.
func collect[T any](
	ctx context.Context, c *connection, kind string, read func(json.RawMessage) (T, error), page func(context.Context, string) error,
) (items []T, err error) {
	all, err := list(ctx, c, kind, read, page)
	for _, one := range all {
		if one.err != nil {
			c.log.Warn("upstream: an entry of a list is left out", "kind", kind, "name", fmt.Sprintf("%.64s", one.name), "why", one.err)
			continue
		}
		items = append(items, one.item)
	}
	return items, err
}

// unknownMethod reports whether a server declares more than it answers.
func unknownMethod(err error) bool {
	var protocol *jsonrpc.Error
	return errors.As(err, &protocol) && protocol.Code == jsonrpc.CodeMethodNotFound
}
