// Package facet computes what a tool call does: the files that it reads and writes, the hosts
// that it reaches, the statements, refs and amounts in it (S21.5).
//
// It is pure: it reads the input by the tool's own form and never looks at files, names of hosts
// or the clock. A facet that it cannot say is not known, which puts conditions in doubt.
package facet

import (
	"errors"
	"strings"
	"time"

	"github.com/interlock-run/interlock/pkg/condition"
	"github.com/interlock-run/interlock/pkg/document"
	"github.com/interlock-run/interlock/pkg/shell"
	"github.com/interlock-run/interlock/pkg/toolinput"
	"github.com/interlock-run/interlock/pkg/toolname"
	"github.com/interlock-run/interlock/pkg/workflow"
)

// Subject is the call whose facets are wanted, with the facts that only its caller knows.
type Subject struct {
	// Tool is its name as the agent knows it, Qualified the full name of a tool of an MCP server
	// that is called by its plain name, or empty.
	Tool, Qualified string
	// Shell is true when the tool runs command lines though its name does not show that.
	Shell bool
	// Input is the tool's arguments, JSON; may be empty. It must not change as long as the facts are in use.
	Input []byte
	// Workspace is the folder that paths are relative to, Folder the one that the call is made
	// in; empty where they are not known.
	Workspace, Folder string
	// Real has the real names of files whose names are otherwise than written: that a link leads there, or that the file
	// system writes them so. They are one more reading of a name, and come from where the files are.
	Real map[string]string
	// Edits are the author's tools that edit files (meta.edit_tools), for conditions of the author alone.
	Edits map[string]workflow.EditTool
	// Tools describes the author's and the upstream servers' tools.
	Tools Tools
	// Caller and the following are facts about who calls, and where the run is. A fact that is
	// empty is not known.
	CallerName, CallerRole, CallerNamespace string
	// CallerToken, CallerVia and CallerBound are of its token: CallerBound is "true" or "false".
	CallerToken, CallerVia, CallerBound string
	// Human is on whose behalf the call is made; nil where that is in doubt, as WhyHuman says.
	Human    *Human
	WhyHuman string
	// Agent is the agent that the session has started from, and AgentVersion its version.
	Agent        string
	AgentVersion int64
	SessionRoot  string
	// SessionLabels are the labels of the session that others than agents have set.
	SessionLabels map[string]string
	// SessionDepth is the depth in the session tree, negative when it is not known.
	SessionDepth          int
	RunState, RunWorkflow string
}

// Human is a person whose facts are trusted.
type Human struct {
	Name, Issuer, Source string
	// Groups are all groups if GroupsKnown is set.
	Groups      []string
	GroupsKnown bool
	// Age is how long ago the person has logged in; negative where that is not known.
	Age time.Duration
	// Attributes are texts by name. Of a list, each element is one.
	Attributes map[string][]string
}

// Facts are the facets of one call. Each is computed when it is first asked for; not safe for
// concurrent use.
type Facts struct {
	of Subject

	reader  document.Reader
	read    bool
	input   document.Value
	inputOK bool

	planned bool
	line    *shell.Plan
	lineErr error

	files *touched
	urls  parts // the facets of hosts; nil until they are asked for

	sets map[condition.Facet]condition.Set
}

// OfRecord returns the facts of a call as a log keeps it; nil when its input is not kept as it was.
func OfRecord(s Subject) condition.Facts {
	if len(s.Input) == 0 || toolinput.Masked(s.Input) {
		return nil
	}
	s.SessionDepth = -1
	return Of(s)
}

// Of returns the facets of a call.
func Of(subject Subject) *Facts { return &Facts{of: subject} }

// Reset makes the facts those of another call, in the same memory. Values of the call before must not be used any more.
func (f *Facts) Reset(subject Subject) {
	clear(f.sets)
	*f = Facts{of: subject, reader: f.reader, sets: f.sets}
}

// Input implements condition.Facts. An empty input has no arguments.
func (f *Facts) Input() (document.Value, bool) {
	if !f.read {
		f.read = true
		if len(f.of.Input) == 0 {
			f.input, f.inputOK = document.ObjectValue(nil), true
		} else {
			v, problem := f.reader.Read(f.of.Input, document.Limits{Bytes: toolinput.Longest})
			f.input, f.inputOK = v, problem == nil && v.Kind() == document.Object
		}
	}
	return f.input, f.inputOK
}

// Facet implements condition.Facts.
func (f *Facts) Facet(name condition.Facet) condition.Set {
	set, done := f.sets[name]
	if !done {
		set = f.compute(name)
		if f.sets == nil {
			f.sets = make(map[condition.Facet]condition.Set)
		}
		f.sets[name] = set
	}
	return set
}

func (f *Facts) compute(name condition.Facet) condition.Set {
	if set, ok := f.of.fact(name); ok {
		return set
	}
	if extra, found := f.undescribed(); found {
		return condition.Unknown("the tool has the argument " + document.Quote(extra) + ", which its description lacks")
	}
	switch family, _, _ := strings.Cut(string(name), "."); family {
	case "sql":
		return f.sqlFacet(name)
	case "git":
		return f.gitFacet(name)
	case "k8s":
		return f.k8sFacet(name)
	case "reads", "writes", "files":
		return f.fileFacet(name)
	case "command":
		if name == condition.CommandShown {
			return f.shownFacet()
		}
		return f.commandFacet()
	case "host", "port", "scheme", "method", "path", "ip":
		return f.hostFacet(name)
	case "money":
		return f.moneyFacet()
	case "recipients", "senders":
		return f.mailFacet(name)
	}
	return condition.Unknown("the facet " + string(name) + " is not known")
}

// isShell reports a tool that runs command lines.
func (f *Facts) isShell() bool { return f.of.Shell || toolname.Shell(f.of.Tool) }

// runsLine reports a tool that runs a command line: a shell, or one that is described so.
func (f *Facts) runsLine() bool {
	d, _ := f.described()
	return d.Command != "" || f.isShell()
}

// plan returns the effects of the command line of a call, nil for a tool that runs none.
func (f *Facts) plan() (*shell.Plan, error) {
	if !f.planned {
		f.planned = true
		if f.runsLine() {
			f.line, f.lineErr = f.readLine()
		}
	}
	return f.line, f.lineErr
}

func (f *Facts) readLine() (*shell.Plan, error) {
	input, ok := f.Input()
	d, _ := f.described()
	switch {
	case !ok:
		return nil, errors.New(toolinput.NoCommand)
	case d.Command != "":
		return f.describedLine(d.Command)
	case toolinput.SpeaksOther(f.of.Tool):
		return nil, errors.New("its command lines are not written for bash")
	}
	line, why := toolinput.LineOf(input)
	if why != "" {
		return nil, errors.New(why)
	}
	return shell.Parse(line)
}

// describedLine returns the effects of the line that the description of the tool points to. A call without one runs none.
func (f *Facts) describedLine(pointer string) (*shell.Plan, error) {
	switch v, why := f.valueOf(pointer); {
	case why != "":
		return nil, errors.New(why)
	case v.Kind() != document.String: // missing, too
		return nil, errors.New(pointer + " must be a text with a command line")
	default:
		return shell.Parse(v.Str())
	}
}

var _ condition.Facts = (*Facts)(nil)
