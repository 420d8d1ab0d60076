package importer

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/interlock-run/interlock/pkg/document"
)

// Workflow is a definition, and the MCP servers that came with it.
type Workflow struct {
	// Definition is as it was written, and not validated.
	Definition document.Value
	// Servers has "mcpServers", as clients of MCP write them; it is zero where there are none.
	Servers document.Value
	// Left are the parts that are not translated.
	Left []Note
}

// Statewright reads a file of Statewright: {"definition": ..., "upstream_servers": ...}.
func Statewright(src []byte) (Workflow, error) {
	v, problems := document.FromYAML(src)
	if err := problems.Err(); err != nil {
		return Workflow{}, err
	}
	var w Workflow
	var known bool
	if w.Definition, known = v.Get("definition"); !known || w.Definition.Kind() != document.Object {
		return w, errors.New(`it has no object "definition": a file of Statewright is {"definition": {...}, "upstream_servers": [...]}; register a definition as it is`)
	}
	line := places(src, true)
	left := func(pointer, text, why string) {
		w.Left = append(w.Left, Note{Line: line(pointer), Text: text, Why: why})
	}
	for name := range v.Members() {
		if name != "definition" && name != "upstream_servers" {
			left(document.Pointer(name), name, "the field is not known")
		}
	}
	given, _ := v.Get("upstream_servers")
	var servers []document.Member
	for name, server := range upstreams(given) {
		at := fmt.Sprintf("upstream server %s", document.Quote(name))
		switch taken, why := mcpServer(server, func(field, why string) { left("/upstream_servers", at+": "+field, why) }); {
		case name == "":
			left("/upstream_servers", "an upstream server", `it has no "name"`)
		case slices.ContainsFunc(servers, func(m document.Member) bool { return m.Name == name }):
			left("/upstream_servers", at, "another server has this name")
		case why != "":
			left("/upstream_servers", at, why)
		default:
			servers = append(servers, field(name, taken))
		}
	}
	if len(servers) > 0 {
		w.Servers = one("mcpServers", object(servers...))
	}
	return w, nil
}

// upstreams returns servers by their names: of an object, or of a list whose items have names.
func upstreams(given document.Value) iter.Seq2[string, document.Value] {
	if given.Kind() == document.Object {
		return given.Members()
	}
	return func(yield func(string, document.Value) bool) {
		for _, server := range given.Elements() {
			name, _ := server.Get("name")
			if !yield(name.Str(), server) {
				return
			}
		}
	}
}

// mcpServer returns a server as clients of MCP write it, or why it is none. left lists its other fields.
func mcpServer(server document.Value, left func(field, why string)) (taken document.Value, why string) {
	if server.Kind() != document.Object {
		return taken, "it is not an object"
	}
	var kept []document.Member
	_, runs := server.Get("command")
	_, called := server.Get("url")
	for name, v := range server.Members() {
		switch name {
		case "name":
		case "transport", "type":
			if v.Str() != "stdio" && v.Str() != "http" && v.Str() != "streamable-http" {
				left(name, "the transport "+strconv.Quote(v.Str())+" is not one of stdio and http")
			}
		case "command", "args", "env", "url", "headers":
			kept = append(kept, field(name, v))
		default:
			left(name, "the field is not known")
		}
	}
	if runs == called {
		return taken, `it needs either "command" or "url"`
	}
	return object(kept...), ""
}
