package gateway

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/services/gateway/internal/upstream"
)

// Flags of every command that runs the edge.
type Flags struct {
	Upstream     []string `help:"MCP server behind the gate, NAME=COMMAND or NAME=https://...; may be repeated, or a line each in the variable." sep:"\n" env:"INTERLOCK_UPSTREAM" placeholder:"NAME=COMMAND"`
	MCPConfig    string   `name:"mcp-config" help:"File with upstream MCP servers: {\"mcpServers\": {NAME: {command, args, env, url, headers, names, plain, needs}}}." env:"INTERLOCK_MCP_CONFIG" placeholder:"FILE"`
	ToolPrefix   string   `help:"Prefix of Interlock's own MCP tools about workflows, e.g. statewright_." env:"INTERLOCK_TOOL_PREFIX" placeholder:"PREFIX"`
	StatePrefix  string   `name:"state-tool-prefix" help:"Prefix of its tools for shared states: state_read, session_result, component_read, ..." env:"INTERLOCK_STATE_TOOL_PREFIX" placeholder:"PREFIX"`
	AllowUnbound bool     `help:"Allow calls to upstream tools while no workflow is loaded." env:"INTERLOCK_ALLOW_UNBOUND"`
}

// JailFlag is the flag of commands that start upstream servers, and of no others.
type JailFlag struct {
	Jail upstream.Jails `help:"Whether MCP servers that are commands run in a jail: auto jails those with \"needs\", required jails all, off none." enum:"auto,required,off" default:"auto" env:"INTERLOCK_JAIL"`
}

// Quotas bound the open streams of one caller of the edge.
type Quotas struct {
	Streams     int `name:"streams-per-principal" help:"Event streams that a principal may have open, of 512." default:"64" env:"INTERLOCK_STREAMS_PER_PRINCIPAL"`
	MCPSessions int `name:"mcp-sessions-per-token" help:"Sessions of older MCP clients that a token may have open, of 10,000." default:"1000" env:"INTERLOCK_MCP_SESSIONS_PER_TOKEN"`
}

// configuredServer is one entry of a file in the format that MCP clients use.
type configuredServer struct {
	Command string            `json:"command"`
	Args    []string          `json:"args"`
	Env     map[string]string `json:"env"`
	Dir     string            `json:"cwd"`
	URL     string            `json:"url"`
	Headers map[string]string `json:"headers"`
	Type    string            `json:"type"`
	Names   map[string]string `json:"names"`
	Plain   bool              `json:"plain"`
	Needs   json.RawMessage   `json:"needs"`
}

// Upstreams returns the MCP servers that the flags name: those of the file by name, then
// the others as they were given.
func (f Flags) Upstreams() ([]Upstream, error) {
	upstreams, err := f.fromFile()
	if err != nil {
		return nil, err
	}
	for _, spec := range f.Upstream {
		u, err := parseUpstream(spec)
		if err != nil {
			return nil, err
		}
		upstreams = append(upstreams, u)
	}
	seen := map[string]bool{}
	for _, u := range upstreams {
		if seen[u.Name] {
			return nil, fmt.Errorf("two upstream servers have the name %q: rename one", u.Name)
		}
		seen[u.Name] = true
	}
	return upstreams, nil
}

func (f Flags) fromFile() ([]Upstream, error) {
	if f.MCPConfig == "" {
		return nil, nil
	}
	data, err := os.ReadFile(f.MCPConfig)
	if err != nil {
		return nil, fmt.Errorf("read the upstream servers: %w", err)
	}
	var file struct {
		Servers map[string]configuredServer `json:"mcpServers"`
	}
	if err := json.Unmarshal(data, &file); err != nil {
		return nil, fmt.Errorf("read the upstream servers of %s: %w", f.MCPConfig, unreadable(err))
	}
	if file.Servers == nil {
		return nil, fmt.Errorf(`%s has no "mcpServers": write {"mcpServers": {NAME: {"command": ..., "args": [...]}}}`, f.MCPConfig)
	}
	var upstreams []Upstream
	for _, name := range slices.Sorted(maps.Keys(file.Servers)) {
		s := file.Servers[name]
		if (s.Command == "") == (s.URL == "") {
			return nil, fmt.Errorf(`%s: the server %q needs either "command" or "url"`, f.MCPConfig, name)
		}
		u := Upstream{Name: name, Env: s.Env, Dir: s.Dir, URL: s.URL, Headers: s.Headers, Names: s.Names, Plain: s.Plain}
		if len(s.Needs) > 0 {
			u.Needs = &upstream.Needs{}
			if err := json.Unmarshal(s.Needs, u.Needs); err != nil {
				return nil, fmt.Errorf("%s: the server %q: %w", f.MCPConfig, name, err)
			}
		}
		if s.Command != "" {
			u.Command = append([]string{s.Command}, s.Args...)
		}
		upstreams = append(upstreams, u)
	}
	return upstreams, nil
}

// unreadable describes the part of a file that is not in the format of MCP clients.
func unreadable(err error) error {
	var typed *json.UnmarshalTypeError
	if !errors.As(err, &typed) {
		return fmt.Errorf("it is not valid JSON: %w", err)
	}
	wanted := map[reflect.Kind]string{
		reflect.String: "a text", reflect.Slice: "a list of texts", reflect.Map: "an object", reflect.Struct: "an object", reflect.Bool: "true or false",
	}[typed.Type.Kind()]
	return fmt.Errorf("%s must be %s", cmp.Or(typed.Field, "the document"), wanted)
}

// parseUpstream reads NAME=COMMAND or NAME=URL.
func parseUpstream(spec string) (Upstream, error) {
	name, target, ok := strings.Cut(spec, "=")
	if !ok || name == "" || target == "" {
		return Upstream{}, fmt.Errorf("upstream %q: write NAME=COMMAND or NAME=URL", spec)
	}
	if strings.HasPrefix(target, "http://") || strings.HasPrefix(target, "https://") {
		return Upstream{Name: name, URL: target}, nil
	}
	words, err := splitWords(target)
	if err != nil {
		return Upstream{}, fmt.Errorf("upstream %q: %w", name, err)
	}
	return Upstream{Name: name, Command: words}, nil
}

// splitWords splits a command into words at blanks, outside of quotes. It runs no shell:
// syntax that would need one is taken literally.
func splitWords(command string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	open := false
	for _, r := range command {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote, open = r, true
		case quote == 0 && (r == ' ' || r == '\t'):
			if open {
				words = append(words, word.String())
				word.Reset()
				open = false
			}
		default:
			word.WriteRune(r)
			open = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if open {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, fmt.Errorf("the command is empty")
	}
	return words, nil
}
