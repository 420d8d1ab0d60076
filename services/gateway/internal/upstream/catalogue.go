package upstream

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/toolcall"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/services/gateway/internal/relay"
)

// Prefix begins the full name of a tool, mcp__SERVER__TOOL.
const Prefix = "mcp__"

// Tool is one tool of a server.
type Tool struct {
	*sdk.Tool         // as the server wrote it
	Qualified  string // its full name
	Digest     string // of all that an agent reads of it
	Newer      bool   // only clients of the stateless protocol can read its outputSchema
	text       *relay.Result
	plain      string // the name that the operator has given it; empty for none
	connection *connection
}

// Server returns the name of the tool's server.
func (t *Tool) Server() string { return t.connection.server.Name }

// Draft returns what its input schema suggests that its arguments mean, and the arguments about which it says nothing.
func (t *Tool) Draft() (description, others string) {
	schema, err := json.Marshal(t.InputSchema)
	if err != nil {
		return "", ""
	}
	return toolinput.Draft(t.Name, schema)
}

// IsProcess reports whether its server is a process of ours.
func (t *Tool) IsProcess() bool { return t.connection != nil && len(t.connection.server.Command) > 0 }

// Other returns the tool's other name, or empty.
func (t *Tool) Other(name string) string {
	if name == t.plain {
		return t.Qualified
	}
	return t.plain
}

// Catalogue is everything that servers offer, by the names under which it may be
// called. It is immutable.
type Catalogue struct {
	Tools map[string]*Tool
	List  []*sdk.Tool              // under each of their names, sorted by it
	texts map[string]*relay.Result // of the tools and prompts in lists, by their names there
	left  map[string]string        // why a tool is left out, by its full name
	// LeftOut is why tools are left out, by their servers and names.
	LeftOut map[string]map[string]string
	bare    map[string][]string // a tool's name at its server: its full names

	// Prompts by the name that agents use, and in the order in which they are listed.
	Prompts     map[string]*Prompt
	promptTexts map[string]*relay.Result
	PromptList  []*sdk.Prompt
	// Resources and templates, in the order of their servers' names.
	Resources []*Resource
	Templates []*Template
	// Capabilities are those that any server has, in addition to tools.
	Capabilities sdk.ServerCapabilities
	// Instructions of servers, by their names.
	Instructions []Instruction
	readers      []*connection // servers with resources
}

// Instruction is the text that a server sends to the clients that use it.
type Instruction struct{ Server, Text string }

// Catalogue returns the present offers of the servers.
func (s *Set) Catalogue() *Catalogue { return s.catalogue.Load() }

// toolName matches valid names of tools: those that gates, logs and clients can carry
// without quoting or mistaking it for another.
var toolName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,128}$`) })

// rebuild makes the catalogue anew from the present offers of the servers.
func (s *Set) rebuild() {
	s.rebuilding.Lock()
	defer s.rebuilding.Unlock()
	c := &Catalogue{
		Tools: map[string]*Tool{}, bare: map[string][]string{}, Prompts: map[string]*Prompt{},
		texts: map[string]*relay.Result{}, promptTexts: map[string]*relay.Result{}, left: map[string]string{}, LeftOut: map[string]map[string]string{},
	}
	for _, name := range slices.Sorted(maps.Keys(s.connections)) {
		from := s.connections[name]
		o := from.offered()
		for _, tool := range o.tools {
			s.addTool(c, from, tool)
		}
		for _, prompt := range o.prompts {
			s.addPrompt(c, from, prompt)
		}
		if len(o.leftOut) > 0 {
			c.LeftOut[name] = o.leftOut
		}
		for tool, why := range o.leftOut {
			c.left[Prefix+name+"__"+tool] = why
		}
		c.addResources(from, o)
		if o.instructions != "" {
			c.Instructions = append(c.Instructions, Instruction{name, o.instructions})
		}
	}
	for name, t := range c.Tools {
		if t.connection.server.Plain && t.plain != "" && name == t.Qualified {
			continue // it is listed as its server does
		}
		listed := *t.Tool
		listed.Name = name
		c.List = append(c.List, &listed)
		c.texts[name] = named(t.text, name)
	}
	slices.SortFunc(c.List, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
	for _, names := range c.bare {
		slices.Sort(names)
	}
	s.catalogue.Store(c)
}

// named returns a text with another name.
func named(text *relay.Result, name string) *relay.Result {
	text = text.Clone()
	text.Set("name", relay.Quote(name))
	return text
}

// ToolText returns a tool of the list as its server describes it; nil for one that is not
// there.
func (c *Catalogue) ToolText(name string) json.RawMessage {
	if text := c.texts[name]; text != nil {
		return text.JSON()
	}
	return nil
}

// PromptText returns a prompt of the list as its server describes it.
func (c *Catalogue) PromptText(name string) json.RawMessage { return c.promptTexts[name].JSON() }

func (s *Set) addTool(c *Catalogue, from *connection, tool Described) {
	t := &Tool{Tool: tool.Tool, Qualified: Prefix + from.server.Name + "__" + tool.Name, Digest: tool.digest, Newer: tool.newer, text: tool.text, connection: from}
	if c.Tools[t.Qualified] != nil || toolcall.Own(t.Qualified) {
		return // the same tool twice in one list, or one that the gate would take for ours
	}
	c.Tools[t.Qualified] = t
	c.bare[tool.Name] = append(c.bare[tool.Name], t.Qualified)
	plain := from.server.plainName(tool.Name)
	if plain == "" && from.server.Plain && s.mayBePlain(tool.Name) && c.Tools[tool.Name] == nil {
		plain = tool.Name
	}
	if plain != "" {
		t.plain = plain
		c.Tools[plain] = t
	}
}

// mayBePlain reports whether a tool of a server may be called by its plain name where the
// operator has said so of the whole server: never by one of Interlock's or of a client's, nor
// by one that the operator has given another tool.
func (s *Set) mayBePlain(name string) bool {
	for _, c := range s.connections {
		if c.server.Names[name] != "" {
			return false
		}
	}
	return !toolname.Known(name) && !s.options.Reserved(name) && !strings.HasPrefix(name, Prefix)
}

// Unknown describes why a name cannot be called.
func (s *Set) Unknown(name string) string {
	message := fmt.Sprintf("unknown tool %.128q", name)
	if full := s.Catalogue().bare[name]; len(full) > 0 {
		return message + ": tools of servers are called by their full names; call " + strings.Join(full, " or ")
	}
	if why := s.Catalogue().left[name]; why != "" {
		return message + ": its server offers it, and it is left out because of how it is described: " + why
	}
	if server, _, ok := strings.Cut(strings.TrimPrefix(name, Prefix), "__"); ok && strings.HasPrefix(name, Prefix) {
		if c := s.connections[server]; c != nil {
			if err := c.failure(); err != nil {
				return message + ": the server " + server + " is not available: " + err.Error()
			}
		}
	}
	return message + "; tools/list names the tools"
}
