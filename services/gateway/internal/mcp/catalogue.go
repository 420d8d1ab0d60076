package mcp

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/interlock-run/interlock/pkg/toolcall"
)

// qualifiedPrefix begins the full name of an upstream tool, mcp__SERVER__TOOL.
const qualifiedPrefix = "mcp__"

// upstreamTool is one tool of an upstream server.
type upstreamTool struct {
	upstream  *upstream
	tool      *sdk.Tool // as the upstream wrote it
	qualified string
	plain     string // empty while it is not offered under its plain name
}

// other is the tool's other name, or empty.
func (t *upstreamTool) other(name string) string {
	if name == t.plain {
		return t.qualified
	}
	return t.plain
}

// catalogue is everything that upstream servers offer, by the names under which
// it may be called. It is immutable.
type catalogue struct {
	tools     map[string]*upstreamTool
	list      []*sdk.Tool         // sorted by name
	ambiguous map[string][]string // plain name: the full names to call instead
}

// toolName is what an upstream tool may be called: what gates, logs and clients
// can carry without quoting or mistaking it for another.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_.:/-]{1,128}$`)

// nameOwners remembers which upstreams ever offered a plain name. A name that two
// have offered belongs to neither for good: a server that comes later cannot take
// over a name that a state allows for the first.
type nameOwners struct {
	mu   sync.Mutex
	seen map[string]map[string]bool
}

func newNameOwners() *nameOwners { return &nameOwners{seen: map[string]map[string]bool{}} }

func (o *nameOwners) claim(plain, upstream string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.seen[plain] == nil {
		o.seen[plain] = map[string]bool{}
	}
	o.seen[plain][upstream] = true
}

func (o *nameOwners) sole(plain string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return len(o.seen[plain]) == 1
}

// reservedName is whether a plain name belongs to Interlock, under any prefix in
// use, or would pass for a full one.
func (s *Server) reservedName(plain string) bool {
	if strings.HasPrefix(plain, qualifiedPrefix) {
		return true
	}
	bare, ok := strings.CutPrefix(plain, s.cfg.ToolPrefix)
	return toolcall.Own(plain) || ok && reserved[bare]
}

// upstreamChanged takes over an upstream's new list of tools.
func (s *Server) upstreamChanged() {
	s.rebuild()
	s.sessions.all()
}

// rebuild makes the catalogue anew from what the upstreams offer now.
func (s *Server) rebuild() {
	s.rebuilding.Lock()
	defer s.rebuilding.Unlock()
	c := &catalogue{tools: map[string]*upstreamTool{}, ambiguous: map[string][]string{}}
	var all []*upstreamTool
	for name, u := range s.upstreams {
		for _, tool := range u.offered() {
			if !toolName.MatchString(tool.Name) {
				s.log.Warn("mcp: an upstream tool is left out: its name has unusual characters or is too long",
					"upstream", name, "tool", clip(tool.Name, 64))
				continue
			}
			t := &upstreamTool{upstream: u, tool: tool, qualified: qualifiedPrefix + name + "__" + tool.Name}
			if c.tools[t.qualified] != nil || toolcall.Own(t.qualified) {
				continue // the same tool twice in one list, or one that the gate would take for ours
			}
			c.tools[t.qualified] = t
			all = append(all, t)
			s.owners.claim(tool.Name, name)
		}
	}
	for _, t := range all {
		switch plain := t.tool.Name; {
		case s.reservedName(plain):
		case s.owners.sole(plain):
			t.plain = plain
			c.tools[plain] = t
		default:
			c.ambiguous[plain] = append(c.ambiguous[plain], t.qualified)
		}
	}
	for name, t := range c.tools {
		listed := *t.tool
		listed.Name = name
		c.list = append(c.list, &listed)
	}
	slices.SortFunc(c.list, func(a, b *sdk.Tool) int { return strings.Compare(a.Name, b.Name) })
	for _, names := range c.ambiguous {
		slices.Sort(names)
	}
	s.catalogue.Store(c)
}

// unknownTool says why a name cannot be called.
func (s *Server) unknownTool(name string) string {
	message := "unknown tool " + strconv.Quote(clip(name, 128))
	if full := s.catalogue.Load().ambiguous[name]; len(full) > 0 {
		return message + ": more than one server has had it; call " + strings.Join(full, " or ")
	}
	if server, _, ok := strings.Cut(strings.TrimPrefix(name, qualifiedPrefix), "__"); ok && strings.HasPrefix(name, qualifiedPrefix) {
		if u := s.upstreams[server]; u != nil {
			if err := u.failure(); err != nil {
				return message + ": the server " + server + " is not available: " + err.Error()
			}
		}
	}
	return message + "; tools/list names the tools"
}
