// Package packs has the packs of this program: workflows and policies for common work, each with its
// properties, tests and limits. A pack is rendered into files that belong to the user.
//
// A pack is a folder with
//
//	pack.yaml        title, summary, level, version and parameters
//	workflow.json    the workflow, if it has one
//	policy.json      the policy, if it has one
//	properties.yaml  the properties that are proved
//	test.yaml        the scenarios
//	walk.jsonl       a session of Claude Code: the events of its hooks, for the tests of this package
//	not-stopped.md   the limits of the pack
//
// In these files {"$param": "NAME"} stands for the value of a parameter, {"$words": "NAME"} for the words of a command,
// {"$capability": "NAME"} for the capability of a tool, and {"$text": "... ${NAME} ..."} for a text
// with values in it. Each is a whole value of JSON or YAML. Texts are for people and for tests: no rule and no
// command contains one.
package packs

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/interlock-run/interlock/pkg/document"
)

//go:embed */pack.yaml */*.json */*.yaml */*.jsonl */*.md
var embedded embed.FS

// Pack is one pack as it is in this program.
type Pack struct {
	Name string `json:"name"`
	// Level is read-only, propose-only, bounded-write or autonomous, or policy for a pack that joins others.
	Level   string `json:"level"`
	Title   string `json:"title"`
	Summary string `json:"summary"`
	Version int    `json:"version"`
	// Workflow is the id of its workflow, or empty.
	Workflow string `json:"workflow,omitempty"`
	// Policies are the names of its policies.
	Policies   []string    `json:"policies"`
	Parameters []Parameter `json:"parameters"`
	// NotStopped is the page about the limits of the pack, in Markdown.
	NotStopped string `json:"not_stopped"`

	parts []part
}

// part is one file of a pack before its parameters are set.
type part struct {
	kind Kind
	text string
}

// Kind is the kind of a file of a pack.
type Kind string

// The files of a pack.
const (
	Workflow   Kind = "workflow"
	Policy     Kind = "policy"
	Properties Kind = "properties"
	Tests      Kind = "test"
	Page       Kind = "page"
)

// sources are the files of a pack in the order in which they are written, and how a user's copy is called.
var sources = []struct {
	kind           Kind
	source, ending string
}{
	{Workflow, "workflow.json", ".json"},
	{Policy, "policy.json", ".policy.json"},
	{Properties, "properties.yaml", ".properties.yaml"},
	{Tests, "test.yaml", ".test.yaml"},
	{Page, "not-stopped.md", ".md"},
}

// Levels are the levels of packs, from the strictest; packs of the level policy join others.
var Levels = []string{"read-only", "propose-only", "bounded-write", "autonomous", "policy"}

// List returns all packs by name.
func List() ([]*Pack, error) {
	folders, err := fs.Glob(embedded, "*/pack.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the packs: %w", err)
	}
	all := make([]*Pack, 0, len(folders))
	for _, file := range folders {
		p, err := read(path.Dir(file))
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b *Pack) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

// Get returns one pack. The error of an unknown name lists the names.
func Get(name string) (*Pack, error) {
	all, err := List()
	if err != nil {
		return nil, err
	}
	names := make([]string, len(all))
	for i, p := range all {
		if p.Name == name {
			return p, nil
		}
		names[i] = p.Name
	}
	return nil, fmt.Errorf("there is no pack %q; packs: %s", name, strings.Join(names, ", "))
}

func read(name string) (*Pack, error) {
	text, err := embedded.ReadFile(name + "/pack.yaml")
	if err != nil {
		return nil, fmt.Errorf("read the pack %s: %w", name, err)
	}
	about, problems := document.FromYAML(text)
	if problems.HasErrors() {
		return nil, fmt.Errorf("read the pack %s: %w", name, problems.Err())
	}
	p := &Pack{Name: name, Policies: []string{}, Parameters: []Parameter{}}
	p.Title, p.Summary, p.Level = textOf(about, "title"), textOf(about, "summary"), textOf(about, "level")
	version, _ := about.Get("version")
	number, whole := version.Number().Int64()
	p.Version = int(number)
	if p.Title == "" || p.Summary == "" || !slices.Contains(Levels, p.Level) || !whole || number < 1 {
		return nil, fmt.Errorf("the pack %s needs a title, a summary, a level and a version", name)
	}
	listed, _ := about.Get("parameters")
	for _, one := range listed.Elements() {
		param, err := readParameter(one)
		if err != nil {
			return nil, fmt.Errorf("the pack %s: %w", name, err)
		}
		p.Parameters = append(p.Parameters, param)
	}
	for _, s := range sources {
		text, err := embedded.ReadFile(name + "/" + s.source)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return nil, fmt.Errorf("read the pack %s: %w", name, err)
		}
		p.parts = append(p.parts, part{s.kind, string(text)})
		switch s.kind {
		case Workflow:
			p.Workflow = name
		case Policy:
			p.Policies = append(p.Policies, name)
		case Page:
			p.NotStopped = string(text)
		default:
		}
	}
	return p, nil
}

// Walk returns the events of the pack's session of Claude Code, one JSON object a line.
func (p *Pack) Walk() ([]byte, error) {
	text, err := embedded.ReadFile(p.Name + "/walk.jsonl")
	if err != nil {
		return nil, fmt.Errorf("read the walk of %s: %w", p.Name, err)
	}
	return text, nil
}

func textOf(v document.Value, name string) string {
	member, _ := v.Get(name)
	return member.Str()
}
