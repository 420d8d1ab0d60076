// Package facet computes what a tool call does: the files that it reads and writes, the hosts
// that it reaches, the statements, refs and amounts in it (S21.5).
//
// It is pure: it reads the input by the tool's own form and never looks at files, names of hosts
// or the clock. A facet that it cannot say is not known, which puts conditions in doubt.
package facet

import (
	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
)

// Subject is the call whose facets are wanted, with the facts that only its caller knows.
type Subject struct {
	// Tool is its name as the agent knows it, Qualified the full name of a tool of an MCP server
	// that is called by its plain name, or empty.
	Tool, Qualified string
	// Shell is true when the tool runs command lines though its name does not show that.
	Shell bool
	// Input is the tool's arguments, JSON; may be empty.
	Input []byte
	// Workspace is the folder that paths are relative to, Folder the one that the call is made
	// in; empty where they are not known.
	Workspace, Folder string
	// Tools describes the author's and the upstream servers' tools.
	Tools Tools
	// Caller and the following are facts about who calls, and where the run is. A fact that is
	// empty is not known.
	CallerName, CallerRole, CallerNamespace string
	SessionRoot                             string
	// SessionDepth is the depth in the session tree, negative when it is not known.
	SessionDepth          int
	RunState, RunWorkflow string
}

// Tools has the descriptions of tools by their names (meta.tools, settings of upstream servers).
type Tools map[string]Description

// Description says which arguments of a tool have which meaning.
type Description struct{}

// Facts are the facets of one call. Each is computed when it is first asked for; not safe for
// concurrent use.
type Facts struct{ of Subject }

// Of returns the facets of a call.
func Of(subject Subject) *Facts { return &Facts{of: subject} }

// Input implements condition.Call.
func (f *Facts) Input() (document.Value, bool) {
	v, problem := document.Parse(f.of.Input, document.Limits{})
	return v, problem == nil && v.Kind() == document.Object
}

// Facet implements condition.Call.
func (f *Facts) Facet(name condition.Facet) condition.Set {
	return condition.Unknown("the facet " + string(name) + " is not known")
}

var _ condition.Call = (*Facts)(nil)
