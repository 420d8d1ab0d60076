// Package upstream keeps the MCP servers behind the gate: it starts and connects them,
// knows which tools they offer under which names, and calls those. Whether a call may be
// made was decided before: this package does not ask. It must never let one server speak
// for another, take over a name of it, or see what is Interlock's own.
//
// A tool is a server's: it is named mcp__SERVER__TOOL. A server cannot choose a plain
// name, because a state that allows "Read" means the client's tool. Only the operator
// can give a tool one.
package upstream

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/interlock-run/interlock/pkg/toolname"
)

// Server is one MCP server behind the gate: a command that speaks MCP on stdio, or
// the URL of a streamable HTTP endpoint.
type Server struct {
	// Name is part of its tools' names, mcp__NAME__tool.
	Name string
	// Command and its arguments, started in Dir. It inherits this process's environment
	// without INTERLOCK_ variables; see Environment for the changes of calls.
	Command []string
	Env     map[string]string
	Dir     string
	// URL is used when Command is empty. Headers go to its host only.
	URL     string
	Headers map[string]string
	// Names are further names of its tools: the name, and the tool as the server calls
	// it. They cannot be names of clients' tools, nor of Interlock's.
	Names map[string]string
	// Plain gives all its tools and prompts the names that it gives them, but those that
	// are names of clients' tools or of Interlock's.
	Plain bool
	// Needs are the rights of its process in its jail; nil for no jail, unless all are
	// jailed.
	Needs *Needs
}

// Options of all servers.
type Options struct {
	// ConnectTimeout bounds the start of a server.
	ConnectTimeout time.Duration
	// Backoff is the first wait before a server is started again.
	Backoff time.Duration
	// StopGrace is how long a process has after its stdin has closed, and again after
	// SIGTERM, before it is killed.
	StopGrace time.Duration
	// MaxResultBytes bounds the result of a tool. Messages may be longer by its envelope.
	MaxResultBytes int
	// Stderr gets the stderr of processes; nil drops it.
	Stderr io.Writer
	// Version of this build, shown to servers.
	Version string
	Logger  *slog.Logger
	// Jailer starts the servers that run in jails.
	Jailer Jailer

	// Alone is the client where there is only one; nil where many share the servers.
	Alone *Peer
	// Reserved is whether a name is one of Interlock's own tools.
	Reserved func(name string) bool
	// Changed is called after lists have changed, and Updated after a resource has.
	Changed func(*Catalogue, Kinds)
	Updated func(uri string)
}

// serverName keeps mcp__NAME__tool unambiguous: "__" and "_" at an end would not.
var serverName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9](?:[A-Za-z0-9-]|_[A-Za-z0-9-])*$`)
})

// reservedServers are names under which agents know Interlock itself. Gates take
// mcp__interlock__... for own tools and always allow them (S3).
var reservedServers = map[string]bool{"interlock": true, "statewright": true}

func (s Server) validate(mode Jails) error {
	switch {
	case !serverName().MatchString(s.Name) || len(s.Name) > 64:
		return fmt.Errorf("upstream name %q must be 1 to 64 letters, digits, '-' and single '_' between them", s.Name)
	case reservedServers[strings.ToLower(s.Name)]:
		return fmt.Errorf("upstream name %q is reserved for Interlock's own tools; choose another", s.Name)
	case len(s.Command) == 0 && s.URL == "":
		return fmt.Errorf("upstream %q needs a command or a URL", s.Name)
	case len(s.Command) > 0 && s.URL != "":
		return fmt.Errorf("upstream %q has a command and a URL; keep one", s.Name)
	case s.Needs != nil && s.URL != "":
		return fmt.Errorf("upstream %q has needs and a URL: only servers that are commands run in jails", s.Name)
	case s.Needs != nil && s.Needs.Jail == Off && mode == JailsRequired:
		return fmt.Errorf("upstream %q has \"jail\": \"off\" in its needs, and --jail is required: remove one", s.Name)
	case s.Needs != nil:
		return s.Needs.check(s.Name)
	}
	return nil
}

// checkNames refuses names that mean another tool. taken are those of other servers.
func (s Server) checkNames(reserved func(string) bool, taken map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(s.Names)) {
		tool := s.Names[name]
		wrong := func(why string) error {
			return fmt.Errorf("upstream %q: its tool %q cannot be named %q: %s", s.Name, tool, name, why)
		}
		switch {
		case !toolName().MatchString(name) || strings.HasPrefix(name, Prefix):
			return wrong("use 1 to 128 letters, digits and _.:/-, without mcp__ in front")
		case toolname.Known(name) || reserved(name):
			return wrong("a tool of Interlock or of an agent's client has this name; choose another, or call it " + Prefix + s.Name + "__" + tool)
		case taken[name] != "":
			return wrong("the server " + taken[name] + " has a tool of this name")
		case s.plainName(tool) != name:
			return wrong("it is also named " + s.plainName(tool) + "; keep one")
		}
		taken[name] = s.Name
	}
	return nil
}

// plainName returns the name that the operator has given a tool, or empty.
func (s Server) plainName(tool string) string {
	for _, name := range slices.Sorted(maps.Keys(s.Names)) {
		if s.Names[name] == tool {
			return name
		}
	}
	return ""
}

// Set is all servers, by name. It is safe for concurrent use.
type Set struct {
	options     Options
	connections map[string]*connection
	progress    *progress

	catalogue  atomic.Pointer[Catalogue]
	rebuilding sync.Mutex // one rebuild of the catalogue at a time

	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// New checks the servers and starts them in the background. Close stops them.
func New(servers []Server, options Options) (*Set, error) {
	s := &Set{
		options: options, connections: make(map[string]*connection, len(servers)),
		progress: newProgress(),
	}
	options.Jailer = options.Jailer.withDefaults()
	taken := map[string]string{}
	for _, server := range servers {
		if err := cmp.Or(server.validate(options.Jailer.Mode), server.checkNames(options.Reserved, taken)); err != nil {
			return nil, err
		}
		if s.connections[server.Name] != nil {
			return nil, fmt.Errorf("two upstreams are named %q", server.Name)
		}
		s.connections[server.Name] = newConnection(server, options, s.progress, s.changed, options.Updated)
	}
	s.rebuild()
	ctx, cancel := context.WithCancel(context.Background())
	s.cancel = cancel
	for _, c := range s.connections {
		if needs, why := c.server.jailed(options.Jailer.Mode); needs == nil && c.server.local() {
			c.log.Info("upstream: a server is not jailed", "why", why)
		}
		s.wg.Go(func() { c.run(ctx) })
	}
	return s, nil
}

// Close stops all servers with their process groups.
func (s *Set) Close() {
	s.cancel()
	s.wg.Wait()
}

// Ready waits until every server has been tried once, and reports how many of them serve.
func (s *Set) Ready(ctx context.Context) (serving int) {
	for _, c := range s.connections {
		if c.awaitFirst(ctx) {
			serving++
		}
	}
	return serving
}

// Await gives servers that just start a moment: many clients list tools once, at
// once.
func (s *Set) Await(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.options.ConnectTimeout)
	defer cancel()
	s.Ready(ctx)
}

// changed takes over a server's new lists.
func (s *Set) changed(kinds Kinds) {
	s.rebuild()
	s.options.Changed(s.Catalogue(), kinds)
}
