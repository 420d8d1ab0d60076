package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/yosida95/uritemplate/v3"

	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// Prompt is one prompt of a server.
type Prompt struct {
	*sdk.Prompt // as the server wrote it
	// Offer stands for it at the gate.
	Offer      *Tool
	connection *connection
}

type (
	// Resource is one resource of a server.
	Resource struct {
		*sdk.Resource
		text       *relay.Result
		connection *connection
	}
	// Template is a template of URIs of resources.
	Template struct {
		*sdk.ResourceTemplate
		text       *relay.Result
		connection *connection
	}
)

// Server returns the name of its server.
func (r *Resource) Server() string { return r.connection.server.Name }

// Server returns the name of its server.
func (t *Template) Server() string { return t.connection.server.Name }

// Text returns the resource as its server describes it.
func (r *Resource) Text() json.RawMessage { return r.text.JSON() }

// Text returns the template as its server describes it.
func (t *Template) Text() json.RawMessage { return t.text.JSON() }

// promptName matches valid names of prompts: names that people can read.
var promptName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[^\pC\s]([^\pC]{0,126}[^\pC\s])?$`) })

func (s *Set) addPrompt(c *Catalogue, from *connection, prompt offered[sdk.Prompt]) {
	name := Prefix + from.server.Name + "__" + prompt.item.Name
	if from.server.Plain && !strings.HasPrefix(prompt.item.Name, Prefix) && c.Prompts[prompt.item.Name] == nil {
		name = prompt.item.Name // one with the prefix would be that of another server
	}
	if !promptName().MatchString(prompt.item.Name) || c.Prompts[name] != nil {
		s.options.Logger.Warn("upstream: a prompt is ignored: its name has unusual characters, is too long, or is there already",
			"upstream", from.server.Name, "prompt", fmt.Sprintf("%.64s", prompt.item.Name))
		return
	}
	c.Prompts[name] = &Prompt{Prompt: prompt.item, Offer: from.offer(promptOffer + prompt.item.Name), connection: from}
	listed := *prompt.item
	listed.Name = name
	c.promptTexts[name] = named(prompt.text, name)
	c.PromptList = append(c.PromptList, &listed)
	c.Capabilities.Prompts = &sdk.PromptCapabilities{ListChanged: true}
}

// UnknownPrompt describes why a prompt cannot be had.
func (s *Set) UnknownPrompt(name string) string {
	message := fmt.Sprintf("unknown prompt %.128q", name)
	var full []string
	for exposed, p := range s.Catalogue().Prompts {
		if p.Name == name {
			full = append(full, exposed)
		}
	}
	if len(full) > 0 {
		slices.Sort(full)
		return message + ": prompts of servers have full names; get " + strings.Join(full, " or ")
	}
	return message + "; prompts/list names the prompts"
}

// Prefixes of the names of offers. No tool has such a name: a rule about a resource would
// be one about the tool.
const (
	promptOffer   = "prompt:"
	resourceOffer = "resource:"
)

func namesOffer(tool string) bool {
	return strings.HasPrefix(tool, promptOffer) || strings.HasPrefix(tool, resourceOffer)
}

// offer stands before the gate for something of a server that is no tool.
func (c *connection) offer(name string) *Tool {
	return &Tool{Tool: &sdk.Tool{Name: name}, Qualified: Prefix + c.server.Name + "__" + name, connection: c}
}

func (c *Catalogue) addResources(from *connection, o offers) {
	for _, resource := range o.resources {
		c.Resources = append(c.Resources, &Resource{resource.item, resource.text, from})
	}
	for _, template := range o.templates {
		c.Templates = append(c.Templates, &Template{template.item, template.text, from})
	}
	if resources := o.capabilities.Resources; resources != nil {
		if c.Capabilities.Resources == nil {
			c.Capabilities.Resources = &sdk.ResourceCapabilities{ListChanged: true}
		}
		c.Capabilities.Resources.Subscribe = c.Capabilities.Resources.Subscribe || resources.Subscribe
		c.readers = append(c.readers, from)
	}
	if o.capabilities.Logging != nil {
		c.Capabilities.Logging = &sdk.LoggingCapabilities{}
	}
	if o.capabilities.Completions != nil {
		c.Capabilities.Completions = &sdk.CompletionCapabilities{}
	}
}

// longestURI bounds the URI of a resource, so that its name before the gate is whole.
const longestURI = 400

// Reader returns the offer that stands at the gate for the resource of a URI: that of the
// server which lists it, or whose template it fits, or which is the only one with
// resources. It is nil for a URI that no server can be asked about, and says then why.
func (c *Catalogue) Reader(uri string) (offer *Tool, why string) {
	if len(uri) > longestURI {
		return nil, fmt.Sprintf("the URI is longer than %d bytes", longestURI)
	}
	var listed, fitting []*connection
	for _, r := range c.Resources {
		if r.URI == uri && !slices.Contains(listed, r.connection) {
			listed = append(listed, r.connection)
		}
	}
	if len(listed) > 0 {
		return only(listed, uri)
	}
	if !plainURI(uri) {
		return nil, "a URI that no server lists must be written plainly: without ., .. and empty parts in its path, " +
			"a user, a fragment, an empty query, the port that its scheme has anyway, characters escaped that need no escape, and upper case " +
			"in its scheme and host; addresses are written as in 127.0.0.1 and [::1], and files as file:///PATH"
	}
	for _, r := range c.Resources {
		if loosely(r.URI) == loosely(uri) {
			return nil, fmt.Sprintf("it is listed as %q; read that", r.URI)
		}
	}
	for _, t := range c.Templates {
		if template, err := uritemplate.New(t.URITemplate); err == nil && template.Match(uri) != nil && !slices.Contains(fitting, t.connection) {
			fitting = append(fitting, t.connection)
		}
	}
	if len(fitting) > 0 {
		return only(fitting, uri)
	}
	switch len(c.readers) {
	case 0:
		return nil, "no server has resources"
	case 1:
		return c.readers[0].offer(resourceOffer + uri), ""
	default:
		return nil, "no server lists it, and several have resources"
	}
}

// only returns the offer that stands at the gate for a resource that one server has. Of
// several, any could have taken the name of another's.
func only(servers []*connection, uri string) (offer *Tool, why string) {
	if len(servers) > 1 {
		return nil, fmt.Sprintf("the servers %s and %s both have it, so it is not known whose is meant", servers[0].server.Name, servers[1].server.Name)
	}
	return servers[0].offer(resourceOffer + uri), ""
}

// ask makes one request of the server of an offer. Its error is a *Failure, or the
// server's error.
func ask[R any](ctx context.Context, t *Tool, env *Environment, via *Peer, request func(context.Context, *sdk.ClientSession) (R, error)) (result R, err error) {
	var wanted environment
	if env != nil {
		wanted = t.connection.environmentWith(env)
	}
	session, end, err := t.connection.begin(ctx, wanted, via)
	if err != nil {
		return result, &Failure{message: err.Error(), NotCalled: true}
	}
	defer end()
	result, err = request(ctx, session)
	var protocol *jsonrpc.Error
	switch {
	case err == nil:
		return result, nil
	case errors.As(err, &protocol):
		return result, protocol
	case ctx.Err() != nil:
		return result, &Failure{Late: errors.Is(ctx.Err(), context.DeadlineExceeded), message: "the server " + t.Server() + " did not answer in time"}
	default:
		return result, &Failure{message: "the connection to the server " + t.Server() + " broke. Interlock restarts the server."}
	}
}

// Get gets a prompt.
func (p *Prompt) Get(ctx context.Context, env *Environment, via *Peer, params *sdk.GetPromptParams) (*relay.Result, error) {
	at := *params
	at.Name = p.Name
	return result(ctx, p.Offer, env, via, func(ctx context.Context, session *sdk.ClientSession) error {
		_, err := session.GetPrompt(ctx, &at)
		return err
	})
}

// Read reads the resource that an offer stands for.
func (t *Tool) Read(ctx context.Context, env *Environment, via *Peer, params *sdk.ReadResourceParams) (*relay.Result, error) {
	return result(ctx, t, env, via, func(ctx context.Context, session *sdk.ClientSession) error {
		_, err := session.ReadResource(ctx, params)
		return err
	})
}

// result asks for something whose result passes as the server wrote it.
func result(
	ctx context.Context, t *Tool, env *Environment, via *Peer, request func(context.Context, *sdk.ClientSession) error,
) (*relay.Result, error) {
	got, err := ask(ctx, t, env, via, func(ctx context.Context, session *sdk.ClientSession) (*answer, error) {
		asking, got := expecting(ctx)
		return got, request(asking, session)
	})
	switch {
	case err != nil:
		return nil, err
	case got.failure != nil:
		return nil, &Failure{message: fmt.Sprintf("the server %s failed: %v", t.Server(), got.failure)}
	case got.result == nil:
		return nil, &Failure{message: "the server " + t.Server() + " returned nothing"}
	}
	return got.result, nil
}

// maxWatched bounds the resources of one server that are watched at once: the oldest goes.
const maxWatched = 1024

// Subscribe asks the server for notices of changes of a resource, also after it was
// restarted. A client that does not watch it any more is not notified.
func (t *Tool) Subscribe(ctx context.Context, uri string) error {
	// Before the server is asked, because it may report a change at once.
	oldest, added := t.connection.watch(uri)
	_, err := ask(ctx, t, nil, nil, func(ctx context.Context, session *sdk.ClientSession) (struct{}, error) {
		if err := session.Subscribe(ctx, &sdk.SubscribeParams{URI: uri}); err != nil {
			return struct{}{}, err
		}
		if oldest != "" {
			session.Unsubscribe(ctx, &sdk.UnsubscribeParams{URI: oldest}) //nolint:errcheck // there are no notices of it
		}
		return struct{}{}, nil
	})
	if err != nil && added {
		t.connection.forgetWatched(uri)
	}
	return err
}

// watch remembers a resource, and returns whether it was not yet, and the oldest when there
// are too many.
func (c *connection) watch(uri string) (oldest string, added bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before := len(c.watched)
	c.watched = append(slices.DeleteFunc(c.watched, func(other string) bool { return other == uri }), uri)
	added = len(c.watched) > before
	if len(c.watched) > maxWatched {
		oldest, c.watched = c.watched[0], c.watched[1:]
	}
	return oldest, added
}

func (c *connection) forgetWatched(uri string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.watched = slices.DeleteFunc(c.watched, func(other string) bool { return other == uri })
}

// watches reports whether the server was asked for notices of a resource: it may not report
// those of other servers.
func (c *connection) watches(uri string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.watched, uri)
}

// watchAgain watches the same resources as before the server was restarted.
func (c *connection) watchAgain(ctx context.Context, session *sdk.ClientSession) {
	c.mu.Lock()
	watched := slices.Clone(c.watched)
	c.mu.Unlock()
	for _, uri := range watched {
		if err := session.Subscribe(ctx, &sdk.SubscribeParams{URI: uri}); err != nil {
			c.log.Warn("upstream: a resource is not watched any more", "uri", uri, "error", err)
		}
	}
}

// Complete completes an argument of a prompt or a template of the offer's server.
func (t *Tool) Complete(ctx context.Context, via *Peer, params *sdk.CompleteParams) (*relay.Result, error) {
	return result(ctx, t, nil, via, func(ctx context.Context, session *sdk.ClientSession) error {
		_, err := session.Complete(ctx, params)
		return err
	})
}

// Completer returns the offer that stands at the gate for a completion, and the reference
// as its server knows it; nil for one that no server has.
func (c *Catalogue) Completer(ref *sdk.CompleteReference) (*Tool, *sdk.CompleteReference) {
	if ref == nil {
		return nil, nil
	}
	at := *ref
	switch ref.Type {
	case "ref/prompt":
		if p := c.Prompts[ref.Name]; p != nil {
			at.Name = p.Name
			return p.Offer, &at
		}
	case "ref/resource":
		for _, t := range c.Templates {
			if t.URITemplate == ref.URI {
				return t.connection.offer(resourceOffer + ref.URI), &at
			}
		}
		if offer, _ := c.Reader(ref.URI); offer != nil && !strings.Contains(ref.URI, "{") {
			return offer, &at
		}
	}
	return nil, nil
}

// ForwardedMeta returns the part of a request's _meta for the server: not the part between the
// client and Interlock.
func ForwardedMeta(meta sdk.Meta) sdk.Meta {
	var kept sdk.Meta
	for key, value := range asWritten(meta) {
		// The client's capabilities, and the messages that it wants, are for the server
		// too.
		said := key == sdk.MetaKeyClientCapabilities || key == sdk.MetaKeyLogLevel
		if key == "progressToken" || strings.HasPrefix(key, "interlock.run/") || strings.HasPrefix(key, "io.modelcontextprotocol/") && !said {
			continue
		}
		if kept == nil {
			kept = sdk.Meta{}
		}
		kept[key] = value
	}
	return kept
}

// WrittenMeta is the member of a request's _meta that has the whole of it as its client wrote it.
// The edge sets it, because the SDK reads numbers anew.
const WrittenMeta = "interlock.run/meta"

// asWritten returns a request's _meta as its client wrote it, but for the members that
// the SDK reads.
func asWritten(meta sdk.Meta) map[string]any {
	text, ok := meta[WrittenMeta].(string)
	if !ok {
		return meta
	}
	members, err := relay.Members([]byte(text))
	if err != nil {
		return meta
	}
	written := map[string]any{}
	for _, m := range members {
		if read, ok := meta[m.Name]; ok && strings.HasPrefix(m.Name, "io.modelcontextprotocol/") {
			written[m.Name] = read
		} else {
			written[m.Name] = m.Value
		}
	}
	return written
}

// ProgressToken returns the token that a client wants to be notified of progress with, as it
// wrote it; nil for none.
func ProgressToken(meta sdk.Meta) json.RawMessage {
	token, ok := asWritten(meta)["progressToken"]
	if !ok || token == nil {
		return nil
	}
	text, err := json.Marshal(token)
	if err != nil || string(text) == "null" {
		return nil
	}
	return text
}
